// Distances from the differences themselves: |a|² + |b|² - 2ab would lose close points.
#include "tile/distance.h"

#include <math.h>

#include "math/math.h"
#include "tile/isa.h"

namespace fl {
namespace FL_ISA {
namespace {

// Elements as doubles, a register of them at a time: squares of floats don't overflow, and sums are exact enough.
template <class T> FL_INLINE Vec<double> load_wide(const T* p) {
  typedef T Part __attribute__((vector_size(Vec<double>::N * sizeof(T))));
  Part part;
  memcpy(&part, p, sizeof(part));
  return Vec<double>(__builtin_convertvector(part, typename Vec<double>::V));
}

template <Metric metric> struct Accumulate {
  static FL_INLINE Vec<double> step(Vec<double> sum, Vec<double> d, double) {
    if constexpr (metric == Metric::Hamming) return sum + where(d != Vec<double>(0), Vec<double>(1), Vec<double>(0));
    else if constexpr (metric == Metric::Manhattan) return sum + where(d < Vec<double>(0), -d, d);
    else if constexpr (metric == Metric::Euclidean) return sum + d * d;
    else {
      Vec<double> a = where(d < Vec<double>(0), -d, d);
      return where((a > sum) | (a != a), a, sum);
    }
  }
  static double join(double a, double b) {
    if constexpr (metric == Metric::Chebyshev) return b > a || b != b ? b : a;
    else return a + b;
  }
};

template <class T, Metric metric> void distance(const T* a, const T* b, int64_t rows, int64_t n, double p, T* out) {
  constexpr int lanes = Vec<double>::N;
  for (int64_t r = 0; r < rows; r++, b += n) {
    if constexpr (metric == Metric::Minkowski) {
      // Scaled by the largest difference, so that no power overflows.
      double top = 0, sum = 0;
      for (int64_t i = 0; i < n; i++) {
        double d = ::fabs(double(a[i]) - double(b[i]));
        top = d > top || d != d ? d : top;
      }
      if (top == 0 || top - top != 0) {
        out[r] = T(top);
        continue;
      }
      for (int64_t i = 0; i < n; i++) sum += ::pow(::fabs(double(a[i]) - double(b[i])) / top, p);
      out[r] = T(top * ::pow(sum, 1 / p));
    } else {
      using A = Accumulate<metric>;
      Vec<double> s[2] = {Vec<double>(0), Vec<double>(0)};
      int64_t i = 0;
      for (; i + 2 * lanes <= n; i += 2 * lanes) {
        s[0] = A::step(s[0], load_wide(a + i) - load_wide(b + i), p);
        s[1] = A::step(s[1], load_wide(a + i + lanes) - load_wide(b + i + lanes), p);
      }
      double total = 0;
      for (int k = 0; k < lanes; k++) total = A::join(total, A::join(s[0].v[k], s[1].v[k]));
      for (; i < n; i++) total = A::join(total, A::step(Vec<double>(0), Vec<double>(double(a[i]) - double(b[i])), p)[0]);
      if constexpr (metric == Metric::Euclidean) total = __builtin_sqrt(total);
      out[r] = T(total);
    }
  }
}

template <Metric metric> void put() { distance_loops[static_cast<int>(metric)] = {distance<float, metric>, distance<double, metric>}; }
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
