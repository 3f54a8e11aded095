// Distances from the differences themselves: |a|² + |b|² - 2ab would lose close points.
#include "tile/distance.h"

#include <math.h>

#include "math/math.h"
#include "tile/isa.h"

namespace fl {
namespace FL_ISA {
namespace {

template <class T>
FL_INLINE Vec<T> magnitude(Vec<T> d) {
  return where(d < Vec<T>(0), -d, d);
}
template <class T>
FL_INLINE Vec<T> larger(Vec<T> a, Vec<T> b) {
  return where((b > a) | (b != b), b, a);
}

// What a difference adds; `top` is the largest difference of a Minkowski distance.
template <Metric metric, class T>
FL_INLINE Vec<T> term(Vec<T> d, Vec<T> top, Vec<T> p) {
  if constexpr (metric == Metric::Hamming)
    return where(d != Vec<T>(0), Vec<T>(1), Vec<T>(0));
  else if constexpr (metric == Metric::Euclidean)
    return d * d;
  else if constexpr (metric == Metric::Minkowski)
    return pow(magnitude(d) / top, p);
  else
    return magnitude(d);
}

// The distance of a single pair, whatever the size of the differences.
template <class T>
T careful_length(const T* a, const T* b, int64_t stride, int64_t n) {
  double top = 0, sum = 0;
  for (int64_t k = 0; k < n; k++) {
    double d = ::fabs(double(a[k]) - double(b[k * stride]));
    top = d > top || d != d ? d : top;
  }
  if (top == 0 || top - top != 0) return T(top);
  for (int64_t k = 0; k < n; k++) {
    double d = (double(a[k]) - double(b[k * stride])) / top;
    sum += d * d;
  }
  return T(top * __builtin_sqrt(sum));
}

// One register of columns, whose rows are `stride` apart.
template <Metric metric, class T>
FL_INLINE Vec<T> distances(const T* a, const T* b, int64_t stride, int64_t n, Vec<T> p) {
  Vec<T> top(0), total(0);
  if constexpr (metric == Metric::Chebyshev || metric == Metric::Minkowski) {
    for (int64_t k = 0; k < n; k++) top = larger(top, magnitude(Vec<T>(a[k]) - Vec<T>::load(b + k * stride)));
    if constexpr (metric == Metric::Chebyshev) return top;
  }
  Vec<T> scale = where((top == Vec<T>(0)) | (top == Vec<T>(T(__builtin_inf()))), Vec<T>(1), top);
  // Short sums first, for their rounding.
  for (int64_t k = 0; k < n;) {
    Vec<T> sum(0);
    for (int64_t end = k + 64 < n ? k + 64 : n; k < end; k++)
      sum += term<metric>(Vec<T>(a[k]) - Vec<T>::load(b + k * stride), scale, p);
    total += sum;
  }
  if constexpr (metric == Metric::Euclidean)
    return sqrt(total);
  else if constexpr (metric == Metric::Minkowski)
    return scale * pow(total, Vec<T>(1) / p);
  else
    return total;
}

template <class T, Metric metric>
void distance(const T* a, const T* b, int64_t columns, int64_t stride, int64_t n, double order, T* out) {
  constexpr int lanes = Vec<T>::N;
  constexpr T least = sizeof(T) == 4 ? T(1e-15) : T(1e-140);
  Vec<T> p{T(order)};
  for (int64_t c = 0; c < columns; c += lanes) {
    Vec<T> d = distances<metric>(a, b + c, stride, n, p);
    int64_t m = columns - c < lanes ? columns - c : lanes;
    T lane[lanes];
    d.store(lane);
    for (int64_t k = 0; k < m; k++) {
      bool extreme = metric == Metric::Euclidean && (lane[k] < least || lane[k] == T(__builtin_inf()));
      out[c + k] = extreme ? careful_length(a, b + c + k, stride, n) : lane[k];
    }
  }
}

template <Metric metric>
void put() {
  distance_loops[static_cast<int>(metric)] = {distance<float, metric>, distance<double, metric>};
}
bool install() {
  if (machine_isa() < FL_THIS_ISA) return false;
  put<Metric::Hamming>();
  put<Metric::Manhattan>();
  put<Metric::Euclidean>();
  put<Metric::Chebyshev>();
  put<Metric::Minkowski>();
  return true;
}
const bool installed = install();

}  // namespace
}  // namespace FL_ISA
}  // namespace fl
