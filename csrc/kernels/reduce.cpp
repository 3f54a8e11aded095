// The loops of reductions. Floats are added in short runs of their own type, in several lanes, and the runs in double:
// the sum of a long tensor is about as exact as its result can show.
#include "tile/reduce.h"

#include "math/math.h"
#include "simd/convert.h"
#include "tile/isa.h"

namespace fl {
namespace FL_ISA {
namespace {

template <class T> inline constexpr bool is_vectorized = std::is_arithmetic_v<T>;

// Four registers folded side by side, then with each other, then lane by lane. g is applied to the elements first. (Named
// registers: an array of them would live in memory.)
template <class T, class F, class G> FL_INLINE T fold(const T* x, int64_t n, T start, F f, G g) {
  constexpr int lanes = Vec<T>::N;
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

struct Plus {
  template <class V> FL_INLINE V operator()(V a, V b) const { return a + b; }
};
struct Multiply {
  template <class V> FL_INLINE V operator()(V a, V b) const { return a * b; }
};
// NaN wins over every number.
struct Larger {
  template <class V> FL_INLINE V operator()(V a, V b) const { return where((b > a) | (b != b), b, a); }
};
struct Smaller {
  template <class V> FL_INLINE V operator()(V a, V b) const { return where((b < a) | (b != b), b, a); }
};

// What is added for an element: itself, its square or its magnitude.
struct Itself {
  template <class V> FL_INLINE V operator()(V x) const { return x; }
};
struct Squared {
  template <class V> FL_INLINE V operator()(V x) const { return x * x; }
};
struct Magnitude {
  template <class V> FL_INLINE V operator()(V x) const { return where(x < V(0), -x, x); }
};

template <class T> struct Widened { using Type = T; };
template <> struct Widened<float> { using Type = double; };
template <> struct Widened<Complex<float>> { using Type = Complex<double>; };

template <class T> FL_INLINE T divide(T a, double n) { return a / T(n); }
template <class T> FL_INLINE Complex<T> divide(Complex<T> a, double n) { return Complex<T>(a.real / T(n), a.imag / T(n)); }
FL_INLINE int64_t divide(int64_t a, double) { return a; }

enum class Final { Value, Mean, Root };

// Sums of g(x).
template <class T, class G, Final final> struct SumOf {
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
    if constexpr (std::is_integral_v<Acc>) return Acc(uint64_t(a) + uint64_t(b));
    else if constexpr (std::is_floating_point_v<Acc>) return a + b;
    else return Acc(a.real + b.real, a.imag + b.imag);
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
        if constexpr (std::is_same_v<G, Squared>) a[c] = a[c] + Acc(x[c]) * Acc(x[c]);
        else if constexpr (std::is_same_v<G, Magnitude>) a[c] = plus(a[c], Acc(x[c] < T(0) ? T(-x[c]) : x[c]));
        else a[c] = plus(a[c], Acc(x[c]));
      }
    }
  }
  static FL_INLINE T add(T a, T b) {
    if constexpr (std::is_integral_v<T>) return T(uint64_t(a) + uint64_t(b));
    else return a + b;
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
      if constexpr (final == Final::Mean) out[i] = Out(divide(a[i], double(p.count)));
      else if constexpr (final == Final::Root) out[i] = Out(__builtin_sqrt(a[i]));
      else out[i] = Out(a[i]);
    }
  }
};

