// Sorting by keys: every type is mapped to unsigned integers in the same order, and an element is its key with its
// index.
//
// With the index as the lower part all items differ, so any sort of them is stable. NaN is the largest of all, -0
// equals 0.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "base/threads.h"
#include "tensor/tensor.h"

namespace fl {

template <class T>
auto order_key(T x) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    using U = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    constexpr U top = U(1) << (8 * sizeof(U) - 1);
    if (x != x) return U(~U(0));
    U bits = std::bit_cast<U>(x == 0 ? T(0) : x);
    return bits & top ? U(~bits) : U(bits | top);
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return order_key(float(x));
  } else if constexpr (std::is_same_v<T, Bool>) {
    return uint32_t(x.value != 0);
  } else if constexpr (std::is_signed_v<T>) {
    if constexpr (sizeof(T) == 8)
      return uint64_t(x) ^ (uint64_t(1) << 63);
    else
      return uint32_t(int32_t(x)) ^ 0x80000000u;
  } else if constexpr (sizeof(T) == 8) {
    return uint64_t(x);
  } else {
    return uint32_t(x);
  }
}

// Key and index in one word, where the key has 32 bits.
struct PackedItem {
  uint64_t word;
  PackedItem() = default;
  PackedItem(uint32_t key, int64_t index) : word(uint64_t(key) << 32 | uint32_t(index)) {}
  uint32_t key() const { return uint32_t(word >> 32); }
  int64_t index() const { return int64_t(uint32_t(word)); }
  bool operator<(const PackedItem& o) const { return word < o.word; }
};
struct WideItem {
  uint64_t bits;
  int64_t at;
  WideItem() = default;
  WideItem(uint64_t key, int64_t index) : bits(key), at(index) {}
  uint64_t key() const { return bits; }
  int64_t index() const { return at; }
  bool operator<(const WideItem& o) const { return bits < o.bits || (bits == o.bits && at < o.at); }
};
template <class T>
inline constexpr bool is_sortable = !std::is_same_v<T, Complex<float>> && !std::is_same_v<T, Complex<double>>;

// Calls f.operator()<T, Item>(base) for the elements of a contiguous tensor, in rows of n. Keys are counted from
// `base`, the least of them, where that lets integers of 64 bits do with 32.
template <class F>
void visit_sortable(const Tensor& x, int64_t n, F&& f) {
  visit_dtype(x.dtype(), [&]<class T>() {
    if constexpr (is_sortable<T>) {
      bool short_index = n <= int64_t(UINT32_MAX);
      if constexpr (sizeof(T) < 8) {
        if (short_index) return f.template operator()<T, PackedItem>(uint64_t(0));
      } else if constexpr (std::is_integral_v<T>) {
        if (short_index && x.numel()) {
          const T* v = x.data<T>();
          T least = v[0], most = v[0];
          for (int64_t i = 0; i < x.numel(); i++) {
            least = v[i] < least ? v[i] : least;
            most = v[i] > most ? v[i] : most;
          }
          if (order_key(most) - order_key(least) <= UINT32_MAX)
            return f.template operator()<T, PackedItem>(order_key(least));
        }
      }
      f.template operator()<T, WideItem>(uint64_t(0));
    }
  });
}

template <class T, class Item>
void load_items(const T* x, int64_t n, int64_t stride, bool descending, uint64_t base, Item* items) {
  using Key = decltype(items->key());
  for (int64_t i = 0; i < n; i++) {
    Key key = Key(order_key(x[i * stride]) - base);
    items[i] = Item(descending ? Key(~key) : key, i);
  }
}

// Sorts n items whose indices rise, by means of as many in `scratch`.
template <class Item>
void sort_items(Item* items, Item* scratch, int64_t n) {
  if (std::is_sorted(items, items + n)) return;
  if (n < 400) {
    std::sort(items, items + n);
    return;
  }
  // From the lowest digit up, keeping the order within equal digits.
  using Key = decltype(items->key());
  constexpr int digit = 11, digits = (8 * sizeof(Key) + digit - 1) / digit;
  constexpr uint32_t mask = (1u << digit) - 1;
  std::vector<int64_t> counts(digits << digit);
  for (int64_t i = 0; i < n; i++) {
    Key key = items[i].key();
    for (int d = 0; d < digits; d++) counts[(d << digit) + ((key >> (d * digit)) & mask)]++;
  }
  Item *from = items, *to = scratch;
  for (int d = 0; d < digits; d++) {
    int64_t* count = counts.data() + (d << digit);
    if (count[(from[0].key() >> (d * digit)) & mask] == n) continue;
    int64_t start = 0;
    for (uint32_t k = 0; k <= mask; k++) {
      int64_t c = count[k];
      count[k] = start;
      start += c;
    }
    for (int64_t i = 0; i < n; i++) to[count[(from[i].key() >> (d * digit)) & mask]++] = from[i];
    std::swap(from, to);
  }
  if (from != items) std::copy(from, from + n, items);
}

// A tensor as rows along a dimension: row r begins at start(r), its elements lie `inner` apart.
struct Rows {
  int64_t outer = 1, n = 1, inner = 1;
  Rows(const Tensor& x, int64_t dim) {
    for (int64_t d = 0; d < x.dim(); d++) (d < dim ? outer : d == dim ? n : inner) *= x->sizes[d];
  }
  int64_t count() const { return outer * inner; }
  int64_t start(int64_t r, int64_t length) const { return r / inner * length * inner + r % inner; }
  // f(first row, last row) over all of them, several threads at once.
  template <class F>
  void each(F f) const {
    parallel_for(0, count(), std::max<int64_t>(4096 / std::max<int64_t>(n, 1), 1), f);
  }
};

}  // namespace fl
