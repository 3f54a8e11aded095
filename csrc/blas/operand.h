// Brings a matrix into a form BLAS takes: contiguous along one dimension, and a distance between rows that fits an int.
#pragma once

#include <climits>
#include <memory>

#include "blas/cblas.h"
#include "blas/matrix.h"

namespace fl::blas {

// True if rows of `columns` entries lie one after the other without overlap.
inline bool has_blas_rows(int64_t rows, int64_t columns, MatrixStrides strides) {
  const bool contiguous = strides.column == 1 || columns == 1;
  return contiguous && (rows == 1 || (strides.row >= columns && strides.row <= INT_MAX));
}

// BLAS wants a leading dimension of at least the row's length, also where there is a single row.
inline int leading_dimension(int64_t rows, int64_t columns, int64_t stride) {
  return static_cast<int>(rows == 1 ? columns : stride);
}

template <class T>
class Operand {
 public:
  Operand(int64_t rows, int64_t columns, const T* data, MatrixStrides strides) : data_(data) {
    if (has_blas_rows(rows, columns, strides)) {
      leading_ = leading_dimension(rows, columns, strides.row);
    } else if (has_blas_rows(columns, rows, strides.transposed())) {
      transpose_ = cblas::kTransposed;
      leading_ = leading_dimension(columns, rows, strides.column);
    } else {
      copy_.reset(new T[rows * columns]);
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) copy_[i * columns + j] = data[i * strides.row + j * strides.column];
      }
      data_ = copy_.get();
      leading_ = static_cast<int>(columns);
    }
  }

  cblas::Transpose transpose() const { return transpose_; }
  int leading() const { return leading_; }
  const T* from_row(int64_t i) const { return data_ + i * (transpose_ == cblas::kPlain ? leading_ : 1); }
  const T* from_column(int64_t j) const { return data_ + j * (transpose_ == cblas::kPlain ? 1 : leading_); }
  const T* data() const { return data_; }

 private:
  const T* data_;
  cblas::Transpose transpose_ = cblas::kPlain;
  int leading_ = 1;
  std::unique_ptr<T[]> copy_;
};

}  // namespace fl::blas
