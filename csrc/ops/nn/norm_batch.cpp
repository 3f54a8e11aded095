// Normalisation of channels over the batch: batch_norm, and instance_norm, which is the same on a batch of one.
//
// Two ways through memory: planes, each of one channel; and rows of all channels (two dimensions, or channels last),
// where vectors run along the channels. Either way sums are cut by shape alone and added in order.
#include <cmath>

#include "base/threads.h"
#include "ops/nn/norm.h"

namespace fl {
namespace {

struct Channels {
  explicit Channels(const Tensor& t)
      : count(t.size(1)), batch(t.size(0)), by_rows(t.dim() == 2 || is_channels_last(t)) {
    for (int64_t d = 2; d < t.dim(); d++) pixels *= t.size(d);
    rows = batch * pixels;
    row_chunk = std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(1, count));
    row_chunks = (rows + row_chunk - 1) / row_chunk;
    plane_grain = std::max<int64_t>(1, (1 << 15) / std::max<int64_t>(1, rows));
  }
  int64_t count, batch, pixels = 1;
  int64_t rows;  // values of a channel
  bool by_rows;
  int64_t row_chunk, row_chunks, plane_grain;
};

// Adds up what f(first row, rows, sums) leaves in `outputs` arrays of a value per channel, for all chunks of rows.
template <class T, class F>
std::vector<std::vector<double>> sums_over_rows(const Channels& c, int outputs, F f) {
  std::vector<T> parts(static_cast<size_t>(c.row_chunks * outputs * c.count));
  parallel_for(0, c.row_chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; k++)
      f(k * c.row_chunk, std::min(c.row_chunk, c.rows - k * c.row_chunk), parts.data() + k * outputs * c.count);
  });
  std::vector<std::vector<double>> sums(static_cast<size_t>(outputs),
                                        std::vector<double>(static_cast<size_t>(c.count)));
  for (int64_t k = 0; k < c.row_chunks; k++)
    for (int o = 0; o < outputs; o++)
      for (int64_t i = 0; i < c.count; i++) sums[o][i] += static_cast<double>(parts[(k * outputs + o) * c.count + i]);
  return sums;
}

template <class T>
std::vector<T> narrowed(const std::vector<double>& values) {
  return std::vector<T>(values.begin(), values.end());
}

struct Moments {
  std::vector<double> mean, squares;  // squares: summed distances from the mean
};

template <class T>
Moments moments(const Tensor& x, const Channels& c, const NormKernels& k) {
  const T* data = x.data<T>();
  if (c.by_rows) {
    Moments m;
    m.mean = sums_over_rows<T>(
        c, 1, [&](int64_t row, int64_t rows, T* sums) { k.column_sums(data + row * c.count, rows, c.count, sums); })[0];
    for (double& v : m.mean) v /= static_cast<double>(c.rows);
    const std::vector<T> mean = narrowed<T>(m.mean);
    m.squares = sums_over_rows<T>(c, 1, [&](int64_t row, int64_t rows, T* sums) {
      k.column_squares(data + row * c.count, rows, c.count, mean.data(), sums);
    })[0];
    return m;
  }
  Moments m{std::vector<double>(static_cast<size_t>(c.count)), std::vector<double>(static_cast<size_t>(c.count))};
  parallel_for(0, c.count, c.plane_grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      double mean = 0, squares = 0;
      for (int64_t n = 0; n < c.batch; n++) {
        double plane_mean, plane_squares;
        k.moments(data + (n * c.count + i) * c.pixels, c.pixels, &plane_mean, &plane_squares);
        const double apart = plane_mean - mean, share = 1.0 / static_cast<double>(n + 1);
        mean += apart * share;
        squares += plane_squares + apart * apart * static_cast<double>(n) * share * static_cast<double>(c.pixels);
      }
      m.mean[i] = mean;
      m.squares[i] = squares;
    }
  });
  return m;
}

