// Normalisation over the last dimensions: layer_norm and rms_norm.
#include <cmath>
#include <limits>

#include "base/threads.h"
#include "ops/nn/norm.h"

namespace fl {
namespace {

// A matrix of rows to be normalised.
struct Rows {
  int64_t count, n;
  int64_t grain() const { return std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(1, n)); }
};

Rows rows_of(const Tensor& input, IntList shape) {
  int64_t n = 1;
  for (int64_t s : shape) n *= s;
  return {n ? input.numel() / n : 0, n};
}

void check_shapes(const Tensor& input, IntList shape, const Tensor& weight, const Tensor& bias, const char* op) {
  FL_CHECK(!shape.empty(), op, ": normalized_shape must have at least one dimension");
  const bool fits = input.dim() >= static_cast<int64_t>(shape.size()) &&
                    equal(shape, input.sizes().subspan(input.dim() - shape.size()));
  FL_CHECK(fits, op, ": input ", shape_text(input.sizes()), " doesn't end with normalized_shape ", shape_text(shape));
  FL_CHECK(!weight.defined() || equal(weight.sizes(), shape), op, ": weight must have the sizes ", shape_text(shape),
           ", got ", weight ? shape_text(weight.sizes()) : "");
  FL_CHECK(!bias.defined() || equal(bias.sizes(), shape), op, ": bias must have the sizes ", shape_text(shape),
           ", got ", bias ? shape_text(bias.sizes()) : "");
}

Dims statistics_sizes(const Tensor& input, IntList shape) {
  Dims sizes(input.sizes());
  for (size_t d = sizes.size() - shape.size(); d < sizes.size(); d++) sizes[d] = 1;
  return sizes;
}

Tensor parameter(const Tensor& t, DType type) { return t ? contiguous(converted(t, type)) : Tensor(); }
const void* bytes_of(const Tensor& t) { return t ? t.bytes() : nullptr; }

// `mean` and `scale` may be undefined where nobody needs them.
Tensor normalize_rows(const Tensor& input, IntList shape, const Tensor& weight, const Tensor& bias, double eps,
                      bool centred, const Tensor& mean, const Tensor& scale) {
  const DType type = compute_type(input.dtype());
  if (input.is_meta()) return empty(input.sizes(), input.dtype(), input.device());
  const Tensor x = contiguous(converted(input, type)), w = parameter(weight, type), b = parameter(bias, type);
  Tensor y = empty(input.sizes(), type);
  const Rows rows = rows_of(x, shape);
  const NormKernels& k = norm_kernels_for(type);
  const int64_t stride = rows.n * x.item_size();
  auto run = [&]<class T>() {
    parallel_for(0, rows.count, rows.grain(), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; r++) {
        double m = 0, s;
        if (centred)
          k.moments(x.bytes() + r * stride, rows.n, &m, &s);
        else
          s = k.squares(x.bytes() + r * stride, rows.n);
        const double a = 1 / std::sqrt(s / static_cast<double>(rows.n) + eps);
        k.row_affine(x.bytes() + r * stride, y.bytes() + r * stride, bytes_of(w), bytes_of(b), rows.n, m, a);
        if (mean) mean.data<T>()[r] = static_cast<T>(m);
        if (scale) scale.data<T>()[r] = static_cast<T>(a);
      }
    });
  };
  if (type == DType::Double)
    run.operator()<double>();
  else
    run.operator()<float>();
  return converted(y, input.dtype());
}

std::tuple<Tensor, Tensor, Tensor> layer_norm_kernel(const Tensor& input, IntList shape, const Tensor& weight,
                                                     const Tensor& bias, double eps) {
  const DType type = compute_type(input.dtype());
  const Dims sizes = statistics_sizes(input, shape);
  Tensor mean = empty(sizes, type, input.device()), scale = empty(sizes, type, input.device());
  Tensor y = normalize_rows(input, shape, weight, bias, eps, true, mean, scale);
  return {y, mean, scale};
}
std::tuple<Tensor, Tensor> rms_norm_kernel(const Tensor& input, IntList shape, const Tensor& weight, double eps) {
  Tensor scale = empty(statistics_sizes(input, shape), compute_type(input.dtype()), input.device());
  Tensor y = normalize_rows(input, shape, weight, {}, eps, false, {}, scale);
  return {y, scale};
}

