// Circular functions.
//
// Reduction: x = n pi/2 + r with pi/2 in parts whose products with n are exact (Cody and Waite), up to n = 2^13 in
// float and 2^20 in double. Larger float arguments are reduced in double, larger doubles lane by lane by the C library,
// whose reduction is exact (Payne and Hanek). The arc functions reduce to a short interval by the half-angle and
// addition formulas. Coefficients: tools/fit_minimax.py. Bounds: sin, cos 1.5 ulp, double tan and atan2 2.5 ulp, the
// rest 2 ulp.
#pragma once

#include "basic.h"

namespace fl {
namespace FL_ISA {

inline constexpr double pi = 3.14159265358979323846, half_pi = 1.57079632679489661923;
// What pi/2 rounded to T lacks.
template <class T>
inline constexpr T half_pi_low = T(6.12323399573676603587e-17);
template <>
inline constexpr float half_pi_low<float> = -4.37113900018624283e-8f;

// Where the reductions stop being exact.
inline constexpr float largest_reduced_float = 12800.0f;
inline constexpr double largest_reduced_double = 1.6e6;

// x = n pi/2 + r + low with |low| far below r; n stands in the low bits of `n`.
template <class T>
struct Reduced {
  Vec<T> r, low;
  Vec<BitsOf<T>> n;
};
// The last two parts of pi/2 are taken off with what each subtraction lost.
template <class T>
FL_INLINE Reduced<T> finish_reduction(Vec<T> t, Vec<T> whole, Vec<T> shifted, T third, T last) {
  Vec<T> w = whole * Vec<T>(third), first = t - w, lost = (t - first) - w;
  Vec<T> y = mul_add(whole, Vec<T>(last), -lost), r = first - y;
  return {r, (first - r) - y, to_bits(shifted)};
}
FL_INLINE Reduced<float> reduce_quadrant(Vec<float> x) {
  Vec<float> magic(FloatTraits<float>::round_magic);
  Vec<float> shifted = mul_add(x, Vec<float>(0.63661977236758134308f), magic), whole = shifted - magic;
  Vec<float> t = mul_add(whole, Vec<float>(-0x1.fb4p-12f), mul_add(whole, Vec<float>(-0x1.92p+0f), x));
  return finish_reduction(t, whole, shifted, 0x1.444p-24f, 0x1.68c234c4c6629p-39f);
}
FL_INLINE Reduced<double> reduce_quadrant(Vec<double> x) {
  Vec<double> magic(FloatTraits<double>::round_magic);
  Vec<double> shifted = mul_add(x, Vec<double>(0.63661977236758134308), magic), whole = shifted - magic;
  Vec<double> t = mul_add(whole, Vec<double>(-0x1.921fb544p+0), x);
  return finish_reduction(t, whole, shifted, 0x1.0b4611a6p-34, 0x1.3198a2e037073p-69);
}

// sin and cos of r + low for |r| <= pi/4; low enters to first order.
FL_INLINE Vec<float> sin_tail(Vec<float> z) {
  return polynomial(z, -0.1666666418f, 0.008332747035f, -0.0001958764478f);
}
FL_INLINE Vec<double> sin_tail(Vec<double> z) {
  return polynomial(z, -0.16666666666666666, 0.0083333333333309376, -0.00019841269836740955, 2.7557316093417853e-6,
                    -2.5051129942141504e-8, 1.5917992268027355e-10);
}
FL_INLINE Vec<float> cos_tail(Vec<float> z) { return polynomial(z, 0.04166666418f, -0.001388830133f, 2.454769492e-5f); }
FL_INLINE Vec<double> cos_tail(Vec<double> z) {
  return polynomial(z, 0.041666666666666664, -0.0013888888888887389, 2.4801587298754668e-5, -2.7557317266015365e-7,
                    2.0876145077997095e-9, -1.1382546702689305e-11);
}
template <class T>
FL_INLINE Vec<T> sin_kernel(Vec<T> r, Vec<T> low) {
  Vec<T> z = r * r;
  return r + mul_add(r * z, sin_tail(z), low);
}
template <class T>
FL_INLINE Vec<T> cos_kernel(Vec<T> r, Vec<T> low) {
  // 1 - z/2 with what its rounding lost.
  Vec<T> z = r * r, half = z * Vec<T>(0.5), main = Vec<T>(1) - half;
  return main + (mul_add(z * z, cos_tail(z), (Vec<T>(1) - main) - half) - r * low);
}

// sin(r + n pi/2).
template <Floating T>
FL_INLINE Vec<T> sin_of_quadrant(Vec<T> r, Vec<T> low, Vec<BitsOf<T>> n) {
  using B = BitsOf<T>;
  Vec<T> value = where(Mask<T>((n & Vec<B>(1)) != Vec<B>(0)), cos_kernel(r, low), sin_kernel(r, low));
  Vec<B> sign(typename Vec<B>::V((n & Vec<B>(2)).v << (8 * sizeof(T) - 2)));
  return bits_as<T>(to_bits(value) ^ sign);
}
template <Floating T>
FL_INLINE Vec<T> sin_shifted(Vec<T> x, BitsOf<T> quadrants) {
  Reduced<T> reduced = reduce_quadrant(x);
  return sin_of_quadrant(reduced.r, reduced.low, reduced.n + Vec<BitsOf<T>>(quadrants));
}

inline Vec<double> sin(Vec<double> x) {
  Vec<double> result = where(abs(x) < Vec<double>(0x1p-30), x, sin_shifted(x, 0));
  Mask<double> large = abs(x) > Vec<double>(largest_reduced_double);
  if (large.any())
    result = map_lanes_where(
        large, result, [](double y) { return __builtin_sin(y); }, x);
  return result;
}
inline Vec<double> cos(Vec<double> x) {
  Vec<double> result = sin_shifted(x, 1);
  Mask<double> large = abs(x) > Vec<double>(largest_reduced_double);
  if (large.any())
    result = map_lanes_where(
        large, result, [](double y) { return __builtin_cos(y); }, x);
  return result;
}
inline Vec<double> tan(Vec<double> x) {
  Reduced<double> reduced = reduce_quadrant(x);
  Vec<double> s = sin_kernel(reduced.r, reduced.low), c = cos_kernel(reduced.r, reduced.low);
  Mask<double> odd((reduced.n & Vec<int64_t>(1)) != Vec<int64_t>(0));
  Vec<double> result = where(odd, -c, s) / where(odd, s, c);
  result = where(abs(x) < Vec<double>(0x1p-30), x, result);
  Mask<double> large = abs(x) > Vec<double>(largest_reduced_double);
  if (large.any())
    result = map_lanes_where(
        large, result, [](double y) { return __builtin_tan(y); }, x);
  return result;
}
inline Vec<float> sin(Vec<float> x) {
  Vec<float> result = where(abs(x) < Vec<float>(0x1p-15f), x, sin_shifted(x, 0));
  Mask<float> large = abs(x) > Vec<float>(largest_reduced_float);
  if (large.any()) result = where(large, through_double([](Vec<double> y) { return sin(y); }, x), result);
  return result;
}
inline Vec<float> cos(Vec<float> x) {
  Vec<float> result = sin_shifted(x, 1);
  Mask<float> large = abs(x) > Vec<float>(largest_reduced_float);
  if (large.any()) result = where(large, through_double([](Vec<double> y) { return cos(y); }, x), result);
  return result;
}
inline Vec<float> tan(Vec<float> x) {
  return through_double([](Vec<double> y) { return tan(y); }, x);
}

// (asin(r)/r - 1) / z at z = r^2 <= 1/4.
FL_INLINE Vec<double> asin_tail(Vec<double> z) {
  return polynomial(z, 0.16666666666666669, 0.074999999999984329, 0.044642857146355429, 0.030381944138531247,
                    0.022372172942149889, 0.017352392720869945, 0.013971212973553311, 0.011479177415181617,
                    0.010322814350205200, 0.0054575067185637822, 0.017400879442887152, -0.014851887071528912,
                    0.028757851367602328);
}
// asin(r) of the half-angle argument: r = |x| up to 1/2, else sqrt((1-|x|)/2), where asin x = pi/2 - 2 asin r.
FL_INLINE Vec<double> asin_reduced(Vec<double> x, Mask<double>& large) {
  Vec<double> a = abs(x);
  large = a > Vec<double>(0.5);
  Vec<double> z = where(large, (Vec<double>(1) - a) * Vec<double>(0.5), a * a);
  Vec<double> r = where(large, sqrt(z), a);
  return mul_add(r * z, asin_tail(z), r);
}
inline Vec<double> asin(Vec<double> x) {
  Mask<double> large;
  Vec<double> p = asin_reduced(x, large);
  Vec<double> result = where(large, Vec<double>(half_pi) - (p + p - Vec<double>(half_pi_low<double>)), p);
  return copysign(where(abs(x) < Vec<double>(FloatTraits<double>::smallest_normal), abs(x), result), x);
}
inline Vec<double> acos(Vec<double> x) {
  Mask<double> large, negative = signbit(x);
  Vec<double> p = asin_reduced(x, large);
  Vec<double> twice = p + p;
  Vec<double> outer = where(negative, Vec<double>(pi) - (twice - Vec<double>(2 * half_pi_low<double>)), twice);
  Vec<double> inner = Vec<double>(half_pi) - (flip_sign(p, x) - Vec<double>(half_pi_low<double>));
  return where(large, outer, inner);
}

// atan(t) for |t| <= tan(pi/8).
FL_INLINE Vec<float> atan_kernel(Vec<float> t) {
  Vec<float> z = t * t;
  return mul_add(t * z, polynomial(z, -0.3333333135f, 0.1999953836f, -0.1426389813f, 0.1074311435f, -0.06449884176f),
                 t);
}
FL_INLINE Vec<double> atan_kernel(Vec<double> t) {
  Vec<double> z = t * t;
  Vec<double> tail =
      polynomial(z, -0.33333333333333331, 0.19999999999995480, -0.14285714284658096, 0.11111111014577360,
                 -0.090909045505481276, 0.076921825505158192, -0.066645024323698579, 0.058580706374636755,
                 -0.050850403242463239, 0.039219836277912555, -0.019162416068044617);
  return mul_add(t * z, tail, t);
}
// atan(small / large) in [0, pi/4] for 0 <= small <= large, both of moderate size.
template <Floating T>
FL_INLINE Vec<T> atan_of_ratio(Vec<T> small, Vec<T> large) {
  Mask<T> upper = small > large * Vec<T>(0.41421356237309504880);
  Vec<T> p = atan_kernel(where(upper, small - large, small) / where(upper, small + large, large));
  return where(upper, Vec<T>(half_pi / 2) + (p + Vec<T>(half_pi_low<T> / 2)), p);
}
template <Floating T>
inline Vec<T> atan(Vec<T> x) {
  Vec<T> a = abs(x), one(1);
  Mask<T> inverted = a > one;
  // An infinite argument would make inf - inf; far above 2^60 the result doesn't change any more.
  a = where(a > Vec<T>(0x1p100), Vec<T>(0x1p100), a);
  Vec<T> p = atan_of_ratio(where(inverted, one, a), where(inverted, a, one));
  Vec<T> result = where(inverted, Vec<T>(half_pi) - (p - Vec<T>(half_pi_low<T>)), p);
  return where(x == Vec<T>(0), x, copysign(result, x));
}
template <Floating T>
inline Vec<T> atan2(Vec<T> y, std::type_identity_t<Vec<T>> x) {
  Vec<T> a = abs(y), b = abs(x), zero(0), one(1);
  Mask<T> both_infinite = isinf(a) & isinf(b), steep = a > b;
  a = where(both_infinite, one, a);
  b = where(both_infinite, one, b);
  Vec<T> small = where(steep, b, a), large = where(steep, a, b);
  // Sums of two numbers near the top of the range must not overflow.
  Vec<T> scale = where(large > Vec<T>(FloatTraits<T>::largest / 8), Vec<T>(0x1p-4), one);
  Vec<T> p = atan_of_ratio(small * scale, where(large == zero, one, large * scale));
  Vec<T> result = where(steep & !both_infinite, Vec<T>(half_pi) - (p - Vec<T>(half_pi_low<T>)), p);
  result = where(signbit(x), Vec<T>(pi) - (result - Vec<T>(2 * half_pi_low<T>)), result);
  return where(isnan(x) | isnan(y), x + y, copysign(result, y));
}

inline Vec<float> asin(Vec<float> x) {
  return through_double([](Vec<double> y) { return asin(y); }, x);
}
inline Vec<float> acos(Vec<float> x) {
  return through_double([](Vec<double> y) { return acos(y); }, x);
}
// sin(pi x), exact at multiples of one half.
inline Vec<double> sinpi(Vec<double> x) {
  Vec<double> twice = x + x, whole = round(twice);
  Vec<double> quarter = whole * Vec<double>(0.25);
  Vec<double> quadrant = (quarter - floor(quarter)) * Vec<double>(4);
  Vec<double> r = (twice - whole) * Vec<double>(half_pi);
  Vec<int64_t> n = to_bits(quadrant + Vec<double>(FloatTraits<double>::round_magic));
  return sin_of_quadrant(r, Vec<double>(0), n);
}

// sin(pi x) / (pi x), 1 at 0.
inline Vec<double> sinc(Vec<double> x) {
  Vec<double> t = x * Vec<double>(pi);
  return where(t == Vec<double>(0), Vec<double>(1), sin(t) / t);
}
inline Vec<float> sinc(Vec<float> x) {
  return through_double([](Vec<double> y) { return sinc(y); }, x);
}

}  // namespace FL_ISA
}  // namespace fl
