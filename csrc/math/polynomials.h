// Families of orthogonal polynomials by their three-term recurrences (DLMF 18.9), and Airy's function.
//
// Everything here runs lane by lane, in double. Inside [-1, 1] Chebyshev polynomials of high degree use their
// trigonometric forms (DLMF 18.5.1). A degree below 0 gives 0.
#pragma once

#include <cmath>

#include "../simd/vec.h"

namespace fl {
namespace FL_ISA {

inline constexpr int64_t kLargestDegree =
    10'000'000;  // beyond it nothing is left of the digits, and the loop has no end

// p(k + 1) = step(k, p(k), p(k - 1)) from p(0) = 1 and p(1) = first.
template <class Step>
inline double recur(int64_t n, double first, Step step) {
  if (n < 0) return 0;
  if (n == 0) return 1;
  if (n > kLargestDegree) return std::nan("");
  double before = 1, now = first;
  for (int64_t k = 1; k < n && !std::isnan(now); k++) {
    double next = step(double(k), now, before);
    before = now;
    now = next;
  }
  return now;
}

inline double chebyshev_t(double x, int64_t n) {
  if (n < 0) return 0;
  if (std::fabs(x) == 1) return x > 0 || n % 2 == 0 ? 1 : -1;
  if (n > 6 && std::fabs(x) < 1) return std::cos(double(n) * std::acos(x));
  return recur(n, x, [x](double, double p, double q) { return 2 * x * p - q; });
}
inline double chebyshev_u(double x, int64_t n) {
  if (n < 0) return 0;
  if (std::fabs(x) == 1) return x > 0 || n % 2 == 0 ? double(n) + 1 : -(double(n) + 1);
  if (n > 8 && std::fabs(x) < 1) {
    double angle = std::acos(x), sine = std::sin(angle);
    return sine != 0 ? std::sin((double(n) + 1) * angle) / sine
                     : (double(n) + 1) * std::cos((double(n) + 1) * angle) / x;
  }
  return recur(n, 2 * x, [x](double, double p, double q) { return 2 * x * p - q; });
}
inline double chebyshev_v(double x, int64_t n) {
  if (n < 0) return 0;
  if (std::fabs(x) == 1) return x > 0 ? 1 : n % 2 == 0 ? 2 * double(n) + 1 : -(2 * double(n) + 1);
  if (n > 8 && std::fabs(x) < 1) {
    double half = std::acos(x) / 2, cosine = std::cos(half);
    if (cosine != 0) return std::cos((2 * double(n) + 1) * half) / cosine;
  }
  return recur(n, 2 * x - 1, [x](double, double p, double q) { return 2 * x * p - q; });
}
inline double chebyshev_w(double x, int64_t n) {
  if (n < 0) return 0;
  if (std::fabs(x) == 1) return x > 0 ? 2 * double(n) + 1 : n % 2 == 0 ? 1 : -1;
  if (n > 8 && std::fabs(x) < 1) {
    double half = std::acos(x) / 2, sine = std::sin(half);
    if (sine != 0) return std::sin((2 * double(n) + 1) * half) / sine;
  }
  return recur(n, 2 * x + 1, [x](double, double p, double q) { return 2 * x * p - q; });
}
inline double hermite_h(double x, int64_t n) {
  return recur(n, 2 * x, [x](double k, double p, double q) { return 2 * x * p - 2 * k * q; });
}
inline double hermite_he(double x, int64_t n) {
  return recur(n, x, [x](double k, double p, double q) { return x * p - k * q; });
}
inline double laguerre_l(double x, int64_t n) {
  return recur(n, 1 - x, [x](double k, double p, double q) { return ((2 * k + 1 - x) * p - k * q) / (k + 1); });
}
inline double legendre_p(double x, int64_t n) {
  return recur(n, x, [x](double k, double p, double q) { return ((2 * k + 1) * x * p - k * q) / (k + 1); });
}

template <class T, class F>
inline Vec<T> polynomial_lanes(F f, Vec<T> x, Vec<T> n) {
  return map_lanes([f](T a, T degree) { return degree != degree ? T(degree) : T(f(double(a), int64_t(degree))); }, x,
                   n);
}

// Airy's Ai. Right of 2 by the integral (DLMF 9.6.2 with 10.32.9), whose integrand falls so fast that the trapezoidal
// rule converges exponentially; between -9 and 2 by the Maclaurin series (9.4.1) in extended precision, for its terms
// cancel; left of that by the asymptotic series (9.7.9).
inline double airy_ai(double x) {
  constexpr double pi = 3.14159265358979323846;
  if (std::isnan(x)) return x;
  if (std::isinf(x)) return x > 0 ? 0 : __builtin_nan("");
  if (x > 104) return 0;
  if (x > 2) {
    double z = 2 * x * std::sqrt(x) / 3, sum = 0.5, step = 0.0625;
    for (int i = 1; i < 200; i++) {
      double t = i * step, excess = 2 * std::sinh(t / 2) * std::sinh(t / 2),
             term = std::exp(-z * excess) * std::cosh(t / 3);
      sum += term;
      if (term < 1e-18 * sum) break;
    }
    return std::sqrt(x / 3) / pi * std::exp(-z) * sum * step;
  }
  if (x > -9) {
    long double cube = static_cast<long double>(x) * x * x, f = 1, g = x, f_term = 1, g_term = x;
    for (int k = 1; k < 120; k++) {
      f_term *= cube / ((3.0L * k - 1) * (3.0L * k));
      g_term *= cube / ((3.0L * k) * (3.0L * k + 1));
      f += f_term;
      g += g_term;
    }
    return static_cast<double>(0.355028053887817239260063186004183177L * f -
                               0.258819403792806798405183560189203963L * g);
  }
  double a = -x, root = std::sqrt(a), z = 2 * a * root / 3, cosine_sum = 0, sine_sum = 0, u = 1, least = 1;
  for (int k = 0; k < 40; k++) {
    if (k) u *= (6.0 * k - 5) * (6.0 * k - 3) * (6.0 * k - 1) / (216.0 * k * (2.0 * k - 1)) / z;
    if (u > least || u < 1e-18) break;
    least = u;
    double signed_term = k / 2 % 2 ? -u : u;
    (k % 2 ? sine_sum : cosine_sum) += signed_term;
  }
  double phase = z - pi / 4;
  return (std::cos(phase) * cosine_sum + std::sin(phase) * sine_sum) / (std::sqrt(pi) * std::sqrt(root));
}

}  // namespace FL_ISA
}  // namespace fl