// Sums over rows are added up chunk by chunk, the chunks in order.
NormGradients gradients(const Tensor& gradient, const Tensor& input, IntList shape, const Tensor& weight,
                        const Tensor& mean, const Tensor& scale, bool need_input, bool need_weight, bool need_bias) {
  const DType type = compute_type(input.dtype());
  const Tensor g = contiguous(converted(gradient, type)), x = contiguous(converted(input, type)),
               w = parameter(weight, type);
  const Rows rows = rows_of(x, shape);
  const NormKernels& k = norm_kernels_for(type);
  const int64_t chunk = std::max(rows.grain(), (rows.count + 63) / 64), chunks = (rows.count + chunk - 1) / chunk;
  const Dims part_sizes{chunks, rows.n};
  NormGradients r;
  Tensor weight_parts = need_weight ? zeros(part_sizes, type) : Tensor(),
         bias_parts = need_bias ? zeros(part_sizes, type) : Tensor();
  if (need_input) r.input = empty(x.sizes(), type);
  const int64_t stride = rows.n * x.item_size();
  auto run = [&]<class T>() {
    parallel_for(0, chunks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; c++) {
        for (int64_t row = c * chunk; row < std::min(rows.count, (c + 1) * chunk); row++) {
          k.row_gradient(g.bytes() + row * stride, x.bytes() + row * stride, bytes_of(w),
                         need_input ? r.input.bytes() + row * stride : nullptr,
                         need_weight ? weight_parts.bytes() + c * stride : nullptr,
                         need_bias ? bias_parts.bytes() + c * stride : nullptr, rows.n,
                         mean ? static_cast<double>(mean.data<T>()[row]) : 0, static_cast<double>(scale.data<T>()[row]),
                         mean.defined());
        }
      }
    });
  };
  if (type == DType::Double)
    run.operator()<double>();
  else
    run.operator()<float>();
  if (need_input) r.input = converted(r.input, input.dtype());
  auto add_up = [&](const Tensor& parts) {
    return chunks == 1 ? reshape(parts, shape) : reshape(sum(parts, Dims{0}), shape);
  };
  if (need_weight) r.weight = add_up(weight_parts);
  if (need_bias) r.bias = add_up(bias_parts);
  return r;
}

NormGradients gradients_in_ops(const Tensor& g, const Tensor& x, IntList shape, const Tensor& w, double eps,
                               bool centred) {
  Dims dims;
  for (int64_t d = x.dim() - static_cast<int64_t>(shape.size()); d < x.dim(); d++) dims.push_back(d);
  NormGradients r = norm_gradients(g, x, w, dims, eps, centred);
  r.weight = sum_to_size(r.weight, shape);
  r.bias = sum_to_size(r.bias, shape);
  return r;
}

void layer_norm_vjp(Vjp& v) {
  const Tensor w = v.is_tensor(2) ? v.input(2) : Tensor(), x = v.input(0), g = v.grad();
  NormGradients r = grad_enabled() || x.is_meta()
                        ? gradients_in_ops(g, x, v.ints(1), w, v.number(4), true)
                        : gradients(g, x, v.ints(1), w, v.output(1), v.output(2), v.needs(0), v.needs(2), v.needs(3));
  if (v.needs(0)) v.set(0, r.input);
  if (v.needs(2)) v.set(2, to_dtype(r.weight, v.dtype(2)));
  if (v.needs(3)) v.set(3, to_dtype(r.bias, v.dtype(3)));
}
void rms_norm_vjp(Vjp& v) {
  const Tensor w = v.is_tensor(2) ? v.input(2) : Tensor(), x = v.input(0), g = v.grad();
  NormGradients r = grad_enabled() || x.is_meta()
                        ? gradients_in_ops(g, x, v.ints(1), w, v.number(3), false)
                        : gradients(g, x, v.ints(1), w, {}, v.output(1), v.needs(0), v.needs(2), false);
  if (v.needs(0)) v.set(0, r.input);
  if (v.needs(2)) v.set(2, to_dtype(r.weight, v.dtype(2)));
}

