// Integer arithmetic without traps: division by zero gives 0 here (the op layer raises), the most negative number
// divided by -1 wraps, and shifts by any count are defined.
#pragma once

#include "basic.h"

namespace fl {
namespace FL_ISA {

// Quotients of 8, 16 and 32 bit numbers are computed in floating point: with p significand bits well above the width of
// the operands the rounded quotient truncates to the exact one. (A quotient that isn't whole is at least 1/|b| away
// from the next integer, which is at least 2^-width relative.)
template <Integral T>
inline Vec<T> trunc_divide(Vec<T> a, std::type_identity_t<Vec<T>> b) {
  Vec<T> quotient;
  if constexpr (sizeof(T) == 8) {
    for (int i = 0; i < Vec<T>::N; i++) {
      T x = a.v[i], y = b.v[i];
      if (y == 0) {
        quotient.v[i] = 0;
      } else if (std::is_signed_v<T> && y == T(-1)) {
        quotient.v[i] = T(0 - uint64_t(x));
      } else {
        quotient.v[i] = x / y;
      }
    }
  } else {
    // Divided in groups of lanes that fill a register once widened.
    using Wide = std::conditional_t<sizeof(T) == 4, double, float>;
    using Whole = std::conditional_t<sizeof(T) == 4, int64_t, int32_t>;
    constexpr int lanes = Vec<Wide>::N;
    typedef T Part __attribute__((vector_size(lanes * sizeof(T))));
    typedef Whole WholePart __attribute__((vector_size(lanes * sizeof(Whole))));
    for (int part = 0; part < Vec<T>::N / lanes; part++) {
      Part x, y;
      memcpy(&x, reinterpret_cast<const char*>(&a.v) + part * sizeof(Part), sizeof(Part));
      memcpy(&y, reinterpret_cast<const char*>(&b.v) + part * sizeof(Part), sizeof(Part));
      typename Vec<Wide>::V wide_x = __builtin_convertvector(x, typename Vec<Wide>::V);
      typename Vec<Wide>::V wide_y = __builtin_convertvector(y, typename Vec<Wide>::V);
      Vec<Wide> q =
          trunc(where(Vec<Wide>(wide_y) == Vec<Wide>(0), Vec<Wide>(0), Vec<Wide>(wide_x) / Vec<Wide>(wide_y)));
      Part narrow = __builtin_convertvector(__builtin_convertvector(q.v, WholePart), Part);
      memcpy(reinterpret_cast<char*>(&quotient.v) + part * sizeof(Part), &narrow, sizeof(Part));
    }
  }
  return quotient;
}

// The remainder with the sign of the dividend; 0 for a zero divisor.
template <Integral T>
inline Vec<T> fmod(Vec<T> a, std::type_identity_t<Vec<T>> b) {
  return where(b == Vec<T>(0), Vec<T>(0), a - trunc_divide(a, b) * b);
}
// The remainder with the sign of the divisor; 0 for a zero divisor.
template <Integral T>
inline Vec<T> remainder(Vec<T> a, std::type_identity_t<Vec<T>> b) {
  Vec<T> r = fmod(a, b);
  if constexpr (std::is_signed_v<T>) r = where((r != Vec<T>(0)) & ((r ^ b) < Vec<T>(0)), r + b, r);
  return r;
}
template <Integral T>
inline Vec<T> floor_divide(Vec<T> a, std::type_identity_t<Vec<T>> b) {
  Vec<T> q = trunc_divide(a, b);
  if constexpr (std::is_signed_v<T>) {
    Vec<T> r = a - q * b;
    q = where((r != Vec<T>(0)) & ((r ^ b) < Vec<T>(0)) & (b != Vec<T>(0)), q - Vec<T>(1), q);
  }
  return q;
}

template <class T>
FL_INLINE Vec<T> shift_left(Vec<T> a, std::type_identity_t<Vec<T>> count) {
  using U = std::make_unsigned_t<T>;
  constexpr U bits = 8 * sizeof(T);
  Vec<U> by = bits_as<U>(count);
  Vec<U> shifted(typename Vec<U>::V(bits_as<U>(a).v << (by & Vec<U>(bits - 1)).v));
  return bits_as<T>(where(by < Vec<U>(bits), shifted, Vec<U>(0)));
}
template <class T>
FL_INLINE Vec<T> shift_right(Vec<T> a, std::type_identity_t<Vec<T>> count) {
  using U = std::make_unsigned_t<T>;
  constexpr U bits = 8 * sizeof(T);
  Vec<U> by = bits_as<U>(count);
  if constexpr (std::is_signed_v<T>) {
    by = where(by < Vec<U>(bits), by, Vec<U>(bits - 1));
    return Vec<T>(typename Vec<T>::V(a.v >> bits_as<T>(by).v));
  } else {
    return where(by < Vec<U>(bits), Vec<T>(typename Vec<T>::V(a.v >> (by & Vec<U>(bits - 1)).v)), Vec<T>(0));
  }
}

// By squaring, wrapping. A negative exponent gives 0 except for the bases 1 and -1.
template <Integral T>
inline Vec<T> pow(Vec<T> base, std::type_identity_t<Vec<T>> exponent) {
  Vec<T> result(1), factor = base, left = exponent;
  if constexpr (std::is_signed_v<T>) left = where(left < Vec<T>(0), Vec<T>(0), left);
  while ((left != Vec<T>(0)).any()) {
    result = where((left & Vec<T>(1)) != Vec<T>(0), result * factor, result);
    factor = factor * factor;
    left = shift_right(left, Vec<T>(1));
  }
  if constexpr (std::is_signed_v<T>) {
    Vec<T> minus_one_power = where((exponent & Vec<T>(1)) != Vec<T>(0), Vec<T>(-1), Vec<T>(1));
    Vec<T> inverse = where(base == Vec<T>(1), Vec<T>(1), where(base == Vec<T>(-1), minus_one_power, Vec<T>(0)));
    result = where(exponent < Vec<T>(0), inverse, result);
  }
  return result;
}

// Greatest common divisor of the absolute values (Euclid's algorithm on each lane).
template <Integral T>
inline Vec<T> gcd(Vec<T> a, std::type_identity_t<Vec<T>> b) {
  using U = std::make_unsigned_t<T>;
  auto lane = [](T x, T y) {
    U p = x < 0 ? U(0) - U(x) : U(x), q = y < 0 ? U(0) - U(y) : U(y);
    while (q != 0) {
      U r = p % q;
      p = q;
      q = r;
    }
    return T(p);
  };
  return map_lanes(lane, a, b);
}
template <Integral T>
inline Vec<T> lcm(Vec<T> a, std::type_identity_t<Vec<T>> b) {
  return abs(trunc_divide(a, gcd(a, b)) * b);
}

}  // namespace FL_ISA
}  // namespace fl
