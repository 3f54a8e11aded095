// Convolutions: checks, the way to oneDNN or to matrix products, and derivatives.
//
// Two ops, linear in each operand, are closed under differentiation: the convolution itself, plain or transposed (each
// is the other's gradient for the input), and the gradient for the weight. So derivatives of any order exist.
#include "ops/nn/convolution.h"

#include <optional>

#include "autograd/record.h"
#include "dnn/convolution.h"
#include "dnn/im2col.h"
#include "ops/nn/layout.h"

namespace fl {

Tensor convolve(const Tensor& input, const Tensor& weight, const Tensor& bias, const ConvolutionOptions& o) {
  static const Op op("torch.convolution");
  return op(input, weight, bias, o.stride, o.padding, o.dilation, o.transposed, o.output_padding, o.groups);
}

namespace {

constexpr const char* kName = "convolution";

MemoryFormat channels_last_format(int64_t ndim) {
  return ndim == 4 ? MemoryFormat::ChannelsLast : ndim == 5 ? MemoryFormat::ChannelsLast3d : MemoryFormat::Contiguous;
}

// oneDNN's calls cost microseconds, in which a small convolution is computed otherwise.
bool is_small(const dnn::Convolution& shape) {
  return static_cast<double>(shape.batch) * static_cast<double>(shape.weights_count()) *
             static_cast<double>(shape.output_size()) <
         (1 << 15);
}

// What oneDNN calls the type, if it is to compute this convolution.
std::optional<dnn::DataType> onednn_type(DType dtype, const dnn::Convolution& shape) {
  switch (dtype) {
    case DType::Float:
      return is_small(shape) ? std::nullopt : std::optional(dnn::DataType::f32);
    case DType::Half:
      return dnn::DataType::f16;
    case DType::BFloat16:
      return dnn::DataType::bf16;
    default:
      return std::nullopt;
  }
}

// An operand in one of the layouts that the kernels read.
struct Operand {
  explicit Operand(const Tensor& t, bool may_be_channels_last)
      : tensor(t.is_contiguous() || (may_be_channels_last && is_channels_last(t)) ? t : contiguous(t)) {}
  dnn::Input get() const {
    return {tensor.bytes(), tensor.is_contiguous() ? dnn::Layout::contiguous : dnn::Layout::channels_last};
  }
  Tensor tensor;
};

dnn::Output output_of(const Tensor& t) {
  return {t.bytes(), t.is_contiguous() ? dnn::Layout::contiguous : dnn::Layout::channels_last};
}

// The plain convolution between `source` and `destination`, of which a transposed one is the reverse.
dnn::Convolution shape_of(const Tensor& source, IntList weight_sizes, const ConvolutionOptions& o) {
  dnn::Convolution shape;
  shape.dims = static_cast<int>(source.dim()) - 2;
  shape.batch = source.size(0);
  shape.in_channels = source.size(1);
  shape.out_channels = weight_sizes[0];
  shape.groups = o.groups;
  for (int i = 0; i < shape.dims; i++) {
    shape.input[i] = source.size(2 + i);
    shape.kernel[i] = weight_sizes[2 + i];
    shape.stride[i] = o.stride[i];
    shape.padding[i] = o.padding[i];
    shape.dilation[i] = o.dilation[i];
  }
  return shape;
}

// Calls f<T>() with the element type of the matrix-product kernels.
template <class F>
void visit_product_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::Float:
      return f.template operator()<float>();
    case DType::Double:
      return f.template operator()<double>();
    case DType::ComplexFloat:
      return f.template operator()<std::complex<float>>();
    case DType::ComplexDouble:
      return f.template operator()<std::complex<double>>();
    case DType::Int8:
      return f.template operator()<int8_t>();
    case DType::Int16:
      return f.template operator()<int16_t>();
    case DType::Int32:
      return f.template operator()<int32_t>();
    case DType::Int64:
      return f.template operator()<int64_t>();
    case DType::UInt8:
      return f.template operator()<uint8_t>();
    default:
      fail(ErrorKind::NotImplemented, "convolution isn't implemented for ", info(dtype).name);
  }
}

// ---- checks

Dims one_for_each_dimension(IntList given, int64_t dims, const char* what) {
  FL_CHECK(given.size() == 1 || static_cast<int64_t>(given.size()) == dims, kName, ": ", what,
           " must be one number or ", dims, ", got ", shape_text(given));
  return given.size() == 1 ? Dims(static_cast<size_t>(dims), given[0]) : Dims(given);
}

