// Walking over the elements of K operands of one shape, line by line.
#pragma once
#include <array>

#include "base/threads.h"
#include "tensor/tensor.h"

namespace fl {

// Strides are in elements of each operand. Dimensions are added from the outermost to the innermost; neighbours that
// lie evenly behind each other in every operand become one.
template <int K>
class Walk {
 public:
  using Offsets = std::array<int64_t, K>;

  void add(int64_t size, Offsets strides) {
    if (size == 1) return;
    if (n_) {
      bool even = true;
      for (int k = 0; k < K; k++) even &= strides_[n_ - 1][k] == size * strides[k];
      if (even) {
        sizes_[n_ - 1] *= size;
        strides_[n_ - 1] = strides;
        return;
      }
    }
    sizes_[n_] = size;
    strides_[n_++] = strides;
  }

  int64_t line() const { return n_ ? sizes_[n_ - 1] : 1; }
  int64_t step(int k) const { return n_ ? strides_[n_ - 1][k] : 0; }
  int64_t lines() const {
    int64_t count = 1;
    for (int d = 0; d + 1 < n_; d++) count *= sizes_[d];
    return count;
  }
  int64_t numel() const { return lines() * line(); }

  // Calls f(offsets) for the lines [first, last), in order.
  template <class F>
  void run(int64_t first, int64_t last, F&& f) const {
    int64_t index[kMaxDims];
    Offsets at{};
    int64_t rest = first;
    for (int d = n_ - 2; d >= 0; d--) {
      index[d] = rest % sizes_[d];
      rest /= sizes_[d];
      for (int k = 0; k < K; k++) at[k] += index[d] * strides_[d][k];
    }
    for (int64_t i = first; i < last; i++) {
      f(at);
      for (int d = n_ - 2; d >= 0; d--) {
        for (int k = 0; k < K; k++) at[k] += strides_[d][k];
        if (++index[d] < sizes_[d]) break;
        index[d] = 0;
        for (int k = 0; k < K; k++) at[k] -= sizes_[d] * strides_[d][k];
      }
    }
  }

  // Calls f(offsets, count) for pieces of lines, from several threads.
  template <class F>
  void run_parallel(F&& f) const {
    constexpr int64_t kPiece = 16384;
    int64_t n = line();
    if (n > 2 * kPiece) {
      int64_t pieces = (n + kPiece - 1) / kPiece;
      parallel_for(0, lines() * pieces, 1, [&](int64_t a, int64_t b) {
        for (int64_t i = a; i < b; i++) {
          int64_t start = i % pieces * kPiece, count = std::min(kPiece, n - start);
          run(i / pieces, i / pieces + 1, [&](Offsets at) {
            for (int k = 0; k < K; k++) at[k] += start * step(k);
            f(at, count);
          });
        }
      });
    } else {
      parallel_for(0, lines(), std::max<int64_t>(1, 2 * kPiece / std::max<int64_t>(n, 1)),
                   [&](int64_t a, int64_t b) { run(a, b, [&](const Offsets& at) { f(at, n); }); });
    }
  }

 private:
  int n_ = 0;
  int64_t sizes_[kMaxDims];
  Offsets strides_[kMaxDims];
};

struct Wide {
  uint64_t low, high;
};
// Calls f.template operator()<T>() with a plain type as large as the elements: for moving them without looking at them.
template <class F>
decltype(auto) visit_size(int64_t bytes, F&& f) {
  switch (bytes) {
    case 1:
      return f.template operator()<uint8_t>();
    case 2:
      return f.template operator()<uint16_t>();
    case 4:
      return f.template operator()<uint32_t>();
    case 8:
      return f.template operator()<uint64_t>();
    default:
      return f.template operator()<Wide>();
  }
}

}  // namespace fl
