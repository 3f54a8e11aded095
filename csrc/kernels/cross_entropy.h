// The loops of cross entropy over rows of scores; [0] for float, [1] for double.
#pragma once
#include <cstdint>

namespace fl {

struct CrossEntropyKernels {
  // log(sum(exp(x)))
  double (*log_sum_exp)(const void* x, int64_t n);
  // dx = exp(x - lse) * scale
  void (*gradient)(const void* x, void* dx, int64_t n, double lse, double scale);
};
extern CrossEntropyKernels cross_entropy_kernels[2];

}  // namespace fl
