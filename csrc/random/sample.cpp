// Rejection samplers. References:
// - Poisson: W. Hörmann, "The transformed rejection method for generating Poisson random variables" (1993), PTRS.
// - Binomial: W. Hörmann, "The generation of binomial random variates" (1993), BTRS; below 10 expected successes, the
//   waiting times between successes are summed (L. Devroye, "Non-Uniform Random Variate Generation", 1986).
// - Gamma: G. Marsaglia and W. Tsang, "A simple method for generating gamma variables" (2000).
#include "random/sample.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "random/element.h"

namespace fl {
namespace {

constexpr double kRejectionMean = 10;

// The products of uniforms stay above exp(-rate) for a Poisson number of steps.
double poisson_by_product(Generator& generator, double rate) {
  const double limit = std::exp(-rate);
  double product = generator.uniform();
  int64_t events = 0;
  for (; product > limit; ++events) product *= generator.uniform();
  return static_cast<double>(events);
}

double poisson_by_rejection(Generator& generator, double rate) {
  const double root = std::sqrt(rate);
  const double log_rate = std::log(rate);
  const double b = 0.931 + 2.53 * root;
  const double a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  const double accept = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = generator.uniform() - 0.5;
    const double v = generator.uniform();
    const double distance = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / distance + b) * u + rate + 0.43);
    if (distance >= 0.07 && v <= accept) return k;
    if (k < 0 || (distance < 0.013 && v > distance)) continue;
    const double density = -rate + k * log_rate - std::lgamma(k + 1);
    if (std::log(v) + std::log(inverse_alpha) - std::log(a / (distance * distance) + b) <= density) return k;
  }
}

double poisson(Generator& generator, double rate) {
  if (rate >= kRejectionMean) return poisson_by_rejection(generator, rate);
  return rate == 0 ? 0 : poisson_by_product(generator, rate);
}

double binomial_by_waiting(Generator& generator, double trials, double p) {
  const double log_failure = std::log1p(-p);
  double elapsed = 0;
  for (int64_t successes = 0;; ++successes) {
    elapsed += std::ceil(std::log(generator.uniform()) / log_failure);
    if (elapsed > trials) return static_cast<double>(successes);
  }
}

// log(k!) less Stirling's approximation of it.
double stirling_tail(double k) {
  static constexpr double kExact[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
                                      0.0166446911898211,  0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
                                      0.00925546218271273, 0.00833056343336287};
  if (k <= 9) return kExact[static_cast<size_t>(k)];
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

double binomial_by_rejection(Generator& generator, double trials, double p, double mean) {
  const double deviation = std::sqrt(mean * (1 - p));
  const double b = 1.15 + 2.53 * deviation;
  const double a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double centre = mean + 0.5;
  const double accept = 0.92 - 4.2 / b;
  const double odds = p / (1 - p);
  const double alpha = (2.83 + 5.1 / b) * deviation;
  const double mode = std::floor((trials + 1) * p);
  for (;;) {
    const double u = generator.uniform() - 0.5;
    const double v = generator.uniform();
    const double distance = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / distance + b) * u + centre);
    if (distance >= 0.07 && v <= accept) return k;
    if (k < 0 || k > trials) continue;
    const double bound = (mode + 0.5) * std::log((mode + 1) / (odds * (trials - mode + 1))) +
                         (trials + 1) * std::log((trials - mode + 1) / (trials - k + 1)) +
                         (k + 0.5) * std::log(odds * (trials - k + 1) / (k + 1)) + stirling_tail(mode) +
                         stirling_tail(trials - mode) - stirling_tail(k) - stirling_tail(trials - k);
    if (std::log(v * alpha / (a / (distance * distance) + b)) <= bound) return k;
  }
}

// The mean is rounded to T, the rest is in double, as in PyTorch.
template <class T>
double binomial(Generator& generator, T trials, T p) {
  if (std::isnan(trials) || std::isnan(p)) return std::numeric_limits<double>::quiet_NaN();
  if (trials <= 0 || p <= 0) return 0;
  if (p >= 1) return trials;
  const auto count = [&](T chance) {
    const T mean = trials * chance;
    return mean >= kRejectionMean ? binomial_by_rejection(generator, trials, chance, mean)
                                  : binomial_by_waiting(generator, trials, chance);
  };
  return p <= T(0.5) ? count(p) : trials - count(1 - p);
}

