// Primitives for convolutions and the reorders around them; only included by convolution.cpp.
#pragma once

#include <memory>
#include <optional>

#include "dnn/convolution.h"
#include "dnn/primitive.h"

namespace fl::dnn {

enum class Direction { forward, backward_data, backward_weights };

struct ConvolutionPlan {
  Primitive primitive;
  // What the primitive works on; `source` and `destination` stand for their gradients too.
  dnnl::memory::desc source, weights, bias, destination;
  // From or to the caller's layout, where it differs.
  std::optional<Reorder> source_reorder, destination_reorder;
};

struct ConvolutionRequest {
  Convolution shape;
  DataType type = DataType::f32;
  Direction direction = Direction::forward;
  Layout source = Layout::contiguous, destination = Layout::contiguous;  // the caller's
  bool has_bias = false;
  // The destination is a slice of this many channels of a larger one; 0 if it is whole.
  int64_t destination_channels = 0;
  // Prefer a primitive that several threads may share without changing the result.
  bool shareable = false;
};

// Whether two plans for one request, made for different numbers of threads, give the same bits.
bool same_bits(const ConvolutionPlan& a, const ConvolutionPlan& b);

// For the number of threads the calling thread has now.
std::shared_ptr<const ConvolutionPlan> convolution_plan(const ConvolutionRequest& request);

// Copies the source, whose channels come first, into one whose channels come last.
void reorder_to_channels_last(const Convolution& shape, DataType type, const void* source, void* target);

// The caller's weights, of the type given.
dnnl::memory::desc weights_description(const Convolution& shape, DataType type, Layout layout);

}  // namespace fl::dnn
