#include <algorithm>
#include <cmath>

#include "random/element.h"
#include "random/fill.h"
#include "random/multiversion.h"

namespace fl {
namespace {

constexpr int64_t kChunk = 1024;

// Rounding may reach the excluded end of a range: such values become its first.
FL_ALWAYS_INLINE void scale32_body(const uint32_t* draws, float* out, int64_t count, float from, float to) {
  const float width = to - from;
  // The masked draw is below 2^24, so the signed conversion, which has an instruction, is exact.
  for (int64_t i = 0; i < count; ++i) {
    const float unit = static_cast<float>(static_cast<int32_t>(draws[i] & kMask24)) * 0x1p-24f;
    const float value = std::fma(unit, width, from);
    out[i] = value == to ? from : value;
  }
}

FL_ALWAYS_INLINE void scale64_body(const uint64_t* draws, double* out, int64_t count, double from, double to) {
  const double width = to - from;
  for (int64_t i = 0; i < count; ++i) {
    const double unit = static_cast<double>(static_cast<int64_t>(draws[i] & kMask53)) * 0x1p-53;
    const double value = std::fma(unit, width, from);
    out[i] = value == to ? from : value;
  }
}

FL_MULTIVERSION(scale32, (const uint32_t* draws, float* out, int64_t count, float from, float to),
                (draws, out, count, from, to), scale32_body)
FL_MULTIVERSION(scale64, (const uint64_t* draws, double* out, int64_t count, double from, double to),
                (draws, out, count, from, to), scale64_body)

void uniform(Generator& generator, double* out, int64_t count, double from, double to) {
  uint64_t draws[kChunk];
  for (int64_t done = 0; done < count; done += kChunk) {
    const int64_t length = std::min(kChunk, count - done);
    generator.draw64(draws, length);
    scale64(draws, out + done, length, from, to);
  }
}

void uniform(Generator& generator, float* out, int64_t count, float from, float to) {
  uint32_t draws[kChunk];
  for (int64_t done = 0; done < count; done += kChunk) {
    const int64_t length = std::min(kChunk, count - done);
    generator.draw(draws, length);
    scale32(draws, out + done, length, from, to);
  }
}

template <class T>
void uniform(Generator& generator, T* out, int64_t count, float from, float to) {
  float values[kChunk];
  const float excluded = static_cast<float>(T(to));
  for (int64_t done = 0; done < count; done += kChunk) {
    const int64_t length = std::min(kChunk, count - done);
    uniform(generator, values, length, from, to);
    for (int64_t i = 0; i < length; ++i) {
      const T value = T(values[i]);
      out[done + i] = static_cast<float>(value) == excluded ? T(from) : value;
    }
  }
}

}  // namespace

void fill_uniform(Generator& generator, DType dtype, void* out, int64_t count, double from, double to) {
  const std::lock_guard lock(generator.mutex());
  visit_floating(dtype, [&]<class T>() {
    using Bound = std::conditional_t<std::same_as<T, double>, double, float>;
    uniform(generator, static_cast<T*>(out), count, static_cast<Bound>(from), static_cast<Bound>(to));
  });
}

}  // namespace fl
