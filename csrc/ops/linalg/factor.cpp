// Factorizations: LU, Cholesky, QR, LDL. `info` has LAPACK's answer for each matrix: what to make of it is decided by
// the callers, some of which raise and some of which pass it on.
#include "ops/linalg/matrices.h"

namespace fl {
namespace {

using Triple = std::tuple<Tensor, Tensor, Tensor>;
using Pair = std::tuple<Tensor, Tensor>;

Triple lu_factor(const Tensor& a) {
  check_matrix(a, "linalg.lu_factor");
  int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n);
  Tensor lu = columns(a), pivots = empty(with_sizes(batch_sizes(a), {k}), DType::Int32, a.device());
  Tensor info = zeros(batch_sizes(a), DType::Int32, a.device());
  if (a.is_meta() || a.numel() == 0) return {lu, pivots, info};
  with_lapack_type(a.dtype(), "linalg.lu_factor", [&]<class T>() {
    for_each_matrix(batch_count(a), cubed(m, n), [&](int64_t b) {
      *nth<int>(info, b, 1) = blas::getrf<T>(m, n, nth<T>(lu, b, m * n), m, nth<int>(pivots, b, k));
    });
  });
  return {lu, pivots, info};
}

// From A = P L U with L (m, k), U (k, n). What is beside the leading square depends on it: a wide U's right part is
// L^-1 P^T A2, a tall L's lower part is A2 U^-1.
void lu_factor_back(Vjp& v) {
  if (!v.needs(0)) return;
  static const Op permutation("_C._pivots_to_permutation"), index_select("index_select"), gather("gather");
  Tensor lu = v.output(0), pivots = v.output(1), g = v.grad(0);
  int64_t m = lu.size(-2), n = lu.size(-1), k = std::min(m, n);
  Tensor l = narrow(lu, -1, 0, k), u = narrow(lu, -2, 0, k);
  Tensor l1 = narrow(l, -2, 0, k), u1 = narrow(u, -1, 0, k);  // only the triangles are read by what follows
  Tensor unit = tril(l1, -1) + to_dtype(identity_mask(k, lu), lu.dtype()), upper = triu(u1);
  Tensor g1 = narrow(narrow(g, -2, 0, k), -1, 0, k);
  Tensor left = matmul(adjoint(unit), tril(g1, -1)), right = matmul(triu(g1), adjoint(upper));
  Tensor result;
  if (n > k) {
    Tensor g2 = narrow(g, -1, k, n - k), u2 = narrow(u, -1, k, n - k);
    left = left - matmul(g2, adjoint(u2));
    Tensor inner = solve_triangular(adjoint(upper), tril(left, -1) + triu(right), false, false, false);
    result = solve_triangular(adjoint(unit), cat({inner, g2}, -1), true, true, true);
  } else {
    if (m > k) {
      Tensor g2 = narrow(g, -2, k, m - k), l2 = narrow(l, -2, k, m - k);
      right = right - matmul(adjoint(l2), g2);
    }
    Tensor inner = solve_triangular(adjoint(unit), tril(left, -1) + triu(right), true, true, true);
    if (m > k) inner = cat({inner, narrow(g, -2, k, m - k)}, -2);
    result = solve_triangular(adjoint(upper), inner, false, false, false);
  }
  // Row i of L U is row p[i] of A.
  Tensor p = permutation(pivots, m);
  static const Op argsort("argsort");
  Tensor back = argsort(p, -1);
  v.set(0, gather(result, -2, expand(unsqueeze(back, -1), result.sizes())));
}

// The order of rows that exchanges make: row i of the exchanged matrix was row p[i].
Tensor pivots_to_permutation(const Tensor& pivots, int64_t m) {
  FL_CHECK(pivots.dtype() == DType::Int32 && pivots.dim() >= 1, "lu_unpack: pivots must be a tensor of int32, got ",
           info(pivots.dtype()).name);
  FL_CHECK(pivots.size(-1) <= m, "lu_unpack: ", pivots.size(-1), " pivots for matrices of ", m, " rows");
  Dims batch(pivots.sizes().first(pivots.dim() - 1));
  Tensor p = empty(with_sizes(batch, {m}), DType::Int64, pivots.device()), from = raw_contiguous(pivots);
  if (p.is_meta() || p.numel() == 0) return p;
  int64_t k = pivots.size(-1), count = p.numel() / m;
  for (int64_t b = 0; b < count; b++) {
    int64_t* order = p.data<int64_t>() + b * m;
    for (int64_t i = 0; i < m; i++) order[i] = i;
    for (int64_t i = 0; i < k; i++) {
      int64_t other = from.data<int>()[b * k + i];
      FL_CHECK(other >= 1 && other <= m, "lu_unpack: pivots must be from 1 to the number of rows, ", m, ", got ",
               other);
      std::swap(order[i], order[other - 1]);
    }
  }
  return p;
}

Pair cholesky(const Tensor& a, bool upper) {
  check_square(a, "linalg.cholesky");
  int64_t n = a.size(-1);
  Tensor l = columns(a), info = zeros(batch_sizes(a), DType::Int32, a.device());
  if (a.is_meta() || a.numel() == 0) return {l, info};
  with_lapack_type(a.dtype(), "linalg.cholesky", [&]<class T>() {
    for_each_matrix(batch_count(a), cubed(n, n), [&](int64_t b) {
      T* data = nth<T>(l, b, n * n);
      *nth<int>(info, b, 1) = blas::potrf<T>(upper ? 'U' : 'L', n, data, n);
      for (int64_t j = 0; j < n; j++) {
        if (upper) {
          std::fill(data + j * n + j + 1, data + (j + 1) * n, T(0));
        } else {
          std::fill(data + j * n, data + j * n + j, T(0));
        }
      }
    });
  });
  return {l, info};
}
void cholesky_back(Vjp& v) {
  if (!v.needs(0)) return;
  bool upper = v.flag(1);
  Tensor l = v.output(0), g = v.grad(0);
  if (upper) {
    l = adjoint(l);
    g = adjoint(g);
  }
  Tensor s = lower_half_diagonal(matmul(adjoint(l), g));
  s = solve_triangular(l, solve_triangular(adjoint(l), s, true, true, false), false, false, false);
  v.set(0, (s + adjoint(s)) * 0.5);
}

Pair geqrf(const Tensor& a) {
  check_matrix(a, "geqrf");
  int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n);
  Tensor r = columns(a), tau = zeros(with_sizes(batch_sizes(a), {k}), a.dtype(), a.device());
  if (a.is_meta() || a.numel() == 0) return {r, tau};
  with_lapack_type(a.dtype(), "geqrf", [&]<class T>() {
    for_each_matrix(batch_count(a), cubed(m, n),
                    [&](int64_t b) { blas::geqrf<T>(m, n, nth<T>(r, b, m * n), m, nth<T>(tau, b, k)); });
  });
  return {r, tau};
}

