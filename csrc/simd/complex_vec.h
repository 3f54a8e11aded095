// Vec of one complex number. Complex kernels run the same bodies as real ones, one element at a time.
//
// Products use the plain formula (right for finite operands, without the call that repairs NaN results); quotients are
// scaled as in R. L. Smith, "Algorithm 116: Complex division", so that nothing overflows before the result does.
#pragma once

#include "../base/complex.h"
#include "vec.h"

namespace fl {
namespace FL_ISA {

template <class T>
struct Mask<Complex<T>> {
  static constexpr int N = 1;
  using V = bool;
  V m;

  Mask() = default;
  FL_INLINE Mask(bool value) : m(value) {}

  FL_INLINE bool any() const { return m; }
  FL_INLINE bool all() const { return m; }
  FL_INLINE static Mask load_bool(const uint8_t* p) { return Mask(*p != 0); }
  FL_INLINE void store_bool(uint8_t* p) const { *p = m; }

  friend FL_INLINE Mask operator&(Mask a, Mask b) { return Mask(a.m && b.m); }
  friend FL_INLINE Mask operator|(Mask a, Mask b) { return Mask(a.m || b.m); }
  friend FL_INLINE Mask operator^(Mask a, Mask b) { return Mask(a.m != b.m); }
  friend FL_INLINE Mask operator!(Mask a) { return Mask(!a.m); }
  friend FL_INLINE Mask operator~(Mask a) { return Mask(!a.m); }
  friend FL_INLINE Mask operator==(Mask a, Mask b) { return Mask(a.m == b.m); }
  friend FL_INLINE Mask operator!=(Mask a, Mask b) { return Mask(a.m != b.m); }
};

template <class T>
struct Vec<Complex<T>> {
  using Scalar = Complex<T>;
  static constexpr int N = 1;
  using V = Complex<T>;
  V v;

  Vec() = default;
  FL_INLINE Vec(Complex<T> value) : v(value) {}
  FL_INLINE Vec(T real, T imag) : v(real, imag) {}
  template <class S>
  requires std::is_arithmetic_v<S> FL_INLINE Vec(S value) : v(T(value)) {}

  FL_INLINE static Vec load(const Complex<T>* p) { return Vec(*p); }
  FL_INLINE void store(Complex<T>* p) const { *p = v; }
  FL_INLINE Complex<T> operator[](int) const { return v; }

  friend FL_INLINE Vec operator+(Vec a, Vec b) { return Vec(a.v.real + b.v.real, a.v.imag + b.v.imag); }
  friend FL_INLINE Vec operator-(Vec a, Vec b) { return Vec(a.v.real - b.v.real, a.v.imag - b.v.imag); }
  friend FL_INLINE Vec operator*(Vec a, Vec b) {
    return Vec(a.v.real * b.v.real - a.v.imag * b.v.imag, a.v.real * b.v.imag + a.v.imag * b.v.real);
  }
  friend FL_INLINE Vec operator/(Vec a, Vec b) {
    T c = b.v.real, d = b.v.imag;
    if (c == 0 && d == 0) return Vec(a.v.real / c, a.v.imag / c);
    if (__builtin_fabs(c) >= __builtin_fabs(d)) {
      T ratio = d / c, scale = c + d * ratio;
      return Vec((a.v.real + a.v.imag * ratio) / scale, (a.v.imag - a.v.real * ratio) / scale);
    }
    T ratio = c / d, scale = d + c * ratio;
    return Vec((a.v.real * ratio + a.v.imag) / scale, (a.v.imag * ratio - a.v.real) / scale);
  }
  FL_INLINE Vec operator-() const { return Vec(-v.real, -v.imag); }

  FL_INLINE Vec& operator+=(Vec b) { return *this = *this + b; }
  FL_INLINE Vec& operator-=(Vec b) { return *this = *this - b; }
  FL_INLINE Vec& operator*=(Vec b) { return *this = *this * b; }
  FL_INLINE Vec& operator/=(Vec b) { return *this = *this / b; }

  friend FL_INLINE Mask<Scalar> operator==(Vec a, Vec b) { return Mask<Scalar>(a.v == b.v); }
  friend FL_INLINE Mask<Scalar> operator!=(Vec a, Vec b) { return Mask<Scalar>(!(a.v == b.v)); }
};

}  // namespace FL_ISA
}  // namespace fl
