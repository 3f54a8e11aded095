// Normalisation of groups of channels within each image: group_norm.
#include <cmath>

#include "base/threads.h"
#include "ops/nn/norm.h"

namespace fl {
namespace {

struct Groups {
  Groups(const Tensor& t, int64_t groups)
      : batch(t.size(0)), channels(t.size(1)), groups(groups), each(channels / groups) {
    for (int64_t d = 2; d < t.dim(); d++) pixels *= t.size(d);
    grain = std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(1, each * pixels));
  }
  int64_t batch, channels, groups;
  int64_t each;  // channels of a group
  int64_t pixels = 1, grain = 1;
};

std::tuple<Tensor, Tensor, Tensor> group_norm_kernel(const Tensor& input, int64_t num_groups, const Tensor& weight,
                                                     const Tensor& bias, double eps) {
  const DType type = compute_type(input.dtype());
  const Groups s(input, num_groups);
  const Dims group_sizes{s.batch, s.groups};
  if (input.is_meta())
    return {empty_like(input), empty(group_sizes, type, input.device()), empty(group_sizes, type, input.device())};
  const Tensor x = contiguous(converted(input, type)), y = empty(x.sizes(), type);
  const NormKernels& k = norm_kernels_for(type);
  const std::vector<double> w = as_doubles(weight, s.channels, 1), b = as_doubles(bias, s.channels, 0);
  std::vector<double> mean(static_cast<size_t>(s.batch * s.groups)), scale(mean.size());
  const int64_t plane = s.pixels * x.item_size();
  parallel_for(0, s.batch * s.groups, s.grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      const char* from = x.bytes() + i * s.each * plane;
      char* to = y.bytes() + i * s.each * plane;
      double squares;
      k.moments(from, s.each * s.pixels, &mean[i], &squares);
      scale[i] = 1 / std::sqrt(squares / static_cast<double>(s.each * s.pixels) + eps);
      for (int64_t j = 0; j < s.each; j++) {
        const int64_t c = i % s.groups * s.each + j;
        k.affine(from + j * plane, to + j * plane, s.pixels, mean[i], scale[i] * w[c], b[c]);
      }
    }
  });
  return {laid_out_as(dense_planes(input), converted(y, input.dtype())), from_doubles(mean, group_sizes, type),
          from_doubles(scale, group_sizes, type)};
}

NormGradients gradients(const Tensor& gradient, const Tensor& input, int64_t num_groups, const Tensor& weight,
                        const Tensor& saved_mean, const Tensor& saved_scale, bool need_input) {
  const DType type = compute_type(input.dtype());
  const Groups s(input, num_groups);
  const Tensor x = contiguous(converted(input, type)), g = contiguous(converted(gradient, type));
  const NormKernels& k = norm_kernels_for(type);
  const int64_t planes = s.batch * s.channels, bytes = s.pixels * x.item_size();
  const double n = static_cast<double>(s.each * s.pixels);
  const std::vector<double> w = as_doubles(weight, s.channels, 1), mean = as_doubles(saved_mean, s.batch * s.groups, 0),
                            scale = as_doubles(saved_scale, s.batch * s.groups, 0);
  std::vector<double> sums(static_cast<size_t>(planes)), products(sums.size());
  NormGradients r;
  const Tensor dx = need_input ? empty(x.sizes(), type) : Tensor();
  parallel_for(0, s.batch * s.groups, s.grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      double sum = 0, product = 0;
      for (int64_t j = 0; j < s.each; j++) {
        const int64_t p = i * s.each + j;
        k.gradient_sums(g.bytes() + p * bytes, x.bytes() + p * bytes, s.pixels, mean[i], &sums[p], &products[p]);
        sum += sums[p] * w[p % s.channels];
        product += products[p] * w[p % s.channels];
      }
      if (!need_input) continue;
      const double slope = -scale[i] * scale[i] * scale[i] * product / n, shift = -scale[i] * sum / n;
      for (int64_t p = i * s.each; p < (i + 1) * s.each; p++)
        k.gradient(g.bytes() + p * bytes, x.bytes() + p * bytes, dx.bytes() + p * bytes, s.pixels, mean[i],
                   scale[i] * w[p % s.channels], slope, shift);
    }
  });
  if (need_input) r.input = laid_out_as(dense_planes(input), converted(dx, input.dtype()));
  std::vector<double> dw(static_cast<size_t>(s.channels)), db(dw.size());
  for (int64_t p = 0; p < planes; p++) {
    dw[p % s.channels] += products[p] * scale[p / s.each];
    db[p % s.channels] += sums[p];
  }
  r.weight = from_doubles(dw, Dims{s.channels}, type);
  r.bias = from_doubles(db, Dims{s.channels}, type);
  return r;
}