// The constants are those of float at either precision, as in PyTorch.
template <class T>
double gamma(Generator& generator, T concentration) {
  // The rejection below would not end.
  if (!(concentration >= 0)) return std::numeric_limits<double>::quiet_NaN();
  double scale = 1;
  // Below 1, a sample of concentration + 1 is scaled down.
  if (concentration < 1) {
    if (concentration == 0) return 0;
    scale = std::pow(1 - generator.uniform(), 1 / concentration);
    concentration += 1;
  }
  const double d = concentration - 1.0f / 3.0f;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    double x, y;
    do {
      x = generator.normal();
      y = 1 + c * x;
    } while (y <= 0);
    const double v = y * y * y;
    const double u = 1 - generator.uniform();
    const double square = x * x;
    if (u < 1 - 0.0331f * square * square || std::log(u) < 0.5 * square + d * (1 - v + std::log(v)))
      return scale * d * v;
  }
}

template <class T>
double as_double(T value) {
  if constexpr (is_reduced_float<T>) {
    return static_cast<float>(value);
  } else {
    return value;
  }
}

// Calls f.template operator()<T>() for float and double.
template <class F>
void visit_float_or_double(DType dtype, F&& f) {
  if (dtype == DType::Float) f.template operator()<float>();
  if (dtype == DType::Double) f.template operator()<double>();
}

}  // namespace

void sample_poisson(Generator& generator, DType dtype, void* out, const void* rate, int64_t count) {
  const std::lock_guard lock(generator.mutex());
  visit_floating(dtype, [&]<class T>() {
    const T* rates = static_cast<const T*>(rate);
    T* target = static_cast<T*>(out);
    for (int64_t i = 0; i < count; ++i) target[i] = to_element<T>(poisson(generator, as_double(rates[i])));
  });
}

void sample_binomial(Generator& generator, DType dtype, void* out, const void* trials, const void* p, int64_t count) {
  const std::lock_guard lock(generator.mutex());
  visit_float_or_double(dtype, [&]<class T>() {
    const T* totals = static_cast<const T*>(trials);
    const T* chances = static_cast<const T*>(p);
    T* target = static_cast<T*>(out);
    for (int64_t i = 0; i < count; ++i) target[i] = static_cast<T>(binomial(generator, totals[i], chances[i]));
  });
}

void sample_gamma(Generator& generator, DType dtype, void* out, const void* concentration, int64_t count) {
  const std::lock_guard lock(generator.mutex());
  visit_float_or_double(dtype, [&]<class T>() {
    const T* parameters = static_cast<const T*>(concentration);
    T* target = static_cast<T*>(out);
    for (int64_t i = 0; i < count; ++i)
      target[i] = std::max(static_cast<T>(gamma(generator, parameters[i])), std::numeric_limits<T>::min());
  });
}

void sample_dirichlet(Generator& generator, DType dtype, void* out, const void* concentration, int64_t rows,
                      int64_t columns) {
  const std::lock_guard lock(generator.mutex());
  std::vector<double> gammas(static_cast<size_t>(columns));
  visit_float_or_double(dtype, [&]<class T>() {
    const T* parameters = static_cast<const T*>(concentration);
    T* target = static_cast<T*>(out);
    const T largest = std::nexttoward(T(1), 0.0L);
    for (int64_t row = 0; row < rows; ++row, parameters += columns, target += columns) {
      double total = 0;
      for (int64_t i = 0; i < columns; ++i) total += gammas[i] = gamma(generator, static_cast<double>(parameters[i]));
      for (int64_t i = 0; i < columns; ++i)
        target[i] = std::min(largest, std::max(static_cast<T>(gammas[i] / total), std::numeric_limits<T>::min()));
    }
  });
}

void sample_rrelu(Generator& generator, DType dtype, void* out, void* noise, const void* input, int64_t count,
                  double lower, double upper) {
  const std::lock_guard lock(generator.mutex());
  visit_floating(dtype, [&]<class T>() {
    const T* values = static_cast<const T*>(input);
    T* slopes = static_cast<T*>(noise);
    T* target = static_cast<T*>(out);
    using Wide = std::conditional_t<std::same_as<T, double>, double, float>;
    const double first = static_cast<Wide>(lower);
    const double width = static_cast<Wide>(upper) - first;
    for (int64_t i = 0; i < count; ++i) {
      const auto value = static_cast<Wide>(values[i]);
      if (value <= 0) {
        const auto slope = static_cast<Wide>(generator.uniform() * width + first);
        slopes[i] = to_element<T>(slope);
        target[i] = to_element<T>(value * slope);
      } else {
        slopes[i] = to_element<T>(1);
        target[i] = values[i];
      }
    }
  });
}

}  // namespace fl
