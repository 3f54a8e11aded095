// Products no library takes: integers, and matrices with more rows or columns than an int can count.
#pragma once

#include <cstdint>
#include <type_traits>

#include "blas/matrix.h"

namespace fl::blas {

// What sums are kept in: unsigned integers, as these wrap around.
template <class T, bool = std::is_integral_v<T>>
struct Accumulator {
  using type = T;
};
template <class T>
struct Accumulator<T, true> {
  using type = std::conditional_t<sizeof(T) == 8, uint64_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>>;
};

// As gemm, for matrices that aren't empty. T: as for gemm, but no signed integers.
template <class T>
void loop_gemm(int64_t m, int64_t n, int64_t k, T alpha, const T* a, MatrixStrides a_strides, const T* b,
               MatrixStrides b_strides, T beta, T* c, MatrixStrides c_strides);

}  // namespace fl::blas
