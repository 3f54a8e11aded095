// Samples of distributions whose parameters are tensors.
#include <cmath>

#include "ops/api.h"
#include "ops/factory.h"
#include "ops/random.h"
#include "random/fill.h"
#include "random/sample.h"

namespace fl {
namespace {

void no_derivative(Vjp& v) {
  fail(ErrorKind::NotImplemented, "derivative for ", v.entry().public_name, " is not implemented");
}

Tensor dense_room(const Tensor& t) { return empty(t.sizes(), t.dtype(), t.device()); }

void check_all_positive(const Tensor& t, bool zero_allowed, const char* what) {
  visit_dtype(t.dtype(), [&]<class T>() {
    if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      for (int64_t i = 0; i < t.numel(); i++) {
        double v = static_cast<double>(t.data<T>()[i]);
        FL_CHECK(v > 0 || (zero_allowed && v == 0), what, ", got ", v);
      }
  });
}

// ---- bernoulli, poisson, binomial

Tensor bernoulli_op(const Tensor& input, Generator* g) {
  Tensor r = dense_room(input);
  bernoulli_fill(r, input, g);
  return r;
}
Tensor bernoulli_p(const Tensor& input, double p, Generator* g) {
  Tensor r = dense_room(input);
  bernoulli_fill(r, p, g);
  return r;
}
Tensor poisson_op(const Tensor& input, Generator* g) {
  FL_CHECK(input.is_floating(), ErrorKind::NotImplemented, "poisson: not implemented for ", info(input.dtype()).name);
  Tensor r = dense_room(input);
  if (r.is_meta() || r.numel() == 0) return r;
  Tensor rates = raw_contiguous(input);
  check_all_positive(rates, true, "poisson: rates must be non-negative");
  sample_poisson(generator_or_default(g), r.dtype(), r.bytes(), rates.bytes(), r.numel());
  return r;
}
Tensor binomial_op(const Tensor& count, const Tensor& prob, Generator* g) {
  FL_CHECK(count.is_floating(), ErrorKind::Value, "binomial only supports floating-point dtypes for count, got ",
           info(count.dtype()).name);
  FL_CHECK(prob.is_floating(), ErrorKind::Value, "binomial only supports floating-point dtypes for prob, got ",
           info(prob.dtype()).name);
  FL_CHECK(count.dtype() == prob.dtype(), "binomial: count and prob must have one dtype, got ",
           info(count.dtype()).name, " and ", info(prob.dtype()).name);
  FL_CHECK(count.dtype() == DType::Float || count.dtype() == DType::Double, ErrorKind::NotImplemented,
           "binomial: not implemented for ", info(count.dtype()).name);
  Dims sizes = broadcast(count.sizes(), prob.sizes(), "binomial");
  FL_CHECK(equal(sizes, count.sizes()), "binomial: prob of sizes ", shape_text(prob.sizes()),
           " can't be broadcast to count of sizes ", shape_text(count.sizes()));
  Tensor r = dense_room(count);
  if (r.is_meta() || r.numel() == 0) return r;
  Tensor trials = raw_contiguous(count), chances = empty(sizes, prob.dtype());
  raw_copy(chances, prob);
  sample_binomial(generator_or_default(g), r.dtype(), r.bytes(), trials.bytes(), chances.bytes(), r.numel());
  return r;
}

// ---- multinomial

Tensor multinomial_op(const Tensor& input, int64_t samples, bool replacement, Generator* g) {
  FL_CHECK(input.dim() == 1 || input.dim() == 2, "multinomial: prob_dist must be 1 or 2 dim, got ", input.dim());
  FL_CHECK(input.is_floating(),
           "multinomial only supports floating-point dtypes for input, got: ", info(input.dtype()).name);
  FL_CHECK(samples > 0, "multinomial: cannot sample n_sample <= 0 samples, got ", samples);
  int64_t categories = input.size(-1), rows = input.dim() == 2 ? input.size(0) : 1;
  FL_CHECK(replacement || samples <= categories,
           "multinomial: cannot sample n_sample > prob_dist.size(-1) samples without replacement: ", samples,
           " samples of ", categories, " categories");
  FL_CHECK(categories <= (1 << 24), "multinomial: the number of categories cannot exceed 2^24, got ", categories);
  Dims sizes;
  if (input.dim() == 2) sizes.push_back(rows);
  sizes.push_back(samples);
  Tensor r = empty(sizes, DType::Int64, input.device());
  if (r.is_meta() || r.numel() == 0) return r;
  Tensor weights = raw_contiguous(input);
  visit_dtype(weights.dtype(), [&]<class T>() {
    if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      for (int64_t row = 0; row < rows; row++) {
        double sum = 0;
        for (int64_t c = 0; c < categories; c++) {
          double w = static_cast<double>(weights.data<T>()[row * categories + c]);
          FL_CHECK(w >= 0 && w < INFINITY,
                   "multinomial: the probability tensor contains either `inf`, `nan` or an element < 0: ", w,
                   " in row ", row);
          sum += w;
        }
        FL_CHECK(sum > 0, "multinomial: invalid multinomial distribution (sum of probabilities <= 0) in row ", row);
      }
  });
  sample_multinomial(generator_or_default(g), weights.dtype(), r.data<int64_t>(), weights.bytes(), rows, categories,
                     samples, replacement);
  return r;
}

// ---- normal

void check_std(const Tensor& std) {
  FL_CHECK(!std.is_complex(), "normal expects standard deviation to be non-complex");
  if (std.is_meta() || std.numel() == 0) return;
  Tensor d = raw_contiguous(std);
  visit_dtype(d.dtype(), [&]<class T>() {
    if constexpr (!std::is_same_v<T, Complex<float>> && !std::is_same_v<T, Complex<double>>)
      for (int64_t i = 0; i < d.numel(); i++) {
        double v;
        if constexpr (std::is_same_v<T, Bool>)
          v = bool(d.data<T>()[i]);
        else
          v = static_cast<double>(d.data<T>()[i]);
        FL_CHECK(!(v < 0), "normal expects all elements of std >= 0.0, got ", v);
      }
  });
}
Tensor normal_tensor_float(const Tensor& mean, double std, Generator* g) {
  Tensor r = dense_room(mean);
  normal_fill(r, 0, std, g);
  return r + mean;
}
Tensor normal_float_tensor(double mean, const Tensor& std, Generator* g) {
  check_std(std);
  Tensor r = dense_room(std);
  normal_fill(r, 0, 1, g);
  return r * std + mean;
}
Tensor normal_tensor_tensor(const Tensor& mean, const Tensor& std, Generator* g) {
  check_std(std);
  Dims sizes = broadcast(mean.sizes(), std.sizes(), "normal");
  Tensor r = empty(sizes, mean.dtype(), mean.device());
  normal_fill(r, 0, 1, g);
  return to_dtype(r * std + mean, mean.dtype());
}
Tensor normal_sizes(double mean, double std, IntList size, Generator* g, FL_FACTORY_PARAMETERS) {
  FactoryOptions o = factory_options(FL_FACTORY_ARGUMENTS, default_dtype());
  Tensor r = empty(size, o.dtype, o.device);
  normal_fill(r, mean, std, g);
  return o.finish(std::move(r));
}

// ---- gamma and Dirichlet

void need_float_or_double(const Tensor& t, const char* op) {
  FL_CHECK(t.dtype() == DType::Float || t.dtype() == DType::Double, ErrorKind::NotImplemented, op,
           ": not implemented for ", info(t.dtype()).name);
}
Tensor standard_gamma_op(const Tensor& self, Generator* g) {
  need_float_or_double(self, "_standard_gamma");
  Tensor r = dense_room(self);
  if (r.is_meta() || r.numel() == 0) return r;
  sample_gamma(generator_or_default(g), r.dtype(), r.bytes(), raw_contiguous(self).bytes(), r.numel());
  return r;
}
Tensor sample_dirichlet_op(const Tensor& self, Generator* g) {
  need_float_or_double(self, "_sample_dirichlet");
  FL_CHECK(self.dim() > 0, "_sample_dirichlet: the concentration needs at least one dimension");
  Tensor r = dense_room(self);
  if (r.is_meta() || r.numel() == 0) return r;
  int64_t columns = self.size(-1);
  sample_dirichlet(generator_or_default(g), r.dtype(), r.bytes(), raw_contiguous(self).bytes(), r.numel() / columns,
                   columns);
  return r;
}

// ---- randomised leaky relu

std::tuple<Tensor, Tensor> rrelu_with_noise(const Tensor& input, double lower, double upper, Generator* g) {
  FL_CHECK(input.is_floating(), ErrorKind::NotImplemented, "rrelu: not implemented for ", info(input.dtype()).name);
  Tensor out = dense_room(input), noise = dense_room(input);
  if (!out.is_meta() && out.numel())
    sample_rrelu(generator_or_default(g), input.dtype(), out.bytes(), noise.bytes(), raw_contiguous(input).bytes(),
                 input.numel(), lower, upper);
  if (input.is_contiguous()) return {out, noise};
  Tensor ordered = empty_like(input);
  raw_copy(ordered, out);
  return {ordered, noise};
}
Tensor rrelu_op(const Tensor& input, double lower, double upper, bool training, Generator* g) {
  FL_CHECK(std::isfinite(lower) && std::isfinite(upper), "rrelu: lower and upper must be finite, got ", lower, " and ",
           upper);
  FL_CHECK(lower <= upper, "rrelu: lower bound should be less than or equal to the upper bound, got ", lower, " and ",
           upper);
  static const Op with_noise("_C._rrelu_with_noise"), leaky("nn.leaky_relu");
  if (!training) return leaky(input, (lower + upper) / 2);
  return with_noise.list(input, lower, upper, g)[0];
}
Tensor nn_rrelu(const Tensor& input, double lower, double upper, bool training, bool in_place) {
  static const Op rrelu("torch.rrelu");
  if (!in_place) return rrelu(input, lower, upper, training);
  rrelu.in_place(input, lower, upper, training);
  return input;
}

#define GENERATOR "Generator? generator=None"
const Declare ops([] {
  Define("bernoulli(Tensor input, *, " GENERATOR ") -> Tensor")
      .kernel<bernoulli_op>()
      .vjp("", zero_gradients)
      .out()
      .doc("Ones with the probabilities that input holds, and zeros.");
  Define("bernoulli.p(Tensor input, float p, *, " GENERATOR ") -> Tensor").kernel<bernoulli_p>().vjp("", no_derivative);
  Define("torch.poisson(Tensor input, Generator? generator=None) -> Tensor")
      .kernel<poisson_op>()
      .vjp("", zero_gradients)
      .doc("Poisson samples with the rates that input holds.");
  Define("torch.binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor")
      .kernel<binomial_op>()
      .vjp("", no_derivative)
      .doc("Numbers of successes in count trials of probability prob.");
  Define("multinomial(Tensor input, int num_samples, bool replacement=False, *, " GENERATOR ") -> Tensor")
      .kernel<multinomial_op>()
      .constant_outputs(~0u)
      .out()
      .doc(
          "Indices drawn with the weights in each row of input. Raises RuntimeError for weights that make no "
          "distribution.");
  Define("normal.Tensor_float(Tensor mean, float std=1.0, *, " GENERATOR ") -> Tensor")
      .kernel<normal_tensor_float>()
      .node("NormalBackward1")
      .vjp("", zero_gradients)
      .out()
      .doc("Normal numbers with means and standard deviations given as tensors or numbers.");
  Define("normal.float_Tensor(float mean, Tensor std, *, " GENERATOR ") -> Tensor")
      .kernel<normal_float_tensor>()
      .node("NormalBackward2")
      .vjp("", zero_gradients)
      .out();
  Define("normal.Tensor_Tensor(Tensor mean, Tensor std, *, " GENERATOR ") -> Tensor")
      .kernel<normal_tensor_tensor>()
      .node("NormalBackward3")
      .vjp("", zero_gradients)
      .out();
  Define("normal.float_float(float mean, float std, int[] size, *, " GENERATOR ", " FL_FACTORY_OPTIONS ") -> Tensor")
      .kernel<normal_sizes>()
      .out();
  Define("torch._standard_gamma(Tensor self, Generator? generator=None) -> Tensor")
      .kernel<standard_gamma_op>()
      .node("StandardGammaBackward0")
      .vjp("self result",
           [](Vjp& v) {
             static const Op derivative("torch._standard_gamma_grad");
             if (v.needs(0)) v.set(0, v.grad() * derivative(v.input(0), v.output()));
           })
      .doc("Gamma samples of rate 1 with the concentrations that self holds.");
  Define("torch._sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor")
      .kernel<sample_dirichlet_op>()
      .vjp("", no_derivative)
      .doc("Dirichlet samples with the concentrations in the rows of self.");
  Define("_C._rrelu_with_noise(Tensor input, float lower, float upper, Generator? generator=None) -> (Tensor, Tensor)")
      .kernel<rrelu_with_noise>()
      .node("RreluWithNoiseBackward0")
      .constant_outputs(2)
      .vjp("result1", [](Vjp& v) {
        if (v.needs(0)) v.set(0, v.grad() * v.output(1));
      });
  Define(
      "torch.rrelu(Tensor input, float lower=0.125, float upper=0.3333333333333333, bool training=False, Generator? "
      "generator=None) -> Tensor")
      .composite<rrelu_op>()
      .in_place()
      .doc("Leaky relu whose slope is drawn from [lower, upper) while training, and their mean otherwise.");
  Define(
      "nn.rrelu(Tensor input, float lower=0.125, float upper=0.3333333333333333, bool training=False, bool "
      "inplace=False) -> Tensor")
      .composite<nn_rrelu>()
      .doc("Leaky relu whose slope is drawn from [lower, upper) while training, and their mean otherwise.");
});

}  // namespace
}  // namespace fl
