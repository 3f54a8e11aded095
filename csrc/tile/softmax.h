// Softmax over rows, and over the columns of a matrix; likewise its gradient.
#pragma once
#include "tile/program.h"

namespace fl {

struct SoftmaxLoops {
  void (*row)(const char* in, char* out, int64_t n);
  // Columns side by side: element i of a column lies `stride` elements further.
  void (*columns)(const char* in, char* out, int64_t n, int64_t stride, int64_t columns);
  void (*row_gradient)(const char* gradient, const char* result, char* out, int64_t n);
  void (*columns_gradient)(const char* gradient, const char* result, char* out, int64_t n, int64_t stride,
                           int64_t columns);
};
// [0] softmax, [1] log_softmax; [0] of float, [1] of double.
extern SoftmaxLoops softmax_loops[2][2];
inline constexpr int64_t kSoftmaxColumns = 64;  // at most, in one call

}  // namespace fl
