// Powers, hypotenuse and the floating remainders.
//
// pow(x, y) = e^(y log|x|). In float both are evaluated in double with polynomials just long enough. In double log|x|
// is a sum of two numbers good to 2^-66, from the atanh series with its leading terms in double-double arithmetic
// (Dekker, "A floating-point technique for extending the available precision"). Bounds: float pow 0.52 ulp, double pow
// 1 ulp, hypot 1 ulp; fmod is exact.
#pragma once

#include "exp_log.h"

namespace fl {
namespace FL_ISA {

// The special cases of IEEE 754's pow around |x|^y: the sign of a negative base, and the exponents and bases that
// give 1.
template <Floating T>
FL_INLINE Vec<T> finish_pow(Vec<T> x, Vec<T> y, Vec<T> magnitude) {
  Vec<T> zero(0), one(1), half = y * Vec<T>(0.5);
  Mask<T> whole = trunc(y) == y, odd = whole & (trunc(half) != half);
  Vec<T> result = where(abs(x) == one, one, magnitude);
  result = where(odd, copysign(result, x), result);
  result = where((x < zero) & (abs(x) < Vec<T>(infinity_of<T>)) & !whole, Vec<T>(nan_of<T>), result);
  result = where(isnan(y), y, result);
  return where((y == zero) | (x == one), one, result);
}

FL_INLINE Vec<double> pow_for_float(Vec<double> x, Vec<double> y) {
  using C = ExpConstants<double>;
  Vec<double> a = abs(x), e, f = split_exponent(a, e), s = f / (f + Vec<double>(2)), z = s * s;
  Vec<double> tail = polynomial(z, 0.33333333277026345, 0.20000061101541500, 0.14275389811183156, 0.11665793791061095);
  Vec<double> log_a = mul_add(e, Vec<double>(0.69314718055994530942), mul_add(s * z, tail, s) * Vec<double>(2));
  log_a = log_special_cases(a, log_a);
  Vec<double> n, r = reduce_exp(clamp_keep_nan(y * log_a, C::low, C::high), n);
  Vec<double> exp_part = exp_tail_for_float(r);
  // A float result keeps n within the exponents of normal doubles (or is 0 or infinite after narrowing).
  n = clamp_keep_nan(n, -1000.0, 1000.0);
  Vec<double> scale = power_of_two_shifted(n + Vec<double>(FloatTraits<double>::round_magic));
  return finish_pow(x, y, mul_add(r * r, exp_part, r + Vec<double>(1)) * scale);
}
inline Vec<float> pow(Vec<float> x, std::type_identity_t<Vec<float>> y) {
  return through_double([](Vec<double> a, Vec<double> b) { return pow_for_float(a, b); }, x, y);
}

// log(a) = high + low for positive finite a, to about 2^-66 relative.
FL_INLINE Vec<double> log_double_double(Vec<double> a, Vec<double>& low) {
  using C = ExpConstants<double>;
  Vec<double> e, f = split_exponent(a, e), two(2);
  Vec<double> u = two + f, u_low = f - (u - two);
  Vec<double> s = f / u, s_low = (fma(-s, u, f) - s * u_low) / u;
  Vec<double> z = s * s, z_low = fma(s, s, -z) + two * s * s_low;
  Vec<double> tail = polynomial(z, 0.20000000000000001, 0.14285714285714685, 0.11111111110826423, 0.090909091680407006,
                                0.076922974444881567, 0.066674043459062374, 0.058530646636530584, 0.058621485759613706);
  // atanh(s) = s + s z (1/3 + z tail).
  Vec<double> third(1.0 / 3), q = z * tail, h = third + q;
  Vec<double> h_low = ((third - h) + q) + mul_add(z_low, Vec<double>(0.2), Vec<double>(0x1.5555555555555p-56));
  Vec<double> sz = s * z, sz_low = fma(s, z, -sz) + mul_add(s, z_low, s_low * z);
  Vec<double> p = sz * h, p_low = fma(sz, h, -p) + mul_add(sz, h_low, sz_low * h);
  Vec<double> m = s + p, m_low = ((s - m) + p) + (s_low + p_low);
  Vec<double> main = e * Vec<double>(C::ln2_high), twice = m + m, sum = main + twice;
  Vec<double> rest = ((main - sum) + twice) + mul_add(e, Vec<double>(C::ln2_low), m_low + m_low);
  Vec<double> high = sum + rest;
  low = (sum - high) + rest;
  return high;
}
inline Vec<double> pow(Vec<double> x, std::type_identity_t<Vec<double>> y) {
  using C = ExpConstants<double>;
  Vec<double> a = abs(x), log_low, log_high = log_double_double(a, log_low);
  Mask<double> ordinary = (a > Vec<double>(0)) & (a < Vec<double>(infinity_of<double>));
  log_high = log_special_cases(a, log_high);
  Vec<double> t = y * log_high, t_low = mul_add(y, log_low, fma(y, log_high, -t));
  t_low = where(ordinary & (abs(t) < Vec<double>(1000)), t_low, Vec<double>(0));
  t = clamp_keep_nan(t, C::low, C::high);
  Vec<double> magic(FloatTraits<double>::round_magic);
  Vec<double> n = mul_add(t, Vec<double>(C::log2e), magic) - magic;
  Vec<double> main = mul_add(n, Vec<double>(-C::ln2_high), t), rest = mul_add(n, Vec<double>(-C::ln2_low), t_low);
  Vec<double> r = main + rest, r_low = (main - r) + rest;
  Vec<double> result = scale_by_power(Vec<double>(1) + (r + mul_add(r * r, exp_tail(r), r_low)), n);
  return finish_pow(x, y, result);
}

inline Vec<float> hypot(Vec<float> x, std::type_identity_t<Vec<float>> y) {
  Vec<float> result = through_double([](Vec<double> a, Vec<double> b) { return sqrt(mul_add(a, a, b * b)); }, x, y);
  return where(isinf(x) | isinf(y), Vec<float>(infinity_of<float>), result);
}
inline Vec<double> hypot(Vec<double> x, std::type_identity_t<Vec<double>> y) {
  Vec<double> a = maximum(abs(x), abs(y)), b = minimum(abs(x), abs(y)), one(1);
  Mask<double> big = a > Vec<double>(0x1p500), tiny = a < Vec<double>(0x1p-450);
  Vec<double> scale = where(big, Vec<double>(0x1p-600), where(tiny, Vec<double>(0x1p600), one));
  Vec<double> back = where(big, Vec<double>(0x1p600), where(tiny, Vec<double>(0x1p-600), one));
  a = a * scale;
  b = b * scale;
  Vec<double> result = sqrt(mul_add(a, a, b * b)) * back;
  return where(isinf(x) | isinf(y), Vec<double>(infinity_of<double>), result);
}

// The exact remainder with the sign of x. While the quotient is below 2^29 its product with a float is exact in double;
// the rounded quotient may be one too large, never too small. Other elements go to the C library.
inline Vec<float> fmod(Vec<float> x, std::type_identity_t<Vec<float>> y) {
  Vec<float> result = through_double(
      [](Vec<double> a, Vec<double> b) {
        Vec<double> m = abs(a), d = abs(b), r = m - trunc(m / d) * d;
        r = where(r < Vec<double>(0), r + d, r);
        return copysign(where(m < d, m, r), a);
      },
      x, y);
  Mask<float> hard = !(abs(x) < abs(y) * Vec<float>(0x1p28f));
  if (hard.any()) {
    for (int i = 0; i < Vec<float>::N; i++) {
      if (hard.m[i]) result.v[i] = __builtin_fmodf(x.v[i], y.v[i]);
    }
  }
  return result;
}
// The same for quotients below 2^52, with the product exact in a fused multiply-add.
inline Vec<double> fmod(Vec<double> x, std::type_identity_t<Vec<double>> y) {
  Vec<double> m = abs(x), d = abs(y), r = fma(-trunc(m / d), d, m);
  r = where(r < Vec<double>(0), r + d, r);
  Vec<double> result = copysign(where(m < d, m, r), x);
  Mask<double> hard = !(m < d * Vec<double>(0x1p52));
  if (hard.any()) {
    for (int i = 0; i < Vec<double>::N; i++) {
      if (hard.m[i]) result.v[i] = __builtin_fmod(x.v[i], y.v[i]);
    }
  }
  return result;
}
// The remainder with the sign of y (Python's %).
template <Floating T>
inline Vec<T> remainder(Vec<T> x, std::type_identity_t<Vec<T>> y) {
  Vec<T> r = fmod(x, y);
  return where((r != Vec<T>(0)) & (signbit(r) ^ (y < Vec<T>(0))), r + y, r);
}
// The floor of the exact quotient (Python's //): the rounded quotient may land on the next integer.
template <Floating T>
inline Vec<T> floor_divide(Vec<T> x, std::type_identity_t<Vec<T>> y) {
  Vec<T> r = fmod(x, y), quotient = (x - r) / y;
  quotient = where((r != Vec<T>(0)) & (signbit(r) ^ (y < Vec<T>(0))), quotient - Vec<T>(1), quotient);
  Vec<T> whole = floor(quotient);
  whole = where(quotient - whole > Vec<T>(0.5), whole + Vec<T>(1), whole);
  whole = where(quotient == Vec<T>(0), copysign(Vec<T>(0), x / y), whole);
  return where(y == Vec<T>(0), x / y, whole);
}
template <Floating T>
FL_INLINE Vec<T> trunc_divide(Vec<T> x, std::type_identity_t<Vec<T>> y) {
  return trunc(x / y);
}

}  // namespace FL_ISA
}  // namespace fl
