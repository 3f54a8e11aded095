// Eigenvalues and singular values.
//
// Eigenvectors and singular vectors are determined up to a factor of modulus 1 (and more where values coincide): the
// derivatives are those of functions that do not depend on the choice.
#include "ops/linalg/matrices.h"

namespace fl {
namespace {

using Pair = std::tuple<Tensor, Tensor>;
using Triple = std::tuple<Tensor, Tensor, Tensor>;

// Of the triangle with its diagonal.
template <class T>
bool triangle_finite(const T* data, int64_t n, bool upper) {
  for (int64_t j = 0; j < n; j++)
    if (!all_finite(data + j * n + (upper ? 0 : j), upper ? j + 1 : n - j)) return false;
  return true;
}
Pair eigh(const Tensor& a, std::string_view uplo, bool vectors) {
  check_square(a, "linalg.eigh");
  FL_CHECK(uplo == "L" || uplo == "U" || uplo == "l" || uplo == "u", "linalg.eigh: UPLO is 'L' or 'U', got '", uplo,
           "'");
  int64_t n = a.size(-1);
  Tensor v = columns(a), w = empty(with_sizes(batch_sizes(a), {n}), real_of(a.dtype()), a.device());
  if (a.is_meta() || a.numel() == 0) return {w, v};
  with_lapack_type(a.dtype(), "linalg.eigh", [&]<class T>() {
    for_each_matrix(batch_count(a), cubed(n, n), [&](int64_t b) {
      bool upper = uplo == "U" || uplo == "u";
      T* data = nth<T>(v, b, n * n);
      auto* values = nth<blas::Real<T>>(w, b, n);
      if (!triangle_finite(data, n, upper)) {
        fill_nan(values, n);
        return fill_nan(data, n * n);
      }
      int state = blas::syevd<T>(vectors ? 'V' : 'N', upper ? 'U' : 'L', n, data, n, values);
      FL_CHECK(state == 0, ErrorKind::Linalg, "linalg.eigh: the eigenvalues of matrix ", b, " did not converge");
    });
  });
  return {w, v};
}

// 1 / (b_k - a_j), with ones on the diagonal.
Tensor gaps(const Tensor& values) {
  Tensor e = unsqueeze(values, -2) - unsqueeze(values, -1);
  return where(identity_mask(values.size(-1), values), Scalar(1), e);
}

void eigh_back(Vjp& v) {
  if (!v.needs(0)) return;
  Tensor w = v.output(0), q = v.output(1);
  Tensor g;
  if (v.has_grad(1)) {
    Tensor inner = skew(matmul(adjoint(q), v.grad(1))) * 0.5 / gaps(w);
    if (v.has_grad(0))
      inner = where(identity_mask(w.size(-1), w), to_dtype(unsqueeze(v.grad(0), -1), q.dtype()), inner);
    else
      inner = where(identity_mask(w.size(-1), w), Scalar(0), inner);
    g = matmul(q, matmul(inner, adjoint(q)));
  } else {
    g = matmul(q * unsqueeze(v.grad(0), -2), adjoint(q));
  }
  v.set(0, g);
}

Pair eig(const Tensor& a, bool vectors) {
  check_square(a, "linalg.eig");
  int64_t n = a.size(-1);
  DType type = complex_of(a.dtype());
  Tensor work = columns(a), w = empty(with_sizes(batch_sizes(a), {n}), type, a.device());
  Tensor q = vectors ? empty_columns(batch_sizes(a), n, n, a, type) : empty(Dims{0}, type, a.device());
  if (a.is_meta() || a.numel() == 0) return {w, q};
  with_lapack_type(a.dtype(), "linalg.eig", [&]<class T>() {
    using C = std::complex<blas::Real<T>>;
    for_each_matrix(batch_count(a), 5 * cubed(n, n), [&](int64_t b) {
      T* data = nth<T>(work, b, n * n);
      C *values = nth<C>(w, b, n), *right = vectors ? nth<C>(q, b, n * n) : nullptr;
      if (!all_finite(data, n * n)) {
        fill_nan(values, n);
        return fill_nan(right, n * n);
      }
      int state = blas::geev<T>(n, data, n, values, right, n);
      FL_CHECK(state == 0, ErrorKind::Linalg, "linalg.eig: the eigenvalues of matrix ", b, " did not converge");
    });
  });
  return {w, q};
}
void eig_back(Vjp& v) {
  if (!v.needs(0)) return;
  Tensor w = v.output(0), q = v.output(1), qh = adjoint(q), inner;
  if (v.has_grad(1)) {
    Tensor m = matmul(qh, v.grad(1));
    // Vectors are of length 1: what would change that is taken out.
    m = m - matmul(qh, q) * unsqueeze(to_dtype(real(diagonal_of(m)), q.dtype()), -2);
    inner = m / conj(gaps(w));
    inner = where(identity_mask(w.size(-1), w), v.has_grad(0) ? unsqueeze(v.grad(0), -1) : zeros_like(m), inner);
  } else {
    inner = diagonal_matrix(v.grad(0));
  }
  v.set(0, as_type_of(solve(qh, matmul(inner, qh)), v.dtype(0)));
}

Triple svd(const Tensor& a, bool full, std::string_view driver) {
  check_matrix(a, "linalg.svd");
  bool vectors = driver != "values";
  int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n), mu = full ? m : k, nv = full ? n : k;
  Tensor work = columns(a), s = empty(with_sizes(batch_sizes(a), {k}), real_of(a.dtype()), a.device());
  Tensor u = vectors ? empty_columns(batch_sizes(a), m, mu, a) : empty(Dims{0}, a.dtype(), a.device());
  Tensor vh = vectors ? empty_columns(batch_sizes(a), nv, n, a) : empty(Dims{0}, a.dtype(), a.device());
  if (a.is_meta()) return {u, s, vh};
  if (a.numel() == 0) {
    for (const Tensor& t : {u, vh}) {
      if (!vectors || t.numel() == 0) continue;
      raw_copy(t, identity_mask(t.size(-1), t));
    }
    return {u, s, vh};
  }
  with_lapack_type(a.dtype(), "linalg.svd", [&]<class T>() {
    char job = !vectors ? 'N' : full ? 'A' : 'S';
    for_each_matrix(batch_count(a), 5 * cubed(m, n), [&](int64_t b) {
      T *data = nth<T>(work, b, m * n), *left = vectors ? nth<T>(u, b, m * mu) : nullptr,
        *right = vectors ? nth<T>(vh, b, nv * n) : nullptr;
      auto* values = nth<blas::Real<T>>(s, b, k);
      if (!all_finite(data, m * n)) {
        FL_CHECK(std::all_of(data, data + m * n, [](T x) { return x == x; }), ErrorKind::Linalg,
                 "linalg.svd: (Batch element ", b,
                 "): the singular values can't be found because the matrix contains NaN");
        fill_nan(values, k);
        fill_nan(left, m * mu);
        return fill_nan(right, nv * n);
      }
      int state = driver == "gesvd"
                      ? blas::gesvd<T>(job, job, m, n, data, m, values, left, m, right, nv)
                      : blas::gesdd<T>(job, m, n, data, m, values, left, m, right, std::max<int64_t>(nv, 1));
      FL_CHECK(state == 0, ErrorKind::Linalg, "linalg.svd: the singular values of matrix ", b, " did not converge");
    });
  });
  return {u, s, vh};
}
void svd_back(Vjp& v) {
  if (!v.needs(0)) return;
  Tensor u = v.output(0), s = v.output(1), vh = v.output(2);
  int64_t m = u.size(-2), n = vh.size(-1), k = s.size(-1);
  u = narrow(u, -1, 0, k);
  vh = narrow(vh, -2, 0, k);
  Tensor wide = unsqueeze(s, -2), inner;  // scales columns
  bool has_u = v.has_grad(0), has_v = v.has_grad(2);
  if (!has_u && !has_v) {
    v.set(0, matmul(u * unsqueeze(v.grad(1), -2), vh));
    return;
  }
  Tensor e = gaps(s * s), gu, gvh;
  if (has_u) {
    gu = narrow(v.grad(0), -1, 0, k);
    Tensor rotation = skew(matmul(adjoint(u), gu));
    inner = (rotation / e) * wide;
    if (u.is_complex()) inner = inner + diagonal_matrix(diagonal_of(rotation) / (s * 2.0));
  }
  if (has_v) {
    gvh = narrow(v.grad(2), -2, 0, k);
    Tensor part = unsqueeze(s, -1) * (skew(matmul(vh, adjoint(gvh))) / e);
    inner = inner ? inner + part : part;
  }
  if (v.has_grad(1)) inner = inner + diagonal_matrix(to_dtype(v.grad(1), u.dtype()));
  Tensor g = matmul(u, matmul(inner, vh));
  if (has_u && m > k) {
    Tensor scaled = gu / wide;
    g = g + matmul(scaled - matmul(u, matmul(adjoint(u), scaled)), vh);
  }
  if (has_v && n > k) {
    Tensor scaled = gvh / unsqueeze(s, -1);
    g = g + matmul(u, scaled - matmul(matmul(scaled, adjoint(vh)), vh));
  }
  v.set(0, g);
}

const Declare ops([] {
  Define("_C._eigh(Tensor A, str UPLO, bool vectors) -> (Tensor eigenvalues, Tensor eigenvectors)")
      .kernel<eigh>()
      .vjp("result result1", eigh_back)
      .node("LinalgEighBackward0");
  Define("_C._eig(Tensor A, bool vectors) -> (Tensor eigenvalues, Tensor eigenvectors)")
      .kernel<eig>()
      .vjp("result result1", eig_back)
      .node("LinalgEigBackward0");
  // driver: gesdd, gesvd, or "values" for no vectors.
  Define("_C._svd(Tensor A, bool full_matrices, str driver) -> (Tensor U, Tensor S, Tensor Vh)")
      .kernel<svd>()
      .vjp("result result1 result2", svd_back)
      .node("LinalgSvdBackward0");
});

}  // namespace
}  // namespace fl