// Folds that stay in the type: largest, smallest, product.
template <class T, class F> struct Fold {
  using Acc = T;
  using Out = T;
  static constexpr T first() {
    if constexpr (std::is_same_v<F, Multiply>) return T(1);
    else if constexpr (std::is_floating_point_v<T>) return std::is_same_v<F, Larger> ? T(-__builtin_inf()) : T(__builtin_inf());
    else if constexpr (std::is_signed_v<T>) return std::is_same_v<F, Larger> ? T(uint64_t(1) << 63) : T(~uint64_t(0) >> 1);
    else return std::is_same_v<F, Larger> ? T(0) : T(~T(0));
  }
  static void start(T* a, int64_t n) {
    for (int64_t i = 0; i < n; i++) a[i] = first();
  }
  static FL_INLINE T one(T a, T b) {
    if constexpr (is_vectorized<T>) return F{}(Vec<T>(a), Vec<T>(b))[0];
    else return (Vec<T>(a) * Vec<T>(b)).v;
  }
  static void run(const T* x, int64_t n, T* a) {
    if constexpr (is_vectorized<T>) {
      *a = one(*a, fold(x, n, first(), F{}, Itself{}));
    } else {
      T product = *a;
      for (int64_t i = 0; i < n; i++) product = one(product, x[i]);
      *a = product;
    }
  }
  static void rows(const char* in, int64_t rows, int64_t row_stride, int64_t columns, T* a) {
    for (int64_t r = 0; r < rows; r++) {
      const T* x = reinterpret_cast<const T*>(in + r * row_stride);
      int64_t c = 0;
      if constexpr (is_vectorized<T>) {
        constexpr int lanes = Vec<T>::N;
        for (; c + lanes <= columns; c += lanes) F{}(Vec<T>::load(a + c), Vec<T>::load(x + c)).store(a + c);
      }
      for (; c < columns; c++) a[c] = one(a[c], x[c]);
    }
  }
  static void merge(T* a, const T* b, int64_t n) {
    for (int64_t i = 0; i < n; i++) a[i] = one(a[i], b[i]);
  }
  static void finish(const T* a, int64_t n, T* out, const ReduceParams&) { memmove(out, a, size_t(n) * sizeof(T)); }
};

// Truth of any or of all: bytes that are 0 or not.
template <bool any> struct Truth {
  using Acc = uint8_t;
  using Out = uint8_t;
  static void start(uint8_t* a, int64_t n) { memset(a, any ? 0 : 1, size_t(n)); }
  static void run(const uint8_t* x, int64_t n, uint8_t* a) {
    constexpr int64_t block = 512;
    for (int64_t i = 0; i < n && *a != any; i += block) {
      int64_t end = i + block < n ? i + block : n;
      uint8_t found = 0;
      for (int64_t k = i; k < end; k++) found |= any ? uint8_t(x[k] != 0) : uint8_t(x[k] == 0);
      if (found) *a = any;
    }
  }
  static void rows(const char* in, int64_t rows, int64_t row_stride, int64_t columns, uint8_t* a) {
    for (int64_t r = 0; r < rows; r++) {
      const uint8_t* x = reinterpret_cast<const uint8_t*>(in + r * row_stride);
      for (int64_t c = 0; c < columns; c++) a[c] = any ? uint8_t(a[c] | (x[c] != 0)) : uint8_t(a[c] & (x[c] != 0));
    }
  }
  static void merge(uint8_t* a, const uint8_t* b, int64_t n) {
    for (int64_t i = 0; i < n; i++) a[i] = any ? a[i] | b[i] : a[i] & b[i];
  }
  static void finish(const uint8_t* a, int64_t n, uint8_t* out, const ReduceParams&) { memmove(out, a, size_t(n)); }
};

struct CountTrue {
  using Acc = int64_t;
  using Out = int64_t;
  static void start(int64_t* a, int64_t n) { memset(a, 0, size_t(n) * sizeof(int64_t)); }
  static void run(const uint8_t* x, int64_t n, int64_t* a) {
    for (int64_t i = 0; i < n; i += 4096) {
      int64_t end = i + 4096 < n ? i + 4096 : n;
      uint32_t count = 0;
      for (int64_t k = i; k < end; k++) count += x[k] != 0;
      *a += count;
    }
  }
  static void rows(const char* in, int64_t rows, int64_t row_stride, int64_t columns, int64_t* a) {
    for (int64_t r = 0; r < rows; r++) {
      const uint8_t* x = reinterpret_cast<const uint8_t*>(in + r * row_stride);
      for (int64_t c = 0; c < columns; c++) a[c] += x[c] != 0;
    }
  }
  static void merge(int64_t* a, const int64_t* b, int64_t n) {
    for (int64_t i = 0; i < n; i++) a[i] += b[i];
  }
  static void finish(const int64_t* a, int64_t n, int64_t* out, const ReduceParams&) { memmove(out, a, size_t(n) * sizeof(int64_t)); }
};

struct Moments {
  double n, mean, squares;  // squares of the distances from the mean, summed
};

