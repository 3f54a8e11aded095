#include "dnn/convolution_plan.h"

#include <string>

#include "base/threads.h"

namespace fl::dnn {
namespace {

using dnnl::algorithm;
using dnnl::prop_kind;
using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;

// oneDNN's one-dimensional kernels are few: a line is an image one pixel high.
struct Geometry {
  Dims input, output, kernel, stride, padding, dilation;
};

Geometry geometry_of(const Convolution& shape) {
  Geometry g;
  if (shape.dims == 1) g = {{1}, {1}, {1}, {1}, {0}, {0}};
  for (int i = 0; i < shape.dims; ++i) {
    g.input.push_back(shape.input[i]);
    g.output.push_back(shape.output(i));
    g.kernel.push_back(shape.kernel[i]);
    g.stride.push_back(shape.stride[i]);
    g.padding.push_back(shape.padding[i]);
    g.dilation.push_back(shape.dilation[i] - 1);
  }
  return g;
}

int64_t product(const Dims& sizes) {
  int64_t result = 1;
  for (int64_t size : sizes) result *= size;
  return result;
}

// Strides of (leading..., channels, spatial...), the channels `channel_stride` apart if they are not innermost.
void append_spatial_strides(Dims& strides, const Dims& spatial, int64_t innermost) {
  const size_t first = strides.size();
  strides.resize(first + spatial.size());
  for (size_t i = spatial.size(); i-- > 0;) {
    strides[first + i] = innermost;
    innermost *= spatial[i];
  }
}

Dims activation_dims(const Convolution& shape, int64_t channels, const Dims& spatial) {
  Dims dims{shape.batch, channels};
  dims.insert(dims.end(), spatial.begin(), spatial.end());
  return dims;
}

// `channels` of an activation that has `all_channels`.
Desc activation(const Convolution& shape, DataType type, int64_t channels, int64_t all_channels, const Dims& spatial,
                Layout layout) {
  const int64_t pixels = product(spatial);
  const bool last = layout == Layout::channels_last;
  Dims strides{all_channels * pixels, last ? 1 : pixels};
  append_spatial_strides(strides, spatial, last ? all_channels : 1);
  return Desc(activation_dims(shape, channels, spatial), native_type(type), strides);
}

Dims weights_dims(const Convolution& shape, const Dims& kernel) {
  Dims dims{shape.out_channels / shape.groups, shape.in_channels / shape.groups};
  if (shape.groups > 1) dims.insert(dims.begin(), shape.groups);
  dims.insert(dims.end(), kernel.begin(), kernel.end());
  return dims;
}

bool is_fast(const std::string& name) { return name.find("gemm:") == name.npos && name.find("ref") == name.npos; }

struct Descriptions {
  Desc source, weights, bias, destination;
};

// Observed at 1 to 8 threads over two thousand shapes: these give the same bits at any number, forward and for the
// data. Those built on matrix products ("gemm", "brgconv", "ip") do not always.
bool is_shareable(const std::string& implementation) { return implementation.starts_with("jit"); }

// The primitive of a request on these layouts, and those it settled on. Gradients want the forward convolution they
// belong to as a hint.
ConvolutionPlan create_primitive(const ConvolutionRequest& request, const Geometry& g, const Descriptions& d) {
  const auto forward = [&](const Desc& weights, const Desc& bias) {
    return dnnl::convolution_forward::primitive_desc(
        engine(), prop_kind::forward_training, algorithm::convolution_direct, d.source, weights, bias, d.destination,
        g.stride, g.dilation, g.padding, g.padding, attributes());
  };
  const auto hint = [&] { return forward(Desc(d.weights.get_dims(), d.source.get_data_type(), Tag::any), Desc()); };
  const auto plan_of = [&](const auto& made, const Desc& source, const Desc& weights, const Desc& destination) {
    return ConvolutionPlan{Primitive(made), source, weights, d.bias, destination, {}, {}};
  };
  if (request.direction == Direction::forward) {
    const auto made = forward(d.weights, d.bias);
    return plan_of(made, made.src_desc(), made.weights_desc(), made.dst_desc());
  }
  if (request.direction == Direction::backward_data) {
    const dnnl::convolution_backward_data::primitive_desc made(engine(), algorithm::convolution_direct, d.source,
                                                               d.weights, d.destination, g.stride, g.dilation,
                                                               g.padding, g.padding, hint(), attributes());
    return plan_of(made, made.diff_src_desc(), made.weights_desc(), made.diff_dst_desc());
  }
  const dnnl::convolution_backward_weights::primitive_desc made(engine(), algorithm::convolution_direct, d.source,
                                                                d.weights, d.bias, d.destination, g.stride, g.dilation,
                                                                g.padding, g.padding, hint(), attributes());
  return plan_of(made, made.src_desc(), made.diff_weights_desc(), made.diff_dst_desc());
}

// The same numbers in the same order, though the strides may be written differently.
bool same_memory(const Desc& caller, const Desc& wanted, int64_t channels, int64_t pixels, bool whole) {
  return caller == wanted || (whole && (channels == 1 || pixels == 1) && caller.get_size() == wanted.get_size() &&
                              wanted.get_inner_nblks() == 0);
}

ConvolutionPlan create_plan(const ConvolutionRequest& request) {
  const Convolution& shape = request.shape;
  const Geometry g = geometry_of(shape);
  const auto type = native_type(request.type);
  const bool for_weights = request.direction == Direction::backward_weights;
  // Gradients of weights are summed over chunks of the batch, in f32.
  const auto parameter_type = for_weights ? dnnl::memory::data_type::f32 : type;
  const Dims source_dims = activation_dims(shape, shape.in_channels, g.input);
  const Dims destination_dims = activation_dims(shape, shape.out_channels, g.output);
  const Descriptions blocked{Desc(source_dims, type, Tag::any),
                             Desc(weights_dims(shape, g.kernel), parameter_type, Tag::any),
                             request.has_bias ? Desc({shape.out_channels}, parameter_type, Tag::a) : Desc(),
                             Desc(destination_dims, type, Tag::any)};
  const Tag tag = g.input.size() == 2 ? Tag::nhwc : Tag::ndhwc;
  Descriptions channels_last = blocked;
  channels_last.source = Desc(source_dims, type, tag);
  channels_last.destination = Desc(destination_dims, type, tag);

  // From and to plain layouts, blocked ones are cheaper to reach than channels last. Their kernels are also the
  // shareable ones. Some shapes have fast kernels for one of them only.
  const bool plain = request.source == Layout::contiguous && request.destination == Layout::contiguous;
  const bool prefer_blocked = plain || request.shareable;
  ConvolutionPlan plan = create_primitive(request, g, prefer_blocked ? blocked : channels_last);
  if (!is_fast(plan.primitive.implementation())) {
    ConvolutionPlan other = create_primitive(request, g, prefer_blocked ? channels_last : blocked);
    if (is_fast(other.primitive.implementation())) plan = std::move(other);
  }

  const bool whole = request.destination_channels == 0;
  const int64_t all_channels = whole ? shape.out_channels : request.destination_channels;
  const Desc source = activation(shape, request.type, shape.in_channels, shape.in_channels, g.input, request.source);
  const Desc destination =
      activation(shape, request.type, shape.out_channels, all_channels, g.output, request.destination);
  if (!same_memory(source, plan.source, shape.in_channels, product(g.input), true)) {
    const bool out = request.direction == Direction::backward_data;
    plan.source_reorder.emplace(out ? plan.source : source, out ? source : plan.source);
  }
  if (!same_memory(destination, plan.destination, shape.out_channels, product(g.output), whole)) {
    const bool out = request.direction == Direction::forward;
    plan.destination_reorder.emplace(out ? plan.destination : destination, out ? destination : plan.destination);
  }
  return plan;
}

}  // namespace

dnnl::memory::desc weights_description(const Convolution& shape, DataType type, Layout layout) {
  const Geometry g = geometry_of(shape);
  const int64_t inputs = shape.in_channels / shape.groups, points = product(g.kernel);
  const bool last = layout == Layout::channels_last;
  Dims strides{inputs * points, last ? 1 : points};
  if (shape.groups > 1) strides.insert(strides.begin(), shape.out_channels / shape.groups * inputs * points);
  append_spatial_strides(strides, g.kernel, last ? inputs : 1);
  return Desc(weights_dims(shape, g.kernel), native_type(type), strides);
}

bool same_bits(const ConvolutionPlan& a, const ConvolutionPlan& b) {
  const std::string& implementation = a.primitive.implementation();
  return is_shareable(implementation) && implementation == b.primitive.implementation() && a.source == b.source &&
         a.weights == b.weights && a.destination == b.destination;
}

void reorder_to_channels_last(const Convolution& shape, DataType type, const void* source, void* target) {
  const Geometry g = geometry_of(shape);
  const auto description = [&](Layout layout) {
    return activation(shape, type, shape.in_channels, shape.in_channels, g.input, layout);
  };
  Reorder(description(Layout::contiguous), description(Layout::channels_last)).run(source, target);
}

std::shared_ptr<const ConvolutionPlan> convolution_plan(const ConvolutionRequest& request) {
  constexpr int64_t kKind = 2;
  const Convolution& shape = request.shape;
  Key key{kKind,
          adopt_num_threads(),
          static_cast<int64_t>(request.type),
          static_cast<int64_t>(request.direction),
          static_cast<int64_t>(request.source),
          static_cast<int64_t>(request.destination),
          request.has_bias,
          request.shareable,
          request.destination_channels,
          shape.dims,
          shape.batch,
          shape.in_channels,
          shape.out_channels,
          shape.groups};
  for (int i = 0; i < shape.dims; ++i) {
    key.insert(key.end(), {shape.input[i], shape.kernel[i], shape.stride[i], shape.padding[i], shape.dilation[i]});
  }
  return cached_plan<ConvolutionPlan>(std::move(key), [&] { return create_plan(request); });
}

}  // namespace fl::dnn
