// The convolution op that all public forms lead to.
#pragma once
#include "ops/api.h"

namespace fl {

// What a convolution is besides its operands; one entry for each spatial dimension.
struct ConvolutionOptions {
  IntList stride, padding, dilation;
  bool transposed;
  IntList output_padding;
  int64_t groups;
};

// Differentiable. input (N, C, *spatial), weight (out, in / groups, *kernel), or (in, out / groups, *kernel) if
// transposed.
Tensor convolve(const Tensor& input, const Tensor& weight, const Tensor& bias, const ConvolutionOptions& options);

}  // namespace fl