template <class T>
void apply(const Tensor& x, const Tensor& y, const Channels& c, const NormKernels& k, const std::vector<double>& mean,
           const std::vector<double>& scale, const std::vector<double>& shift) {
  const T* from = x.data<T>();
  T* to = y.data<T>();
  if (c.by_rows) {
    const std::vector<T> m = narrowed<T>(mean), a = narrowed<T>(scale), b = narrowed<T>(shift);
    parallel_for(0, c.rows, c.row_chunk, [&](int64_t begin, int64_t end) {
      k.column_affine(from + begin * c.count, to + begin * c.count, end - begin, c.count, m.data(), a.data(), b.data());
    });
    return;
  }
  parallel_for(0, c.batch * c.count, std::max<int64_t>(1, (1 << 15) / std::max<int64_t>(1, c.pixels)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t p = begin; p < end; p++) {
                   const int64_t i = p % c.count;
                   k.affine(from + p * c.pixels, to + p * c.pixels, c.pixels, mean[i], scale[i], shift[i]);
                 }
               });
}

// running = (1 - momentum) * running + momentum * seen. PyTorch counts this as no change for autograd, so nor do we.
void update(const Tensor& running, const std::vector<double>& seen, double momentum) {
  if (!running.defined()) return;
  std::vector<double> values = as_doubles(running, running.numel(), 0);
  for (size_t i = 0; i < values.size(); i++) values[i] = (1 - momentum) * values[i] + momentum * seen[i];
  raw_copy(running, from_doubles(values, running.sizes(), DType::Double));
  running->storage->writes++;
}

std::tuple<Tensor, Tensor, Tensor> batch_norm_kernel(const Tensor& input, const Tensor& weight, const Tensor& bias,
                                                     const Tensor& running_mean, const Tensor& running_var,
                                                     bool training, double momentum, double eps) {
  const DType type = compute_type(input.dtype());
  const Dims channel_sizes{input.size(1)};
  if (input.is_meta())
    return {empty_like(input), empty(channel_sizes, type, input.device()), empty(channel_sizes, type, input.device())};
  const Tensor x = dense_planes(converted(input, type));
  const Channels c(x);
  const NormKernels& k = norm_kernels_for(type);
  Tensor y = empty_as_laid_out(x, x.sizes(), type);
  std::vector<double> mean, scale(static_cast<size_t>(c.count));
  if (training) {
    Moments m = type == DType::Double ? moments<double>(x, c, k) : moments<float>(x, c, k);
    mean = m.mean;
    const double n = static_cast<double>(c.rows);
    for (int64_t i = 0; i < c.count; i++) scale[i] = 1 / std::sqrt(m.squares[i] / n + eps);
    if (c.rows > 0) {
      for (double& s : m.squares) s /= n - 1;
      update(running_mean, m.mean, momentum);
      update(running_var, m.squares, momentum);
    }
  } else {
    mean = as_doubles(running_mean, c.count, 0);
    scale = as_doubles(running_var, c.count, 1);
    for (double& s : scale) s = 1 / std::sqrt(s + eps);
  }
  std::vector<double> factor = as_doubles(weight, c.count, 1);
  for (int64_t i = 0; i < c.count; i++) factor[i] *= scale[i];
  if (x.numel() > 0) {
    if (type == DType::Double)
      apply<double>(x, y, c, k, mean, factor, as_doubles(bias, c.count, 0));
    else
      apply<float>(x, y, c, k, mean, factor, as_doubles(bias, c.count, 0));
  }
  return {converted(y, input.dtype()), from_doubles(mean, channel_sizes, type),
          from_doubles(scale, channel_sizes, type)};
}

// ---- derivatives

struct GradientSums {
  std::vector<double> gradient, product;  // of g, and of g times the distance from the mean
};

