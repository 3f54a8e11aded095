// Compiles one loop body for the baseline and for AVX2 + FMA, and picks by the processor at the first call.
//
// Bodies ask for fused multiply-adds by name (std::fma), so that both versions return the same bits.
#pragma once

#define FL_ALWAYS_INLINE inline __attribute__((always_inline))

// -O2 leaves loops whose length is not a multiple of the vector scalar.
#if defined(__GNUC__) && !defined(__clang__)
#define FL_VECTORIZE __attribute__((optimize("O3")))
#else
#define FL_VECTORIZE
#endif

#if defined(__x86_64__) && !defined(__FMA__)
#define FL_MULTIVERSION(name, parameters, arguments, body)                                         \
  FL_VECTORIZE __attribute__((target("avx2,fma"))) void name##_avx2 parameters { body arguments; } \
  FL_VECTORIZE void name##_baseline parameters { body arguments; }                                 \
  void name parameters {                                                                           \
    static const bool wide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");      \
    wide ? name##_avx2 arguments : name##_baseline arguments;                                      \
  }
#else
#define FL_MULTIVERSION(name, parameters, arguments, body) \
  FL_VECTORIZE void name parameters { body arguments; }
#endif
