// What the ops of linear algebra share: batches of matrices stored by columns, as LAPACK wants them, and the small
// matrix expressions that their derivatives are made of.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/record.h"
#include "base/threads.h"
#include "blas/lapack.h"
#include "ops/api.h"

namespace fl {

// Calls f.operator()<T>() for the type that LAPACK has for `dtype`. Throws for all others.
template <class F>
void with_lapack_type(DType dtype, const char* op, F&& f) {
  switch (dtype) {
    case DType::Float:
      return f.template operator()<float>();
    case DType::Double:
      return f.template operator()<double>();
    case DType::ComplexFloat:
      return f.template operator()<std::complex<float>>();
    case DType::ComplexDouble:
      return f.template operator()<std::complex<double>>();
    default:
      fail(op, ": expected a floating point or complex tensor of at least 32 bits, got ", info(dtype).name);
  }
}

inline void check_matrix(const Tensor& a, const char* op) {
  FL_CHECK(a.dim() >= 2, op, ": expected a matrix or a batch of matrices, got a tensor of ", a.dim(), " dimensions");
  with_lapack_type(a.dtype(), op, []<class T>() {});
  FL_CHECK(std::max(a.size(-1), a.size(-2)) <= INT32_MAX / 2, op, ": matrices of ", a.size(-2), " by ", a.size(-1),
           " are too large");
}
inline void check_square(const Tensor& a, const char* op) {
  check_matrix(a, op);
  FL_CHECK(a.size(-1) == a.size(-2), op, ": expected square matrices, got ", a.size(-2), " by ", a.size(-1));
}
// Two batches of matrices of one type over the same leading dimensions.
inline void check_pair(const Tensor& a, const Tensor& b, const char* op) {
  check_matrix(a, op);
  check_matrix(b, op);
  FL_CHECK(a.dtype() == b.dtype(), op, ": expected one dtype, got ", info(a.dtype()).name, " and ",
           info(b.dtype()).name);
  FL_CHECK(equal(a.sizes().first(a.dim() - 2), b.sizes().first(b.dim() - 2)), op, ": the batches of ",
           shape_text(a.sizes()), " and ", shape_text(b.sizes()), " differ");
}

inline Dims batch_sizes(const Tensor& a) { return Dims(a.sizes().first(a.dim() - 2)); }
inline Dims with_sizes(Dims batch, std::initializer_list<int64_t> more) {
  for (int64_t n : more) batch.push_back(n);
  return batch;
}
inline int64_t batch_count(const Tensor& a) {
  int64_t count = 1;
  for (int64_t n : batch_sizes(a)) count *= n;
  return count;
}

// `v` has a vector of `n` elements of `dtype` for each matrix of `a`.
inline void check_vectors(const Tensor& v, const Tensor& a, int64_t n, DType dtype, const char* op) {
  FL_CHECK(v.dtype() == dtype && equal(v.sizes(), with_sizes(batch_sizes(a), {n})), op, ": expected a tensor of ",
           info(dtype).name, " of sizes ", shape_text(with_sizes(batch_sizes(a), {n})), ", got ", info(v.dtype()).name,
           " of sizes ", shape_text(v.sizes()));
}

// Fresh memory for a batch of m by n matrices, each stored by columns.
inline Tensor empty_columns(const Dims& batch, int64_t m, int64_t n, const Tensor& like, DType dtype) {
  Dims sizes = with_sizes(batch, {m, n});
  Dims strides = contiguous_strides(sizes);
  strides[sizes.size() - 2] = 1;
  strides[sizes.size() - 1] = std::max<int64_t>(m, 1);
  return empty_strided(sizes, strides, dtype, like.device());
}
inline Tensor empty_columns(const Dims& batch, int64_t m, int64_t n, const Tensor& like) {
  return empty_columns(batch, m, n, like, like.dtype());
}
// A copy of the matrices by columns.
inline Tensor columns(const Tensor& a) {
  Tensor c = empty_columns(batch_sizes(a), a.size(-2), a.size(-1), a);
  raw_copy(c, a);
  return c;
}

// The b-th matrix, or vector, of a tensor made by the functions above.
template <class T>
T* nth(const Tensor& t, int64_t b, int64_t elements) {
  return t.data<T>() + b * elements;
}

// Runs f(b) for every matrix of the batch; `work` is about how many operations one takes.
template <class F>
void for_each_matrix(int64_t count, double work, F&& f) {
  int64_t grain = std::max<int64_t>(1, static_cast<int64_t>(1e6 / (work + 1)));
  parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; b++) f(b);
  });
}
inline double cubed(int64_t m, int64_t n) {
  return 20.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(std::min(m, n) + 1);
}

// LAPACK may not return from, or even read past its memory for, matrices that are not finite: they aren't shown to it.
inline bool finite(double x) { return std::isfinite(x); }
template <class R>
bool finite(std::complex<R> x) {
  return std::isfinite(x.real()) && std::isfinite(x.imag());
}
template <class T>
bool all_finite(const T* data, int64_t count) {
  return std::all_of(data, data + count, [](T x) { return finite(x); });
}
template <class T>
void fill_nan(T* data, int64_t count) {
  if (data) std::fill(data, data + count, T(std::numeric_limits<blas::Real<T>>::quiet_NaN()));
}

// ---- expressions

inline Tensor adjoint(const Tensor& x) { return conj(transpose(x, -2, -1)); }
inline Tensor tril(const Tensor& x, int64_t diagonal = 0) {
  static const Op op("tril");
  return op(x, diagonal);
}
inline Tensor triu(const Tensor& x, int64_t diagonal = 0) {
  static const Op op("triu");
  return op(x, diagonal);
}
inline Tensor diagonal_of(const Tensor& x) {
  static const Op op("diagonal");
  return op(x, 0, -2, -1);
}
inline Tensor identity_mask(int64_t n, const Tensor& like) {
  Tensor t = zeros(Dims{n, n}, DType::Bool, like.device());
  if (n) raw_fill(alias(t, Dims{n}, Dims{n + 1}, 0), Scalar(true));
  return t;
}
// Square matrices with x on the diagonal.
inline Tensor diagonal_matrix(const Tensor& x) {
  return where(identity_mask(x.size(-1), x), unsqueeze(x, -1), Scalar(0));
}
// The lower triangle with half of the diagonal.
inline Tensor lower_half_diagonal(const Tensor& x) { return (tril(x) + tril(x, -1)) * 0.5; }
inline Tensor skew(const Tensor& x) { return x - adjoint(x); }
inline Tensor solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool left, bool unit) {
  static const Op op("_C._solve_triangular");
  return op(a, b, upper, left, unit);
}
inline Tensor solve(const Tensor& a, const Tensor& b) {
  static const Op op("_C._solve");
  return op.run(a, b).tensors[0];
}
// A gradient in the type of what it is the gradient of.
inline Tensor as_type_of(const Tensor& g, DType dtype) {
  return is_complex(dtype) || !g.is_complex() ? to_dtype(g, dtype) : real(g);
}

}  // namespace fl
