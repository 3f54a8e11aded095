// Filling tensors with random numbers in place.
#include "ops/api.h"
#include "ops/random.h"
#include "random/fill.h"

namespace fl {

// A complex tensor is filled as twice as many real numbers.
void uniform_fill(const Tensor& t, double from, double to, Generator* generator) {
  FL_CHECK(t.is_floating() || t.is_complex(), ErrorKind::NotImplemented, "uniform_: not implemented for ",
           info(t.dtype()).name);
  FL_CHECK(from <= to, "uniform_ expects to return a [from, to) range, but found from=", from, " > to=", to);
  double limit = visit_dtype(real_of(t.dtype()), [&]<class T>() -> double {
    return std::is_same_v<T, double> ? 1.7976931348623157e308 : std::is_same_v<T, Half> ? 65504 : 3.4028234663852886e38;
  });
  FL_CHECK(from >= -limit && to <= limit, "uniform_: the bounds from=", from, " and to=", to, " are out of range for ",
           info(t.dtype()).name);
  FL_CHECK(to - from <= limit, "uniform_ expects to-from <= the largest value of ", info(t.dtype()).name,
           ", but found to=", to, " and from=", from);
  int64_t numbers = t.is_complex() ? 2 : 1;
  fill_in_memory_order(t, [&](void* out, int64_t n) {
    fill_uniform(generator_or_default(generator), real_of(t.dtype()), out, n * numbers, from, to);
  });
}

void normal_fill(const Tensor& t, double mean, double std, Generator* generator) {
  FL_CHECK(std >= 0, "normal expects std >= 0.0, but found std ", std);
  FL_CHECK(t.is_floating() || t.is_complex(), ErrorKind::NotImplemented, "normal_: not implemented for ",
           info(t.dtype()).name);
  int64_t numbers = t.is_complex() ? 2 : 1;
  if (t.is_complex()) std /= std::sqrt(2.0);  // the variance is shared by the two parts
  bool blocks = t.is_contiguous();
  fill_in_memory_order(t, [&](void* out, int64_t n) {
    (blocks ? fill_normal : fill_normal_serial)(generator_or_default(generator), real_of(t.dtype()), out, n * numbers,
                                                mean, std);
  });
}

void bernoulli_fill(const Tensor& t, double p, Generator* generator) {
  FL_CHECK(p >= 0 && p <= 1, "bernoulli_ expects p to be in [0, 1], but got p=", p);
  FL_CHECK(!t.is_complex(), ErrorKind::NotImplemented, "bernoulli_: not implemented for ", info(t.dtype()).name);
  fill_in_memory_order(
      t, [&](void* out, int64_t n) { fill_bernoulli(generator_or_default(generator), t.dtype(), out, n, p); });
}

void bernoulli_fill(const Tensor& t, const Tensor& p, Generator* generator) {
  FL_CHECK(p.is_floating(), ErrorKind::NotImplemented, "bernoulli_: probabilities must be floating, got ",
           info(p.dtype()).name);
  FL_CHECK(!t.is_complex(), ErrorKind::NotImplemented, "bernoulli_: not implemented for ", info(t.dtype()).name);
  static const Op expand("expand");
  Tensor given = expand(p, t.sizes());
  if (t.is_meta() || t.numel() == 0) return;
  auto order = memory_order(t);
  Tensor ordered = reordered(given, order), dense = empty(ordered.sizes(), p.dtype());
  raw_copy(dense, ordered);
  visit_dtype(p.dtype(), [&]<class T>() {
    if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      for (int64_t i = 0; i < dense.numel(); i++) {
        float v = static_cast<float>(dense.data<T>()[i]);
        FL_CHECK(v >= 0 && v <= 1, "bernoulli: probabilities must be in [0, 1], got ", v);
      }
  });
  fill_in_memory_order(t, [&](void* out, int64_t n) {
    fill_bernoulli(generator_or_default(generator), t.dtype(), out, n, dense.dtype(), dense.bytes());
  });
}

namespace {

Tensor uniform_(const Tensor& self, double from, double to, Generator* g) {
  uniform_fill(self, from, to, g);
  return self;
}
Tensor normal_(const Tensor& self, double mean, double std, Generator* g) {
  normal_fill(self, mean, std, g);
  return self;
}
Tensor bernoulli_scalar(const Tensor& self, double p, Generator* g) {
  bernoulli_fill(self, p, g);
  return self;
}
Tensor bernoulli_tensor(const Tensor& self, const Tensor& p, Generator* g) {
  bernoulli_fill(self, p, g);
  return self;
}

// ---- integers

void refuse_complex(const Tensor& t, const char* op) {
  FL_CHECK(!t.is_complex(), ErrorKind::NotImplemented, op, ": not implemented for ", info(t.dtype()).name);
}
Tensor random_whole(const Tensor& self, Generator* g) {
  refuse_complex(self, "random_");
  fill_in_memory_order(self, [&](void* out, int64_t n) { fill_random(generator_or_default(g), self.dtype(), out, n); });
  return self;
}
Tensor random_between(const Tensor& self, int64_t from, std::optional<int64_t> to, Generator* g) {
  using Problem = IntegerBounds::Problem;
  FL_CHECK(!self.is_complex(), "random_: integers have no ", info(self.dtype()).name, " form");
  if (from == INT64_MIN && !to) {
    FL_CHECK(self.dtype() == DType::Int64 || self.dtype() == DType::Float || self.dtype() == DType::Double ||
                 self.dtype() == DType::BFloat16,
             "random_: the whole range of int64 needs dtype int64, float32, float64 or bfloat16, got ",
             info(self.dtype()).name);
    fill_in_memory_order(
        self, [&](void* out, int64_t n) { fill_integers_full(generator_or_default(g), self.dtype(), out, n); });
    return self;
  }
  IntegerBounds b = integer_bounds(self.dtype(), from, to);
  FL_CHECK(b.problem != Problem::kEmpty, "random_ expects 'from' to be less than 'to', but got from=", from,
           " >= to=", to.value_or(INT64_MAX));
  FL_CHECK(b.problem != Problem::kFrom, "random_: from=", from, " is out of bounds for ", info(self.dtype()).name);
  FL_CHECK(b.problem != Problem::kTo, "random_: to - 1 = ", to.value_or(0) - 1, " is out of bounds for ",
           info(self.dtype()).name);
  fill_in_memory_order(self, [&](void* out, int64_t n) {
    fill_integers(generator_or_default(g), self.dtype(), out, n, b.range, b.from);
  });
  return self;
}
Tensor random_below(const Tensor& self, int64_t to, Generator* g) { return random_between(self, 0, to, g); }

// ---- other distributions

void need_floating(const Tensor& t, const char* op, const char* distribution) {
  FL_CHECK(t.is_floating(), op, ": the ", distribution,
           " distribution is continuous, so the dtype must be a floating point one, got ", info(t.dtype()).name);
}
Tensor exponential_(const Tensor& self, double rate, Generator* g) {
  need_floating(self, "exponential_", "exponential");
  FL_CHECK(rate > 0, "exponential_ expects lambda > 0.0, but found lambda=", rate);
  fill_in_memory_order(
      self, [&](void* out, int64_t n) { fill_exponential(generator_or_default(g), self.dtype(), out, n, rate); });
  return self;
}
Tensor cauchy_(const Tensor& self, double median, double sigma, Generator* g) {
  FL_CHECK(sigma > 0, "cauchy_ expects sigma > 0.0, but found sigma=", sigma);
  need_floating(self, "cauchy_", "Cauchy");
  fill_in_memory_order(
      self, [&](void* out, int64_t n) { fill_cauchy(generator_or_default(g), self.dtype(), out, n, median, sigma); });
  return self;
}
Tensor log_normal_(const Tensor& self, double mean, double std, Generator* g) {
  FL_CHECK(std > 0, "log_normal_ expects std > 0.0, but found std=", std);
  FL_CHECK(self.is_floating(), ErrorKind::NotImplemented, "log_normal_: not implemented for ", info(self.dtype()).name);
  fill_in_memory_order(
      self, [&](void* out, int64_t n) { fill_log_normal(generator_or_default(g), self.dtype(), out, n, mean, std); });
  return self;
}
Tensor geometric_(const Tensor& self, double p, Generator* g) {
  FL_CHECK(p > 0 && p < 1, "geometric_ expects p to be in (0, 1), but got p=", p);
  refuse_complex(self, "geometric_");
  fill_in_memory_order(self,
                       [&](void* out, int64_t n) { fill_geometric(generator_or_default(g), self.dtype(), out, n, p); });
  return self;
}

const Declare ops([] {
  auto fill = [](const char* schema, const char* node, const char* doc) -> Define {
    return Define(schema).mutates().node(node).vjp("", zero_gradients).doc(doc);
  };
  fill("Tensor.uniform_(Tensor input, float from=0.0, float to=1.0, *, Generator? generator=None) -> Tensor",
       "UniformBackward0", "Fills the tensor with numbers uniform on [from, to).")
      .kernel<uniform_>();
  fill("Tensor.normal_(Tensor input, float mean=0.0, float std=1.0, *, Generator? generator=None) -> Tensor",
       "NormalBackward0", "Fills the tensor with normal numbers of the given mean and standard deviation.")
      .kernel<normal_>();
  fill("Tensor.bernoulli_.Tensor(Tensor input, Tensor p, *, Generator? generator=None) -> Tensor", "BernoulliBackward1",
       "Fills the tensor with ones of probability p, and zeros.")
      .kernel<bernoulli_tensor>();
  fill("Tensor.bernoulli_(Tensor input, float p=0.5, *, Generator? generator=None) -> Tensor", "BernoulliBackward2", "")
      .kernel<bernoulli_scalar>();
  fill("Tensor.random_(Tensor input, *, Generator? generator=None) -> Tensor", "RandomBackward2",
       "Fills the tensor with whole numbers from [from, to), or from all that its type holds exactly.")
      .kernel<random_whole>();
  fill("Tensor.random_.to(Tensor input, int to, *, Generator? generator=None) -> Tensor", "RandomBackward1", "")
      .kernel<random_below>();
  fill("Tensor.random_.from(Tensor input, int from, int? to, *, Generator? generator=None) -> Tensor",
       "RandomBackward0", "")
      .kernel<random_between>();
  fill("Tensor.exponential_(Tensor input, float lambd=1.0, *, Generator? generator=None) -> Tensor",
       "ExponentialBackward0", "Fills the tensor with exponential numbers of rate lambd.")
      .kernel<exponential_>();
  fill("Tensor.cauchy_(Tensor input, float median=0.0, float sigma=1.0, *, Generator? generator=None) -> Tensor",
       "CauchyBackward0", "Fills the tensor with numbers of the Cauchy distribution.")
      .kernel<cauchy_>();
  fill("Tensor.log_normal_(Tensor input, float mean=1.0, float std=2.0, *, Generator? generator=None) -> Tensor",
       "LogNormalBackward0", "Fills the tensor with exponentials of normal numbers.")
      .kernel<log_normal_>();
  fill("Tensor.geometric_(Tensor input, float p, *, Generator? generator=None) -> Tensor", "GeometricBackward0",
       "Fills the tensor with numbers of trials until the first success of probability p.")
      .kernel<geometric_>();
});

}  // namespace
}  // namespace fl
