// The elementary functions a machine (nearly) has: signs, rounding, minimum and maximum, square roots, classification.
#pragma once

#include "../simd/native.h"

namespace fl {
namespace FL_ISA {

template <class T>
concept Floating = std::is_floating_point_v<T>;
template <class T>
concept Integral = std::is_integral_v<T>;

template <class T>
struct FloatTraits;
template <>
struct FloatTraits<float> {
  using Bits = int32_t;
  static constexpr Bits sign_bit = INT32_MIN, mantissa_mask = 0x007fffff, infinity = 0x7f800000;
  static constexpr int mantissa_bits = 23, bias = 127;
  static constexpr float round_magic = 0x1.8p23f, smallest_normal = 0x1p-126f, largest = 0x1.fffffep127f;
};
template <>
struct FloatTraits<double> {
  using Bits = int64_t;
  static constexpr Bits sign_bit = INT64_MIN, mantissa_mask = 0x000fffffffffffff, infinity = 0x7ff0000000000000;
  static constexpr int mantissa_bits = 52, bias = 1023;
  static constexpr double round_magic = 0x1.8p52, smallest_normal = 0x1p-1022, largest = 0x1.fffffffffffffp1023;
};
template <class T>
using BitsOf = typename FloatTraits<T>::Bits;

template <Floating T>
FL_INLINE Vec<BitsOf<T>> to_bits(Vec<T> x) {
  return bits_as<BitsOf<T>>(x);
}
template <class T>
inline constexpr T infinity_of = T(__builtin_inf());
template <class T>
inline constexpr T nan_of = T(__builtin_nan(""));

template <Floating T>
FL_INLINE Vec<T> mul_add(Vec<T> a, std::type_identity_t<Vec<T>> b, std::type_identity_t<Vec<T>> c) {
  return Vec<T>(native::mul_add(a.v, b.v, c.v));
}
template <Integral T>
FL_INLINE Vec<T> mul_add(Vec<T> a, std::type_identity_t<Vec<T>> b, std::type_identity_t<Vec<T>> c) {
  return a * b + c;
}
// Correctly rounded a * b + c.
template <Floating T>
FL_INLINE Vec<T> fma(Vec<T> a, std::type_identity_t<Vec<T>> b, std::type_identity_t<Vec<T>> c) {
  return Vec<T>(native::exact_fma(a.v, b.v, c.v));
}
// c0 + x (c1 + x (c2 + ...)).
template <class T>
FL_INLINE Vec<T> polynomial(Vec<T>, T c0) {
  return Vec<T>(c0);
}
template <class T, class... Rest>
FL_INLINE Vec<T> polynomial(Vec<T> x, T c0, T c1, Rest... rest) {
  return mul_add(polynomial(x, c1, rest...), x, Vec<T>(c0));
}

template <Floating T>
FL_INLINE Vec<T> abs(Vec<T> x) {
  return bits_as<T>(to_bits(x) & Vec<BitsOf<T>>(~FloatTraits<T>::sign_bit));
}
template <Integral T>
FL_INLINE Vec<T> abs(Vec<T> x) {
  if constexpr (std::is_unsigned_v<T>) {
    return x;
  } else {
    return where(x < Vec<T>(0), -x, x);
  }
}
template <class T>
FL_INLINE Vec<T> neg(Vec<T> x) {
  return -x;
}
template <class T>
FL_INLINE Vec<T> square(Vec<T> x) {
  return x * x;
}
template <Floating T>
FL_INLINE Mask<T> signbit(Vec<T> x) {
  return to_bits(x) < Vec<BitsOf<T>>(0);
}
template <Integral T>
FL_INLINE Mask<T> signbit(Vec<T> x) {
  return x < Vec<T>(0);
}
// -1, 0 or 1; NaN gives 0, as PyTorch's sign does.
template <class T>
FL_INLINE Vec<T> sign(Vec<T> x) {
  if constexpr (std::is_unsigned_v<T>) {
    return where(x > Vec<T>(0), Vec<T>(1), Vec<T>(0));
  } else {
    return where(x > Vec<T>(0), Vec<T>(1), where(x < Vec<T>(0), Vec<T>(-1), Vec<T>(0)));
  }
}
template <class T>
FL_INLINE Vec<T> sgn(Vec<T> x) {
  return sign(x);
}
template <Floating T>
FL_INLINE Vec<T> copysign(Vec<T> magnitude, std::type_identity_t<Vec<T>> sign_of) {
  Vec<BitsOf<T>> sign_bit(FloatTraits<T>::sign_bit);
  return bits_as<T>((to_bits(magnitude) & ~sign_bit) | (to_bits(sign_of) & sign_bit));
}
// x with its sign flipped where s is negative (or -0).
template <Floating T>
FL_INLINE Vec<T> flip_sign(Vec<T> x, Vec<T> s) {
  return bits_as<T>(to_bits(x) ^ (to_bits(s) & Vec<BitsOf<T>>(FloatTraits<T>::sign_bit)));
}

template <class T>
FL_INLINE Mask<T> isnan(Vec<T> x) {
  return x != x;
}
template <Floating T>
FL_INLINE Mask<T> isinf(Vec<T> x) {
  return abs(x) == Vec<T>(infinity_of<T>);
}
template <Integral T>
FL_INLINE Mask<T> isinf(Vec<T>) {
  return Mask<T>(false);
}
template <Floating T>
FL_INLINE Mask<T> isfinite(Vec<T> x) {
  return abs(x) < Vec<T>(infinity_of<T>);
}
template <Integral T>
FL_INLINE Mask<T> isfinite(Vec<T>) {
  return Mask<T>(true);
}

// Rounding keeps -0, infinities and NaN; on integers it is the identity.
template <class T>
FL_INLINE Vec<T> floor(Vec<T> x) {
  if constexpr (Floating<T>) return Vec<T>(native::round_to<1>(x.v));
  return x;
}
template <class T>
FL_INLINE Vec<T> ceil(Vec<T> x) {
  if constexpr (Floating<T>) return Vec<T>(native::round_to<2>(x.v));
  return x;
}
template <class T>
FL_INLINE Vec<T> trunc(Vec<T> x) {
  if constexpr (Floating<T>) return Vec<T>(native::round_to<3>(x.v));
  return x;
}
// Half to even.
template <class T>
FL_INLINE Vec<T> round(Vec<T> x) {
  if constexpr (Floating<T>) return Vec<T>(native::round_to<0>(x.v));
  return x;
}
template <Floating T>
FL_INLINE Vec<T> frac(Vec<T> x) {
  return x - trunc(x);
}

// minimum and maximum propagate NaN; fmin and fmax ignore it.
template <Floating T>
FL_INLINE Vec<T> maximum(Vec<T> a, std::type_identity_t<Vec<T>> b) {
  return where(isnan(a), a, Vec<T>(native::max(a.v, b.v)));
}
template <Floating T>
FL_INLINE Vec<T> minimum(Vec<T> a, std::type_identity_t<Vec<T>> b) {
  return where(isnan(a), a, Vec<T>(native::min(a.v, b.v)));
}
template <Floating T>
FL_INLINE Vec<T> fmax(Vec<T> a, std::type_identity_t<Vec<T>> b) {
  return where(isnan(b), a, Vec<T>(native::max(a.v, b.v)));
}
template <Floating T>
FL_INLINE Vec<T> fmin(Vec<T> a, std::type_identity_t<Vec<T>> b) {
  return where(isnan(b), a, Vec<T>(native::min(a.v, b.v)));
}
template <Integral T>
FL_INLINE Vec<T> maximum(Vec<T> a, std::type_identity_t<Vec<T>> b) {
  return where(a > b, a, b);
}
template <Integral T>
FL_INLINE Vec<T> minimum(Vec<T> a, std::type_identity_t<Vec<T>> b) {
  return where(a < b, a, b);
}
template <Integral T>
FL_INLINE Vec<T> fmax(Vec<T> a, std::type_identity_t<Vec<T>> b) {
  return maximum(a, b);
}
template <Integral T>
FL_INLINE Vec<T> fmin(Vec<T> a, std::type_identity_t<Vec<T>> b) {
  return minimum(a, b);
}
// Into [low, high], NaN kept: the operand order makes the machine's instructions return x when x is NaN.
template <Floating T>
FL_INLINE Vec<T> clamp_keep_nan(Vec<T> x, T low, T high) {
  return Vec<T>(native::min(Vec<T>(high).v, native::max(Vec<T>(low).v, x.v)));
}

template <Floating T>
FL_INLINE Vec<T> sqrt(Vec<T> x) {
  return Vec<T>(native::sqrt(x.v));
}
template <Floating T>
FL_INLINE Vec<T> reciprocal(Vec<T> x) {
  return Vec<T>(1) / x;
}
// Two correctly rounded steps: at most 1.5 ulp.
template <Floating T>
FL_INLINE Vec<T> rsqrt(Vec<T> x) {
  return Vec<T>(1) / sqrt(x);
}

// What complex numbers have, for bodies that serve both: the angle of a negative number is pi.
template <class T>
FL_INLINE Vec<T> conj(Vec<T> x) {
  return x;
}
template <class T>
FL_INLINE Vec<T> real(Vec<T> x) {
  return x;
}
template <class T>
FL_INLINE Vec<T> imag(Vec<T>) {
  return Vec<T>(0);
}
template <Floating T>
FL_INLINE Vec<T> angle(Vec<T> x) {
  return where(x < Vec<T>(0), Vec<T>(3.14159265358979323846), where(isnan(x), x, Vec<T>(0)));
}

// The next representable value from x toward y.
template <Floating T>
inline Vec<T> nextafter(Vec<T> x, std::type_identity_t<Vec<T>> y) {
  using B = BitsOf<T>;
  Vec<B> bits = to_bits(x);
  Vec<B> away = where(Mask<B>((y > x) == (x > Vec<T>(0))), Vec<B>(1), Vec<B>(-1));
  Vec<T> stepped = bits_as<T>(bits + away);
  stepped = where(x == Vec<T>(0), copysign(bits_as<T>(Vec<B>(1)), y), stepped);
  return where(isnan(x) | isnan(y), x + y, where(x == y, y, stepped));
}

// A float function computed in double: the two halves of the register are widened, and the result rounds once.
template <class F, class... Args>
FL_INLINE Vec<float> through_double(F f, Args... x) {
  typedef float Half __attribute__((vector_size(FL_VECTOR_BYTES / 2)));
  auto half = [](Vec<float> a, int which) {
    Half h;
    memcpy(&h, reinterpret_cast<const char*>(&a.v) + which * sizeof(Half), sizeof(Half));
    return Vec<double>(__builtin_convertvector(h, Vec<double>::V));
  };
  Vec<float> result;
  for (int which = 0; which < 2; which++) {
    Half h = __builtin_convertvector(f(half(x, which)...).v, Half);
    memcpy(reinterpret_cast<char*>(&result.v) + which * sizeof(Half), &h, sizeof(Half));
  }
  return result;
}

}  // namespace FL_ISA
}  // namespace fl