// The first `width` columns of the product of the reflectors in `a`.
Tensor form_q(const Tensor& a, const Tensor& tau, int64_t width) {
  int64_t m = a.size(-2), k = tau.size(-1);
  Tensor q = empty_columns(batch_sizes(a), m, width, a), t = raw_contiguous(tau);
  int64_t shared = std::min(width, a.size(-1));
  raw_copy(narrow(q, -1, 0, shared), narrow(a, -1, 0, shared));
  if (a.is_meta() || q.numel() == 0) return q;
  with_lapack_type(a.dtype(), "linalg.householder_product", [&]<class T>() {
    for_each_matrix(batch_count(a), cubed(m, width),
                    [&](int64_t b) { blas::orgqr<T>(m, width, k, nth<T>(q, b, m * width), m, t.data<T>() + b * k); });
  });
  return q;
}

Pair qr(const Tensor& a, std::string_view mode) {
  bool complete = mode == "complete", only_r = mode == "r";
  FL_CHECK(complete || only_r || mode == "reduced", "linalg.qr: mode is 'reduced', 'complete' or 'r', got '", mode,
           "'");
  check_matrix(a, "linalg.qr");
  int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n), width = complete ? m : k;
  NoGrad guard;
  auto [reflectors, tau] = geqrf(a);
  Tensor rows = narrow(reflectors, -2, 0, width), r = empty_columns(batch_sizes(a), width, n, a);
  raw_copy(r, triu(rows));
  if (only_r) return {empty(Dims{0}, a.dtype(), a.device()), r};
  return {form_q(reflectors, tau, width), r};
}
void qr_back(Vjp& v) {
  if (!v.needs(0)) return;
  std::string_view mode = v.string(1);
  FL_CHECK(mode != "r", "linalg.qr: the derivative needs Q, which mode='r' doesn't compute; use mode='reduced'");
  Tensor q = v.output(0), r = v.output(1), gq = v.grad(0), gr = v.grad(1);
  int64_t m = q.size(-2), n = r.size(-1), k = std::min(m, n);
  FL_CHECK(mode == "reduced" || m <= n,
           "linalg.qr: the derivative for mode='complete' is undefined for matrices of more rows than columns, got ", m,
           " by ", n);
  Tensor beside;
  if (n > k) {  // R2 = Q^H A2 and A2 = Q R2
    Tensor g2 = narrow(gr, -1, k, n - k), r2 = narrow(r, -1, k, n - k);
    beside = matmul(q, g2);
    gq = gq + matmul(matmul(q, r2), adjoint(g2));
    r = narrow(r, -1, 0, k);
    gr = narrow(gr, -1, 0, k);
  }
  Tensor t = triu(matmul(gr, adjoint(r)) - matmul(adjoint(q), gq));
  t = t + adjoint(t);
  Tensor half = where(identity_mask(k, t), Scalar(0.5), scalar_tensor(Scalar(1), real_of(t.dtype())));
  Tensor g = solve_triangular(adjoint(r), gq + matmul(q, t * half), false, false, false);
  v.set(0, beside ? cat({g, beside}, -1) : g);
}

