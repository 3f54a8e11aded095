#include "tile/scan.h"

#include <math.h>

#include "math/math.h"
#include "tile/isa.h"

namespace fl {
namespace FL_ISA {
namespace {

template <class T>
struct Wide {
  using Type = T;
};
template <>
struct Wide<float> {
  using Type = double;
};
template <>
struct Wide<Complex<float>> {
  using Type = Complex<double>;
};

template <class A>
FL_INLINE A add(A a, A b) {
  if constexpr (std::is_integral_v<A>)
    return A(uint64_t(a) + uint64_t(b));
  else if constexpr (std::is_floating_point_v<A>)
    return a + b;
  else
    return A(a.real + b.real, a.imag + b.imag);
}
template <class A>
FL_INLINE A multiply(A a, A b) {
  if constexpr (std::is_integral_v<A>)
    return A(uint64_t(a) * uint64_t(b));
  else if constexpr (std::is_floating_point_v<A>)
    return a * b;
  else
    return (Vec<A>(a) * Vec<A>(b)).v;
}

struct Plus {
  template <class A>
  static A first() {
    return A(0);
  }
  template <class A>
  FL_INLINE A operator()(A a, A b) const {
    return add(a, b);
  }
};
struct Times {
  template <class A>
  static A first() {
    return A(1);
  }
  template <class A>
  FL_INLINE A operator()(A a, A b) const {
    return multiply(a, b);
  }
};
// log(exp(a) + exp(b)) without overflow.
struct LogPlus {
  template <class A>
  static A first() {
    if constexpr (std::is_floating_point_v<A>)
      return A(-__builtin_inf());
    else
      return A(-__builtin_inf(), 0);
  }
  double operator()(double a, double b) const {
    if (a != a || b != b) return a + b;
    double high = a > b ? a : b, low = a > b ? b : a;
    if (high == low && high - high != 0) return high;
    return high + ::log1p(::exp(low - high));
  }
  // The imaginary part is that of the larger operand plus a turn of less than half a circle: it isn't wrapped.
  Complex<double> operator()(Complex<double> a, Complex<double> b) const {
    if (a.real == -__builtin_inf() && a.imag == a.imag) return b;
    if (b.real == -__builtin_inf() && b.imag == b.imag) return a;
    Complex<double> high = a.real > b.real ? a : b, low = a.real > b.real ? b : a;
    double ratio = ::exp(low.real - high.real), turn = low.imag - high.imag;
    double re = 1 + ratio * ::cos(turn), im = ratio * ::sin(turn);
    return Complex<double>(high.real + ::log(::hypot(re, im)), high.imag + ::atan2(im, re));
  }
};

template <class T, class F>
void scan(const char* from, char* to, int64_t n, int64_t stride, int64_t columns) {
  using A = typename Wide<T>::Type;
  const T* x = reinterpret_cast<const T*>(from);
  T* y = reinterpret_cast<T*>(to);
  const F f{};
  if (columns == 1) {
    A a = F::template first<A>();
    for (int64_t i = 0; i < n; i++) {
      a = f(a, A(x[i * stride]));
      y[i * stride] = T(a);
    }
    return;
  }
  A a[kScanColumns];
  for (int64_t c = 0; c < columns; c++) a[c] = F::template first<A>();
  for (int64_t i = 0; i < n; i++) {
    for (int64_t c = 0; c < columns; c++) {
      a[c] = f(a[c], A(x[i * stride + c]));
      y[i * stride + c] = T(a[c]);
    }
  }
}

// The last of equals; NaN, once met, stays.
template <class T, bool smallest>
void extreme(const char* from, char* to, int64_t* indices, int64_t n, int64_t stride, int64_t columns) {
  const T* x = reinterpret_cast<const T*>(from);
  T* y = reinterpret_cast<T*>(to);
  for (int64_t c = 0; c < columns; c++) {
    T best = x[c];
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
      T v = x[i * stride + c];
      bool better = smallest ? v <= best : v >= best;
      if ((v != v) | ((best == best) & better)) {
        best = v;
        at = i;
      }
      y[i * stride + c] = best;
      indices[i * stride + c] = at;
    }
  }
}

template <class T>
void affine(const char* scale, const char* offset, char* to, int64_t n, int64_t stride, int64_t columns, bool reverse) {
  using A = typename Wide<T>::Type;
  const T* a = reinterpret_cast<const T*>(scale);
  const T* b = reinterpret_cast<const T*>(offset);
  T* y = reinterpret_cast<T*>(to);
  A state[kScanColumns];
  for (int64_t c = 0; c < columns; c++) state[c] = A(0);
  for (int64_t k = 0; k < n; k++) {
    int64_t row = (reverse ? n - 1 - k : k) * stride;
    for (int64_t c = 0; c < columns; c++) {
      // The first step has nothing to scale, whatever a holds there.
      state[c] = k ? add(multiply(A(a[row + c]), state[c]), A(b[row + c])) : A(b[row + c]);
      y[row + c] = T(state[c]);
    }
  }
}

template <class T>
void put(DType t) {
  int i = static_cast<int>(t);
  scan_table.scan[0][i] = scan<T, Plus>;
  scan_table.scan[1][i] = scan<T, Times>;
  if constexpr (!std::is_integral_v<T>) {
    scan_table.scan[2][i] = scan<T, LogPlus>;
    scan_table.affine[i] = affine<T>;
  }
}
template <class T>
void put_extreme(DType t) {
  int i = static_cast<int>(t);
  scan_table.extreme[0][i] = extreme<T, false>;
  scan_table.extreme[1][i] = extreme<T, true>;
}
bool install() {
  if (machine_isa() < FL_THIS_ISA) return false;
  put<float>(DType::Float);
  put<double>(DType::Double);
  put<int64_t>(DType::Int64);
  put<Complex<float>>(DType::ComplexFloat);
  put<Complex<double>>(DType::ComplexDouble);
  put_extreme<float>(DType::Float);
  put_extreme<double>(DType::Double);
  put_extreme<int64_t>(DType::Int64);
  put_extreme<uint64_t>(DType::UInt64);
  return true;
}
const bool installed = install();

}  // namespace
}  // namespace FL_ISA
}  // namespace fl
