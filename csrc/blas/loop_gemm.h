// Products no library takes: integers, and matrices with more rows or columns than an int can count.
#pragma once

#include <algorithm>
#include <memory>
#include <type_traits>

#include "base/threads.h"
#include "blas/matrix.h"

namespace fl::blas {
namespace detail {

// What sums are kept in: unsigned integers, as these wrap around; small ones would be promoted to signed int.
template <class T, bool = std::is_integral_v<T>>
struct Accumulator {
  using type = T;
};
template <class T>
struct Accumulator<T, true> {
  using type = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
};

// sum (rows, columns) += a (rows, depth) @ b (depth, columns), where b has contiguous rows. R rows share each load of
// b.
template <class S, class T, int R>
void add_rows(int64_t columns, int64_t depth, const T* a, MatrixStrides a_strides, const S* b, S* sum) {
  for (int64_t p = 0; p < depth; ++p) {
    S factor[R];
    for (int r = 0; r < R; ++r) factor[r] = static_cast<S>(a[r * a_strides.row + p * a_strides.column]);
    const S* b_row = b + p * columns;
    for (int64_t j = 0; j < columns; ++j) {
      for (int r = 0; r < R; ++r) sum[r * columns + j] += multiply(factor[r], b_row[j]);
    }
  }
}

}  // namespace detail

template <class T>
void loop_gemm(int64_t m, int64_t n, int64_t k, T alpha, const T* a, MatrixStrides a_strides, const T* b,
               MatrixStrides b_strides, T beta, T* c, MatrixStrides c_strides) {
  using Sum = typename detail::Accumulator<T>::type;
  constexpr int64_t kRows = 32, kColumns = 256, kDepth = 128;
  const int64_t row_blocks = (m + kRows - 1) / kRows, column_blocks = (n + kColumns - 1) / kColumns;
  const int64_t block_work = std::min(m, kRows) * std::min(n, kColumns) * k;
  const int64_t grain = std::max<int64_t>(1, (1 << 17) / std::max<int64_t>(1, block_work));
  parallel_for(0, row_blocks * column_blocks, grain, [&](int64_t begin, int64_t end) {
    const auto sums = std::make_unique<Sum[]>(kRows * kColumns);
    const auto packed = std::make_unique<Sum[]>(kDepth * kColumns);
    for (int64_t block = begin; block < end; ++block) {
      const int64_t row = block / column_blocks * kRows, column = block % column_blocks * kColumns;
      const int64_t rows = std::min(kRows, m - row), columns = std::min(kColumns, n - column);
      std::fill_n(sums.get(), rows * columns, Sum(0));
      for (int64_t first = 0; first < k; first += kDepth) {
        const int64_t depth = std::min(kDepth, k - first);
        for (int64_t p = 0; p < depth; ++p) {
          const T* source = b + (first + p) * b_strides.row + column * b_strides.column;
          for (int64_t j = 0; j < columns; ++j)
            packed[p * columns + j] = static_cast<Sum>(source[j * b_strides.column]);
        }
        for (int64_t i = 0; i < rows;) {
          const T* a_block = a + (row + i) * a_strides.row + first * a_strides.column;
          Sum* sum = sums.get() + i * columns;
          if (rows - i >= 4) {
            detail::add_rows<Sum, T, 4>(columns, depth, a_block, a_strides, packed.get(), sum);
            i += 4;
          } else {
            detail::add_rows<Sum, T, 1>(columns, depth, a_block, a_strides, packed.get(), sum);
            i += 1;
          }
        }
      }
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
          T& entry = c[(row + i) * c_strides.row + (column + j) * c_strides.column];
          const Sum scaled = multiply(static_cast<Sum>(alpha), sums[i * columns + j]);
          entry = static_cast<T>(beta == T(0) ? scaled
                                              : multiply(static_cast<Sum>(beta), static_cast<Sum>(entry)) + scaled);
        }
      }
    }
  });
}

}  // namespace fl::blas