// Variance in one pass over memory: a block in the cache is read twice, for its mean and for the distances from it, and
// blocks are merged by the formula of Chan, Golub and LeVeque.
template <class T, bool root> struct Variance {
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

template <class T, class Op> void put(Reduction kind, DType computed, DType result) {
  using Acc = typename Op::Acc;
  static_assert(sizeof(Acc) <= kMaxAccumulatorBytes);
  static const ReduceLoops loops{
      computed,
      result,
      sizeof(Acc),
      [](char* a, int64_t n) { Op::start(reinterpret_cast<Acc*>(a), n); },
      [](const char* in, int64_t n, char* a) { Op::run(reinterpret_cast<const T*>(in), n, reinterpret_cast<Acc*>(a)); },
      [](const char* in, int64_t rows, int64_t stride, int64_t columns, char* a) { Op::rows(in, rows, stride, columns, reinterpret_cast<Acc*>(a)); },
      [](char* a, const char* b, int64_t n) { Op::merge(reinterpret_cast<Acc*>(a), reinterpret_cast<const Acc*>(b), n); },
      [](const char* a, int64_t n, char* out, const ReduceParams& p) {
        Op::finish(reinterpret_cast<const Acc*>(a), n, reinterpret_cast<typename Op::Out*>(out), p);
      }};
  reduce_loops[static_cast<int>(kind)][static_cast<int>(computed)] = &loops;
}

template <class T> void put_real(DType t) {
  put<T, SumOf<T, Itself, Final::Value>>(Reduction::Sum, t, t);
  put<T, SumOf<T, Itself, Final::Mean>>(Reduction::Mean, t, t);
  put<T, SumOf<T, Squared, Final::Value>>(Reduction::SumSquares, t, t);
  put<T, SumOf<T, Squared, Final::Root>>(Reduction::Norm2, t, t);
  put<T, SumOf<T, Magnitude, Final::Value>>(Reduction::SumAbs, t, t);
  put<T, Fold<T, Larger>>(Reduction::Max, t, t);
  put<T, Fold<T, Smaller>>(Reduction::Min, t, t);
  put<T, Variance<T, false>>(Reduction::Var, t, t);
  put<T, Variance<T, true>>(Reduction::Std, t, t);
}

bool install() {
  if (machine_isa() < FL_THIS_ISA) return false;
  put_real<float>(DType::Float);
  put_real<double>(DType::Double);
  put<int64_t, SumOf<int64_t, Itself, Final::Value>>(Reduction::Sum, DType::Int64, DType::Int64);
  put<Complex<float>, SumOf<Complex<float>, Itself, Final::Value>>(Reduction::Sum, DType::ComplexFloat, DType::ComplexFloat);
  put<Complex<double>, SumOf<Complex<double>, Itself, Final::Value>>(Reduction::Sum, DType::ComplexDouble, DType::ComplexDouble);
  put<Complex<float>, SumOf<Complex<float>, Itself, Final::Mean>>(Reduction::Mean, DType::ComplexFloat, DType::ComplexFloat);
  put<Complex<double>, SumOf<Complex<double>, Itself, Final::Mean>>(Reduction::Mean, DType::ComplexDouble, DType::ComplexDouble);
  put<double, Fold<double, Multiply>>(Reduction::Prod, DType::Double, DType::Double);
  put<int64_t, Fold<int64_t, Multiply>>(Reduction::Prod, DType::Int64, DType::Int64);
  put<Complex<double>, Fold<Complex<double>, Multiply>>(Reduction::Prod, DType::ComplexDouble, DType::ComplexDouble);
  put<int64_t, Fold<int64_t, Larger>>(Reduction::Max, DType::Int64, DType::Int64);
  put<int64_t, Fold<int64_t, Smaller>>(Reduction::Min, DType::Int64, DType::Int64);
  put<uint64_t, Fold<uint64_t, Larger>>(Reduction::Max, DType::UInt64, DType::UInt64);
  put<uint64_t, Fold<uint64_t, Smaller>>(Reduction::Min, DType::UInt64, DType::UInt64);
  put<uint8_t, Truth<true>>(Reduction::Any, DType::Bool, DType::Bool);
  put<uint8_t, Truth<false>>(Reduction::All, DType::Bool, DType::Bool);
  put<uint8_t, CountTrue>(Reduction::CountNonzero, DType::Bool, DType::Int64);
  return true;
}
const bool installed = install();

}  // namespace
}  // namespace FL_ISA
}  // namespace fl
