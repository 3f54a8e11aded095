// Reductions that stay in their type: extremes, products, truth, counts.
#include "tile/reduce_loops.h"

namespace fl {
namespace FL_ISA {
namespace {

struct Multiply {
  template <class V>
  FL_INLINE V operator()(V a, V b) const {
    return a * b;
  }
};
// NaN wins over every number.
struct Larger {
  template <class V>
  FL_INLINE V operator()(V a, V b) const {
    return where((b > a) | (b != b), b, a);
  }
};
struct Smaller {
  template <class V>
  FL_INLINE V operator()(V a, V b) const {
    return where((b < a) | (b != b), b, a);
  }
};

// Folds that stay in the type: largest, smallest, product.
template <class T, class F>
struct Fold {
  using Acc = T;
  using Out = T;
  static constexpr T first() {
    if constexpr (std::is_same_v<F, Multiply>)
      return T(1);
    else if constexpr (std::is_floating_point_v<T>)
      return std::is_same_v<F, Larger> ? T(-__builtin_inf()) : T(__builtin_inf());
    else if constexpr (std::is_signed_v<T>)
      return std::is_same_v<F, Larger> ? T(uint64_t(1) << 63) : T(~uint64_t(0) >> 1);
    else
      return std::is_same_v<F, Larger> ? T(0) : T(~T(0));
  }
  static void start(T* a, int64_t n) {
    for (int64_t i = 0; i < n; i++) a[i] = first();
  }
  static FL_INLINE T one(T a, T b) {
    if constexpr (is_vectorized<T>)
      return F{}(Vec<T>(a), Vec<T>(b))[0];
    else
      return (Vec<T>(a) * Vec<T>(b)).v;
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
template <bool any>
struct Truth {
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
  static void finish(const int64_t* a, int64_t n, int64_t* out, const ReduceParams&) {
    memmove(out, a, size_t(n) * sizeof(int64_t));
  }
};

template <class T>
void put_real(DType t) {
  put<T, Fold<T, Larger>>(Reduction::Max, t, t);
  put<T, Fold<T, Smaller>>(Reduction::Min, t, t);
}
bool install() {
  if (machine_isa() < FL_THIS_ISA) return false;
  put_real<float>(DType::Float);
  put_real<double>(DType::Double);
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
