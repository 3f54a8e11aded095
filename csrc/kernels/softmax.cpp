#include "tile/softmax.h"

#include "math/math.h"
#include "tile/isa.h"

namespace fl {
namespace FL_ISA {
namespace {

template <class T> FL_INLINE Vec<T> larger(Vec<T> a, Vec<T> b) { return where((b > a) | (b != b), b, a); }

// The last, incomplete register of a row; lanes beyond the end hold `rest`.
template <class T> FL_INLINE Vec<T> load_part(const T* x, int64_t n, T rest) {
  T lane[Vec<T>::N];
  for (auto& v : lane) v = rest;
  memcpy(lane, x, size_t(n) * sizeof(T));
  return Vec<T>::load(lane);
}
template <class T> FL_INLINE void store_part(T* x, int64_t n, Vec<T> v) {
  T lane[Vec<T>::N];
  v.store(lane);
  memcpy(x, lane, size_t(n) * sizeof(T));
}

template <class T> FL_INLINE T sum_lanes(Vec<T> v) {
  T lane[Vec<T>::N];
  v.store(lane);
  for (int step = Vec<T>::N / 2; step; step /= 2)
    for (int k = 0; k < step; k++) lane[k] += lane[k + step];
  return lane[0];
}

// Calls whole(i, k) for each full register at i, the k-th of four side by side, and part(i, m) for the rest.
template <class T, class W, class P> FL_INLINE void each(int64_t n, W whole, P part) {
  constexpr int lanes = Vec<T>::N;
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes)
    for (int k = 0; k < 4; k++) whole(i + k * lanes, k);
  for (; i + lanes <= n; i += lanes) whole(i, 0);
  if (i < n) part(i, n - i);
}

template <class T, bool logarithm> struct Softmax {
  static constexpr int lanes = Vec<T>::N;

  static T largest(const T* x, int64_t n) {
    Vec<T> a[4];
    for (auto& v : a) v = Vec<T>(T(-__builtin_inf()));
    each<T>(
        n, [&](int64_t i, int k) { a[k] = larger(a[k], Vec<T>::load(x + i)); },
        [&](int64_t i, int64_t m) { a[0] = larger(a[0], load_part(x + i, m, T(-__builtin_inf()))); });
    Vec<T> all = larger(larger(a[0], a[1]), larger(a[2], a[3]));
    T top = all[0];
    for (int k = 1; k < lanes; k++) top = all[k] > top || all[k] != all[k] ? all[k] : top;
    return top;
  }
  static void row(const char* from, char* to, int64_t n) {
    const T* x = reinterpret_cast<const T*>(from);
    T* y = reinterpret_cast<T*>(to);
    Vec<T> top(largest(x, n)), a[4];
    for (auto& v : a) v = Vec<T>(0);
    each<T>(
        n,
        [&](int64_t i, int k) {
          Vec<T> e = exp(Vec<T>::load(x + i) - top);
          if constexpr (!logarithm) e.store(y + i);
          a[k] += e;
        },
        [&](int64_t i, int64_t m) {
          Vec<T> e = exp(load_part(x + i, m, T(-__builtin_inf())) - top);
          if constexpr (!logarithm) store_part(y + i, m, e);
          for (int k = int(m); k < lanes; k++) e.v[k] = 0;
          a[1] += e;
        });
    Vec<T> total(sum_lanes((a[0] + a[1]) + (a[2] + a[3])));
    if constexpr (logarithm) {
      Vec<T> low = log(total);
      each<T>(
          n, [&](int64_t i, int) { ((Vec<T>::load(x + i) - top) - low).store(y + i); },
          [&](int64_t i, int64_t m) { store_part(y + i, m, (load_part(x + i, m, T(0)) - top) - low); });
    } else {
      Vec<T> scale = Vec<T>(1) / total;
      each<T>(
          n, [&](int64_t i, int) { (Vec<T>::load(y + i) * scale).store(y + i); },
          [&](int64_t i, int64_t m) { store_part(y + i, m, load_part(y + i, m, T(0)) * scale); });
    }
  }

  // f(load, store, m) for each register across the columns; the last one may be of m lanes only.
  template <class F> static FL_INLINE void across(int64_t columns, F f) {
    for (int64_t c = 0; c < columns; c += lanes) f(c, columns - c < lanes ? columns - c : lanes);
  }
  static FL_INLINE Vec<T> get(const T* p, int64_t m) { return m == lanes ? Vec<T>::load(p) : load_part(p, m, T(0)); }
  static FL_INLINE void put(T* p, int64_t m, Vec<T> v) {
    if (m == lanes) v.store(p);
    else store_part(p, m, v);
  }
  static void columns(const char* from, char* to, int64_t n, int64_t stride, int64_t columns) {
    const T* x = reinterpret_cast<const T*>(from);
    T* y = reinterpret_cast<T*>(to);
    Vec<T> top[kSoftmaxColumns / lanes], total[kSoftmaxColumns / lanes];
    for (auto& v : top) v = Vec<T>(T(-__builtin_inf()));
    for (auto& v : total) v = Vec<T>(0);
    for (int64_t i = 0; i < n; i++)
      across(columns, [&](int64_t c, int64_t m) { top[c / lanes] = larger(top[c / lanes], get(x + i * stride + c, m)); });
    for (int64_t i = 0; i < n; i++)
      across(columns, [&](int64_t c, int64_t m) {
        Vec<T> e = exp(get(x + i * stride + c, m) - top[c / lanes]);
        if constexpr (!logarithm) put(y + i * stride + c, m, e);
        total[c / lanes] += e;
      });
    for (auto& v : total) v = logarithm ? log(v) : Vec<T>(1) / v;
    for (int64_t i = 0; i < n; i++)
      across(columns, [&](int64_t c, int64_t m) {
        if constexpr (logarithm) put(y + i * stride + c, m, (get(x + i * stride + c, m) - top[c / lanes]) - total[c / lanes]);
        else put(y + i * stride + c, m, get(y + i * stride + c, m) * total[c / lanes]);
      });
  }

  static FL_INLINE Vec<T> term(Vec<T> g, Vec<T> y) { return logarithm ? g : g * y; }
  static FL_INLINE Vec<T> gradient(Vec<T> g, Vec<T> y, Vec<T> sum) {
    if constexpr (logarithm) return g - exp(y) * sum;
    else return y * (g - sum);
  }
  static void row_gradient(const char* gradients, const char* result, char* to, int64_t n) {
    const T* g = reinterpret_cast<const T*>(gradients);
    const T* y = reinterpret_cast<const T*>(result);
    T* out = reinterpret_cast<T*>(to);
    Vec<T> a[4];
    for (auto& v : a) v = Vec<T>(0);
    each<T>(
        n, [&](int64_t i, int k) { a[k] += term(Vec<T>::load(g + i), Vec<T>::load(y + i)); },
        [&](int64_t i, int64_t m) { a[1] += term(load_part(g + i, m, T(0)), load_part(y + i, m, T(0))); });
    Vec<T> sum(sum_lanes((a[0] + a[1]) + (a[2] + a[3])));
    each<T>(
        n, [&](int64_t i, int) { gradient(Vec<T>::load(g + i), Vec<T>::load(y + i), sum).store(out + i); },
        [&](int64_t i, int64_t m) { store_part(out + i, m, gradient(load_part(g + i, m, T(0)), load_part(y + i, m, T(0)), sum)); });
  }
  static void columns_gradient(const char* gradients, const char* result, char* to, int64_t n, int64_t stride, int64_t columns) {
    const T* g = reinterpret_cast<const T*>(gradients);
    const T* y = reinterpret_cast<const T*>(result);
    T* out = reinterpret_cast<T*>(to);
    Vec<T> sum[kSoftmaxColumns / lanes];
    for (auto& v : sum) v = Vec<T>(0);
    for (int64_t i = 0; i < n; i++)
      across(columns, [&](int64_t c, int64_t m) {
        int64_t at = i * stride + c;
        sum[c / lanes] += term(get(g + at, m), get(y + at, m));
      });
    for (int64_t i = 0; i < n; i++)
      across(columns, [&](int64_t c, int64_t m) {
        int64_t at = i * stride + c;
        put(out + at, m, gradient(get(g + at, m), get(y + at, m), sum[c / lanes]));
      });
  }
};

template <class T, bool logarithm> void fill(SoftmaxLoops& l) {
  using S = Softmax<T, logarithm>;
  l = {S::row, S::columns, S::row_gradient, S::columns_gradient};
}
bool install() {
  if (machine_isa() < FL_THIS_ISA) return false;
  fill<float, false>(softmax_loops[0][0]);
  fill<double, false>(softmax_loops[0][1]);
  fill<float, true>(softmax_loops[1][0]);
  fill<double, true>(softmax_loops[1][1]);
  return true;
}
const bool installed = install();

}  // namespace
}  // namespace FL_ISA
}  // namespace fl