template <class T>
GradientSums gradient_sums(const Tensor& g, const Tensor& x, const Channels& c, const NormKernels& k,
                           const std::vector<double>& mean) {
  const T *gradient = g.data<T>(), *data = x.data<T>();
  if (c.by_rows) {
    const std::vector<T> m = narrowed<T>(mean);
    auto sums = sums_over_rows<T>(c, 2, [&](int64_t row, int64_t rows, T* s) {
      k.column_gradient_sums(gradient + row * c.count, data + row * c.count, rows, c.count, m.data(), s, s + c.count);
    });
    return {sums[0], sums[1]};
  }
  GradientSums r{std::vector<double>(static_cast<size_t>(c.count)), std::vector<double>(static_cast<size_t>(c.count))};
  parallel_for(0, c.count, c.plane_grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++)
      for (int64_t n = 0; n < c.batch; n++) {
        double s, p;
        const int64_t at = (n * c.count + i) * c.pixels;
        k.gradient_sums(gradient + at, data + at, c.pixels, mean[i], &s, &p);
        r.gradient[i] += s;
        r.product[i] += p;
      }
  });
  return r;
}

template <class T>
void apply_gradient(const Tensor& g, const Tensor& x, const Tensor& dx, const Channels& c, const NormKernels& k,
                    const std::vector<double>& mean, const std::vector<double>& scale, const std::vector<double>& slope,
                    const std::vector<double>& shift) {
  const T *gradient = g.data<T>(), *data = x.data<T>();
  T* to = dx.data<T>();
  if (c.by_rows) {
    const std::vector<T> m = narrowed<T>(mean), a = narrowed<T>(scale), s = narrowed<T>(slope), b = narrowed<T>(shift);
    parallel_for(0, c.rows, c.row_chunk, [&](int64_t begin, int64_t end) {
      const int64_t at = begin * c.count;
      k.column_gradient(gradient + at, data + at, to + at, end - begin, c.count, m.data(), a.data(), s.data(),
                        b.data());
    });
    return;
  }
  parallel_for(0, c.batch * c.count, std::max<int64_t>(1, (1 << 15) / std::max<int64_t>(1, c.pixels)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t p = begin; p < end; p++) {
                   const int64_t i = p % c.count, at = p * c.pixels;
                   k.gradient(gradient + at, data + at, to + at, c.pixels, mean[i], scale[i], slope[i], shift[i]);
                 }
               });
}

NormGradients gradients(const Tensor& given, const Tensor& input, const Tensor& weight, const Tensor& saved_mean,
                        const Tensor& saved_scale, bool training, bool need_input) {
  const DType type = compute_type(input.dtype());
  const Tensor x = dense_planes(converted(input, type)), g = laid_out_as(x, converted(given, type));
  const Channels c(x);
  const NormKernels& k = norm_kernels_for(type);
  const std::vector<double> mean = as_doubles(saved_mean, c.count, 0), scale = as_doubles(saved_scale, c.count, 0);
  GradientSums sums =
      type == DType::Double ? gradient_sums<double>(g, x, c, k, mean) : gradient_sums<float>(g, x, c, k, mean);
  NormGradients r;
  if (need_input) {
    std::vector<double> factor = as_doubles(weight, c.count, 1), slope(factor.size()), shift(factor.size());
    for (size_t i = 0; i < factor.size(); i++) {
      factor[i] *= scale[i];
      if (!training) continue;
      slope[i] = -factor[i] * scale[i] * scale[i] * sums.product[i] / static_cast<double>(c.rows);
      shift[i] = -factor[i] * sums.gradient[i] / static_cast<double>(c.rows);
    }
    Tensor dx = empty_as_laid_out(x, x.sizes(), type);
    if (x.numel() > 0) {
      if (type == DType::Double)
        apply_gradient<double>(g, x, dx, c, k, mean, factor, slope, shift);
      else
        apply_gradient<float>(g, x, dx, c, k, mean, factor, slope, shift);
    }
    r.input = converted(dx, input.dtype());
  }
  for (size_t i = 0; i < scale.size(); i++) sums.product[i] *= scale[i];
  r.weight = from_doubles(sums.product, Dims{c.count}, type);
  r.bias = from_doubles(sums.gradient, Dims{c.count}, type);
  return r;
}

