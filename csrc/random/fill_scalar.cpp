// Distributions drawn one element at a time from doubles of 53 bits.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "random/element.h"
#include "random/fill.h"

namespace fl {
namespace {

constexpr int64_t kChunk = 1024;

template <class Sample>
void fill_each(Generator& generator, DType dtype, void* out, int64_t count, Sample sample) {
  const std::lock_guard lock(generator.mutex());
  visit_real(dtype, [&]<class T>() {
    T* target = static_cast<T*>(out);
    for (int64_t i = 0; i < count; ++i) target[i] = to_element<T>(sample());
  });
}

}  // namespace

void fill_bernoulli(Generator& generator, DType dtype, void* out, int64_t count, double p) {
  const std::lock_guard lock(generator.mutex());
  // uniform() < p without the conversion: both sides times 2^53 are exact.
  const double scaled = p * 0x1p53;
  const uint64_t threshold = scaled >= 0x1p53 ? 1ull << 53 : static_cast<uint64_t>(std::ceil(scaled));
  uint64_t draws[kChunk];
  visit_real(dtype, [&]<class T>() {
    const T outcomes[2] = {to_element<T>(0), to_element<T>(1)};
    T* target = static_cast<T*>(out);
    for (int64_t done = 0; done < count; done += kChunk) {
      const int64_t length = std::min(kChunk, count - done);
      generator.draw64(draws, length);
      for (int64_t i = 0; i < length; ++i) target[done + i] = outcomes[(draws[i] & kMask53) < threshold];
    }
  });
}

void fill_bernoulli(Generator& generator, DType dtype, void* out, int64_t count, DType p_dtype, const void* p) {
  const std::lock_guard lock(generator.mutex());
  visit_floating(p_dtype, [&]<class P>() {
    const P* probability = static_cast<const P*>(p);
    visit_real(dtype, [&]<class T>() {
      T* target = static_cast<T*>(out);
      for (int64_t i = 0; i < count; ++i) {
        if constexpr (std::same_as<P, double>) {
          target[i] = to_element<T>(generator.uniform() < probability[i]);
        } else {
          const float uniform = static_cast<float>(generator.random() & kMask24) * 0x1p-24f;
          target[i] = to_element<T>(uniform < static_cast<float>(probability[i]));
        }
      }
    });
  });
}

void fill_exponential(Generator& generator, DType dtype, void* out, int64_t count, double rate) {
  fill_each(generator, dtype, out, count, [&] { return -1.0 / rate * std::log1p(-generator.uniform()); });
}

void fill_cauchy(Generator& generator, DType dtype, void* out, int64_t count, double median, double sigma) {
  fill_each(generator, dtype, out, count,
            [&] { return std::fma(sigma, std::tan(std::numbers::pi * (generator.uniform() - 0.5)), median); });
}

void fill_log_normal(Generator& generator, DType dtype, void* out, int64_t count, double mean, double std) {
  fill_each(generator, dtype, out, count, [&] { return std::exp(std::fma(generator.normal(), std, mean)); });
}

void fill_geometric(Generator& generator, DType dtype, void* out, int64_t count, double p) {
  const double log_failure = std::log1p(-p);
  fill_each(generator, dtype, out, count, [&] { return std::ceil(std::log(generator.uniform()) / log_failure); });
}

}  // namespace fl
