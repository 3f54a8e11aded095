// The gamma function's relatives.
//
// lgamma in double is the C library's, lane by lane. digamma climbs by the recurrence to x >= 10 and uses the
// asymptotic series (DLMF 5.11.2). The Hurwitz zeta function is summed by Euler and Maclaurin's formula (DLMF 25.11.7).
// The incomplete gamma functions use the power series below x = a + 1 and the continued fraction (DLMF 8.9.2, by
// Lentz's method) above, with the common factor x^a e^-x / Gamma(a+1) written so that nothing cancels; for very large
// a, Temme's leading uniform expansion (DLMF 8.12). All of it is computed in double. Bounds: digamma 4 ulp away from
// its zeros, zeta 4 ulp, incomplete gamma 1e-13 relative.
#pragma once

#include "erf.h"
#include "exp_log.h"
#include "trig.h"

namespace fl {
namespace FL_ISA {

inline Vec<double> lgamma(Vec<double> x) {
  return map_lanes(
      [](double y) {
        int sign;
        return __builtin_lgamma_r(y, &sign);
      },
      x);
}
// In double, where the absolute error of 1e-15 is below half a float's ulp even beside the zeros: the product x (x+1)
// ... up to an argument of 8, then Stirling's series; negative arguments by reflection.
inline Vec<double> lgamma_for_float(Vec<double> x) {
  Vec<double> one(1), eight(8), product = one;
  Mask<double> reflected = x < Vec<double>(0.5);
  Vec<double> y = where(reflected, one - x, x);
  for (int step = 0; step < 8; step++) {
    Mask<double> below = y < eight;
    product = where(below, product * y, product);
    y = where(below, y + one, y);
  }
  Vec<double> inverse = one / y, u = inverse * inverse;
  Vec<double> series =
      inverse * polynomial(u, 1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188, -691.0 / 360360, 1.0 / 156);
  Vec<double> main = mul_add(y - Vec<double>(0.5), log(y), Vec<double>(0.91893853320467274178) - y);
  Vec<double> result = (main - log(product)) + series;
  result = where((x == one) | (x == Vec<double>(2)), Vec<double>(0), result);
  if (reflected.any()) {
    Vec<double> mirrored = log(Vec<double>(pi) / abs(sinpi(x))) - result;
    result = where(reflected, mirrored, result);
  }
  return where(isinf(x) | ((x <= Vec<double>(0)) & (trunc(x) == x)), Vec<double>(infinity_of<double>), result);
}
inline Vec<float> lgamma(Vec<float> x) {
  return through_double([](Vec<double> y) { return lgamma_for_float(y); }, x);
}

// The poles: -inf at +0, inf at -0, NaN at the negative whole numbers.
inline Vec<double> digamma(Vec<double> x) {
  Vec<double> zero(0), one(1), ten(10);
  // Reflection: psi(1 - x) - psi(x) = pi / tan(pi x).
  Mask<double> reflected = x < Vec<double>(0.5);
  Vec<double> y = where(reflected, one - x, x), sum = zero;
  for (int step = 0; step < 10; step++) {
    Mask<double> below = y < ten;
    sum = sum - where(below, one / y, zero);
    y = where(below, y + one, y);
  }
  Vec<double> inverse = one / y, u = inverse * inverse;
  Vec<double> series = polynomial(u, 1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12);
  Vec<double> result = sum + (log(y) - mul_add(u, series, inverse * Vec<double>(0.5)));
  Vec<double> cotangent = Vec<double>(pi) / tan((x - round(x)) * Vec<double>(pi));
  result = where(reflected, result - cotangent, result);
  Vec<double> pole = where(x == zero, copysign(Vec<double>(infinity_of<double>), -x), Vec<double>(nan_of<double>));
  return where((x <= zero) & (trunc(x) == x), pole, result);
}
inline Vec<float> digamma(Vec<float> x) {
  return through_double([](Vec<double> y) { return digamma(y); }, x);
}

// The Hurwitz zeta function, the sum of (q + k)^-x over k >= 0.
inline double scalar_zeta(double x, double q) {
  if (x == 1) return __builtin_inf();
  if (!(x > 1) || q != q) return __builtin_nan("");
  if (q <= 0) {
    if (q == __builtin_floor(q)) return __builtin_inf();
    if (x != __builtin_floor(x)) return __builtin_nan("");
  }
  if (q < -1e6) return __builtin_nan("");  // a term for every step up to zero
  if (q > 1e8) return (1 / (x - 1) + 1 / (2 * q)) * __builtin_pow(q, 1 - x);
  // Bernoulli numbers over factorials: B_2k / (2k)!.
  constexpr double coefficients[] = {1.0 / 12,
                                     -1.0 / 720,
                                     1.0 / 30240,
                                     -1.0 / 1209600,
                                     1.0 / 47900160,
                                     -691.0 / 1307674368000.0,
                                     1.0 / 74724249600.0,
                                     -3617.0 / 10670622842880000.0,
                                     43867.0 / 5109094217170944000.0};
  double sum = __builtin_pow(q, -x), a = q;
  for (int k = 0; k < 10 || a < 10; k++) {
    a += 1;
    double term = __builtin_pow(a, -x);
    sum += term;
    if (__builtin_fabs(term) < 1e-17 * __builtin_fabs(sum)) return sum;
  }
  double power = __builtin_pow(a, -x);
  sum += power * a / (x - 1) - power / 2;
  double factor = x, scale = power / a;
  for (int k = 0; k < 9; k++) {
    double term = factor * scale * coefficients[k];
    sum += term;
    if (__builtin_fabs(term) < 1e-17 * __builtin_fabs(sum)) break;
    factor *= (x + 2 * k + 1) * (x + 2 * k + 2);
    scale /= a * a;
  }
  return sum;
}

// The first derivative of digamma; below one half by reflection: psi'(1-x) + psi'(x) = pi^2 / sin^2(pi x).
inline double scalar_trigamma(double x) {
  if (x < 0.5) {
    double fraction = x - __builtin_rint(x), sine = __builtin_sin(pi * fraction);
    return pi * pi / (sine * sine) - scalar_zeta(2, 1 - x);
  }
  return scalar_zeta(2, x);
}
// The n-th derivative of digamma for n >= 1: (-1)^(n+1) n! zeta(n+1, x).
inline double scalar_polygamma(int64_t n, double x) {
  if (n == 1) return scalar_trigamma(x);
  int sign;
  double factorial = __builtin_exp(__builtin_lgamma_r(double(n) + 1, &sign));
  if (n <= 20) {
    factorial = 1;
    for (int64_t k = 2; k <= n; k++) factorial *= double(k);
  }
  return (n % 2 ? 1 : -1) * factorial * scalar_zeta(double(n) + 1, x);
}

// log(1+u) - u without cancellation.
inline double log1p_minus(double u) {
  if (__builtin_fabs(u) > 0.25) return __builtin_log1p(u) - u;
  double s = u / (2 + u), z = s * s, term = 1.0 / 3, sum = 0, power = z;
  for (int k = 5; k < 60; k += 2) {
    sum += power * term;
    if (power * term < 1e-18 * sum) break;
    power *= z;
    term = 1.0 / k;
  }
  // log(1+u) = 2 atanh(s) and 2s = u - us.
  return 2 * s * sum - u * s;
}
// x^a e^-x / Gamma(a+1), by Stirling's formula where a is large.
inline double gamma_prefix(double a, double x) {
  int sign;
  if (a < 20) return __builtin_exp(a * __builtin_log(x) - x - __builtin_lgamma_r(a + 1, &sign));
  double b = 1 / (a * a);
  double stirling = (1.0 / 12 - b * (1.0 / 360 - b * (1.0 / 1260 - b * (1.0 / 1680 - b / 1188)))) / a;
  return __builtin_exp(a * log1p_minus((x - a) / a) - stirling) / __builtin_sqrt(2 * pi * a);
}
// The regularized lower (or, if `upper`, upper) incomplete gamma function.
inline double incomplete_gamma(double a, double x, bool upper) {
  if (!(a >= 0) || !(x >= 0)) return __builtin_nan("");
  double at_zero = upper ? 1 : 0, at_infinity = upper ? 0 : 1;
  if (a == 0) return x > 0 ? at_infinity : __builtin_nan("");
  if (x == 0) return at_zero;
  if (__builtin_isinf(a)) return __builtin_isinf(x) ? __builtin_nan("") : at_zero;
  if (__builtin_isinf(x)) return at_infinity;
  if (a > 1e6) {
    double mu = (x - a) / a, half_square = -log1p_minus(mu);
    double eta = __builtin_copysign(__builtin_sqrt(2 * half_square), mu);
    double correction = __builtin_fabs(mu) < 1e-4 ? -1.0 / 3 + mu / 12 : 1 / mu - 1 / eta;
    correction *= __builtin_exp(-a * half_square) / __builtin_sqrt(2 * pi * a);
    double side = upper ? eta : -eta;
    return 0.5 * __builtin_erfc(side * __builtin_sqrt(a / 2)) + (upper ? correction : -correction);
  }
  double prefix = gamma_prefix(a, x);
  if (x < a + 1) {
    if (upper && x < 0.5 && a < 1) {
      // Q = 1 - P loses digits for small a: 1 - x^a / Gamma(a+1) (1 + a sum (-x)^k / (k! (a+k))).
      int sign;
      double series = 0, term = 1;
      for (int k = 1; k < 60; k++) {
        term *= -x / k;
        series += term / (a + k);
        if (__builtin_fabs(term) < 1e-18) break;
      }
      double exponent = a * __builtin_log(x) - __builtin_lgamma_r(a + 1, &sign);
      return -__builtin_expm1(exponent) - __builtin_exp(exponent) * a * series;
    }
    double sum = 1, term = 1;
    for (double k = 1; k < 1e5; k++) {
      term *= x / (a + k);
      sum += term;
      if (term < 1e-17 * sum) break;
    }
    return upper ? 1 - prefix * sum : prefix * sum;
  }
  double tiny = 1e-300, b = x + 1 - a, c = 1 / tiny, d = 1 / b, h = d;
  for (double k = 1; k < 1e5; k++) {
    double numerator = -k * (k - a);
    b += 2;
    d = numerator * d + b;
    d = 1 / (__builtin_fabs(d) < tiny ? tiny : d);
    c = b + numerator / c;
    if (__builtin_fabs(c) < tiny) c = tiny;
    double change = c * d;
    h *= change;
    if (__builtin_fabs(change - 1) < 1e-16) break;
  }
  double q = prefix * a * h;
  return upper ? q : 1 - q;
}

template <Floating T>
inline Vec<T> zeta(Vec<T> x, std::type_identity_t<Vec<T>> q) {
  return map_lanes([](T a, T b) { return T(scalar_zeta(a, b)); }, x, Vec<T>(q));
}
template <Floating T>
inline Vec<T> polygamma(int64_t n, Vec<T> x) {
  if (n == 0) return digamma(x);
  return map_lanes([n](T a) { return T(scalar_polygamma(n, a)); }, x);
}
template <Floating T>
inline Vec<T> trigamma(Vec<T> x) {
  return map_lanes([](T a) { return T(scalar_trigamma(a)); }, x);
}
template <Floating T>
inline Vec<T> igamma(Vec<T> a, std::type_identity_t<Vec<T>> x) {
  return map_lanes([](T p, T y) { return T(incomplete_gamma(p, y, false)); }, a, Vec<T>(x));
}
template <Floating T>
inline Vec<T> igammac(Vec<T> a, std::type_identity_t<Vec<T>> x) {
  return map_lanes([](T p, T y) { return T(incomplete_gamma(p, y, true)); }, a, Vec<T>(x));
}

}  // namespace FL_ISA
}  // namespace fl