Tensor householder_product(const Tensor& a, const Tensor& tau) {
  constexpr const char* op = "linalg.householder_product";
  check_matrix(a, op);
  FL_CHECK(tau.dim() >= 1 && tau.size(-1) <= a.size(-1) && a.size(-1) <= a.size(-2), op,
           ": expected no more reflectors than columns and no more columns than rows, got ", shape_text(tau.sizes()),
           " in ", shape_text(a.sizes()));
  check_vectors(tau, a, tau.size(-1), a.dtype(), op);
  return form_q(a, tau, a.size(-1));
}

Tensor ormqr(const Tensor& a, const Tensor& tau, const Tensor& other, bool left, bool transpose) {
  check_pair(a, other, "ormqr");
  FL_CHECK(tau.dim() >= 1 && tau.size(-1) <= std::min(a.size(-1), a.size(-2)), "ormqr: too many factors tau, ",
           shape_text(tau.sizes()), ", for reflectors of ", shape_text(a.sizes()));
  check_vectors(tau, a, tau.size(-1), a.dtype(), "ormqr");
  FL_CHECK(a.size(-2) == other.size(left ? -2 : -1), "ormqr: reflectors of ", shape_text(a.sizes()), " don't fit ",
           shape_text(other.sizes()));
  Tensor reflectors = columns(a), t = raw_contiguous(tau), c = columns(other);
  if (a.is_meta() || c.numel() == 0) return c;
  int64_t rows = a.size(-2), k = tau.size(-1), m = other.size(-2), n = other.size(-1), width = a.size(-1);
  with_lapack_type(a.dtype(), "ormqr", [&]<class T>() {
    for_each_matrix(batch_count(other), cubed(m, n), [&](int64_t b) {
      blas::ormqr<T>(left ? 'L' : 'R', transpose, m, n, k, nth<T>(reflectors, b, rows * width),
                     std::max<int64_t>(rows, 1), t.data<T>() + b * k, nth<T>(c, b, m * n), m);
    });
  });
  return c;
}

