#include "kernels/cross_entropy.h"

#include "math/math.h"
#include "tile/isa.h"

namespace fl {
namespace FL_ISA {
namespace {

template <class T>
FL_INLINE Vec<T> load_some(const T* x, int64_t count, T rest) {
  T lane[Vec<T>::N];
  for (int k = 0; k < Vec<T>::N; k++) lane[k] = k < count ? x[k] : rest;
  return Vec<T>::load(lane);
}

// NaN wins over every number.
template <class T>
FL_INLINE Vec<T> larger(Vec<T> a, Vec<T> b) {
  return where((b > a) | (b != b), b, a);
}

template <class T>
double log_sum_exp(const void* data, int64_t n) {
  using V = Vec<T>;
  constexpr int lanes = V::N;
  constexpr T lowest = T(-__builtin_inf());
  const T* x = static_cast<const T*>(data);
  V top[2] = {V(lowest), V(lowest)};
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    top[0] = larger(top[0], V::load(x + i));
    top[1] = larger(top[1], V::load(x + i + lanes));
  }
  for (; i < n; i += lanes) top[0] = larger(top[0], n - i < lanes ? load_some(x + i, n - i, lowest) : V::load(x + i));
  V all = larger(top[0], top[1]);
  T most = all[0];
  for (int k = 1; k < lanes; k++) most = all[k] > most || all[k] != all[k] ? all[k] : most;
  if (!(most > lowest && most < -lowest)) return double(most);
  V sum[2] = {V(0), V(0)};
  const V m = V(most);
  for (i = 0; i + 2 * lanes <= n; i += 2 * lanes) {
    sum[0] += exp(V::load(x + i) - m);
    sum[1] += exp(V::load(x + i + lanes) - m);
  }
  for (; i < n; i += lanes) sum[0] += exp((n - i < lanes ? load_some(x + i, n - i, lowest) : V::load(x + i)) - m);
  V both = sum[0] + sum[1];
  double total = 0;
  for (int k = 0; k < lanes; k++) total += double(both[k]);
  return double(most) + __builtin_log(total);
}

template <class T>
void gradient(const void* data, void* result, int64_t n, double lse, double scale) {
  using V = Vec<T>;
  constexpr int lanes = V::N;
  const T* x = static_cast<const T*>(data);
  T* dx = static_cast<T*>(result);
  const V l = V(T(lse)), s = V(T(scale));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) (exp(V::load(x + i) - l) * s).store(dx + i);
  if (i < n) {
    T lane[lanes];
    (exp(load_some(x + i, n - i, T(0)) - l) * s).store(lane);
    memcpy(dx + i, lane, static_cast<size_t>(n - i) * sizeof(T));
  }
}

bool install() {
  if (machine_isa() < FL_THIS_ISA) return false;
  cross_entropy_kernels[0] = {log_sum_exp<float>, gradient<float>};
  cross_entropy_kernels[1] = {log_sum_exp<double>, gradient<double>};
  return true;
}
const bool installed = install();

}  // namespace
}  // namespace FL_ISA
}  // namespace fl
