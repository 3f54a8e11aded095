#include "kernels/attention.h"

#include "math/math.h"
#include "tile/isa.h"

namespace fl {
namespace FL_ISA {
namespace {

template <class T>
inline constexpr T kLowest = T(-__builtin_inf());

template <class T>
FL_INLINE Vec<T> load_some(const T* x, int64_t count, T rest) {
  T lane[Vec<T>::N];
  for (int k = 0; k < Vec<T>::N; k++) lane[k] = k < count ? x[k] : rest;
  return Vec<T>::load(lane);
}
template <class T>
FL_INLINE void store_some(T* x, int64_t count, Vec<T> v) {
  T lane[Vec<T>::N];
  v.store(lane);
  memcpy(x, lane, static_cast<size_t>(count) * sizeof(T));
}

// Calls f(load, store) for each register of n elements; the last may be incomplete: load's second argument stands for
// what is missing.
template <class T, class F>
FL_INLINE void each(int64_t n, F f) {
  constexpr int lanes = Vec<T>::N;
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    f([&](const T* p, T) { return Vec<T>::load(p + i); }, [&](T* p, Vec<T> v) { v.store(p + i); });
  if (i < n)
    f([&](const T* p, T rest) { return load_some(p + i, n - i, rest); },
      [&](T* p, Vec<T> v) { store_some(p + i, n - i, v); });
}

// NaN wins over every number.
template <class T>
FL_INLINE Vec<T> larger(Vec<T> a, Vec<T> b) {
  return where((b > a) | (b != b), b, a);
}

template <class T>
double softmax_block(void* data, const void* given, int64_t n, double scale, double* largest, double* sum) {
  using V = Vec<T>;
  T* s = static_cast<T*>(data);
  const T* mask = static_cast<const T*>(given);
  const V by = V(T(scale));
  V top = V(kLowest<T>);
  each<T>(n, [&](auto load, auto store) {
    V v = load(s, T(0)) * by;
    if (mask) v = v + load(mask, T(0));
    store(s, v);
  });
  each<T>(n, [&](auto load, auto) { top = larger(top, load(s, kLowest<T>)); });
  T most = top[0];
  for (int k = 1; k < V::N; k++) most = top[k] > most || top[k] != top[k] ? top[k] : most;
  const T before = T(*largest), now = most > before || most != most ? most : before;
  if (now == kLowest<T>) {
    memset(s, 0, static_cast<size_t>(n) * sizeof(T));
    return 1;
  }
  const V m = V(now);
  V total = V(0);
  each<T>(n, [&](auto load, auto store) {
    V e = exp(load(s, kLowest<T>) - m);
    store(s, e);
    total += e;
  });
  double all = 0;
  for (int k = 0; k < V::N; k++) all += double(total[k]);
  const double correction = *largest == double(kLowest<T>) ? 0 : __builtin_exp(*largest - double(now));
  *sum = *sum * correction + all;
  *largest = double(now);
  return correction;
}

template <class T>
void multiply(void* data, int64_t n, double by) {
  T* x = static_cast<T*>(data);
  for (int64_t i = 0; i < n; i++) x[i] *= T(by);
}

template <class T>
double dot(const void* a, const void* b, int64_t n) {
  Vec<T> sum = Vec<T>(0);
  each<T>(n,
          [&](auto load, auto) { sum += load(static_cast<const T*>(a), T(0)) * load(static_cast<const T*>(b), T(0)); });
  double all = 0;
  for (int k = 0; k < Vec<T>::N; k++) all += double(sum[k]);
  return all;
}

template <class T>
void gradient_block(void* data, void* gradients, const void* given, int64_t n, double scale, double lse,
                    double product) {
  using V = Vec<T>;
  T *s = static_cast<T*>(data), *g = static_cast<T*>(gradients);
  const T* mask = static_cast<const T*>(given);
  if (lse == double(kLowest<T>)) {
    memset(s, 0, static_cast<size_t>(n) * sizeof(T));
    memset(g, 0, static_cast<size_t>(n) * sizeof(T));
    return;
  }
  const V by = V(T(scale)), l = V(T(lse)), d = V(T(product));
  each<T>(n, [&](auto load, auto store) {
    V v = load(s, T(0)) * by;
    if (mask) v = v + load(mask, T(0));
    V p = exp(v - l);
    store(g, p * (load(g, T(0)) - d) * by);
    store(s, p);
  });
}

bool install() {
  if (machine_isa() < FL_THIS_ISA) return false;
  attention_kernels[0] = {softmax_block<float>, multiply<float>, dot<float>, gradient_block<float>};
  attention_kernels[1] = {softmax_block<double>, multiply<double>, dot<double>, gradient_block<double>};
  return true;
}
const bool installed = install();

}  // namespace
}  // namespace FL_ISA
}  // namespace fl
