// Functions of complex numbers, with the special values of C99's Annex G where C has the function.
//
// abs, angle, real and imag give a complex number with a zero imaginary part: storing to a real tensor drops it.
#pragma once

#include "../simd/complex_vec.h"
#include "basic.h"
#include "exp_log.h"

namespace fl {
namespace FL_ISA {

// The compiler's C99 complex types.
FL_INLINE _Complex float to_c99(Complex<float> z) {
  _Complex float r;
  __real__ r = z.real;
  __imag__ r = z.imag;
  return r;
}
FL_INLINE _Complex double to_c99(Complex<double> z) {
  _Complex double r;
  __real__ r = z.real;
  __imag__ r = z.imag;
  return r;
}
FL_INLINE Vec<Complex<float>> from_c99(_Complex float z) { return Vec<Complex<float>>(__real__ z, __imag__ z); }
FL_INLINE Vec<Complex<double>> from_c99(_Complex double z) { return Vec<Complex<double>>(__real__ z, __imag__ z); }

#define FL_COMPLEX_UNARY(name)                                                                                   \
  inline Vec<Complex<float>> name(Vec<Complex<float>> z) { return from_c99(__builtin_c##name##f(to_c99(z.v))); } \
  inline Vec<Complex<double>> name(Vec<Complex<double>> z) { return from_c99(__builtin_c##name(to_c99(z.v))); }
FL_COMPLEX_UNARY(exp)
FL_COMPLEX_UNARY(log)
FL_COMPLEX_UNARY(sqrt)
FL_COMPLEX_UNARY(sin)
FL_COMPLEX_UNARY(cos)
FL_COMPLEX_UNARY(tan)
FL_COMPLEX_UNARY(sinh)
FL_COMPLEX_UNARY(cosh)
FL_COMPLEX_UNARY(tanh)
FL_COMPLEX_UNARY(asin)
FL_COMPLEX_UNARY(acos)
FL_COMPLEX_UNARY(atan)
FL_COMPLEX_UNARY(asinh)
FL_COMPLEX_UNARY(acosh)
FL_COMPLEX_UNARY(atanh)
#undef FL_COMPLEX_UNARY

inline Vec<Complex<float>> pow(Vec<Complex<float>> base, Vec<Complex<float>> exponent) {
  return from_c99(__builtin_cpowf(to_c99(base.v), to_c99(exponent.v)));
}
inline Vec<Complex<double>> pow(Vec<Complex<double>> base, Vec<Complex<double>> exponent) {
  return from_c99(__builtin_cpow(to_c99(base.v), to_c99(exponent.v)));
}

template <class T>
FL_INLINE T scalar_hypot(T a, T b) {
  if constexpr (sizeof(T) == 4) return __builtin_hypotf(a, b);
  return __builtin_hypot(a, b);
}
template <class T>
inline Vec<Complex<T>> abs(Vec<Complex<T>> z) {
  return Vec<Complex<T>>(scalar_hypot(z.v.real, z.v.imag));
}
template <class T>
inline Vec<Complex<T>> angle(Vec<Complex<T>> z) {
  if constexpr (sizeof(T) == 4) return Vec<Complex<T>>(__builtin_atan2f(z.v.imag, z.v.real));
  return Vec<Complex<T>>(T(__builtin_atan2(z.v.imag, z.v.real)));
}
template <class T>
FL_INLINE Vec<Complex<T>> conj(Vec<Complex<T>> z) {
  return Vec<Complex<T>>(z.v.real, -z.v.imag);
}
template <class T>
FL_INLINE Vec<Complex<T>> real(Vec<Complex<T>> z) {
  return Vec<Complex<T>>(z.v.real);
}
template <class T>
FL_INLINE Vec<Complex<T>> imag(Vec<Complex<T>> z) {
  return Vec<Complex<T>>(z.v.imag);
}
// z / |z|, 0 at 0.
template <class T>
inline Vec<Complex<T>> sgn(Vec<Complex<T>> z) {
  T size = scalar_hypot(z.v.real, z.v.imag);
  return size == 0 ? Vec<Complex<T>>(0) : Vec<Complex<T>>(z.v.real / size, z.v.imag / size);
}
template <class T>
FL_INLINE Vec<Complex<T>> reciprocal(Vec<Complex<T>> z) {
  return Vec<Complex<T>>(1) / z;
}
template <class T>
inline Vec<Complex<T>> rsqrt(Vec<Complex<T>> z) {
  return Vec<Complex<T>>(1) / sqrt(z);
}
template <class T>
inline Vec<Complex<T>> exp2(Vec<Complex<T>> z) {
  return exp(Vec<Complex<T>>(T(z.v.real * 0.69314718055994530942), T(z.v.imag * 0.69314718055994530942)));
}
template <class T>
inline Vec<Complex<T>> log2(Vec<Complex<T>> z) {
  Vec<Complex<T>> w = log(z);
  return Vec<Complex<T>>(T(w.v.real * 1.44269504088896340736), T(w.v.imag * 1.44269504088896340736));
}
template <class T>
inline Vec<Complex<T>> log10(Vec<Complex<T>> z) {
  Vec<Complex<T>> w = log(z);
  return Vec<Complex<T>>(T(w.v.real * 0.43429448190325182765), T(w.v.imag * 0.43429448190325182765));
}
template <class T>
inline Vec<Complex<T>> sigmoid(Vec<Complex<T>> z) {
  return Vec<Complex<T>>(1) / (Vec<Complex<T>>(1) + exp(-z));
}

// log|1+z| = log1p(2x + x^2 + y^2) / 2 keeps the digits of a small z.
template <class T>
inline Vec<Complex<T>> log1p(Vec<Complex<T>> z) {
  double x = z.v.real, y = z.v.imag, excess = x * (2 + x) + y * y;
  double size = __builtin_fabs(excess) < 0.5 ? __builtin_log1p(excess) / 2 : __builtin_log(__builtin_hypot(1 + x, y));
  return Vec<Complex<T>>(T(size), T(__builtin_atan2(y, 1 + x)));
}
// e^x cos y - 1 = expm1(x) cos y - 2 sin^2(y/2).
template <class T>
inline Vec<Complex<T>> expm1(Vec<Complex<T>> z) {
  double x = z.v.real, y = z.v.imag;
  if (y == 0) return Vec<Complex<T>>(T(__builtin_expm1(x)), z.v.imag);
  double half_sine = __builtin_sin(y / 2);
  return Vec<Complex<T>>(T(__builtin_expm1(x) * __builtin_cos(y) - 2 * half_sine * half_sine),
                         T(__builtin_exp(x) * __builtin_sin(y)));
}

template <class T>
FL_INLINE Mask<Complex<T>> isnan(Vec<Complex<T>> z) {
  return Mask<Complex<T>>(__builtin_isnan(z.v.real) || __builtin_isnan(z.v.imag));
}
template <class T>
FL_INLINE Mask<Complex<T>> isinf(Vec<Complex<T>> z) {
  return Mask<Complex<T>>(__builtin_isinf(z.v.real) || __builtin_isinf(z.v.imag));
}
template <class T>
FL_INLINE Mask<Complex<T>> isfinite(Vec<Complex<T>> z) {
  return Mask<Complex<T>>(__builtin_isfinite(z.v.real) && __builtin_isfinite(z.v.imag));
}
template <class T>
FL_INLINE Vec<Complex<T>> mul_add(Vec<Complex<T>> a, std::type_identity_t<Vec<Complex<T>>> b,
                                  std::type_identity_t<Vec<Complex<T>>> c) {
  return a * b + c;
}

}  // namespace FL_ISA
}  // namespace fl
