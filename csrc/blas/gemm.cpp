#include "blas/gemm.h"

#include <algorithm>
#include <climits>
#include <complex>
#include <memory>
#include <utility>

#include "base/threads.h"
#include "blas/blocks.h"
#include "blas/cblas.h"
#include "blas/loop_gemm.h"
#include "blas/operand.h"
#include "blas/small_gemm.h"

namespace fl::blas {
namespace {

bool fits_int(int64_t m, int64_t n, int64_t k) { return std::max({m, n, k}) <= INT_MAX; }

// c must have BLAS rows.
template <class T>
void library_gemm(int64_t m, int64_t n, int64_t k, T alpha, const T* a, MatrixStrides a_strides, const T* b,
                  MatrixStrides b_strides, T beta, T* c, int64_t c_row) {
  const Operand<T> left(m, k, a, a_strides), right(k, n, b, b_strides);
  const int leading = leading_dimension(m, n, c_row);
  for_each_block(m, n, k, kOpenBlasBlock, [&](int64_t row, int64_t rows, int64_t column, int64_t columns) {
    cblas::gemm<T>(left.transpose(), right.transpose(), static_cast<int>(rows), static_cast<int>(columns),
                   static_cast<int>(k), alpha, left.from_row(row), left.leading(), right.from_column(column),
                   right.leading(), beta, c + row * leading + column, leading);
  });
}

template <class T>
void strided_gemm(int64_t m, int64_t n, int64_t k, T alpha, const T* a, MatrixStrides a_strides, const T* b,
                  MatrixStrides b_strides, T beta, T* c, MatrixStrides c_strides) {
  if (!fits_int(m, n, k)) {
    loop_gemm(m, n, k, alpha, a, a_strides, b, b_strides, beta, c, c_strides);
  } else if (n == 1) {
    gemv(m, k, alpha, a, a_strides, b, b_strides.row, beta, c, c_strides.row);
  } else if (m == 1) {
    gemv(n, k, alpha, b, b_strides.transposed(), a, a_strides.column, beta, c, c_strides.column);
  } else if (has_blas_rows(m, n, c_strides)) {
    library_gemm(m, n, k, alpha, a, a_strides, b, b_strides, beta, c, c_strides.row);
  } else if (has_blas_rows(n, m, c_strides.transposed())) {
    library_gemm(n, m, k, alpha, b, b_strides.transposed(), a, a_strides.transposed(), beta, c, c_strides.column);
  } else {
    std::unique_ptr<T[]> product(new T[m * n]);
    library_gemm(m, n, k, alpha, a, a_strides, b, b_strides, T(0), product.get(), n);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        T& entry = c[i * c_strides.row + j * c_strides.column];
        entry = beta == T(0) ? product[i * n + j] : multiply(beta, entry) + product[i * n + j];
      }
    }
  }
}

}  // namespace

template <class T>
void gemm(int64_t m, int64_t n, int64_t k, T alpha, const T* a, MatrixStrides a_strides, const T* b,
          MatrixStrides b_strides, T beta, T* c, MatrixStrides c_strides) {
  if (m <= 0 || n <= 0) return;
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    using U = std::make_unsigned_t<T>;
    gemm<U>(m, n, k, static_cast<U>(alpha), reinterpret_cast<const U*>(a), a_strides, reinterpret_cast<const U*>(b),
            b_strides, static_cast<U>(beta), reinterpret_cast<U*>(c), c_strides);
  } else if (k <= 0 || alpha == T(0)) {
    scale(m, n, beta, c, c_strides);
  } else if (is_small(m, n, k)) {
    small_gemm(m, n, k, alpha, a, a_strides, b, b_strides, beta, c, c_strides);
  } else if constexpr (std::is_integral_v<T>) {
    loop_gemm(m, n, k, alpha, a, a_strides, b, b_strides, beta, c, c_strides);
  } else {
    strided_gemm(m, n, k, alpha, a, a_strides, b, b_strides, beta, c, c_strides);
  }
}

template <class T>
void batched_gemm(int64_t batch, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t a_batch,
                  MatrixStrides a_strides, const T* b, int64_t b_batch, MatrixStrides b_strides, T beta, T* c,
                  int64_t c_batch, MatrixStrides c_strides) {
  const auto product = [&](int64_t i) {
    gemm(m, n, k, alpha, a + i * a_batch, a_strides, b + i * b_batch, b_strides, beta, c + i * c_batch, c_strides);
  };
  // Products large enough to be shared among threads by themselves are done one after the other.
  const double work = static_cast<double>(m) * n * k;
  if (work >= (1 << 24) && batch < 16) {
    for (int64_t i = 0; i < batch; ++i) product(i);
    return;
  }
  const int64_t grain = std::max<int64_t>(1, static_cast<int64_t>((1 << 20) / (work + 64)));
  parallel_for(0, batch, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) product(i);
  });
}

#define FL_INSTANTIATE_GEMM(T)                                                                                  \
  template void gemm(int64_t, int64_t, int64_t, T, const T*, MatrixStrides, const T*, MatrixStrides, T, T*,     \
                     MatrixStrides);                                                                            \
  template void batched_gemm(int64_t, int64_t, int64_t, int64_t, T, const T*, int64_t, MatrixStrides, const T*, \
                             int64_t, MatrixStrides, T, T*, int64_t, MatrixStrides);
FL_INSTANTIATE_GEMM(float)
FL_INSTANTIATE_GEMM(double)
FL_INSTANTIATE_GEMM(std::complex<float>)
FL_INSTANTIATE_GEMM(std::complex<double>)
FL_INSTANTIATE_GEMM(int8_t)
FL_INSTANTIATE_GEMM(int16_t)
FL_INSTANTIATE_GEMM(int32_t)
FL_INSTANTIATE_GEMM(int64_t)
FL_INSTANTIATE_GEMM(uint8_t)
FL_INSTANTIATE_GEMM(uint16_t)
FL_INSTANTIATE_GEMM(uint32_t)
FL_INSTANTIATE_GEMM(uint64_t)
#undef FL_INSTANTIATE_GEMM

}  // namespace fl::blas