NormGradients gradients_in_ops(Vjp& v, const Tensor& g, const Tensor& x, const Tensor& w) {
  Dims channel(static_cast<size_t>(x.dim()), 1), dims{0};
  channel[1] = x.size(1);
  for (int64_t d = 2; d < x.dim(); d++) dims.push_back(d);
  const Tensor weight = w ? reshape(w, channel) : Tensor();
  NormGradients r;
  if (v.flag(5)) {
    r = norm_gradients(g, x, weight, dims, v.number(7), true);
  } else {
    const Tensor scale = reshape(v.output(2), channel), apart = x - reshape(v.output(1), channel);
    r = {to_dtype((weight ? g * weight : g) * scale, x.dtype()), g * apart * scale, g};
  }
  r.weight = sum(r.weight, dims);
  r.bias = sum(r.bias, dims);
  return r;
}

void batch_norm_vjp(Vjp& v) {
  const Tensor g = v.grad(), x = v.input(0), w = v.is_tensor(1) ? v.input(1) : Tensor();
  NormGradients r = grad_enabled() || x.is_meta() ? gradients_in_ops(v, g, x, w)
                                                  : gradients(g, x, w, v.output(1), v.output(2), v.flag(5), v.needs(0));
  if (v.needs(0)) v.set(0, r.input);
  if (v.needs(1)) v.set(1, to_dtype(r.weight, v.dtype(1)));
  if (v.needs(2)) v.set(2, to_dtype(r.bias, v.dtype(2)));
}

// ---- public forms

void check(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
           const Tensor& running_var, bool training, const char* op) {
  check_norm_type(input, op);
  FL_CHECK(input.dim() >= 2, op, ": input must have at least 2 dimensions (batch, channels), got ",
           shape_text(input.sizes()));
  const int64_t channels = input.size(1);
  auto check_one = [&](const Tensor& t, const char* what) {
    FL_CHECK(!t.defined() || (t.dim() == 1 && t.size(0) == channels), op, ": ", what,
             " must have one element for each of ", channels, " channels, got ", t ? shape_text(t.sizes()) : "");
  };
  check_one(weight, "weight");
  check_one(bias, "bias");
  check_one(running_mean, "running_mean");
  check_one(running_var, "running_var");
  FL_CHECK(training || (running_mean && running_var), op,
           ": running_mean and running_var are needed when training=False");
}

const Op batch_norm_op("_C._batch_norm");

Tensor batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                  const Tensor& running_var, bool training, double momentum, double eps, bool) {
  check(input, weight, bias, running_mean, running_var, training, "batch_norm");
  return batch_norm_op.list(input, weight, bias, running_mean, running_var, training, momentum, eps)[0];
}

// One value has no variance.
void check_several_values(const Tensor& input, const char* op) {
  FL_CHECK(input.dim() < 2 || input.size(1) == 0 || input.numel() / input.size(1) != 1, ErrorKind::Value, op,
           ": training needs more than one value for each channel, got input ", shape_text(input.sizes()));
}

Tensor nn_batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight,
                     const Tensor& bias, bool training, double momentum, double eps) {
  if (input.dim() == 1 && input.numel() == 0) return clone(input);
  FL_CHECK(!training || eps > 0, ErrorKind::Value, "batch_norm: eps must be positive in training, got ", eps);
  if (training) check_several_values(input, "batch_norm");
  return batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, true);
}

std::tuple<Tensor, Tensor, Tensor> native_batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                                                     const Tensor& running_mean, const Tensor& running_var,
                                                     bool training, double momentum, double eps) {
  check(input, weight, bias, running_mean, running_var, training, "native_batch_norm");
  std::vector<Tensor> r = batch_norm_op.list(input, weight, bias, running_mean, running_var, training, momentum, eps);
  if (!training) r[1] = r[2] = empty(Dims{0}, r[1].dtype(), input.device());
  return {r[0], r[1], r[2]};
}

