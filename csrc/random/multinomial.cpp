#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "random/element.h"
#include "random/sample.h"

namespace fl {
namespace {

// With replacement: a uniform number is looked up among the normalised running sums of the weights.
template <class T>
void by_running_sum(Generator& generator, int64_t* out, const T* weights, int64_t rows, int64_t categories,
                    int64_t samples) {
  using Sum = std::conditional_t<std::same_as<T, double>, double, float>;
  std::vector<Sum> sums(static_cast<size_t>(categories));
  for (int64_t row = 0; row < rows; ++row, weights += categories, out += samples) {
    Sum total = 0;
    for (int64_t i = 0; i < categories; ++i) sums[i] = total += static_cast<Sum>(weights[i]);
    for (Sum& sum : sums) sum /= total;
    sums.back() = 1;
    for (int64_t i = 0; i < samples; ++i) {
      const double uniform = generator.uniform();
      out[i] = std::lower_bound(sums.begin(), sums.end(), uniform) - sums.begin();
    }
  }
}

// Without replacement: weights over exponential times, in descending order, are as if drawn one after the other
// (P. Efraimidis and P. Spirakis, "Weighted random sampling with a reservoir", 2006). The two ways to sort decide which
// of equal scores comes first, as PyTorch's `topk` does.
template <class T>
void by_arrival(Generator& generator, int64_t* out, const T* weights, int64_t rows, int64_t categories,
                int64_t samples) {
  using Score = std::conditional_t<std::same_as<T, double>, double, float>;
  using Entry = std::pair<Score, int64_t>;
  // NaN (a weight of 0 after a time that rounds to 0) comes first, which keeps this a strict order.
  const auto before = [](const Entry& a, const Entry& b) {
    return (std::isnan(a.first) && !std::isnan(b.first)) || a.first > b.first;
  };
  std::vector<Entry> entries(static_cast<size_t>(categories));
  for (int64_t row = 0; row < rows; ++row, weights += categories, out += samples) {
    for (int64_t i = 0; i < categories; ++i) {
      const T time = to_element<T>(-std::log1p(-generator.uniform()));
      const T score = T(static_cast<Score>(weights[i]) / static_cast<Score>(time));
      entries[i] = {static_cast<Score>(score), i};
    }
    if (samples == 1) {
      *out = std::min_element(entries.begin(), entries.end(), before)->second;
      continue;
    }
    const auto last = entries.begin() + samples - 1;
    if (samples * 64 <= categories) {
      std::partial_sort(entries.begin(), entries.begin() + samples, entries.end(), before);
    } else {
      std::nth_element(entries.begin(), last, entries.end(), before);
      std::sort(entries.begin(), last, before);
    }
    for (int64_t i = 0; i < samples; ++i) out[i] = entries[i].second;
  }
}

}  // namespace

void sample_multinomial(Generator& generator, DType dtype, int64_t* out, const void* weights, int64_t rows,
                        int64_t categories, int64_t samples, bool replacement) {
  if (samples == 0 || categories == 0) return;
  const std::lock_guard lock(generator.mutex());
  visit_floating(dtype, [&]<class T>() {
    const T* table = static_cast<const T*>(weights);
    // One sample comes from the arrival times either way.
    if (replacement && samples > 1) {
      by_running_sum(generator, out, table, rows, categories, samples);
    } else {
      by_arrival(generator, out, table, rows, categories, samples);
    }
  });
}

}  // namespace fl
