#include "tile/softmax.h"

#include "math/math.h"
#include "tile/isa.h"

namespace fl {
namespace FL_ISA {
namespace {

template <class T>
FL_INLINE Vec<T> larger(Vec<T> a, Vec<T> b) {
  return where((b > a) | (b != b), b, a);
}

// The last, incomplete register of a row; lanes beyond the end hold `rest`.
template <class T>
FL_INLINE Vec<T> load_part(const T* x, int64_t n, T rest) {
  T lane[Vec<T>::N];
  for (int k = 0; k < Vec<T>::N; k++) lane[k] = k < n ? x[k] : rest;
  return Vec<T>::load(lane);
}
template <class T>
FL_INLINE void store_part(T* x, int64_t n, Vec<T> v) {
  T lane[Vec<T>::N];
  v.store(lane);
  for (int k = 0; k < Vec<T>::N && k < n; k++) x[k] = lane[k];
}

template <class T>
FL_INLINE T sum_lanes(Vec<T> v) {
  T lane[Vec<T>::N];
  v.store(lane);
  for (int step = Vec<T>::N / 2; step; step /= 2)
    for (int k = 0; k < step; k++) lane[k] += lane[k + step];
  return lane[0];
}

// Four registers to work on side by side. Named, as an array of them would live in memory.
template <class T>
struct Four {
  Vec<T> a, b, c, d;
  FL_INLINE explicit Four(T start) : a(start), b(start), c(start), d(start) {}
};
// Calls whole(register, i) for each full register at i, whose results go to the registers of r in turn, and
// part(register, i, m) for the m elements of the rest.
template <class T, class W, class P>
FL_INLINE void each(int64_t n, Four<T>& r, W whole, P part) {
  constexpr int lanes = Vec<T>::N;
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    whole(r.a, i);
    whole(r.b, i + lanes);
    whole(r.c, i + 2 * lanes);
    whole(r.d, i + 3 * lanes);
  }
  for (; i + lanes <= n; i += lanes) whole(r.a, i);
  if (i < n) part(r.b, i, n - i);
}
// The same with nothing gathered.
template <class T, class W, class P>
FL_INLINE void each(int64_t n, W whole, P part) {
  constexpr int lanes = Vec<T>::N;
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) whole(i);
  if (i < n) part(i, n - i);
}

template <class T, bool logarithm>
struct Softmax {
  static constexpr int lanes = Vec<T>::N;

  static T largest(const T* x, int64_t n) {
    Four<T> r(T(-__builtin_inf()));
    each<T>(
        n, r, [&](Vec<T>& a, int64_t i) { a = larger(a, Vec<T>::load(x + i)); },
        [&](Vec<T>& a, int64_t i, int64_t m) { a = larger(a, load_part(x + i, m, T(-__builtin_inf()))); });
    T lane[lanes];
    larger(larger(r.a, r.b), larger(r.c, r.d)).store(lane);
    T top = lane[0];
    for (int k = 1; k < lanes; k++) top = lane[k] > top || lane[k] != lane[k] ? lane[k] : top;
    return top;
  }
  // A row that fits one register.
  static void short_row(const T* x, T* y, int64_t n) {
    T lane[lanes], top = x[0], total = 0;
    for (int64_t k = 1; k < n; k++) top = x[k] > top || x[k] != x[k] ? x[k] : top;
    for (int k = 0; k < lanes; k++) lane[k] = k < n ? x[k] : top;
    Vec<T> distance = Vec<T>::load(lane) - Vec<T>(top), e = exp(distance);
    e.store(lane);
    for (int64_t k = 0; k < n; k++) total += lane[k];
    store_part(y, n, logarithm ? distance - log(Vec<T>(total)) : e * (Vec<T>(1) / Vec<T>(total)));
  }
  static void row(const char* from, char* to, int64_t n) {
    const T* x = reinterpret_cast<const T*>(from);
    T* y = reinterpret_cast<T*>(to);
    if (n <= lanes) return short_row(x, y, n);
    Vec<T> top(largest(x, n));
    Four<T> r(T(0));
    each<T>(
        n, r,
        [&](Vec<T>& a, int64_t i) {
          Vec<T> e = exp(Vec<T>::load(x + i) - top);
          if constexpr (!logarithm) e.store(y + i);
          a += e;
        },
        [&](Vec<T>& a, int64_t i, int64_t m) {
          Vec<T> e = exp(load_part(x + i, m, T(-__builtin_inf())) - top);
          T lane[lanes];
          e.store(lane);
          if constexpr (!logarithm) {
            for (int64_t k = 0; k < m; k++) y[i + k] = lane[k];
          }
          a += load_part(lane, m, T(0));
        });
    Vec<T> total(sum_lanes((r.a + r.b) + (r.c + r.d)));
    if constexpr (logarithm) {
      Vec<T> low = log(total);
      each<T>(
          n, [&](int64_t i) { ((Vec<T>::load(x + i) - top) - low).store(y + i); },
          [&](int64_t i, int64_t m) { store_part(y + i, m, (load_part(x + i, m, T(0)) - top) - low); });
    } else {
      Vec<T> scale = Vec<T>(1) / total;
      each<T>(
          n, [&](int64_t i) { (Vec<T>::load(y + i) * scale).store(y + i); },
          [&](int64_t i, int64_t m) { store_part(y + i, m, load_part(y + i, m, T(0)) * scale); });
    }
  }