void check_operands(const Tensor& input, const Tensor& weight, const Tensor& bias, const ConvolutionOptions& o) {
  int64_t n = weight.dim(), dims = n - 2;
  FL_CHECK(input.dim() == n, kName, ": input must have ", n, " dimensions like the weight ", shape_text(weight.sizes()),
           ", got ", shape_text(input.sizes()));
  FL_CHECK(input.dtype() == weight.dtype(), kName, ": input (", info(input.dtype()).name, ") and weight (",
           info(weight.dtype()).name, ") must have the same type");
  FL_CHECK(!bias.defined() || bias.dtype() == input.dtype(), kName, ": input (", info(input.dtype()).name,
           ") and bias (", bias ? info(bias.dtype()).name : "", ") must have the same type");
  FL_CHECK(o.groups > 0, kName, ": groups must be positive, got ", o.groups);
  for (int64_t i = 0; i < dims; i++) {
    FL_CHECK(o.stride[i] > 0, kName, ": stride must be positive, got ", shape_text(o.stride));
    FL_CHECK(o.padding[i] >= 0, kName, ": padding must not be negative, got ", shape_text(o.padding));
    FL_CHECK(o.dilation[i] > 0, kName, ": dilation must be positive, got ", shape_text(o.dilation));
    FL_CHECK(weight.size(2 + i) > 0, kName, ": the kernel must not be empty, got weight ", shape_text(weight.sizes()));
  }
  int64_t channels = input.size(1);
  int64_t outputs = o.transposed ? weight.size(1) * o.groups : weight.size(0);
  FL_CHECK(weight.size(0) % o.groups == 0 && weight.size(0) >= o.groups, kName, ": the first size of weight ",
           shape_text(weight.sizes()), " must be divisible by groups, ", o.groups);
  int64_t expected = o.transposed ? weight.size(0) : weight.size(1) * o.groups;
  FL_CHECK(channels == expected, kName, ": with groups=", o.groups, " and weight ", shape_text(weight.sizes()),
           ", input must have ", expected, " channels, got ", channels, " (input ", shape_text(input.sizes()), ")");
  FL_CHECK(!bias.defined() || (bias.dim() == 1 && bias.size(0) == outputs), kName, ": bias must have ", outputs,
           " elements, got ", bias ? shape_text(bias.sizes()) : "");
  if (!o.transposed) {
    for (int64_t i = 0; i < dims; i++) {
      int64_t padded = input.size(2 + i) + 2 * o.padding[i], kernel = o.dilation[i] * (weight.size(2 + i) - 1) + 1;
      FL_CHECK(padded >= kernel, kName, ": the kernel (", kernel,
               " with its dilation) is larger than the padded input (", padded, ") in spatial dimension ", i,
               ": input ", shape_text(input.sizes()), ", weight ", shape_text(weight.sizes()));
    }
    return;
  }
  for (int64_t i = 0; i < dims; i++) {
    FL_CHECK(o.output_padding[i] >= 0, kName, ": output_padding must not be negative, got ",
             shape_text(o.output_padding));
    FL_CHECK(o.output_padding[i] < std::max(o.stride[i], o.dilation[i]), kName, ": output_padding ",
             shape_text(o.output_padding), " must be smaller than stride or dilation, ", shape_text(o.stride), " and ",
             shape_text(o.dilation));
  }
}

Dims output_sizes(const Tensor& input, const Tensor& weight, const ConvolutionOptions& o) {
  Dims sizes{input.size(0), o.transposed ? weight.size(1) * o.groups : weight.size(0)};
  for (int64_t i = 0; i < weight.dim() - 2; i++) {
    int64_t in = input.size(2 + i), reach = o.dilation[i] * (weight.size(2 + i) - 1);
    int64_t out = o.transposed ? (in - 1) * o.stride[i] - 2 * o.padding[i] + reach + o.output_padding[i] + 1
                               : (in + 2 * o.padding[i] - reach - 1) / o.stride[i] + 1;
    FL_CHECK(out >= 0 && (out > 0 || input.numel() == 0), kName, ": the result would have size ", out,
             " in spatial dimension ", i, ": input ", shape_text(input.sizes()), ", weight ",
             shape_text(weight.sizes()));
    sizes.push_back(out);
  }
  return sizes;
}

// ---- kernels

void add_bias(const Tensor& result, const Tensor& bias) {
  Dims sizes(static_cast<size_t>(result.dim()), 1);
  sizes[1] = bias.numel();
  static const Op add("add");
  add.in_place(result, reshape(bias, sizes));
}

