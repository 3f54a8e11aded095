// What the files of reduction loops share: folding a run over registers, and entering loops into the table.
#pragma once
#include "math/math.h"
#include "simd/convert.h"
#include "tile/isa.h"
#include "tile/reduce.h"

namespace fl {
namespace FL_ISA {

template <class T>
inline constexpr bool is_vectorized = std::is_arithmetic_v<T>;

// Four registers folded side by side, then with each other, then lane by lane. g is applied to the elements first.
// (Named registers: an array of them would live in memory.)
template <class T, class F, class G>
FL_INLINE T fold(const T* x, int64_t n, T start, F f, G g) {
  constexpr int lanes = Vec<T>::N;
  if (n <= 4) {
    T all = start;
    for (int64_t i = 0; i < n; i++) all = f(Vec<T>(all), g(Vec<T>(x[i])))[0];
    return all;
  }
  auto load = [&](int64_t at) { return g(Vec<T>::load(x + at)); };
  Vec<T> a(start), b(start), c(start), d(start);
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a = f(a, load(i));
    b = f(b, load(i + lanes));
    c = f(c, load(i + 2 * lanes));
    d = f(d, load(i + 3 * lanes));
  }
  for (; i + lanes <= n; i += lanes) a = f(a, load(i));
  T lane[lanes];
  if (i < n) {
    for (int k = 0; k < lanes; k++) lane[k] = i + k < n ? x[i + k] : start;
    b = f(b, g(Vec<T>::load(lane)));
  }
  f(f(a, b), f(c, d)).store(lane);
  for (int step = lanes / 2; step; step /= 2)
    for (int k = 0; k < step; k++) lane[k] = f(Vec<T>(lane[k]), Vec<T>(lane[k + step]))[0];
  return lane[0];
}

struct Itself {
  template <class V>
  FL_INLINE V operator()(V x) const {
    return x;
  }
};
template <class T, class Op>
void put(Reduction kind, DType computed, DType result) {
  using Acc = typename Op::Acc;
  static_assert(sizeof(Acc) <= kMaxAccumulatorBytes);
  static const ReduceLoops loops{
      computed,
      result,
      sizeof(Acc),
      [](char* a, int64_t n) { Op::start(reinterpret_cast<Acc*>(a), n); },
      [](const char* in, int64_t n, char* a) { Op::run(reinterpret_cast<const T*>(in), n, reinterpret_cast<Acc*>(a)); },
      [](const char* in, int64_t rows, int64_t stride, int64_t columns, char* a) {
        Op::rows(in, rows, stride, columns, reinterpret_cast<Acc*>(a));
      },
      [](char* a, const char* b, int64_t n) {
        Op::merge(reinterpret_cast<Acc*>(a), reinterpret_cast<const Acc*>(b), n);
      },
      [](const char* a, int64_t n, char* out, const ReduceParams& p) {
        Op::finish(reinterpret_cast<const Acc*>(a), n, reinterpret_cast<typename Op::Out*>(out), p);
      }};
  reduce_loops[static_cast<int>(kind)][static_cast<int>(computed)] = &loops;
}

}  // namespace FL_ISA
}  // namespace fl
