// Exponentials and logarithms.
//
// exp: x = n ln2 + r with |r| <= ln2/2 (Cody and Waite's two-part ln2, "Software Manual for the Elementary Functions"),
// e^r = 1 + r + r^2 P(r), scaled by 2^n. log: x = 2^e m with m in [sqrt(1/2), sqrt(2)); float uses a polynomial in
// f = m - 1, double the series of 2 atanh(f / (2 + f)), both summed so that the leading f is added last (as in fdlibm).
// The coefficients come from tools/fit_minimax.py. Measured errors are in tests/cpp/math_accuracy.cpp; the bounds:
// log, log1p, double log2 and log10 1 ulp, exp, exp2 1.5 ulp, float log2, log10, expm1 2 ulp, sigmoid 2.5 ulp.
#pragma once

#include "basic.h"

namespace fl {
namespace FL_ISA {

template <class T>
struct ExpConstants;
template <>
struct ExpConstants<float> {
  static constexpr float ln2_high = 0.693359375f, ln2_low = -2.12194440054690583e-4f, log2e = 1.44269504088896341f;
  static constexpr float low = -104.0f, high = 89.0f;  // beyond these exp is 0 and infinite
  static constexpr float low2 = -151.0f, high2 = 129.0f;
};
template <>
struct ExpConstants<double> {
  static constexpr double ln2_high = 0.69314718036912381649, ln2_low = 1.9082149292705878161e-10,
                          log2e = 1.44269504088896340736;
  static constexpr double low = -746.0, high = 710.0;
  static constexpr double low2 = -1076.0, high2 = 1025.0;
};

// (e^r - 1 - r) / r^2 for |r| <= ln2/2.
FL_INLINE Vec<float> exp_tail(Vec<float> r) {
  return polynomial(r, 0.5f, 0.1666657627f, 0.04166655242f, 0.008363231085f, 0.001392624923f);
}
FL_INLINE Vec<double> exp_tail(Vec<double> r) {
  return polynomial(r, 0.5, 0.16666666666666669, 0.041666666666623831, 0.0083333333333300390, 0.0013888888917363079,
                    0.00019841269863168478, 2.4801521064076528e-5, 2.7557268281679976e-6, 2.7620198643234748e-7,
                    2.5100470238808523e-8);
}
// The same to 2e-9, for float results computed in double.
FL_INLINE Vec<double> exp_tail_for_float(Vec<double> r) {
  return polynomial(r, 0.50000000135368272, 0.16666666681702103, 0.041666464216385868, 0.0083333108467556604,
                    0.0013933728612795888, 0.00019891078128613841);
}
// (2^r - 1) / r for |r| <= 1/2.
FL_INLINE Vec<float> exp2_tail(Vec<float> r) {
  return polynomial(r, 0.6931471825f, 0.2402265072f, 0.05550356954f, 0.009618083015f, 0.001339086331f,
                    0.0001545316336f);
}
FL_INLINE Vec<double> exp2_tail(Vec<double> r) {
  return polynomial(r, 0.69314718055994529, 0.24022650695910097, 0.055504108664821597, 0.0096181291076068882,
                    0.0013333558146416936, 0.00015403530441736050, 1.5252733829836119e-5, 1.3215442587921689e-6,
                    1.0178062445845774e-7, 7.0725859492692234e-9, 4.4549605981865186e-10);
}

// 2^n for whole n in the exponent range of normal numbers; `shifted` is n + round_magic, whose low bits are n.
template <Floating T>
FL_INLINE Vec<T> power_of_two_shifted(Vec<T> shifted) {
  using B = BitsOf<T>;
  Vec<B> bits = to_bits(shifted);
  return bits_as<T>(Vec<B>(typename Vec<B>::V(bits.v << FloatTraits<T>::mantissa_bits)) + to_bits(Vec<T>(1)));
}
// p * 2^n, correct into the subnormals and to infinity. Without a scaling instruction it takes two steps, of which the
// first is exact, so both ways round once and agree bit for bit.
template <Floating T>
FL_INLINE Vec<T> scale_by_power(Vec<T> p, Vec<T> n) {
#if FL_VECTOR_BYTES == 64
  if constexpr (sizeof(T) == 4) {
    return Vec<T>(__builtin_ia32_scalefps512_mask(p.v, n.v, p.v, uint16_t(-1), 4));
  } else {
    return Vec<T>(__builtin_ia32_scalefpd512_mask(p.v, n.v, p.v, uint8_t(-1), 4));
  }
#else
  Vec<T> magic(FloatTraits<T>::round_magic);
  Vec<T> shifted = mul_add(n, Vec<T>(0.5), magic);
  Vec<T> first = shifted - magic;
  return p * power_of_two_shifted(shifted) * power_of_two_shifted(n - first + magic);
#endif
}

// n and r of the reduction; high and low clamp x, NaN passes.
template <Floating T>
FL_INLINE Vec<T> reduce_exp(Vec<T> x, Vec<T>& n) {
  using C = ExpConstants<T>;
  Vec<T> magic(FloatTraits<T>::round_magic);
  n = mul_add(x, Vec<T>(C::log2e), magic) - magic;
  return mul_add(n, Vec<T>(-C::ln2_low), mul_add(n, Vec<T>(-C::ln2_high), x));
}

template <Floating T>
FL_INLINE Vec<T> exp(Vec<T> x) {
  using C = ExpConstants<T>;
  Vec<T> n, r = reduce_exp(clamp_keep_nan(x, C::low, C::high), n);
  return scale_by_power(mul_add(r * r, exp_tail(r), r) + Vec<T>(1), n);
}

// e^x * 2^k for a small whole k, without overflow before the scaling.
template <Floating T>
FL_INLINE Vec<T> exp_times_power(Vec<T> x, T k) {
  using C = ExpConstants<T>;
  Vec<T> n, r = reduce_exp(clamp_keep_nan(x, T(C::low + 1), T(C::high + 2)), n);
  return scale_by_power(mul_add(r * r, exp_tail(r), r) + Vec<T>(1), n + Vec<T>(k));
}

template <Floating T>
FL_INLINE Vec<T> exp2(Vec<T> x) {
  using C = ExpConstants<T>;
  x = clamp_keep_nan(x, C::low2, C::high2);
  Vec<T> magic(FloatTraits<T>::round_magic);
  Vec<T> n = x + magic - magic, r = x - n;
  return scale_by_power(mul_add(r, exp2_tail(r), Vec<T>(1)), n);
}

template <Floating T>
FL_INLINE Vec<T> expm1(Vec<T> x) {
  using C = ExpConstants<T>;
  Vec<T> n, r = reduce_exp(clamp_keep_nan(x, T(-45), C::high), n);
  Vec<T> e = mul_add(r * r, exp_tail(r), r);
  // Half of 2^n, so that n = 128 (1024) is still a number; doubling at the end is exact.
  Vec<T> magic(FloatTraits<T>::round_magic);
  Vec<T> scale = power_of_two_shifted(n - Vec<T>(1) + magic);
  Vec<T> result = mul_add(scale, e, scale - Vec<T>(0.5)) * Vec<T>(2);
  return where(abs(x) < Vec<T>(FloatTraits<T>::smallest_normal), x, result);
}

// 1 / (1 + e^-x).
template <Floating T>
FL_INLINE Vec<T> sigmoid(Vec<T> x) {
  return Vec<T>(1) / (Vec<T>(1) + exp(-x));
}

// f = m - 1 and e of x = 2^e m, m in [sqrt(1/2), sqrt(2)), for positive finite x; subnormal x is scaled up first.
template <Floating T>
FL_INLINE Vec<T> split_exponent(Vec<T> x, Vec<T>& e) {
  using B = BitsOf<T>;
  using F = FloatTraits<T>;
  constexpr T subnormal_scale = T(B(1) << F::mantissa_bits);
  Mask<T> subnormal = x < Vec<T>(F::smallest_normal);
  x = where(subnormal, x * Vec<T>(subnormal_scale), x);
  Vec<B> root_half = to_bits(Vec<T>(0.70710678118654752440));
  Vec<B> u = to_bits(x) + (to_bits(Vec<T>(1)) - root_half);
  // The exponent becomes a floating number by way of the mantissa of 2^mantissa_bits.
  using U = std::make_unsigned_t<B>;
  Vec<U> exponent(typename Vec<U>::V(bits_as<U>(u).v >> F::mantissa_bits));
  Vec<T> base =
      where(subnormal, Vec<T>(subnormal_scale + F::bias + F::mantissa_bits), Vec<T>(subnormal_scale + F::bias));
  e = bits_as<T>(bits_as<B>(exponent) | to_bits(Vec<T>(subnormal_scale))) - base;
  return bits_as<T>((u & Vec<B>(F::mantissa_mask)) + root_half) - Vec<T>(1);
}

// atanh(s) / s - 1 over z = s^2, for |s| <= 0.1716.
FL_INLINE Vec<double> atanh_tail(Vec<double> z) {
  return polynomial(z, 0.33333333333333348, 0.19999999999949453, 0.14285714313123651, 0.11111105545222770,
                    0.090914461774713268, 0.076658071493662078, 0.073088876679870185);
}

// (log(1+f) - f + f^2/2) / f^3.
FL_INLINE Vec<float> log_tail(Vec<float> f) {
  return polynomial(f, 0.3333333135f, -0.2499999702f, 0.2000071555f, -0.1666780263f, 0.1424905807f, -0.1242568716f,
                    0.1168541983f, -0.1147973388f, 0.06971611828f);
}
// log(1+f) + e ln2 + low, where low is a small correction to f.
FL_INLINE Vec<float> log_of_parts(Vec<float> f, Vec<float> e, Vec<float> low) {
  using C = ExpConstants<float>;
  Vec<float> square = f * f;
  Vec<float> rest = mul_add(square * f, log_tail(f), mul_add(e, Vec<float>(C::ln2_low), low));
  return mul_add(e, Vec<float>(C::ln2_high), mul_add(square, Vec<float>(-0.5f), rest) + f);
}
FL_INLINE Vec<double> log_of_parts(Vec<double> f, Vec<double> e, Vec<double> low) {
  using C = ExpConstants<double>;
  Vec<double> s = f / (f + Vec<double>(2)), z = s * s, half_square = f * f * Vec<double>(0.5);
  Vec<double> tail = z * atanh_tail(z) * Vec<double>(2);
  Vec<double> rest = mul_add(s, half_square + tail, mul_add(e, Vec<double>(C::ln2_low), low));
  return mul_add(e, Vec<double>(C::ln2_high), f - (half_square - rest));
}

// The result where x is not a positive finite number: log(0) = -inf, log(inf) = inf, else NaN.
template <Floating T>
FL_INLINE Vec<T> log_special_cases(Vec<T> x, Vec<T> result) {
  Mask<T> ordinary = (x > Vec<T>(0)) & (x < Vec<T>(infinity_of<T>));
  Vec<T> special = where(x == Vec<T>(0), Vec<T>(-infinity_of<T>), where(x < Vec<T>(0), Vec<T>(nan_of<T>), x));
  return where(ordinary, result, special);
}

template <Floating T>
FL_INLINE Vec<T> log(Vec<T> x) {
  Vec<T> e, f = split_exponent(x, e);
  return log_special_cases(x, log_of_parts(f, e, Vec<T>(0)));
}

template <Floating T>
FL_INLINE Vec<T> log1p(Vec<T> x) {
  using B = BitsOf<T>;
  using F = FloatTraits<T>;
  Vec<T> one(1), u = one + x;
  // What rounding 1 + x lost (Knuth's two-sum), scaled with the mantissa.
  Vec<T> back = u - one, lost = (one - (u - back)) + (x - back);
  Vec<T> e, f = split_exponent(u, e);
  // Beyond 2^64 what was lost, at most 1, no longer matters.
  Vec<T> shifted = Vec<T>(native::min(e.v, Vec<T>(64).v)) + Vec<T>(F::round_magic);
  Vec<T> scale = bits_as<T>(to_bits(one) - Vec<B>(typename Vec<B>::V(to_bits(shifted).v << F::mantissa_bits)));
  // log(1 + f + d) = log(1 + f) + d / (1 + f) to first order in the tiny d.
  Vec<T> d = lost * scale;
  Vec<T> result = log_special_cases(u, log_of_parts(f, e, d / (f + one)));
  return where(abs(x) < Vec<T>(F::smallest_normal), x, result);
}

// log(1+f) + correction in two parts for the other bases: high has a short mantissa, high + low is good to about
// 2^-65 (fdlibm's k_log).
FL_INLINE Vec<double> log_two_parts(Vec<double> f, Vec<double>& low) {
  Vec<double> s = f / (f + Vec<double>(2)), z = s * s, half_square = f * f * Vec<double>(0.5);
  Vec<double> tail = z * atanh_tail(z) * Vec<double>(2);
  Vec<int64_t> upper_half(int64_t(0xffffffff00000000u));
  Vec<double> high = bits_as<double>(to_bits(f - half_square) & upper_half);
  low = mul_add(s, half_square + tail, (f - high) - half_square);
  return high;
}

inline Vec<double> log2(Vec<double> x) {
  Vec<double> e, low, f = split_exponent(x, e), high = log_two_parts(f, low);
  Vec<double> c_high(0x1.71547652p+0), c_low(0x1.705fc2eefa2p-33);
  Vec<double> main = high * c_high, rest = mul_add(low + high, c_low, low * c_high);
  Vec<double> sum = e + main;
  return log_special_cases(x, sum + (rest + ((e - sum) + main)));
}
inline Vec<double> log10(Vec<double> x) {
  Vec<double> e, low, f = split_exponent(x, e), high = log_two_parts(f, low);
  Vec<double> c_high(0x1.bcb7b152p-2), c_low(0x1.b9438ca9aadd5p-36);
  Vec<double> e_main = e * Vec<double>(0x1.34413508p-2), main = high * c_high;
  Vec<double> rest = mul_add(low + high, c_low, mul_add(e, Vec<double>(0x1.f79fef311f12bp-34), low * c_high));
  Vec<double> sum = e_main + main;
  return log_special_cases(x, sum + (rest + ((e_main - sum) + main)));
}
// In float f = m - 1 goes in last, times the whole part of the base's factor (as in Cephes).
inline Vec<float> log2(Vec<float> x) {
  Vec<float> e, f = split_exponent(x, e), square = f * f;
  Vec<float> rest = mul_add(square * f, log_tail(f), square * Vec<float>(-0.5f));
  Vec<float> scaled = mul_add(rest, Vec<float>(1.44269504088896341f), f * Vec<float>(0.44269504088896341f));
  return log_special_cases(x, e + (f + scaled));
}
inline Vec<float> log10(Vec<float> x) {
  Vec<float> e, f = split_exponent(x, e), square = f * f;
  Vec<float> rest = mul_add(square * f, log_tail(f), square * Vec<float>(-0.5f));
  Vec<float> scaled = mul_add(rest + f, Vec<float>(0.43429448190325183f), e * Vec<float>(2.4874566398e-04f));
  return log_special_cases(x, mul_add(e, Vec<float>(0.30078125f), scaled));
}

// x log(y), and x log(1+y), with 0 where x is 0 unless y is NaN.
template <Floating T>
inline Vec<T> xlogy(Vec<T> x, std::type_identity_t<Vec<T>> y) {
  return where((x == Vec<T>(0)) & !isnan(y), Vec<T>(0), x * log(y));
}
template <Floating T>
inline Vec<T> xlog1py(Vec<T> x, std::type_identity_t<Vec<T>> y) {
  return where((x == Vec<T>(0)) & !isnan(y), Vec<T>(0), x * log1p(y));
}

// log(e^a + e^b) and the same in base 2; equal infinities give themselves.
template <Floating T>
inline Vec<T> logaddexp(Vec<T> a, std::type_identity_t<Vec<T>> b) {
  Vec<T> larger = maximum(a, b), difference = abs(a - b);
  return where((a == b) & isinf(a), a, larger + log1p(exp(-difference)));
}
template <Floating T>
inline Vec<T> logaddexp2(Vec<T> a, std::type_identity_t<Vec<T>> b) {
  Vec<T> larger = maximum(a, b), difference = abs(a - b);
  return where((a == b) & isinf(a), a, mul_add(log1p(exp2(-difference)), Vec<T>(1.44269504088896340736), larger));
}

}  // namespace FL_ISA
}  // namespace fl
