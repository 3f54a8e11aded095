// How samples of the gamma and Dirichlet distributions move with the distributions' parameters.
//
// A sample x with distribution function F(x; a) and density f moves, at a fixed probability, by dx/da = -(dF/da) / f. F
// is the density times a series of positive terms, so that the density cancels and only the series and its derivative
// are summed.
#include <cmath>

#include "autograd/record.h"
#include "ops/api.h"

namespace fl {
namespace {

constexpr int kMostTerms = 200000;

double digamma_of(double x) {
  double shift = 0;
  for (; x < 10; x += 1) shift -= 1 / x;
  double r = 1 / (x * x);
  return shift + std::log(x) - 0.5 / x - r * (1.0 / 12 - r * (1.0 / 120 - r * (1.0 / 252 - r * (1.0 / 240 - r / 132))));
}

double gamma_derivative(double a, double x) {
  if (!(x > 0) || !(a > 0)) return x == 0 ? 0 : NAN;
  if (a > 1e5) {
    // The cube root of x / a is nearly normal (Wilson and Hilferty).
    double w = std::cbrt(x / a), z = 3 * std::sqrt(a) * (w - 1 + 1 / (9 * a));
    return w * w * w + 3 * a * w * w * (1 / (9 * a * a) - z / (6 * a * std::sqrt(a)));
  }
  double term = 1, sum = 1, harmonic = 0, slope = 0;
  for (int n = 1; n < kMostTerms; n++) {
    term *= x / (a + n);
    harmonic += 1 / (a + n);
    sum += term;
    slope -= term * harmonic;
    if (n > x - a && term * harmonic < 1e-17 * (sum - slope)) break;
  }
  // Far out the sum outgrows the digits of a double; there the tail is nearly x^(a-1) exp(-x) / gamma(a).
  if (!(sum < 1e9)) return (std::log(x) - digamma_of(a)) / (1 - (a - 1) / x);
  return -(x / a) * ((std::log(x) - digamma_of(a + 1)) * sum + slope);
}

// Of x ~ Beta(a, b) by a, divided by 1 - x: how the other parts of a Dirichlet sample share what x gains.
double beta_derivative(double x, double a, double b) {
  if (!(x > 0) || !(x < 1)) return x == 0 ? 0 : x == 1 ? INFINITY : NAN;
  bool lower = x < a / (a + b);
  double y = lower ? x : 1 - x, own = lower ? a : b;
  double term = 1, sum = 1, rising = 0, falling = 0, slope = 0;
  for (int n = 1; n < kMostTerms; n++) {
    double top = a + b + n - 1;
    term *= y * top / (own + n);
    rising += 1 / top;
    if (lower) falling += 1 / (own + n);
    sum += term;
    slope += term * (rising - falling);
    if (top * y < own + n && term * (rising + falling + 1) < 1e-17 * sum) break;
  }
  double total = digamma_of(a + b);
  if (lower) return -(x / a) * ((std::log(x) + total - digamma_of(a + 1)) * sum + slope);
  return (x / b) * ((std::log(x) + total - digamma_of(a)) * sum + slope);
}

template <class F>
Tensor elementwise(std::initializer_list<const Tensor*> inputs, const char* op, F f) {
  DType dtype = (*inputs.begin())->dtype();
  FL_CHECK(dtype == DType::Float || dtype == DType::Double, ErrorKind::NotImplemented, op, ": not implemented for ",
           info(dtype).name);
  Dims sizes;
  for (const Tensor* t : inputs) {
    FL_CHECK(t->dtype() == dtype, op, ": expected tensors of one dtype, got ", info(dtype).name, " and ",
             info(t->dtype()).name);
    sizes = t == *inputs.begin() ? Dims(t->sizes()) : broadcast(sizes, t->sizes(), op);
  }
  Tensor r = empty(sizes, dtype, (*inputs.begin())->device());
  if (r.is_meta()) return r;
  Tensor dense[3];
  int k = 0;
  for (const Tensor* t : inputs) {
    dense[k] = empty(sizes, DType::Double);
    raw_copy(dense[k++], *t);
  }
  Tensor values = empty(sizes, DType::Double);
  for (int64_t i = 0; i < values.numel(); i++)
    values.data<double>()[i] =
        f(dense[0].data<double>()[i], dense[1].data<double>()[i], k > 2 ? dense[2].data<double>()[i] : 0.0);
  raw_copy(r, values);
  return r;
}

Tensor standard_gamma_grad(const Tensor& self, const Tensor& output) {
  return elementwise({&self, &output}, "_standard_gamma_grad",
                     [](double a, double x, double) { return gamma_derivative(a, x); });
}
Tensor dirichlet_grad(const Tensor& x, const Tensor& alpha, const Tensor& total) {
  return elementwise({&x, &alpha, &total}, "_dirichlet_grad",
                     [](double x, double a, double total) { return beta_derivative(x, a, total - a); });
}

const Declare ops([] {
  Define("torch._standard_gamma_grad(Tensor self, Tensor output) -> Tensor")
      .kernel<standard_gamma_grad>()
      .doc("How gamma samples move with their concentrations.");
  Define("torch._dirichlet_grad(Tensor x, Tensor alpha, Tensor total) -> Tensor")
      .kernel<dirichlet_grad>()
      .doc("How parts x of Dirichlet samples move with their concentrations alpha, which add up to total.");
});

}  // namespace
}  // namespace fl