void forward(const Tensor& input, const Tensor& weight, const Tensor& bias, const ConvolutionOptions& o,
             const Tensor& result) {
  const Tensor flat_bias = bias ? contiguous(bias) : Tensor();
  const dnn::Convolution shape = shape_of(o.transposed ? result : input, weight.sizes(), o);
  if (auto type = onednn_type(input.dtype(), shape)) {
    const Operand from(input, true), kernel(weight, true);
    if (o.transposed) {
      dnn::convolution_backward_data(shape, *type, from.get(), kernel.get(), output_of(result));
      if (bias) add_bias(result, bias);
    } else {
      dnn::convolution(shape, *type, from.get(), kernel.get(), flat_bias ? flat_bias.bytes() : nullptr,
                       output_of(result));
    }
    return;
  }
  const Tensor from = contiguous(input), kernel = contiguous(weight);
  const Tensor to = result.is_contiguous() ? result : empty(result.sizes(), result.dtype());
  visit_product_type(input.dtype(), [&]<class T>() {
    if (o.transposed)
      dnn::im2col_backward_data<T>(shape, from.data<T>(), kernel.data<T>(), to.data<T>());
    else
      dnn::im2col_convolution<T>(shape, from.data<T>(), kernel.data<T>(), flat_bias ? flat_bias.data<T>() : nullptr,
                                 to.data<T>());
  });
  if (o.transposed && bias) add_bias(to, bias);
  if (!to.is(result)) raw_copy(result, to);
}

Tensor narrowed_to(Tensor t, IntList sizes) {
  for (int64_t d = 0; d < t.dim(); d++)
    if (t.size(d) != sizes[d]) t = narrow(t, d, 0, sizes[d]);
  return t;
}

// The input of a transposed convolution with zeros behind it, as many as the result has room for: an output padding of
// a stride or more makes some.
Tensor extended_input(const Tensor& input, IntList weight_sizes, const ConvolutionOptions& o, IntList result_sizes) {
  Dims sizes(input.sizes());
  for (size_t i = 0; i < o.stride.size(); i++)
    sizes[2 + i] =
        (result_sizes[2 + i] + 2 * o.padding[i] - o.dilation[i] * (weight_sizes[2 + i] - 1) - 1) / o.stride[i] + 1;
  if (equal(sizes, input.sizes())) return input;
  Tensor r = zeros(sizes, input.dtype());
  raw_copy(narrowed_to(r, input.sizes()), input);
  return r;
}

Tensor convolution(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList given_stride,
                   IntList given_padding, IntList given_dilation, bool transposed, IntList given_output_padding,
                   int64_t groups) {
  int64_t dims = weight.dim() - 2;
  FL_CHECK(dims >= 1 && dims <= 3, kName, ": weight must have 3 to 5 dimensions, got ", shape_text(weight.sizes()));
  Dims stride = one_for_each_dimension(given_stride, dims, "stride"),
       padding = one_for_each_dimension(given_padding, dims, "padding");
  Dims dilation = one_for_each_dimension(given_dilation, dims, "dilation"),
       output_padding = one_for_each_dimension(given_output_padding, dims, "output_padding");
  ConvolutionOptions o{stride, padding, dilation, transposed, output_padding, groups};
  check_operands(input, weight, bias, o);
  MemoryFormat format = is_channels_last(input) || is_channels_last(weight) ? channels_last_format(input.dim())
                                                                            : MemoryFormat::Contiguous;
  Tensor result = empty(output_sizes(input, weight, o), input.dtype(), input.device(), format);
  if (result.is_meta() || result.numel() == 0) return result;
  if (input.numel() == 0) {  // no input channels
    raw_fill(result, Scalar(0));
    if (bias) add_bias(result, bias);
  } else {
    forward(transposed ? extended_input(input, weight.sizes(), o, result.sizes()) : input, weight, bias, o, result);
  }
  return result;
}

