// Hyperbolic functions.
//
// Small arguments use odd polynomials (tools/fit_minimax.py), the others e^|x|. Inverses go through log1p in the form
// that doesn't cancel (Kahan, "Branch cuts for complex elementary functions"); float asinh and acosh are computed in
// double. Bounds: sinh, cosh, tanh 2 ulp, atanh 2.5 ulp, double asinh, acosh 2.5 ulp, in float 0.51 ulp.
#pragma once

#include "exp_log.h"

namespace fl {
namespace FL_ISA {

// (sinh(x)/x - 1) / z at z = x^2 <= 1.
FL_INLINE Vec<float> sinh_tail(Vec<float> z) {
  return polynomial(z, 0.1666666716f, 0.008333339356f, 0.0001983810216f, 2.806280236e-6f);
}
FL_INLINE Vec<double> sinh_tail(Vec<double> z) {
  return polynomial(z, 0.16666666666666666, 0.0083333333333333332, 0.00019841269841269773, 2.7557319224040340e-6,
                    2.5052108364058039e-8, 1.6059048396350562e-10, 7.6466253616566563e-13, 2.8445264169895616e-15);
}
// (tanh(x)/x - 1) / z at z = x^2 <= 0.625^2.
FL_INLINE Vec<float> tanh_tail(Vec<float> z) {
  return polynomial(z, -0.3333332837f, 0.1333276927f, -0.05385090783f, 0.02099717967f, -0.006096714176f);
}
FL_INLINE Vec<double> tanh_tail(Vec<double> z) {
  return polynomial(z, -0.33333333333333320, 0.13333333333326658, -0.053968253961395568, 0.021869488260559115,
                    -0.0088632298309257087, 0.0035920589774734533, -0.0014553092975346320, 0.00058743728600940519,
                    -0.00023077616269513159, 7.9599557352572008e-5, -1.7244874494807304e-5);
}

template <Floating T>
inline Vec<T> sinh(Vec<T> x) {
  Vec<T> a = abs(x), half_exp = exp_times_power(a, T(-1));
  Vec<T> large = half_exp - Vec<T>(0.25) / half_exp;
  Vec<T> z = a * a, small = mul_add(a * z, sinh_tail(z), a);
  return copysign(where(a < Vec<T>(1), small, large), x);
}
template <Floating T>
inline Vec<T> cosh(Vec<T> x) {
  Vec<T> half_exp = exp_times_power(abs(x), T(-1));
  return half_exp + Vec<T>(0.25) / half_exp;
}
template <Floating T>
FL_INLINE Vec<T> tanh(Vec<T> x) {
  Vec<T> a = abs(x), one(1);
  Vec<T> large = one - Vec<T>(2) / (exp(a + a) + one);
  Vec<T> z = a * a, small = mul_add(a * z, tanh_tail(z), a);
  return copysign(where(a < Vec<T>(0.625), small, large), x);
}

// Above this squares no longer matter beside 1: asinh x = acosh x = log(2x).
inline constexpr double hyperbolic_large = 0x1p54;

inline Vec<double> asinh(Vec<double> x) {
  Vec<double> a = abs(x), one(1), square = a * a;
  Mask<double> large = a > Vec<double>(hyperbolic_large);
  Vec<double> argument = where(large, a, a + square / (one + sqrt(one + square)));
  return copysign(log1p(argument) + where(large, Vec<double>(0.69314718055994530942), Vec<double>(0)), x);
}
inline Vec<double> acosh(Vec<double> x) {
  Mask<double> large = x > Vec<double>(hyperbolic_large);
  Vec<double> t = x - Vec<double>(1);
  Vec<double> argument = where(large, x, t + sqrt(mul_add(t, t, t + t)));
  Vec<double> result = log1p(argument) + where(large, Vec<double>(0.69314718055994530942), Vec<double>(0));
  return where(x < Vec<double>(1), Vec<double>(nan_of<double>), result);
}
template <Floating T>
inline Vec<T> atanh(Vec<T> x) {
  Vec<T> a = abs(x);
  return copysign(log1p((a + a) / (Vec<T>(1) - a)) * Vec<T>(0.5), x);
}

inline Vec<float> asinh(Vec<float> x) {
  return through_double([](Vec<double> y) { return asinh(y); }, x);
}
inline Vec<float> acosh(Vec<float> x) {
  return through_double([](Vec<double> y) { return acosh(y); }, x);
}
}  // namespace FL_ISA
}  // namespace fl
