// The loops of attention over rows of scores; [0] for float, [1] for double.
#pragma once
#include <cstdint>

namespace fl {

struct AttentionKernels {
  // One block of a row, softmax as it goes: the scores become exp(score * scale + mask - largest), the row's largest
  // and sum so far move on. Returns what earlier sums have to be multiplied by. The mask may be null.
  double (*softmax_block)(void* scores, const void* mask, int64_t n, double scale, double* largest, double* sum);
  void (*multiply)(void* x, int64_t n, double by);
  double (*dot)(const void* a, const void* b, int64_t n);
  // scores become the weights exp(score * scale + mask - lse); their gradients become those of the products of query
  // and key.
  void (*gradient_block)(void* scores, void* gradients, const void* mask, int64_t n, double scale, double lse,
                         double dot);
};
extern AttentionKernels attention_kernels[2];

}  // namespace fl