  // f(load, store, m) for each register across the columns; the last one may be of m lanes only.
  template <class F>
  static FL_INLINE void across(int64_t columns, F f) {
    for (int64_t c = 0; c < columns; c += lanes) f(c, columns - c < lanes ? columns - c : lanes);
  }
  static FL_INLINE Vec<T> get(const T* p, int64_t m) { return m == lanes ? Vec<T>::load(p) : load_part(p, m, T(0)); }
  static FL_INLINE void put(T* p, int64_t m, Vec<T> v) {
    if (m == lanes)
      v.store(p);
    else
      store_part(p, m, v);
  }
  static void columns(const char* from, char* to, int64_t n, int64_t stride, int64_t columns) {
    const T* x = reinterpret_cast<const T*>(from);
    T* y = reinterpret_cast<T*>(to);
    Vec<T> top[kSoftmaxColumns / lanes], total[kSoftmaxColumns / lanes];
    for (auto& v : top) v = Vec<T>(T(-__builtin_inf()));
    for (auto& v : total) v = Vec<T>(0);
    for (int64_t i = 0; i < n; i++)
      across(columns,
             [&](int64_t c, int64_t m) { top[c / lanes] = larger(top[c / lanes], get(x + i * stride + c, m)); });
    for (int64_t i = 0; i < n; i++)
      across(columns, [&](int64_t c, int64_t m) {
        Vec<T> e = exp(get(x + i * stride + c, m) - top[c / lanes]);
        if constexpr (!logarithm) put(y + i * stride + c, m, e);
        total[c / lanes] += e;
      });
    for (auto& v : total) v = logarithm ? log(v) : Vec<T>(1) / v;
    for (int64_t i = 0; i < n; i++)
      across(columns, [&](int64_t c, int64_t m) {
        if constexpr (logarithm)
          put(y + i * stride + c, m, (get(x + i * stride + c, m) - top[c / lanes]) - total[c / lanes]);
        else
          put(y + i * stride + c, m, get(y + i * stride + c, m) * total[c / lanes]);
      });
  }

  static FL_INLINE Vec<T> term(Vec<T> g, Vec<T> y) { return logarithm ? g : g * y; }
  static FL_INLINE Vec<T> gradient(Vec<T> g, Vec<T> y, Vec<T> sum) {
    if constexpr (logarithm)
      return g - exp(y) * sum;
    else
      return y * (g - sum);
  }
  static void row_gradient(const char* gradients, const char* result, char* to, int64_t n) {
    const T* g = reinterpret_cast<const T*>(gradients);
    const T* y = reinterpret_cast<const T*>(result);
    T* out = reinterpret_cast<T*>(to);
    Four<T> r(T(0));
    each<T>(
        n, r, [&](Vec<T>& a, int64_t i) { a += term(Vec<T>::load(g + i), Vec<T>::load(y + i)); },
        [&](Vec<T>& a, int64_t i, int64_t m) { a += term(load_part(g + i, m, T(0)), load_part(y + i, m, T(0))); });
    Vec<T> sum(sum_lanes((r.a + r.b) + (r.c + r.d)));
    each<T>(
        n, [&](int64_t i) { gradient(Vec<T>::load(g + i), Vec<T>::load(y + i), sum).store(out + i); },
        [&](int64_t i, int64_t m) {
          store_part(out + i, m, gradient(load_part(g + i, m, T(0)), load_part(y + i, m, T(0)), sum));
        });
  }
  static void columns_gradient(const char* gradients, const char* result, char* to, int64_t n, int64_t stride,
                               int64_t columns) {
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

template <class T, bool logarithm>
void fill(SoftmaxLoops& l) {
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