// The gradient for a weight of the given sizes. Linear in both operands.
Tensor weight_gradient(const Tensor& input, const Tensor& gradient, IntList weight_sizes, IntList stride,
                       IntList padding, IntList dilation, bool transposed, IntList output_padding, int64_t groups) {
  Tensor result = empty(weight_sizes, input.dtype(), input.device());
  if (result.is_meta()) return result;
  const ConvolutionOptions o{stride, padding, dilation, transposed, output_padding, groups};
  const Tensor& source = transposed ? gradient : input;
  const Tensor destination = transposed && input.numel() ? extended_input(input, weight_sizes, o, gradient.sizes())
                             : transposed                ? input
                                                         : gradient;
  if (source.numel() == 0 || destination.numel() == 0) {
    raw_fill(result, Scalar(0));
    return result;
  }
  const dnn::Convolution shape = shape_of(source, weight_sizes, o);
  if (auto type = onednn_type(input.dtype(), shape)) {
    const Operand from(source, true), to(destination, true);
    dnn::convolution_backward_weights(shape, *type, from.get(), to.get(), output_of(result), nullptr);
    return result;
  }
  const Tensor from = contiguous(source), to = contiguous(destination);
  visit_product_type(input.dtype(), [&]<class T>() {
    dnn::im2col_backward_weights<T>(shape, from.data<T>(), to.data<T>(), result.data<T>(), nullptr);
  });
  return result;
}

// ---- derivatives

// The gradient for the input of a convolution: the reverse convolution, cut or padded to the input's size.
Tensor input_gradient(const Tensor& gradient, const Tensor& weight, IntList input_sizes, const ConvolutionOptions& o) {
  size_t dims = input_sizes.size() - 2;
  Dims output_padding(dims);
  if (o.transposed) {
    Tensor g = convolve(gradient, weight, {}, {o.stride, o.padding, o.dilation, false, output_padding, o.groups});
    return narrowed_to(g, input_sizes);
  }
  for (size_t i = 0; i < dims; i++)
    output_padding[i] = input_sizes[2 + i] - ((gradient.sizes()[2 + i] - 1) * o.stride[i] - 2 * o.padding[i] +
                                              o.dilation[i] * (weight.sizes()[2 + i] - 1) + 1);
  return convolve(gradient, weight, {}, {o.stride, o.padding, o.dilation, true, output_padding, o.groups});
}

struct SavedOptions {
  SavedOptions(Vjp& v, int first, int64_t dims)
      : stride(spread(v.ints(first), dims)),
        padding(spread(v.ints(first + 1), dims)),
        dilation(spread(v.ints(first + 2), dims)),
        transposed(v.flag(first + 3)),
        output_padding(spread(v.ints(first + 4), dims)),
        groups(v.integer(first + 5)) {}
  static Dims spread(IntList given, int64_t dims) {
    return given.size() == 1 ? Dims(static_cast<size_t>(dims), given[0]) : Dims(given);
  }
  ConvolutionOptions get() const { return {stride, padding, dilation, transposed, output_padding, groups}; }
  ConvolutionOptions reversed() const { return {stride, padding, dilation, !transposed, output_padding, groups}; }
  Dims stride, padding, dilation;
  bool transposed;
  Dims output_padding;
  int64_t groups;
};

void convolution_vjp(Vjp& v) {
  const Tensor g = v.grad();
  const SavedOptions saved(v, 3, g.dim() - 2);
  static const Op weight_op("_C._convolution_weight_gradient");
  if (v.needs(0)) v.set(0, input_gradient(g, conj(v.input(1)), v.sizes(0), saved.get()));
  if (v.needs(1)) {
    const ConvolutionOptions o = saved.get();
    v.set(1, weight_op(conj(v.input(0)), g, v.sizes(1), o.stride, o.padding, o.dilation, o.transposed, o.output_padding,
                       o.groups));
  }
  if (v.needs(2)) {
    Dims dims{0};
    for (int64_t d = 2; d < g.dim(); d++) dims.push_back(d);
    v.set(2, sum(g, dims));
  }
}

void weight_gradient_vjp(Vjp& v) {
  const Tensor g = v.grad();
  const SavedOptions saved(v, 3, g.dim() - 2);
  if (v.needs(0)) v.set(0, input_gradient(conj(v.input(1)), g, v.sizes(0), saved.get()));
  if (v.needs(1)) v.set(1, convolve(conj(v.input(0)), g, {}, saved.get()));
}

const Declare ops([] {
  Define(
      "torch.convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, bool "
      "transposed, int[] output_padding, int groups) -> Tensor")
      .kernel<convolution>()
      .vjp("input weight", convolution_vjp)
      .doc("A plain or transposed convolution in one to three dimensions; see conv2d and conv_transpose2d.");
  Define(
      "_C._convolution_weight_gradient(Tensor input, Tensor gradient, int[] weight_size, int[] stride, int[] padding, "
      "int[] dilation, bool transposed, "
      "int[] output_padding, int groups) -> Tensor")
      .kernel<weight_gradient>()
      .node("ConvolutionBackwardBackward0")
      .vjp("input gradient", weight_gradient_vjp);
});

}  // namespace
}  // namespace fl
