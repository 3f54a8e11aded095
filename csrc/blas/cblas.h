// The routines of OpenBLAS used for products, as overloads by type. Row-major, single-threaded; sizes must fit an int.
#pragma once

#include <complex>
#include <type_traits>

#include "blas/library.h"
#include "blas/matrix.h"

namespace fl::blas::cblas {

enum Transpose : int { kPlain = 111, kTransposed = 112 };
inline constexpr int kRowMajor = 101;

template <class T>
inline constexpr char letter = 0;
template <>
inline constexpr char letter<float> = 's';
template <>
inline constexpr char letter<double> = 'd';
template <>
inline constexpr char letter<std::complex<float>> = 'c';
template <>
inline constexpr char letter<std::complex<double>> = 'z';

// Complex factors are passed by address.
template <class T>
using Factor = std::conditional_t<is_complex<T>, const void*, T>;

template <class T>
Factor<T> factor(const T& value) {
  if constexpr (is_complex<T>) {
    return &value;
  } else {
    return value;
  }
}

template <class T>
void gemm(Transpose a_transpose, Transpose b_transpose, int m, int n, int k, const T& alpha, const T* a, int lda,
          const T* b, int ldb, const T& beta, T* c, int ldc) {
  using Function = void(int, int, int, int, int, int, Factor<T>, const T*, int, const T*, int, Factor<T>, T*, int);
  static Function* const function = routine<Function>(std::string("cblas_") + letter<T> + "gemm");
  function(kRowMajor, a_transpose, b_transpose, m, n, k, factor(alpha), a, lda, b, ldb, factor(beta), c, ldc);
}

template <class T>
void gemv(Transpose transpose, int m, int n, const T& alpha, const T* a, int lda, const T* x, int x_stride,
          const T& beta, T* y, int y_stride) {
  using Function = void(int, int, int, int, Factor<T>, const T*, int, const T*, int, Factor<T>, T*, int);
  static Function* const function = routine<Function>(std::string("cblas_") + letter<T> + "gemv");
  function(kRowMajor, transpose, m, n, factor(alpha), a, lda, x, x_stride, factor(beta), y, y_stride);
}

template <class T>
T dot(int n, const T* x, int x_stride, const T* y, int y_stride) {
  if constexpr (is_complex<T>) {
    using Function = void(int, const T*, int, const T*, int, T*);
    static Function* const function = routine<Function>(std::string("cblas_") + letter<T> + "dotu_sub");
    T result;
    function(n, x, x_stride, y, y_stride, &result);
    return result;
  } else {
    using Function = T(int, const T*, int, const T*, int);
    static Function* const function = routine<Function>(std::string("cblas_") + letter<T> + "dot");
    return function(n, x, x_stride, y, y_stride);
  }
}

}  // namespace fl::blas::cblas
