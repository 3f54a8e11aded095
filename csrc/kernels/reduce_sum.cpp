// Sums. Floats are added in short runs of their own type, in several lanes, and the runs in double: the sum of a long
// tensor is about as exact as its result can show.
#include "tile/reduce_loops.h"

namespace fl {
namespace FL_ISA {
namespace {

struct Plus {
  template <class V>
  FL_INLINE V operator()(V a, V b) const {
    return a + b;
  }
};
// What is added for an element: itself, its square or its magnitude.
struct Squared {
  template <class V>
  FL_INLINE V operator()(V x) const {
    return x * x;
  }
};
struct Magnitude {
  template <class V>
  FL_INLINE V operator()(V x) const {
    return where(x < V(0), -x, x);
  }
};

template <class T>
struct Widened {
  using Type = T;
};
template <>
struct Widened<float> {
  using Type = double;
};
template <>
struct Widened<Complex<float>> {
  using Type = Complex<double>;
};

template <class T>
FL_INLINE T divide(T a, double n) {
  return a / T(n);
}
template <class T>
FL_INLINE Complex<T> divide(Complex<T> a, double n) {
  return Complex<T>(a.real / T(n), a.imag / T(n));
}
FL_INLINE int64_t divide(int64_t a, double) { return a; }

enum class Final { Value, Mean, Root };

// Sums of g(x).
template <class T, class G, Final final>
struct SumOf {
  using Acc = typename Widened<T>::Type;
  using Out = T;
  static void start(Acc* a, int64_t n) {
    for (int64_t i = 0; i < n; i++) a[i] = Acc(0);
  }
  static Acc block(const T* x, int64_t n) {
    const G g{};
    if constexpr (std::is_same_v<T, float> && std::is_same_v<G, Squared>) {
      // Squares of floats overflow in float but not in double.
      constexpr int lanes = Vec<double>::N;
      auto square = [&](int64_t at) {
        typedef float Half __attribute__((vector_size(FL_VECTOR_BYTES / 2)));
        Half h;
        memcpy(&h, x + at, sizeof(h));
        Vec<double> v(__builtin_convertvector(h, typename Vec<double>::V));
        return v * v;
      };
      Vec<double> a(0), b(0), c(0), d(0);
      int64_t i = 0;
      for (; i + 4 * lanes <= n; i += 4 * lanes) {
        a += square(i);
        b += square(i + lanes);
        c += square(i + 2 * lanes);
        d += square(i + 3 * lanes);
      }
      double lane[lanes], total = 0;
      ((a + b) + (c + d)).store(lane);
      for (double v : lane) total += v;
      for (; i < n; i++) total += double(x[i]) * double(x[i]);
      return total;
    } else if constexpr (is_vectorized<T>) {
      return Acc(fold(x, n, T(0), Plus{}, g));
    } else {
      Acc a[2] = {Acc(0), Acc(0)};
      for (int64_t i = 0; i < n; i++) a[i & 1] = plus(a[i & 1], Acc(x[i]));
      return plus(a[0], a[1]);
    }
  }
  // Pairwise above the blocks.
  static Acc total(const T* x, int64_t n) {
    if (n <= 2048) return block(x, n);
    int64_t half = (n / 2 + 1023) / 1024 * 1024;
    Acc first = total(x, half);  // in this order: memory is fetched ahead of rising addresses
    return plus(first, total(x + half, n - half));
  }
  static void run(const T* x, int64_t n, Acc* a) { *a = plus(*a, total(x, n)); }
  static FL_INLINE Acc plus(Acc a, Acc b) {
    if constexpr (std::is_integral_v<Acc>)
      return Acc(uint64_t(a) + uint64_t(b));
    else if constexpr (std::is_floating_point_v<Acc>)
      return a + b;
    else
      return Acc(a.real + b.real, a.imag + b.imag);
  }
  static void rows(const char* in, int64_t rows, int64_t row_stride, int64_t columns, Acc* a) {
    const G g{};
    auto row = [&](int64_t r) { return reinterpret_cast<const T*>(in + r * row_stride); };
    int64_t r = 0;
    if constexpr (is_vectorized<T> && !(std::is_same_v<T, float> && std::is_same_v<G, Squared>)) {
      constexpr int lanes = Vec<T>::N;
      for (; r + 8 <= rows; r += 8) {
        const T* x[8];
        for (int k = 0; k < 8; k++) x[k] = row(r + k);
        int64_t c = 0;
        for (; c + lanes <= columns; c += lanes) {
          Vec<T> v[8];
          for (int k = 0; k < 8; k++) v[k] = g(Vec<T>::load(x[k] + c));
          Vec<T> sum = ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
          add_to(a + c, sum);
        }
        for (; c < columns; c++) {
          T v[8];
          for (int k = 0; k < 8; k++) v[k] = g(Vec<T>(x[k][c]))[0];
          a[c] = plus(a[c], Acc(add(add(add(v[0], v[1]), add(v[2], v[3])), add(add(v[4], v[5]), add(v[6], v[7])))));
        }
      }
    }
    for (; r < rows; r++) {
      const T* x = row(r);
      for (int64_t c = 0; c < columns; c++) {
        if constexpr (std::is_same_v<G, Squared>)
          a[c] = a[c] + Acc(x[c]) * Acc(x[c]);
        else if constexpr (std::is_same_v<G, Magnitude>)
          a[c] = plus(a[c], Acc(x[c] < T(0) ? T(-x[c]) : x[c]));
        else
          a[c] = plus(a[c], Acc(x[c]));
      }
    }
  }
  static FL_INLINE T add(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return T(uint64_t(a) + uint64_t(b));
    else
      return a + b;
  }
  static FL_INLINE void add_to(Acc* a, Vec<T> v) {
    if constexpr (std::is_same_v<T, float>) {
      typedef double Wide __attribute__((vector_size(FL_VECTOR_BYTES * 2)));
      Wide w;
      memcpy(&w, a, sizeof(w));
      w += __builtin_convertvector(v.v, Wide);
      memcpy(a, &w, sizeof(w));
    } else {
      (Vec<T>::load(a) + v).store(a);
    }
  }
  static void merge(Acc* a, const Acc* b, int64_t n) {
    for (int64_t i = 0; i < n; i++) a[i] = plus(a[i], b[i]);
  }
  static void finish(const Acc* a, int64_t n, Out* out, const ReduceParams& p) {
    for (int64_t i = 0; i < n; i++) {
      if constexpr (final == Final::Mean)
        out[i] = Out(divide(a[i], double(p.count)));
      else if constexpr (final == Final::Root)
        out[i] = Out(__builtin_sqrt(a[i]));
      else
        out[i] = Out(a[i]);
    }
  }
};

template <class T>
void put_real(DType t) {
  put<T, SumOf<T, Itself, Final::Value>>(Reduction::Sum, t, t);
  put<T, SumOf<T, Itself, Final::Mean>>(Reduction::Mean, t, t);
  put<T, SumOf<T, Squared, Final::Value>>(Reduction::SumSquares, t, t);
  put<T, SumOf<T, Squared, Final::Root>>(Reduction::Norm2, t, t);
  put<T, SumOf<T, Magnitude, Final::Value>>(Reduction::SumAbs, t, t);
}
bool install() {
  if (machine_isa() < FL_THIS_ISA) return false;
  put_real<float>(DType::Float);
  put_real<double>(DType::Double);
  put<int64_t, SumOf<int64_t, Itself, Final::Value>>(Reduction::Sum, DType::Int64, DType::Int64);
  put<Complex<float>, SumOf<Complex<float>, Itself, Final::Value>>(Reduction::Sum, DType::ComplexFloat,
                                                                   DType::ComplexFloat);
  put<Complex<double>, SumOf<Complex<double>, Itself, Final::Value>>(Reduction::Sum, DType::ComplexDouble,
                                                                     DType::ComplexDouble);
  put<Complex<float>, SumOf<Complex<float>, Itself, Final::Mean>>(Reduction::Mean, DType::ComplexFloat,
                                                                  DType::ComplexFloat);
  put<Complex<double>, SumOf<Complex<double>, Itself, Final::Mean>>(Reduction::Mean, DType::ComplexDouble,
                                                                    DType::ComplexDouble);
  return true;
}
const bool installed = install();

}  // namespace
}  // namespace FL_ISA
}  // namespace fl