Tensor instance_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                     const Tensor& running_var, bool use_input_stats, double momentum, double eps, bool) {
  const char* op = "instance_norm";
  FL_CHECK(input.dim() >= 2, op, ": input must have at least 2 dimensions (batch, channels), got ",
           shape_text(input.sizes()));
  FL_CHECK(use_input_stats || (running_mean && running_var), op,
           ": running_mean and running_var are needed when use_input_stats=False");
  check(input, weight, bias, running_mean, running_var, use_input_stats, op);
  const int64_t batch = input.size(0), channels = input.size(1);
  Dims sizes(input.sizes());
  sizes[0] = 1;
  sizes[1] = batch * channels;
  auto repeated = [&](const Tensor& t) {
    if (!t.defined()) return t;
    const int64_t all = batch * channels;
    return reshape(expand(unsqueeze(t, 0), Dims{batch, channels}), {&all, 1});
  };
  auto repeated_copy = [&](const Tensor& t) { return t ? clone(repeated(t)) : t; };
  const Tensor mean = repeated_copy(running_mean), var = repeated_copy(running_var);
  Tensor r = batch_norm_op.list(reshape(contiguous(input), sizes), repeated(weight), repeated(bias), mean, var,
                                use_input_stats, momentum, eps)[0];
  if (use_input_stats && !input.is_meta()) {
    // Each image has moved its own copy; the statistics become their mean.
    NoGrad guard;
    for (auto [running, copies] : {std::pair(&running_mean, &mean), std::pair(&running_var, &var)}) {
      if (!running->defined() || batch == 0) continue;
      raw_copy(*running, sum(reshape(*copies, Dims{batch, channels}), Dims{0}) / static_cast<double>(batch));
      (*running)->storage->writes++;
    }
  }
  return reshape(r, input.sizes());
}

Tensor nn_instance_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                        const Tensor& weight, const Tensor& bias, bool use_input_stats, double momentum, double eps) {
  if (use_input_stats) {
    int64_t pixels = 1;
    for (int64_t d = 2; d < input.dim(); d++) pixels *= input.size(d);
    FL_CHECK(pixels != 1, ErrorKind::Value, "instance_norm: training needs more than one spatial element, got input ",
             shape_text(input.sizes()));
  }
  return instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, true);
}

const Declare ops([] {
  Define(
      "_C._batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool "
      "training, float momentum, float eps) -> (Tensor, Tensor, Tensor)")
      .kernel<batch_norm_kernel>()
      .constant_outputs(6)
      .node("NativeBatchNormBackward0")
      .vjp("input weight result1 result2", batch_norm_vjp);

  const char* doc =
      "Normalises each channel (dimension 1) over the rest: by the input's own moments, which then also move the "
      "running ones, or by the running ones.";
  const std::string operands =
      "(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool ";
  Define(("torch.batch_norm" + operands + "training, float momentum, float eps, bool cudnn_enabled) -> Tensor").c_str())
      .composite<batch_norm>()
      .doc(doc);
  Define(("torch.native_batch_norm" + operands + "training, float momentum, float eps) -> (Tensor, Tensor, Tensor)")
             .c_str())
      .composite<native_batch_norm>()
      .out()
      .doc("batch_norm, with the mean and the reciprocal standard deviation if training.");
  Define(
      "nn.batch_norm(Tensor input, Tensor? running_mean, Tensor? running_var, Tensor? weight=None, Tensor? bias=None, "
      "bool training=False, float momentum=0.1, float eps=1e-5) "
      "-> Tensor")
      .composite<nn_batch_norm>()
      .doc(doc);
  const char* instance_doc = "Normalises each channel of each image over its pixels.";
  Define(
      ("torch.instance_norm" + operands + "use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor")
          .c_str())
      .composite<instance_norm>()
      .doc(instance_doc);
  Define(
      "nn.instance_norm(Tensor input, Tensor? running_mean=None, Tensor? running_var=None, Tensor? weight=None, "
      "Tensor? bias=None, bool use_input_stats=True, float momentum=0.1, "
      "float eps=1e-5) -> Tensor")
      .composite<nn_instance_norm>()
      .doc(instance_doc);
});

}  // namespace
}  // namespace fl
