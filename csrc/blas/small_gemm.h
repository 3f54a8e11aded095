// Products of matrices of at most 8 x 8: cheaper than the call into a library, and they don't load one.
#pragma once

#include <utility>

#include "blas/matrix.h"

namespace fl::blas {

inline constexpr int64_t kSmall = 8;

inline bool is_small(int64_t m, int64_t n, int64_t k) { return m <= kSmall && n <= kSmall && k <= kSmall; }

namespace detail {

template <class T, int N>
void small_product(int64_t m, int64_t k, T alpha, const T* a, MatrixStrides a_strides, const T* b, int64_t b_row,
                   T beta, T* c, MatrixStrides c_strides) {
  for (int64_t i = 0; i < m; ++i) {
    T sum[N] = {};
    for (int64_t p = 0; p < k; ++p) {
      const T factor = a[i * a_strides.row + p * a_strides.column];
      for (int j = 0; j < N; ++j) sum[j] += multiply(factor, b[p * b_row + j]);
    }
    T* out = c + i * c_strides.row;
    for (int j = 0; j < N; ++j) {
      const T scaled = alpha == T(1) ? sum[j] : multiply(alpha, sum[j]);
      T& entry = out[j * c_strides.column];
      entry = beta == T(0) ? scaled : multiply(beta, entry) + scaled;
    }
  }
}

}  // namespace detail

template <class T>
void small_gemm(int64_t m, int64_t n, int64_t k, T alpha, const T* a, MatrixStrides a_strides, const T* b,
                MatrixStrides b_strides, T beta, T* c, MatrixStrides c_strides) {
  T rows[kSmall * kSmall];
  int64_t b_row = b_strides.row;
  if (b_strides.column != 1) {
    for (int64_t p = 0; p < k; ++p) {
      for (int64_t j = 0; j < n; ++j) rows[p * n + j] = b[p * b_strides.row + j * b_strides.column];
    }
    b = rows;
    b_row = n;
  }
  const auto with_columns = [&]<int... N>(std::integer_sequence<int, N...>) {
    (void)((n == N + 1 &&
            (detail::small_product<T, N + 1>(m, k, alpha, a, a_strides, b, b_row, beta, c, c_strides), true)) ||
           ...);
  };
  with_columns(std::make_integer_sequence<int, kSmall>{});
}

}  // namespace fl::blas
