// Vec<T> and Mask<T>: one register of lanes, on top of the compiler's vector extension.
//
// A body written against Vec<T> compiles for every dtype and every instruction set. All operations act on each lane by
// itself, so the value of an element never depends on where in a tile it sits.
#pragma once

#include "isa.h"

namespace fl {
namespace FL_ISA {

template <int bytes>
struct SignedOfSize;
template <>
struct SignedOfSize<1> {
  using Type = int8_t;
};
template <>
struct SignedOfSize<2> {
  using Type = int16_t;
};
template <>
struct SignedOfSize<4> {
  using Type = int32_t;
};
template <>
struct SignedOfSize<8> {
  using Type = int64_t;
};

// Whether any byte of a register has its top bit set.
template <class V>
FL_INLINE bool any_top_bit(V v) {
#if FL_VECTOR_BYTES == 64
  typedef char Bytes __attribute__((vector_size(64)));
  return __builtin_ia32_cvtb2mask512((Bytes)v) != 0;
#elif FL_VECTOR_BYTES == 32
  typedef char Bytes __attribute__((vector_size(32)));
  return __builtin_ia32_pmovmskb256((Bytes)v) != 0;
#elif defined(__SSE2__)
  typedef char Bytes __attribute__((vector_size(16)));
  return __builtin_ia32_pmovmskb128((Bytes)v) != 0;
#else
  typedef uint64_t Words __attribute__((vector_size(16)));
  Words w = (Words)v;
  return ((w[0] | w[1]) & 0x8080808080808080u) != 0;
#endif
}

// A truth value for each lane: all bits set or none, as wide as the lanes it selects between.
template <class T>
struct Mask {
  using Lane = typename SignedOfSize<sizeof(T)>::Type;
  static constexpr int N = FL_VECTOR_BYTES / sizeof(T);
  typedef Lane V __attribute__((vector_size(FL_VECTOR_BYTES)));
  typedef uint8_t Bytes __attribute__((vector_size(N)));
  V m;

  Mask() = default;
  FL_INLINE explicit Mask(V bits) : m(bits) {}
  FL_INLINE Mask(bool value) : m(V{} - Lane(value)) {}
  template <class U>
  requires(sizeof(U) == sizeof(T)) FL_INLINE Mask(Mask<U> other) : m((V)other.m) {}

  FL_INLINE bool any() const { return any_top_bit(m); }
  FL_INLINE bool all() const { return !any_top_bit(~m); }

  // Bool storage: one byte an element, 0 or 1 (any non-zero byte reads as true).
  FL_INLINE static Mask load_bool(const uint8_t* p) {
    Bytes bytes;
    memcpy(&bytes, p, N);
    return Mask(V(__builtin_convertvector(bytes, V) != 0));
  }
  FL_INLINE void store_bool(uint8_t* p) const {
    Bytes bytes = __builtin_convertvector(m, Bytes) & 1;
    memcpy(p, &bytes, N);
  }

  friend FL_INLINE Mask operator&(Mask a, Mask b) { return Mask(V(a.m & b.m)); }
  friend FL_INLINE Mask operator|(Mask a, Mask b) { return Mask(V(a.m | b.m)); }
  friend FL_INLINE Mask operator^(Mask a, Mask b) { return Mask(V(a.m ^ b.m)); }
  friend FL_INLINE Mask operator!(Mask a) { return Mask(V(~a.m)); }
  friend FL_INLINE Mask operator~(Mask a) { return Mask(V(~a.m)); }
  friend FL_INLINE Mask operator==(Mask a, Mask b) { return Mask(V(~(a.m ^ b.m))); }
  friend FL_INLINE Mask operator!=(Mask a, Mask b) { return a ^ b; }
};

template <class T>
struct Vec;

// Integer division never traps: the quotient by zero is 0 and the quotient that overflows wraps (see math/integer.h).
template <class T>
Vec<T> trunc_divide(Vec<T> a, std::type_identity_t<Vec<T>> b);
template <class T>
Vec<T> fmod(Vec<T> a, std::type_identity_t<Vec<T>> b);
// Shifts by a count outside [0, bits) are defined: left gives 0, right gives the sign fill.
template <class T>
Vec<T> shift_left(Vec<T> a, std::type_identity_t<Vec<T>> count);
template <class T>
Vec<T> shift_right(Vec<T> a, std::type_identity_t<Vec<T>> count);

template <class T>
struct Vec {
  static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>);
  using Scalar = T;
  static constexpr int N = FL_VECTOR_BYTES / sizeof(T);
  typedef T V __attribute__((vector_size(FL_VECTOR_BYTES)));
  V v;

  Vec() = default;
  FL_INLINE explicit Vec(V lanes) : v(lanes) {}
  // Broadcast. Subtracting a zero keeps -0, adding one would not.
  template <class S>
  requires std::is_arithmetic_v<S> FL_INLINE Vec(S value) : v(T(value) - V{}) {}

  FL_INLINE static Vec load(const T* p) {
    Vec r;
    memcpy(&r.v, p, sizeof(V));
    return r;
  }
  FL_INLINE void store(T* p) const { memcpy(p, &v, sizeof(V)); }
  FL_INLINE T operator[](int lane) const { return v[lane]; }

