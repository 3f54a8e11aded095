// What a write does with the element that is there already.
#pragma once
#include <cmath>
#include <string_view>
#include <type_traits>

#include "base/dtype.h"
#include "base/error.h"

namespace fl {

enum class Combine { Assign, Add, Mul, Min, Max };

namespace combine {
template <class T>
inline constexpr bool is_complex_type = std::is_same_v<T, Complex<float>> || std::is_same_v<T, Complex<double>>;

struct Assign {
  template <class T>
  [[gnu::always_inline]] T operator()(T, T b) const {
    return b;
  }
};
struct Add {
  template <class T>
  [[gnu::always_inline]] T operator()(T a, T b) const {
    if constexpr (std::is_same_v<T, Bool>)
      return T(bool(a) || bool(b));
    else if constexpr (is_complex_type<T>)
      return T(a.real + b.real, a.imag + b.imag);
    else if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    else
      return T(a + b);
  }
};
struct Mul {
  template <class T>
  [[gnu::always_inline]] T operator()(T a, T b) const {
    if constexpr (std::is_same_v<T, Bool>)
      return T(bool(a) && bool(b));
    else if constexpr (is_complex_type<T>)
      return T(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real);
    else if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    else
      return T(a * b);
  }
};
// NaN wins.
struct Min {
  template <class T>
  [[gnu::always_inline]] T operator()(T a, T b) const {
    if constexpr (std::is_same_v<T, Bool>)
      return T(bool(a) && bool(b));
    else if constexpr (is_complex_type<T>)
      return b;
    else
      return a != a ? a : b != b || b < a ? b : a;
  }
};
struct Max {
  template <class T>
  [[gnu::always_inline]] T operator()(T a, T b) const {
    if constexpr (std::is_same_v<T, Bool>)
      return T(bool(a) || bool(b));
    else if constexpr (is_complex_type<T>)
      return b;
    else
      return a != a ? a : b != b || b > a ? b : a;
  }
};
}  // namespace combine

}  // namespace fl
