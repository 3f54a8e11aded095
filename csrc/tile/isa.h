// The instruction set this file is being compiled for, and whether it is the one that declares ops.
#pragma once
#include "simd/isa.h"
#include "tile/program.h"

#if defined(FL_ISA_AVX512)
#define FL_THIS_ISA ::fl::Isa::Avx512
#elif defined(FL_ISA_AVX2)
#define FL_THIS_ISA ::fl::Isa::Avx2
#else
#define FL_THIS_ISA ::fl::Isa::Baseline
#endif
