// The logarithm, sine and cosine of float Box-Muller pairs.
//
// Cephes' single-precision polynomials (S. Moshier), with the same reductions and fused steps as the AVX2 code behind
// PyTorch's `normal_`, so that samples agree to the last bit. They are valid for the arguments Box-Muller has and no
// others: the logarithm for normal numbers in (0, 1], the angle for [0, 2 pi). Error: below 2 ulp.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "random/multiversion.h"

namespace fl {

FL_ALWAYS_INLINE float box_muller_log(float x) {
  const auto bits = std::bit_cast<int32_t>(x);
  // The mantissa as a number in [0.5, 1); below sqrt(1/2) it is doubled and the exponent lowered.
  const float half = std::bit_cast<float>((bits & 0x007fffff) | 0x3f000000);
  const bool low = half < 0.707106781186547524f;
  const float exponent = static_cast<float>((bits >> 23) - 126 - (low ? 1 : 0));
  const float m = (half - 1.0f) + (low ? half : 0.0f);
  const float square = m * m;
  float y = 7.0376836292e-2f;
  y = std::fma(y, m, -1.1514610310e-1f);
  y = std::fma(y, m, 1.1676998740e-1f);
  y = std::fma(y, m, -1.2420140846e-1f);
  y = std::fma(y, m, 1.4249322787e-1f);
  y = std::fma(y, m, -1.6668057665e-1f);
  y = std::fma(y, m, 2.0000714765e-1f);
  y = std::fma(y, m, -2.4999993993e-1f);
  y = std::fma(y, m, 3.3333331174e-1f);
  y = y * m;
  // log 2 in two parts, the larger one exact in few bits.
  y = std::fma(y, square, exponent * -2.12194440e-4f);
  y = std::fma(square, -0.5f, y);
  return std::fma(exponent, 0.693359375f, m + y);
}

struct SineCosine {
  float sine, cosine;
};

FL_ALWAYS_INLINE SineCosine box_muller_sine_cosine(float angle) {
  // The octant, rounded up to even; pi/4 in three parts.
  const int32_t octant = (static_cast<int32_t>(angle * 1.27323954473516f) + 1) & ~1;
  const float quarter_turns = static_cast<float>(octant);
  float x = std::fma(quarter_turns, -0.78515625f, angle);
  x = std::fma(quarter_turns, -2.4187564849853515625e-4f, x);
  x = std::fma(quarter_turns, -3.77489497744594108e-8f, x);
  const float square = x * x;
  float c = 2.443315711809948e-5f;
  c = std::fma(c, square, -1.388731625493765e-3f);
  c = std::fma(c, square, 4.166664568298827e-2f);
  c = c * square;
  c = std::fma(c, square, square * -0.5f) + 1.0f;
  float s = -1.9515295891e-4f;
  s = std::fma(s, square, 8.3321608736e-3f);
  s = std::fma(s, square, -1.6666654611e-1f);
  s = std::fma(s * square, x, x);
  const bool swapped = (octant & 2) != 0;
  const float sine = swapped ? c : s;
  const float cosine = swapped ? s : c;
  const uint32_t sine_sign = static_cast<uint32_t>(octant & 4) << 29;
  const uint32_t cosine_sign = static_cast<uint32_t>(~(octant - 2) & 4) << 29;
  return {std::bit_cast<float>(std::bit_cast<uint32_t>(sine) ^ sine_sign),
          std::bit_cast<float>(std::bit_cast<uint32_t>(cosine) ^ cosine_sign)};
}

}  // namespace fl