  friend FL_INLINE Vec operator+(Vec a, Vec b) {
    return wrap(a, b, [](auto x, auto y) { return x + y; });
  }
  friend FL_INLINE Vec operator-(Vec a, Vec b) {
    return wrap(a, b, [](auto x, auto y) { return x - y; });
  }
  friend FL_INLINE Vec operator*(Vec a, Vec b) {
    return wrap(a, b, [](auto x, auto y) { return x * y; });
  }
  friend FL_INLINE Vec operator/(Vec a, Vec b) {
    if constexpr (std::is_floating_point_v<T>) {
      return Vec(V(a.v / b.v));
    } else {
      return trunc_divide(a, b);
    }
  }
  friend FL_INLINE Vec operator%(Vec a, Vec b) { return fmod(a, b); }
  FL_INLINE Vec operator-() const {
    if constexpr (std::is_floating_point_v<T>) {
      return Vec(V(-v));
    } else {
      return Vec(0) - *this;
    }
  }
  FL_INLINE Vec operator~() const { return Vec(V(~v)); }
  friend FL_INLINE Vec operator&(Vec a, Vec b) { return Vec(V(a.v & b.v)); }
  friend FL_INLINE Vec operator|(Vec a, Vec b) { return Vec(V(a.v | b.v)); }
  friend FL_INLINE Vec operator^(Vec a, Vec b) { return Vec(V(a.v ^ b.v)); }
  friend FL_INLINE Vec operator<<(Vec a, Vec b) { return shift_left(a, b); }
  friend FL_INLINE Vec operator>>(Vec a, Vec b) { return shift_right(a, b); }

  FL_INLINE Vec& operator+=(Vec b) { return *this = *this + b; }
  FL_INLINE Vec& operator-=(Vec b) { return *this = *this - b; }
  FL_INLINE Vec& operator*=(Vec b) { return *this = *this * b; }
  FL_INLINE Vec& operator/=(Vec b) { return *this = *this / b; }
  FL_INLINE Vec& operator&=(Vec b) { return *this = *this & b; }
  FL_INLINE Vec& operator|=(Vec b) { return *this = *this | b; }
  FL_INLINE Vec& operator^=(Vec b) { return *this = *this ^ b; }

  friend FL_INLINE Mask<T> operator<(Vec a, Vec b) { return Mask<T>((typename Mask<T>::V)(a.v < b.v)); }
  friend FL_INLINE Mask<T> operator<=(Vec a, Vec b) { return Mask<T>((typename Mask<T>::V)(a.v <= b.v)); }
  friend FL_INLINE Mask<T> operator>(Vec a, Vec b) { return Mask<T>((typename Mask<T>::V)(a.v > b.v)); }
  friend FL_INLINE Mask<T> operator>=(Vec a, Vec b) { return Mask<T>((typename Mask<T>::V)(a.v >= b.v)); }
  friend FL_INLINE Mask<T> operator==(Vec a, Vec b) { return Mask<T>((typename Mask<T>::V)(a.v == b.v)); }
  friend FL_INLINE Mask<T> operator!=(Vec a, Vec b) { return Mask<T>((typename Mask<T>::V)(a.v != b.v)); }

 private:
  // Signed overflow wraps: integers are added and multiplied as unsigned lanes.
  template <class F>
  static FL_INLINE Vec wrap(Vec a, Vec b, F f) {
    if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;
      typedef U W __attribute__((vector_size(FL_VECTOR_BYTES)));
      return Vec((V)f((W)a.v, (W)b.v));
    } else {
      return Vec(V(f(a.v, b.v)));
    }
  }
};

template <class T>
FL_INLINE Vec<T> where(Mask<T> mask, std::type_identity_t<Vec<T>> yes, std::type_identity_t<Vec<T>> no) {
  return Vec<T>((typename Vec<T>::V)(mask.m ? yes.v : no.v));
}

// Where the mask selects between lanes of another type of the same width.
template <class T, class U>
requires(sizeof(T) == sizeof(U) && !std::is_same_v<T, U>) FL_INLINE Vec<U> where(Mask<T> mask, Vec<U> yes, Vec<U> no) {
  return where(Mask<U>(mask), yes, no);
}

// The same bits read as lanes of another type.
template <class To, class From>
FL_INLINE Vec<To> bits_as(Vec<From> x) {
  return Vec<To>((typename Vec<To>::V)x.v);
}
template <class To, class From>
FL_INLINE Vec<To> bits_as(Mask<From> x) {
  return Vec<To>((typename Vec<To>::V)x.m);
}

// Value conversion between types of one width (float and int32, double and int64).
template <class To, class From>
requires(sizeof(To) == sizeof(From)) FL_INLINE Vec<To> convert(Vec<From> x) {
  return Vec<To>(__builtin_convertvector(x.v, typename Vec<To>::V));
}

// f applied to each lane as a scalar, for functions where a vector algorithm is not worth it.
template <class F, class T, class... Rest>
inline Vec<T> map_lanes(F f, Vec<T> x, Rest... rest) {
  Vec<T> r;
  for (int i = 0; i < Vec<T>::N; i++) r.v[i] = f(x.v[i], rest.v[i]...);
  return r;
}

// f applied to the lanes under the mask; the others keep their value in `otherwise`.
template <class F, class T>
inline Vec<T> map_lanes_where(Mask<T> mask, Vec<T> otherwise, F f, Vec<T> x) {
  for (int i = 0; i < Vec<T>::N; i++) {
    if (mask.m[i]) otherwise.v[i] = f(x.v[i]);
  }
  return otherwise;
}

}  // namespace FL_ISA
}  // namespace fl
