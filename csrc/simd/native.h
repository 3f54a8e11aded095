// Single instructions the vector extension has no operator for, with plain fallbacks for other machines.
//
// The compiler's builtins are called directly: <immintrin.h> alone would take half a second to parse in every file.
#pragma once

#include "vec.h"

namespace fl {
namespace FL_ISA {
namespace native {

using VF = Vec<float>::V;
using VD = Vec<double>::V;

// a * b + c, rounded once where the machine can; only for code whose error bound holds either way.
FL_INLINE VF mul_add(VF a, VF b, VF c) {
#if FL_VECTOR_BYTES == 64
  return __builtin_ia32_vfmaddps512_mask(a, b, c, uint16_t(-1), 4);
#elif FL_VECTOR_BYTES == 32
  return __builtin_ia32_vfmaddps256(a, b, c);
#else
  return a * b + c;
#endif
}
FL_INLINE VD mul_add(VD a, VD b, VD c) {
#if FL_VECTOR_BYTES == 64
  return __builtin_ia32_vfmaddpd512_mask(a, b, c, uint8_t(-1), 4);
#elif FL_VECTOR_BYTES == 32
  return __builtin_ia32_vfmaddpd256(a, b, c);
#else
  return a * b + c;
#endif
}

// a * b + c rounded once on every machine.
template <class V>
FL_INLINE V exact_fma(V a, V b, V c) {
#if FL_HAS_FMA
  return mul_add(a, b, c);
#else
  V r;
  for (unsigned i = 0; i < sizeof(V) / sizeof(a[0]); i++) {
    if constexpr (sizeof(a[0]) == 4) {
      r[i] = __builtin_fmaf(a[i], b[i], c[i]);
    } else {
      r[i] = __builtin_fma(a[i], b[i], c[i]);
    }
  }
  return r;
#endif
}

FL_INLINE VF sqrt(VF a) {
#if FL_VECTOR_BYTES == 64
  return __builtin_ia32_sqrtps512_mask(a, a, uint16_t(-1), 4);
#elif FL_VECTOR_BYTES == 32
  return __builtin_ia32_sqrtps256(a);
#elif defined(__SSE2__)
  return __builtin_ia32_sqrtps(a);
#else
  for (int i = 0; i < 4; i++) a[i] = __builtin_sqrtf(a[i]);
  return a;
#endif
}
FL_INLINE VD sqrt(VD a) {
#if FL_VECTOR_BYTES == 64
  return __builtin_ia32_sqrtpd512_mask(a, a, uint8_t(-1), 4);
#elif FL_VECTOR_BYTES == 32
  return __builtin_ia32_sqrtpd256(a);
#elif defined(__SSE2__)
  return __builtin_ia32_sqrtpd(a);
#else
  for (int i = 0; i < 2; i++) a[i] = __builtin_sqrt(a[i]);
  return a;
#endif
}

// The machine's maximum and minimum: a > b ? a : b, so b where either is NaN.
FL_INLINE VF max(VF a, VF b) {
#if FL_VECTOR_BYTES == 64
  return __builtin_ia32_maxps512_mask(a, b, a, uint16_t(-1), 4);
#elif FL_VECTOR_BYTES == 32
  return __builtin_ia32_maxps256(a, b);
#else
  return a > b ? a : b;
#endif
}
FL_INLINE VD max(VD a, VD b) {
#if FL_VECTOR_BYTES == 64
  return __builtin_ia32_maxpd512_mask(a, b, a, uint8_t(-1), 4);
#elif FL_VECTOR_BYTES == 32
  return __builtin_ia32_maxpd256(a, b);
#else
  return a > b ? a : b;
#endif
}
FL_INLINE VF min(VF a, VF b) {
#if FL_VECTOR_BYTES == 64
  return __builtin_ia32_minps512_mask(a, b, a, uint16_t(-1), 4);
#elif FL_VECTOR_BYTES == 32
  return __builtin_ia32_minps256(a, b);
#else
  return a < b ? a : b;
#endif
}
FL_INLINE VD min(VD a, VD b) {
#if FL_VECTOR_BYTES == 64
  return __builtin_ia32_minpd512_mask(a, b, a, uint8_t(-1), 4);
#elif FL_VECTOR_BYTES == 32
  return __builtin_ia32_minpd256(a, b);
#else
  return a < b ? a : b;
#endif
}

// Rounding to an integer; mode 0 nearest-even, 1 down, 2 up, 3 toward zero (as the instruction encodes it).
template <int mode>
FL_INLINE VF round_to(VF a) {
#if FL_VECTOR_BYTES == 64
  return __builtin_ia32_rndscaleps_mask(a, mode | 8, a, uint16_t(-1), 4);
#elif FL_VECTOR_BYTES == 32
  return __builtin_ia32_roundps256(a, mode | 8);
#elif defined(__SSE4_1__)
  return __builtin_ia32_roundps(a, mode | 8);
#else
  for (unsigned i = 0; i < sizeof(VF) / 4; i++) {
    a[i] = mode == 0   ? __builtin_rintf(a[i])
           : mode == 1 ? __builtin_floorf(a[i])
           : mode == 2 ? __builtin_ceilf(a[i])
                       : __builtin_truncf(a[i]);
  }
  return a;
#endif
}
template <int mode>
FL_INLINE VD round_to(VD a) {
#if FL_VECTOR_BYTES == 64
  return __builtin_ia32_rndscalepd_mask(a, mode | 8, a, uint8_t(-1), 4);
#elif FL_VECTOR_BYTES == 32
  return __builtin_ia32_roundpd256(a, mode | 8);
#elif defined(__SSE4_1__)
  return __builtin_ia32_roundpd(a, mode | 8);
#else
  for (unsigned i = 0; i < sizeof(VD) / 8; i++) {
    a[i] = mode == 0   ? __builtin_rint(a[i])
           : mode == 1 ? __builtin_floor(a[i])
           : mode == 2 ? __builtin_ceil(a[i])
                       : __builtin_trunc(a[i]);
  }
  return a;
#endif
}

}  // namespace native
}  // namespace FL_ISA
}  // namespace fl
