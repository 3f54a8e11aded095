// Which instruction set this translation unit is compiled for.
//
// Every kernel file is compiled once per instruction set with FL_ISA defined as a bare identifier (baseline, avx2,
// avx512). Everything in csrc/simd and csrc/math lives in namespace fl::FL_ISA, so objects built with different flags
// never share a symbol: a linker that merges two copies of an inline function must not hand AVX-512 code to an old CPU.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#ifndef FL_ISA
#define FL_ISA baseline
#endif

#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#define FL_VECTOR_BYTES 64
#elif defined(__AVX2__) && defined(__FMA__)
#define FL_VECTOR_BYTES 32
#else
#define FL_VECTOR_BYTES 16
#endif

#if FL_VECTOR_BYTES >= 32
#define FL_HAS_FMA 1
#else
#define FL_HAS_FMA 0
#endif

#define FL_INLINE inline __attribute__((always_inline))
