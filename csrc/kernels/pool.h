// The loops of pooling, by element type; filled when the extension is loaded with those of the best instruction set.
#pragma once
#include <cstdint>

#include "base/dtype.h"

namespace fl {

// In three dimensions; missing ones come first and have size 1.
struct PoolShape {
  int64_t channels = 0;
  int64_t input[3] = {1, 1, 1}, output[3] = {1, 1, 1};
  int64_t input_size = 1, output_size = 1;  // elements of a plane
  int64_t step[3] = {1, 1, 1};              // between the pixels of a window
  // For each output position, the first pixel of its window that lies inside and the end of the window.
  const int64_t* first[3] = {};
  const int64_t* last[3] = {};
  // Windows of one size at regular distances: window o begins at o * stride - padding.
  bool regular = false;
  int64_t kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1}, padding[3] = {0, 0, 0};
  // Averages: what each dimension contributes to the divisor, unless it is given.
  const int64_t* count[3] = {};
  int64_t divisor = 0;
};

// Each handles planes or, with channels last, images [begin, end). Indices, which may be null, count within a plane.
struct PoolKernels {
  using Max = void (*)(const PoolShape& shape, const void* input, void* output, int64_t* indices, int64_t begin,
                       int64_t end);
  using Average = void (*)(const PoolShape& shape, const void* from, void* to, int64_t begin, int64_t end);
  Max max[kNumDTypes], max_channels_last[kNumDTypes];
  Average average[kNumDTypes], average_channels_last[kNumDTypes];
  // From the gradient of the output to that of the input, which is overwritten.
  Average average_back[kNumDTypes], average_back_channels_last[kNumDTypes];
};
extern PoolKernels pool_kernels;

}  // namespace fl
