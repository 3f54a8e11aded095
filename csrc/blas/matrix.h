// What the products take: a pointer and, for each dimension, the distance in elements from one entry to the next. A
// transposed matrix is one whose strides are swapped; any strides are allowed (also 0 and negative), those BLAS can't
// take are copied.
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

namespace fl::blas {

struct MatrixStrides {
  int64_t row = 0;     // from a[i, j] to a[i + 1, j]
  int64_t column = 1;  // from a[i, j] to a[i, j + 1]

  MatrixStrides transposed() const { return {column, row}; }
};

template <class T>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<std::complex<T>> = true;

// Plain complex product: the one of std::complex looks for infinities made from NaNs, which costs a function call each.
// Integers must be unsigned and wrap around (the factor 1u keeps small ones from being promoted to signed int).
template <class T>
inline T multiply(T a, T b) {
  if constexpr (is_complex<T>) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  } else if constexpr (std::is_integral_v<T>) {
    static_assert(std::is_unsigned_v<T>);
    return static_cast<T>(1u * a * b);
  } else {
    return a * b;
  }
}

// c = beta * c, where beta = 0 means overwriting: NaNs in c don't survive.
template <class T>
void scale(int64_t m, int64_t n, T beta, T* c, MatrixStrides strides) {
  if (beta == T(1)) return;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      T& entry = c[i * strides.row + j * strides.column];
      entry = beta == T(0) ? T(0) : multiply(beta, entry);
    }
  }
}

}  // namespace fl::blas