NormGradients gradients_in_ops(const Tensor& g, const Tensor& x, int64_t num_groups, const Tensor& w, double eps) {
  const Groups s(x, num_groups);
  const Dims split{s.batch, s.groups, s.each, s.pixels}, channels{1, s.groups, s.each, 1}, flat{s.channels};
  NormGradients r =
      norm_gradients(reshape(g, split), reshape(x, split), w ? reshape(w, channels) : w, Dims{2, 3}, eps, true);
  r.input = reshape(r.input, x.sizes());
  r.weight = reshape(sum(r.weight, Dims{0, 3}), flat);
  r.bias = reshape(sum(r.bias, Dims{0, 3}), flat);
  return r;
}

// What arrives by way of the mean and the reciprocal standard deviation, which are results too.
Tensor statistics_gradient(Vjp& v, const Tensor& x) {
  const Groups s(x, v.integer(1));
  const Dims groups{s.batch, s.groups, 1, 1};
  const Tensor mean = reshape(v.output(1), groups), scale = reshape(v.output(2), groups);
  const Tensor apart = reshape(x, Dims{s.batch, s.groups, s.each, s.pixels}) - mean;
  const Tensor g = reshape(v.grad(1), groups) - reshape(v.grad(2), groups) * scale * scale * scale * apart;
  return to_dtype(reshape(g / static_cast<double>(s.each * s.pixels), x.sizes()), x.dtype());
}

void group_norm_vjp(Vjp& v) {
  const Tensor g = v.grad(), x = v.input(0), w = v.is_tensor(2) ? v.input(2) : Tensor();
  NormGradients r = grad_enabled() || x.is_meta()
                        ? gradients_in_ops(g, x, v.integer(1), w, v.number(4))
                        : gradients(g, x, v.integer(1), w, v.output(1), v.output(2), v.needs(0));
  if (v.needs(0) && (v.has_grad(1) || v.has_grad(2))) r.input = r.input + statistics_gradient(v, x);
  if (v.needs(0)) v.set(0, r.input);
  if (v.needs(2)) v.set(2, to_dtype(r.weight, v.dtype(2)));
  if (v.needs(3)) v.set(3, to_dtype(r.bias, v.dtype(3)));
}

const Op group_norm_op("_C._group_norm");

void check(const Tensor& input, int64_t num_groups, const Tensor& weight, const Tensor& bias) {
  const char* op = "group_norm";
  check_norm_type(input, op);
  FL_CHECK(input.dim() >= 2, op, ": input must have at least 2 dimensions (batch, channels), got ",
           shape_text(input.sizes()));
  const int64_t channels = input.size(1);
  FL_CHECK(num_groups > 0, op, ": num_groups must be positive, got ", num_groups);
  FL_CHECK(channels % num_groups == 0, op, ": the number of channels, ", channels,
           ", must be divisible by num_groups, ", num_groups);
  FL_CHECK(!weight.defined() || (weight.dim() == 1 && weight.numel() == channels), op,
           ": weight must have one element for each of ", channels, " channels, got ",
           weight ? shape_text(weight.sizes()) : "");
  FL_CHECK(!bias.defined() || (bias.dim() == 1 && bias.numel() == channels), op,
           ": bias must have one element for each of ", channels, " channels, got ",
           bias ? shape_text(bias.sizes()) : "");
}

Tensor group_norm(const Tensor& input, int64_t num_groups, const Tensor& weight, const Tensor& bias, double eps, bool) {
  check(input, num_groups, weight, bias);
  return group_norm_op.list(input, num_groups, weight, bias, eps)[0];
}

Tensor nn_group_norm(const Tensor& input, int64_t num_groups, const Tensor& weight, const Tensor& bias, double eps) {
  check(input, num_groups, weight, bias);
  FL_CHECK(input.numel() != num_groups, ErrorKind::Value,
           "group_norm: training needs more than one value for each channel, got input ", shape_text(input.sizes()));
  return group_norm_op.list(input, num_groups, weight, bias, eps)[0];
}

std::tuple<Tensor, Tensor, Tensor> native_group_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                                                     int64_t, int64_t, int64_t, int64_t group, double eps) {
  check(input, group, weight, bias);
  std::vector<Tensor> r = group_norm_op.list(input, group, weight, bias, eps);
  return {r[0], to_dtype(r[1], input.dtype()), to_dtype(r[2], input.dtype())};
}

const Declare ops([] {
  Define(
      "_C._group_norm(Tensor input, int num_groups, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, "
      "Tensor)")
      .kernel<group_norm_kernel>()
      .node("NativeGroupNormBackward0")
      .vjp("input weight result1 result2", group_norm_vjp);
  const char* doc =
      "Normalises each of num_groups groups of channels (dimension 1) within each image; then scales by weight and "
      "adds bias, one for each channel.";
  Define(
      "nn.group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-5) -> Tensor")
      .composite<nn_group_norm>()
      .doc(doc);
  Define(
      "torch.group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-5, bool "
      "cudnn_enabled=True) -> Tensor")
      .composite<group_norm>()
      .doc(doc);
  Define(
      "torch.native_group_norm(Tensor input, Tensor? weight, Tensor? bias, int N, int C, int HxW, int group, float "
      "eps) -> (Tensor, Tensor, Tensor)")
      .composite<native_group_norm>()
      .doc("group_norm, with the mean and the reciprocal standard deviation.");
});

}  // namespace
}  // namespace fl