Triple ldl_factor(const Tensor& a, bool hermitian) {
  check_square(a, "linalg.ldl_factor");
  int64_t n = a.size(-1);
  Tensor ld = columns(a), pivots = empty(with_sizes(batch_sizes(a), {n}), DType::Int32, a.device());
  Tensor info = zeros(batch_sizes(a), DType::Int32, a.device());
  if (a.is_meta() || a.numel() == 0) return {ld, pivots, info};
  with_lapack_type(a.dtype(), "linalg.ldl_factor", [&]<class T>() {
    for_each_matrix(batch_count(a), cubed(n, n), [&](int64_t b) {
      T* data = nth<T>(ld, b, n * n);
      int* exchanges = nth<int>(pivots, b, n);
      *nth<int>(info, b, 1) =
          hermitian ? blas::hetrf<T>('L', n, data, n, exchanges) : blas::sytrf<T>('L', n, data, n, exchanges);
    });
  });
  return {tril(ld), pivots, info};
}
Tensor ldl_solve(const Tensor& ld, const Tensor& pivots, const Tensor& other, bool hermitian) {
  check_square(ld, "linalg.ldl_solve");
  check_pair(ld, other, "linalg.ldl_solve");
  check_vectors(pivots, ld, ld.size(-1), DType::Int32, "linalg.ldl_solve");
  FL_CHECK(ld.size(-1) == other.size(-2), "linalg.ldl_solve: ", shape_text(ld.sizes()), " can't be solved for ",
           shape_text(other.sizes()));
  Tensor factor = columns(ld), exchanges = raw_contiguous(pivots), x = columns(other);
  int64_t n = ld.size(-1), k = other.size(-1);
  if (x.is_meta() || x.numel() == 0) return x;
  int64_t count = batch_count(other);
  // A negative pivot is one of a pair: a block of two rows.
  for (int64_t b = 0; b < count; b++) {
    const int* p = exchanges.data<int>() + b * n;
    for (int64_t i = 0; i < n; i++) {
      bool pair = p[i] < 0;
      bool valid = std::abs(static_cast<int64_t>(p[i])) <= n && p[i] != 0 && (!pair || (i + 1 < n && p[i + 1] == p[i]));
      FL_CHECK(valid, "linalg.ldl_solve: the pivots are not those of a factorization of ", n, " rows: ", p[i], " at ",
               i);
      i += pair;
    }
  }
  with_lapack_type(ld.dtype(), "linalg.ldl_solve", [&]<class T>() {
    for_each_matrix(count, cubed(n, k), [&](int64_t b) {
      const T* data = nth<T>(factor, b, n * n);
      if (hermitian) {
        blas::hetrs<T>('L', n, k, data, n, nth<int>(exchanges, b, n), nth<T>(x, b, n * k), n);
      } else {
        blas::sytrs<T>('L', n, k, data, n, nth<int>(exchanges, b, n), nth<T>(x, b, n * k), n);
      }
    });
  });
  return x;
}

const Declare ops([] {
  Define("_C._lu_factor(Tensor A) -> (Tensor LU, Tensor pivots, Tensor info)")
      .kernel<lu_factor>()
      .constant_outputs(6)
      .vjp("result result1", lu_factor_back)
      .node("LinalgLuFactorExBackward0");
  Define("_C._pivots_to_permutation(Tensor pivots, int rows) -> Tensor")
      .kernel<pivots_to_permutation>()
      .constant_outputs(1);
  Define("_C._cholesky(Tensor A, bool upper) -> (Tensor L, Tensor info)")
      .kernel<cholesky>()
      .constant_outputs(2)
      .vjp("result", cholesky_back)
      .node("LinalgCholeskyExBackward0");
  Define("_C._geqrf(Tensor A) -> (Tensor a, Tensor tau)").kernel<geqrf>().constant_outputs(3);
  Define("_C._qr(Tensor A, str mode) -> (Tensor Q, Tensor R)")
      .kernel<qr>()
      .vjp("result result1", qr_back)
      .node("LinalgQrBackward0");
  Define("_C._householder_product(Tensor A, Tensor tau) -> Tensor").kernel<householder_product>().constant_outputs(1);
  Define("_C._ormqr(Tensor A, Tensor tau, Tensor other, bool left, bool transpose) -> Tensor")
      .kernel<ormqr>()
      .constant_outputs(1);
  Define("_C._ldl_factor(Tensor A, bool hermitian) -> (Tensor LD, Tensor pivots, Tensor info)")
      .kernel<ldl_factor>()
      .constant_outputs(7);
  Define("_C._ldl_solve(Tensor LD, Tensor pivots, Tensor B, bool hermitian) -> Tensor")
      .kernel<ldl_solve>()
      .constant_outputs(1);
});

}  // namespace
}  // namespace fl