const Op layer_norm_op("_C._layer_norm"), rms_norm_op("_C._rms_norm");

Tensor layer_norm(const Tensor& input, IntList shape, const Tensor& weight, const Tensor& bias, double eps) {
  check_norm_type(input, "layer_norm");
  check_shapes(input, shape, weight, bias, "layer_norm");
  if (!is_recording({input, weight, bias})) return normalize_rows(input, shape, weight, bias, eps, true, {}, {});
  return layer_norm_op.list(input, shape, weight, bias, eps)[0];
}
Tensor layer_norm_with_cudnn(const Tensor& input, IntList shape, const Tensor& weight, const Tensor& bias, double eps,
                             bool) {
  return layer_norm(input, shape, weight, bias, eps);
}

std::tuple<Tensor, Tensor, Tensor> native_layer_norm(const Tensor& input, IntList shape, const Tensor& weight,
                                                     const Tensor& bias, double eps) {
  check_norm_type(input, "native_layer_norm");
  check_shapes(input, shape, weight, bias, "native_layer_norm");
  std::vector<Tensor> r = layer_norm_op.list(input, shape, weight, bias, eps);
  const DType statistics = weight && weight.dtype() != input.dtype() ? weight.dtype() : input.dtype();
  return {r[0], to_dtype(r[1], statistics), to_dtype(r[2], statistics)};
}

double smallest_step(DType dtype) {
  switch (real_of(dtype)) {
    case DType::Half:
      return 0x1p-10;
    case DType::BFloat16:
      return 0x1p-7;
    case DType::Float:
      return std::numeric_limits<float>::epsilon();
    default:
      return std::numeric_limits<double>::epsilon();
  }
}

Tensor rms_norm(const Tensor& input, IntList shape, const Tensor& weight, std::optional<double> given_eps) {
  check_shapes(input, shape, weight, {}, "rms_norm");
  const double eps = given_eps.value_or(smallest_step(input.dtype()));
  if (input.is_complex()) {
    Dims dims;
    for (int64_t d = input.dim() - static_cast<int64_t>(shape.size()); d < input.dim(); d++) dims.push_back(d);
    double n = 1;
    for (int64_t s : shape) n *= static_cast<double>(s);
    Tensor y = input * rsqrt(sum(input * input, dims, true) / n + eps);
    return weight ? y * weight : y;
  }
  check_norm_type(input, "rms_norm");
  if (!is_recording({input, weight})) return normalize_rows(input, shape, weight, {}, eps, false, {}, {});
  return rms_norm_op.list(input, shape, weight, eps)[0];
}

const Declare ops([] {
  Define(
      "_C._layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, "
      "Tensor, Tensor)")
      .kernel<layer_norm_kernel>()
      .constant_outputs(6)
      .node("NativeLayerNormBackward0")
      .vjp("input weight result1 result2", layer_norm_vjp);
  Define("_C._rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float eps) -> (Tensor, Tensor)")
      .kernel<rms_norm_kernel>()
      .constant_outputs(2)
      .node("FusedRmsNormBackward0")
      .vjp("input weight result1", rms_norm_vjp);

  const char* layer_doc =
      "Normalises over the last dimensions, normalized_shape, to mean 0 and variance 1; then scales by weight and adds "
      "bias.";
  Define(
      "nn.layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-5) -> "
      "Tensor")
      .composite<layer_norm>()
      .doc(layer_doc);
  Define(
      "torch.layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-5, "
      "bool cudnn_enable=True) -> Tensor")
      .composite<layer_norm_with_cudnn>()
      .doc(layer_doc);
  Define(
      "torch.native_layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> "
      "(Tensor, Tensor, Tensor)")
      .composite<native_layer_norm>()
      .doc("layer_norm, with the mean and the reciprocal standard deviation.");
  const char* rms_doc =
      "Divides by the root of the mean square over the last dimensions, normalized_shape; then scales by weight. eps "
      "defaults to the type's.";
  Define("nn.rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor")
      .composite<rms_norm>()
      .doc(rms_doc);
  Define("torch.rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor")
      .composite<rms_norm>()
      .doc(rms_doc);
});

}  // namespace
}  // namespace fl
