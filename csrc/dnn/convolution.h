// Convolutions of f32, bf16 and f16 in one to three dimensions, with gradients. The same bits at any number of threads.
//
// A transposed convolution is the data gradient of a convolution whose output is the transposed one's input.
#pragma once

#include <cstdint>

#include "dnn/packed_weights.h"
#include "dnn/types.h"

namespace fl::dnn {

// Of the arrays, the first `dims` entries count. Dilation 1 means none. The caller has checked that the sizes are
// sensible: all positive, except that the batch may be empty; channels divisible by groups; kernels that fit into the
// padded input.
struct Convolution {
  int dims = 2;
  int64_t batch = 0, in_channels = 0, out_channels = 0, groups = 1;
  int64_t input[3] = {1, 1, 1}, kernel[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, padding[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};

  int64_t output(int i) const {
    return (input[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) / stride[i] + 1;
  }
  int64_t input_size() const { return input[0] * (dims > 1 ? input[1] : 1) * (dims > 2 ? input[2] : 1); }
  int64_t output_size() const { return output(0) * (dims > 1 ? output(1) : 1) * (dims > 2 ? output(2) : 1); }
  int64_t kernel_size() const { return kernel[0] * (dims > 1 ? kernel[1] : 1) * (dims > 2 ? kernel[2] : 1); }
  int64_t weights_count() const { return out_channels * (in_channels / groups) * kernel_size(); }
};

// source (batch, in_channels, *input), weights (out_channels, in_channels / groups, *kernel), bias (out_channels) or
// null, destination (batch, out_channels, *output). Activations in channels_last spare reordering.
void convolution(const Convolution& shape, DataType type, Input source, Input weights, const void* bias,
                 Output destination, WeightSlot slot = {});

// The gradient with respect to the source, from that with respect to the destination.
void convolution_backward_data(const Convolution& shape, DataType type, Input gradient, Input weights,
                               Output source_gradient, WeightSlot slot = {});

// The gradients with respect to the weights and, unless null, the bias.
void convolution_backward_weights(const Convolution& shape, DataType type, Input source, Input gradient,
                                  Output weights_gradient, void* bias_gradient);

}  // namespace fl::dnn
