// The two 16-bit floating types as storage: IEEE binary16 and bfloat16 (the upper half of a float).
// Arithmetic happens in float. Conversion from float rounds to nearest even, through the subnormals and to infinity;
// NaN becomes the canonical quiet NaN. simd/convert.h converts arrays. Always inlined, so that objects built for
// different instruction sets share no symbol.
#pragma once

#include <bit>
#include <cstdint>

namespace fl {

struct Half {
  uint16_t bits;

  constexpr Half() = default;
  [[gnu::always_inline]] constexpr explicit Half(float value) : bits(from_float(value)) {}
  [[gnu::always_inline]] constexpr operator float() const { return to_float(bits); }
  [[gnu::always_inline]] static constexpr Half from_bits(uint16_t bits) {
    Half half;
    half.bits = bits;
    return half;
  }

 private:
  [[gnu::always_inline]] static constexpr uint16_t from_float(float value) {
    uint32_t all = std::bit_cast<uint32_t>(value), magnitude = all & 0x7fffffff;
    uint16_t sign = uint16_t((all >> 16) & 0x8000);
    if (magnitude > 0x7f800000) return uint16_t(sign | 0x7e00);
    if (magnitude >= 0x477ff000) return uint16_t(sign | 0x7c00);  // 65520 and above round to infinity
    if (magnitude < 0x38800000) {
      // Below 2^-14: adding 1/2 makes the addition round at the unit of the subnormals, 2^-24.
      float shifted = std::bit_cast<float>(magnitude) + 0.5f;
      return uint16_t(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000));
    }
    uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
    return uint16_t(sign | ((rounded - (112u << 23)) >> 13));
  }
  [[gnu::always_inline]] static constexpr float to_float(uint16_t bits) {
    uint32_t sign = uint32_t(bits & 0x8000) << 16, magnitude = bits & 0x7fff;
    if (magnitude >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
    if (magnitude < 0x400) {
      return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(float(magnitude) * 0x1p-24f));
    }
    return std::bit_cast<float>(sign | ((magnitude << 13) + (112u << 23)));
  }
};

struct BFloat16 {
  uint16_t bits;

  constexpr BFloat16() = default;
  [[gnu::always_inline]] constexpr explicit BFloat16(float value) : bits(from_float(value)) {}
  [[gnu::always_inline]] constexpr operator float() const { return std::bit_cast<float>(uint32_t(bits) << 16); }
  [[gnu::always_inline]] static constexpr BFloat16 from_bits(uint16_t bits) {
    BFloat16 result;
    result.bits = bits;
    return result;
  }

 private:
  [[gnu::always_inline]] static constexpr uint16_t from_float(float value) {
    uint32_t all = std::bit_cast<uint32_t>(value);
    if ((all & 0x7fffffff) > 0x7f800000) return 0x7fc0;
    return uint16_t((all + 0x7fff + ((all >> 16) & 1)) >> 16);
  }
};

}  // namespace fl
