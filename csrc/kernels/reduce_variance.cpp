// Variances.
#include "tile/reduce_loops.h"

namespace fl {
namespace FL_ISA {
namespace {

struct Moments {
  double n, mean, squares;  // squares of the distances from the mean, summed
};

// Variance in one pass over memory: a block in the cache is read twice, for its mean and for the distances from it, and
// blocks are merged by the formula of Chan, Golub and LeVeque.
template <class T, bool root>
struct Variance {
  using Acc = Moments;
  using Out = T;
  static void start(Moments* a, int64_t n) {
    for (int64_t i = 0; i < n; i++) a[i] = {0, 0, 0};
  }
  static FL_INLINE void join(Moments& a, const Moments& b) {
    if (b.n == 0) return;
    if (a.n == 0) {
      a = b;
      return;
    }
    double n = a.n + b.n, delta = b.mean - a.mean;
    a.mean += delta * (b.n / n);
    a.squares += b.squares + delta * delta * (a.n * (b.n / n));
    a.n = n;
  }
  static Moments block(const T* x, int64_t n) {
    constexpr int lanes = Vec<double>::N, wide = 4;
    typedef T Part __attribute__((vector_size(lanes * sizeof(T))));
    auto load = [&](int64_t i) {
      Part p;
      memcpy(&p, x + i, sizeof(p));
      return Vec<double>(__builtin_convertvector(p, typename Vec<double>::V));
    };
    int64_t whole = n / (lanes * wide) * (lanes * wide);
    // The sum of term(register of elements).
    auto total = [&](auto term) {
      Vec<double> a(0), b(0), c(0), d(0);
      for (int64_t i = 0; i < whole; i += lanes * wide) {
        a += term(load(i));
        b += term(load(i + lanes));
        c += term(load(i + 2 * lanes));
        d += term(load(i + 3 * lanes));
      }
      double lane[lanes], sum = 0;
      ((a + b) + (c + d)).store(lane);
      for (double v : lane) sum += v;
      return sum;
    };
    // Distances from the first element: a large offset costs nothing.
    double origin = double(x[0]);
    if (!(origin - origin == 0)) origin = 0;
    Vec<double> shift(origin);
    double sum = total([&](Vec<double> v) { return v - shift; });
    for (int64_t i = whole; i < n; i++) sum += double(x[i]) - origin;
    double mean = sum / double(n);
    Vec<double> center(mean);
    double squares = total([&](Vec<double> v) {
      Vec<double> d = (v - shift) - center;
      return d * d;
    });
    for (int64_t i = whole; i < n; i++) {
      double d = (double(x[i]) - origin) - mean;
      squares += d * d;
    }
    return {double(n), origin + mean, squares};
  }
  static void run(const T* x, int64_t n, Moments* a) {
    for (int64_t i = 0; i < n; i += 2048) join(*a, block(x + i, n - i < 2048 ? n - i : 2048));
  }
  static void rows(const char* in, int64_t rows, int64_t row_stride, int64_t columns, Moments* a) {
    constexpr int64_t deep = 32;
    for (int64_t r = 0; r < rows; r += deep) {
      int64_t m = rows - r < deep ? rows - r : deep;
      const char* from = in + r * row_stride;
      constexpr int64_t across = 64;
      for (int64_t c = 0; c < columns; c += across) {
        int64_t k = columns - c < across ? columns - c : across;
        double origin[across], mean[across] = {}, squares[across] = {};
        const T* first = reinterpret_cast<const T*>(from) + c;
        for (int64_t i = 0; i < k; i++) {
          origin[i] = double(first[i]);
          if (!(origin[i] - origin[i] == 0)) origin[i] = 0;
        }
        for (int64_t j = 0; j < m; j++) {
          const T* x = reinterpret_cast<const T*>(from + j * row_stride) + c;
          for (int64_t i = 0; i < k; i++) mean[i] += double(x[i]) - origin[i];
        }
        for (int64_t i = 0; i < k; i++) mean[i] /= double(m);
        for (int64_t j = 0; j < m; j++) {
          const T* x = reinterpret_cast<const T*>(from + j * row_stride) + c;
          for (int64_t i = 0; i < k; i++) {
            double d = (double(x[i]) - origin[i]) - mean[i];
            squares[i] += d * d;
          }
        }
        for (int64_t i = 0; i < k; i++) join(a[c + i], Moments{double(m), origin[i] + mean[i], squares[i]});
      }
    }
  }
  static void merge(Moments* a, const Moments* b, int64_t n) {
    for (int64_t i = 0; i < n; i++) join(a[i], b[i]);
  }
  static void finish(const Moments* a, int64_t n, T* out, const ReduceParams& p) {
    for (int64_t i = 0; i < n; i++) {
      double freedom = double(p.count) - p.correction;
      double v = a[i].squares / (freedom > 0 ? freedom : 0);
      out[i] = T(root ? __builtin_sqrt(v) : v);
    }
  }
};

template <class T>
void put_real(DType t) {
  put<T, Variance<T, false>>(Reduction::Var, t, t);
  put<T, Variance<T, true>>(Reduction::Std, t, t);
}
bool install() {
  if (machine_isa() < FL_THIS_ISA) return false;
  put_real<float>(DType::Float);
  put_real<double>(DType::Double);
  return true;
}
const bool installed = install();

}  // namespace
}  // namespace FL_ISA
}  // namespace fl
