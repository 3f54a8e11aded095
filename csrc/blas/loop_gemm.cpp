#include "blas/loop_gemm.h"

#include <algorithm>
#include <complex>
#include <memory>

#include "base/threads.h"

// Kernels are compiled for several instruction sets, one of which the loader picks.
#if defined(__x86_64__)
#define FL_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FL_CLONES
#endif

namespace fl::blas {
namespace {

constexpr int64_t kRows = 128, kColumns = 256, kDepth = 128;  // of a block

template <class S>
struct Vector {
  typedef S type __attribute__((vector_size(64)));
  static constexpr int64_t lanes = 64 / sizeof(S);
};
template <class R>
struct Vector<std::complex<R>> {
  using type = std::complex<R>;
  static constexpr int64_t lanes = 1;
};

// sum (R, lanes) += a (R, depth) @ b (depth, lanes); the rows of b and of sum are `stride` apart.
template <class S, int R>
[[gnu::always_inline]] inline void add_tile(int64_t depth, const S* a, const S* b, int64_t stride, S* sum) {
  using V = typename Vector<S>::type;
  V sums[R];
  for (int r = 0; r < R; ++r) __builtin_memcpy(&sums[r], sum + r * stride, sizeof(V));
  for (int64_t p = 0; p < depth; ++p) {
    V row;
    __builtin_memcpy(&row, b + p * stride, sizeof(V));
    for (int r = 0; r < R; ++r) {
      if constexpr (is_complex<S>) {
        sums[r] += multiply(a[r * depth + p], row);
      } else {
        sums[r] += a[r * depth + p] * row;
      }
    }
  }
  for (int r = 0; r < R; ++r) __builtin_memcpy(sum + r * stride, &sums[r], sizeof(V));
}

template <class S>
[[gnu::always_inline]] inline void add_block(int64_t rows, int64_t columns, int64_t depth, const S* a, const S* b,
                                             S* sum) {
  for (int64_t j = 0; j < columns; j += Vector<S>::lanes) {
    int64_t i = 0;
    for (; i + 8 <= rows; i += 8) add_tile<S, 8>(depth, a + i * depth, b + j, columns, sum + i * columns + j);
    for (; i < rows; ++i) add_tile<S, 1>(depth, a + i * depth, b + j, columns, sum + i * columns + j);
  }
}

FL_CLONES void add_product(int64_t rows, int64_t columns, int64_t depth, const uint16_t* a, const uint16_t* b,
                           uint16_t* sum) {
  add_block(rows, columns, depth, a, b, sum);
}

FL_CLONES void add_product(int64_t rows, int64_t columns, int64_t depth, const uint32_t* a, const uint32_t* b,
                           uint32_t* sum) {
  add_block(rows, columns, depth, a, b, sum);
}

FL_CLONES void add_product(int64_t rows, int64_t columns, int64_t depth, const uint64_t* a, const uint64_t* b,
                           uint64_t* sum) {
  add_block(rows, columns, depth, a, b, sum);
}

template <class S>
void add_product(int64_t rows, int64_t columns, int64_t depth, const S* a, const S* b, S* sum) {
  add_block(rows, columns, depth, a, b, sum);
}

// A dense copy of a block in the accumulator's type, rows filled up with zeros to `width`.
template <class S, class T>
void pack(int64_t rows, int64_t columns, int64_t width, const T* source, MatrixStrides strides, S* target) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      target[i * width + j] = static_cast<S>(source[i * strides.row + j * strides.column]);
    }
    std::fill(target + i * width + columns, target + (i + 1) * width, S(0));
  }
}

// Results of one block.
template <class S, class T>
void store(int64_t rows, int64_t columns, int64_t width, const S* sums, T alpha, T beta, T* c, MatrixStrides strides) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      T& entry = c[i * strides.row + j * strides.column];
      const S product = multiply(static_cast<S>(alpha), sums[i * width + j]);
      const S kept = beta == T(0) ? S(0) : multiply(static_cast<S>(beta), static_cast<S>(entry));
      entry = static_cast<T>(kept + product);
    }
  }
}

}  // namespace

template <class T>
void loop_gemm(int64_t m, int64_t n, int64_t k, T alpha, const T* a, MatrixStrides a_strides, const T* b,
               MatrixStrides b_strides, T beta, T* c, MatrixStrides c_strides) {
  using S = typename Accumulator<T>::type;
  constexpr int64_t lanes = Vector<S>::lanes;
  const int64_t row_blocks = (m + kRows - 1) / kRows, column_blocks = (n + kColumns - 1) / kColumns;
  const int64_t block_work = std::min(m, kRows) * std::min(n, kColumns) * k;
  const int64_t grain = std::max<int64_t>(1, (1 << 19) / block_work);
  parallel_for(0, row_blocks * column_blocks, grain, [&](int64_t begin, int64_t end) {
    const int64_t most_rows = std::min(m, kRows), most_depth = std::min(k, kDepth);
    const int64_t most_columns = (std::min(n, kColumns) + lanes - 1) / lanes * lanes;
    const std::unique_ptr<S[]> sums(new S[most_rows * most_columns]), left(new S[most_rows * most_depth]);
    const std::unique_ptr<S[]> right(new S[most_depth * most_columns]);
    for (int64_t block = begin; block < end; ++block) {
      const int64_t row = block / column_blocks * kRows, column = block % column_blocks * kColumns;
      const int64_t rows = std::min(kRows, m - row), columns = std::min(kColumns, n - column);
      const int64_t width = (columns + lanes - 1) / lanes * lanes;
      std::fill_n(sums.get(), rows * width, S(0));
      for (int64_t first = 0; first < k; first += kDepth) {
        const int64_t depth = std::min(kDepth, k - first);
        pack(rows, depth, depth, a + row * a_strides.row + first * a_strides.column, a_strides, left.get());
        pack(depth, columns, width, b + first * b_strides.row + column * b_strides.column, b_strides, right.get());
        add_product(rows, width, depth, left.get(), right.get(), sums.get());
      }
      store(rows, columns, width, sums.get(), alpha, beta, c + row * c_strides.row + column * c_strides.column,
            c_strides);
    }
  });
}

#define FL_INSTANTIATE(T)                                                                                        \
  template void loop_gemm(int64_t, int64_t, int64_t, T, const T*, MatrixStrides, const T*, MatrixStrides, T, T*, \
                          MatrixStrides);
FL_INSTANTIATE(float)
FL_INSTANTIATE(double)
FL_INSTANTIATE(std::complex<float>)
FL_INSTANTIATE(std::complex<double>)
FL_INSTANTIATE(uint8_t)
FL_INSTANTIATE(uint16_t)
FL_INSTANTIATE(uint32_t)
FL_INSTANTIATE(uint64_t)
#undef FL_INSTANTIATE

}  // namespace fl::blas
