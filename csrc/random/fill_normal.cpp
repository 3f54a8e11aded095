// Normal samples. A block of 16 uniform draws becomes 8 Box-Muller pairs of elements i and i + 8. A length that is not
// a multiple of 16 has its last 16 elements drawn afresh, over what the last whole block left there.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "random/box_muller.h"
#include "random/element.h"
#include "random/fill.h"

namespace fl {
namespace {

constexpr int64_t kBlock = 16;
constexpr int64_t kHalfBlock = kBlock / 2;
constexpr int64_t kChunk = 64 * kBlock;

FL_ALWAYS_INLINE void pairs_body(const uint32_t* draws, float* out, int64_t count, float mean, float std) {
  for (int64_t start = 0; start < count; start += kBlock) {
    for (int64_t i = start; i < start + kHalfBlock; ++i) {
      const float u1 = 1.0f - static_cast<float>(static_cast<int32_t>(draws[i] & kMask24)) * 0x1p-24f;
      const float u2 = static_cast<float>(static_cast<int32_t>(draws[i + kHalfBlock] & kMask24)) * 0x1p-24f;
      const float radius = std::sqrt(-2.0f * box_muller_log(u1));
      const auto [sine, cosine] = box_muller_sine_cosine(2.0f * std::numbers::pi_v<float> * u2);
      out[i] = std::fma(radius * cosine, std, mean);
      out[i + kHalfBlock] = std::fma(radius * sine, std, mean);
    }
  }
}

FL_MULTIVERSION(pairs, (const uint32_t* draws, float* out, int64_t count, float mean, float std),
                (draws, out, count, mean, std), pairs_body)

// `count` is a multiple of the block length.
void blocks(Generator& generator, float* out, int64_t count, double mean, double std) {
  uint32_t draws[kChunk];
  for (int64_t done = 0; done < count; done += kChunk) {
    const int64_t length = std::min(kChunk, count - done);
    generator.draw(draws, length);
    pairs(draws, out + done, length, static_cast<float>(mean), static_cast<float>(std));
  }
}

void blocks(Generator& generator, double* out, int64_t count, double mean, double std) {
  for (int64_t start = 0; start < count; start += kBlock) {
    double uniform[kBlock];
    for (double& value : uniform) value = generator.uniform();
    for (int64_t i = 0; i < kHalfBlock; ++i) {
      const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform[i]));
      const double theta = 2.0 * std::numbers::pi * uniform[i + kHalfBlock];
      out[start + i] = std::fma(radius * std::cos(theta), std, mean);
      out[start + i + kHalfBlock] = std::fma(radius * std::sin(theta), std, mean);
    }
  }
}

template <class T>
requires is_reduced_float<T>
void blocks(Generator& generator, T* out, int64_t count, double mean, double std) {
  float values[kChunk];
  for (int64_t done = 0; done < count; done += kChunk) {
    const int64_t length = std::min(kChunk, count - done);
    blocks(generator, values, length, mean, std);
    for (int64_t i = 0; i < length; ++i) out[done + i] = T(values[i]);
  }
}

template <class T>
void one_by_one(Generator& generator, T* out, int64_t count, double mean, double std) {
  for (int64_t i = 0; i < count; ++i) out[i] = to_element<T>(std::fma(generator.normal(), std, mean));
}

}  // namespace

void fill_normal(Generator& generator, DType dtype, void* out, int64_t count, double mean, double std) {
  if (count < kBlock) return fill_normal_serial(generator, dtype, out, count, mean, std);
  const std::lock_guard lock(generator.mutex());
  visit_floating(dtype, [&]<class T>() {
    T* target = static_cast<T*>(out);
    const int64_t whole = count / kBlock * kBlock;
    blocks(generator, target, whole, mean, std);
    if (whole == count) return;
    // PyTorch draws all uniform numbers before it makes any pairs, so those of the replaced end count too; for the
    // reduced floats it goes block by block.
    if constexpr (!is_reduced_float<T>)
      for (int64_t i = whole; i < count; ++i) std::same_as<T, double> ? generator.random64() : generator.random();
    blocks(generator, target + count - kBlock, kBlock, mean, std);
  });
}

void fill_normal_serial(Generator& generator, DType dtype, void* out, int64_t count, double mean, double std) {
  const std::lock_guard lock(generator.mutex());
  visit_floating(dtype, [&]<class T>() { one_by_one(generator, static_cast<T*>(out), count, mean, std); });
}

}  // namespace fl
