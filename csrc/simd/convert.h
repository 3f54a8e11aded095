// Conversion of arrays between any two of the dtypes' storage types.
//
// Out-of-range floats become what PyTorch gives on x86: INT_MIN for int32 and int64; the narrower integers take the low
// bits of the int32 result, uint32 those of the int64 result. Conversion to bool tests for non-zero; a complex number
// loses its imaginary part on the way to a real type.
#pragma once

#include "../base/bool.h"
#include "../base/complex.h"
#include "../base/half.h"
#include "native.h"

namespace fl {
namespace FL_ISA {

template <class T>
inline constexpr bool is_complex_v = false;
template <class T>
inline constexpr bool is_complex_v<Complex<T>> = true;
template <class T>
inline constexpr bool is_short_float_v = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// Toward zero; out of range (and NaN) gives the most negative number, as x86's instruction does.
template <class To, class From>
FL_INLINE To truncate(From x) {
  constexpr From limit = sizeof(To) == 4 ? 0x1p31 : 0x1p63;
  constexpr To least = To(uint64_t(1) << (8 * sizeof(To) - 1));
  return x >= -limit && x < limit ? To(x) : least;
}

// One element. The intermediate types make every case defined and the same in vector and scalar code.
template <class To, class From>
FL_INLINE To convert_element(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (std::is_same_v<From, Bool>) {
    return convert_element<To>(uint8_t(x.value != 0));
  } else if constexpr (std::is_same_v<To, Bool>) {
    if constexpr (is_complex_v<From>) {
      return Bool(bool(x.real != 0) | bool(x.imag != 0));
    } else {
      return Bool(x != From(0));
    }
  } else if constexpr (is_complex_v<From> && is_complex_v<To>) {
    return To(x);
  } else if constexpr (is_complex_v<From>) {
    return convert_element<To>(x.real);
  } else if constexpr (is_complex_v<To>) {
    return To(convert_element<decltype(To::real)>(x));
  } else if constexpr (is_short_float_v<From>) {
    return convert_element<To>(float(x));
  } else if constexpr (is_short_float_v<To>) {
    return To(float(x));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if constexpr (std::is_same_v<To, uint64_t>) {
      constexpr From top = 0x1p63;
      return x >= top ? uint64_t(truncate<int64_t>(x - top)) ^ (uint64_t(1) << 63) : uint64_t(truncate<int64_t>(x));
    } else if constexpr (std::is_same_v<To, uint32_t>) {
      return uint32_t(truncate<int64_t>(x));
    } else if constexpr (sizeof(To) < 4) {
      return To(truncate<int32_t>(x));
    } else {
      return truncate<To>(x);
    }
  } else {
    return To(x);
  }
}

// Registers of 16-bit floats to and from float; each takes Vec<float>::N elements.
FL_INLINE Vec<float> load_as_float(const BFloat16* p) {
  typedef uint16_t Short __attribute__((vector_size(FL_VECTOR_BYTES / 2)));
  Short s;
  memcpy(&s, p, sizeof(s));
  auto wide = __builtin_convertvector(s, Vec<uint32_t>::V);
  return Vec<float>((Vec<float>::V)(wide << 16));
}
FL_INLINE void store_from_float(BFloat16* p, Vec<float> x) {
  typedef uint16_t Short __attribute__((vector_size(FL_VECTOR_BYTES / 2)));
  auto all = bits_as<uint32_t>(x).v;
  auto rounded = (all + 0x7fff + ((all >> 16) & 1)) >> 16;
  Vec<uint32_t> result = where(x != x, Vec<uint32_t>(0x7fc0), Vec<uint32_t>(rounded));
  Short s = __builtin_convertvector(result.v, Short);
  memcpy(p, &s, sizeof(s));
}
FL_INLINE Vec<float> load_as_float(const Half* p) {
#if FL_VECTOR_BYTES == 64
  typedef int16_t Short __attribute__((vector_size(32)));
  Short s;
  memcpy(&s, p, sizeof(s));
  return Vec<float>(__builtin_ia32_vcvtph2ps512_mask(s, Vec<float>::V{}, uint16_t(-1), 4));
#elif FL_VECTOR_BYTES == 32 && defined(__F16C__)
  typedef int16_t Short __attribute__((vector_size(16)));
  Short s;
  memcpy(&s, p, sizeof(s));
  return Vec<float>(__builtin_ia32_vcvtph2ps256(s));
#else
  Vec<float> r;
  for (int i = 0; i < Vec<float>::N; i++) r.v[i] = float(p[i]);
  return r;
#endif
}
FL_INLINE void store_from_float(Half* p, Vec<float> x) {
#if FL_VECTOR_BYTES == 64
  typedef int16_t Short __attribute__((vector_size(32)));
  Short s = __builtin_ia32_vcvtps2ph512_mask(x.v, 0, Short{}, uint16_t(-1));
  memcpy(p, &s, sizeof(s));
#elif FL_VECTOR_BYTES == 32 && defined(__F16C__)
  auto s = __builtin_ia32_vcvtps2ph256(x.v, 0);
  memcpy(p, &s, 16);
#else
  for (int i = 0; i < Vec<float>::N; i++) p[i] = Half(x.v[i]);
#endif
}

inline constexpr int64_t conversion_block = 512;

// from and to don't overlap, unless they are the same array of one type.
template <class From, class To>
inline void convert_array(const From* __restrict from, To* __restrict to, int64_t n) {
  constexpr int lanes = Vec<float>::N;
  if constexpr (std::is_same_v<From, To>) {
    memmove(to, from, size_t(n) * sizeof(To));
  } else if constexpr (is_short_float_v<From> && std::is_same_v<To, float>) {
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) load_as_float(from + i).store(to + i);
    if (i < n) {
      From padded[lanes] = {};
      memcpy(padded, from + i, size_t(n - i) * sizeof(From));
      Vec<float> last = load_as_float(padded);
      memcpy(to + i, &last.v, size_t(n - i) * sizeof(float));
    }
  } else if constexpr (std::is_same_v<From, float> && is_short_float_v<To>) {
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) store_from_float(to + i, Vec<float>::load(from + i));
    if (i < n) {
      Vec<float> last(0);
      memcpy(&last.v, from + i, size_t(n - i) * sizeof(float));
      To padded[lanes];
      store_from_float(padded, last);
      memcpy(to + i, padded, size_t(n - i) * sizeof(To));
    }
  } else if constexpr (is_short_float_v<From> || is_short_float_v<To>) {
    float between[conversion_block];
    for (int64_t i = 0; i < n; i += conversion_block) {
      int64_t count = n - i < conversion_block ? n - i : conversion_block;
      convert_array(from + i, between, count);
      convert_array(between, to + i, count);
    }
  } else {
    for (int64_t i = 0; i < n; i++) to[i] = convert_element<To>(from[i]);
  }
}

}  // namespace FL_ISA
}  // namespace fl
