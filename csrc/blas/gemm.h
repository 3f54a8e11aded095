// Matrix products on raw pointers. T is float, double, std::complex of these, or an 8 to 64 bit integer (which wraps
// around).
//
// The same arguments give the same bits whatever the number of threads: products are cut into blocks by shape alone.
// Sizes must not be negative. The output may not overlap the operands.
#pragma once

#include <cstdint>

#include "blas/matrix.h"

namespace fl::blas {

// c (m, n) = beta * c + alpha * a (m, k) @ b (k, n). With beta = 0, c is not read; with alpha = 0 or k = 0, a and b are
// not read.
template <class T>
void gemm(int64_t m, int64_t n, int64_t k, T alpha, const T* a, MatrixStrides a_strides, const T* b,
          MatrixStrides b_strides, T beta, T* c, MatrixStrides c_strides);

// The same for each of `batch` products; the batch strides are the distances in elements between successive matrices.
template <class T>
void batched_gemm(int64_t batch, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t a_batch,
                  MatrixStrides a_strides, const T* b, int64_t b_batch, MatrixStrides b_strides, T beta, T* c,
                  int64_t c_batch, MatrixStrides c_strides);

// y (m) = beta * y + alpha * a (m, n) @ x (n). BLAS types only.
template <class T>
void gemv(int64_t m, int64_t n, T alpha, const T* a, MatrixStrides a_strides, const T* x, int64_t x_stride, T beta,
          T* y, int64_t y_stride);

// The sum of x[i] * y[i]; neither is conjugated. BLAS types and integers.
template <class T>
T dot(int64_t n, const T* x, int64_t x_stride, const T* y, int64_t y_stride);

}  // namespace fl::blas
