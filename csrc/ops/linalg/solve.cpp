// Systems of equations and inverses, and derivatives of results that are put together elsewhere.
#include "ops/linalg/matrices.h"

namespace fl {
namespace {

using Pair = std::tuple<Tensor, Tensor>;

std::tuple<Tensor, Tensor, Tensor, Tensor> solve_op(const Tensor& a, const Tensor& b) {
  check_square(a, "linalg.solve");
  check_pair(a, b, "linalg.solve");
  FL_CHECK(a.size(-1) == b.size(-2), "linalg.solve: ", shape_text(a.sizes()), " can't be solved for ",
           shape_text(b.sizes()));
  int64_t n = a.size(-1), k = b.size(-1);
  Tensor lu = columns(a), x = columns(b), pivots = empty(with_sizes(batch_sizes(a), {n}), DType::Int32, a.device());
  Tensor info = zeros(batch_sizes(a), DType::Int32, a.device());
  if (a.is_meta() || a.numel() == 0) return {x, lu, pivots, info};
  with_lapack_type(a.dtype(), "linalg.solve", [&]<class T>() {
    for_each_matrix(batch_count(a), cubed(n, n), [&](int64_t i) {
      T* factor = nth<T>(lu, i, n * n);
      int* exchanges = nth<int>(pivots, i, n);
      *nth<int>(info, i, 1) = blas::getrf<T>(n, n, factor, n, exchanges);
      if (k) blas::getrs<T>('N', n, k, factor, n, exchanges, nth<T>(x, i, n * k), n);
    });
  });
  return {x, lu, pivots, info};
}

// Solves with the factors of A; `adjoint`: A^H X = B.
Tensor lu_solve(const Tensor& lu, const Tensor& pivots, const Tensor& b, bool adjoint) {
  check_square(lu, "linalg.lu_solve");
  check_pair(lu, b, "linalg.lu_solve");
  check_vectors(pivots, lu, lu.size(-1), DType::Int32, "linalg.lu_solve");
  FL_CHECK(lu.size(-1) == b.size(-2), "linalg.lu_solve: ", shape_text(lu.sizes()), " can't be solved for ",
           shape_text(b.sizes()));
  int64_t n = lu.size(-1), k = b.size(-1);
  Tensor factor = columns(lu), x = columns(b), exchanges = raw_contiguous(pivots);
  if (x.is_meta() || x.numel() == 0) return x;
  int64_t count = batch_count(b);
  for (int64_t i = 0; i < count * n; i++) {
    int p = exchanges.data<int>()[i];
    FL_CHECK(p >= 1 && p <= n, "linalg.lu_solve: pivots must be from 1 to the number of rows, ", n, ", got ", p);
  }
  with_lapack_type(lu.dtype(), "linalg.lu_solve", [&]<class T>() {
    for_each_matrix(count, cubed(n, k), [&](int64_t i) {
      blas::getrs<T>(adjoint ? 'C' : 'N', n, k, nth<T>(factor, i, n * n), n, nth<int>(exchanges, i, n),
                     nth<T>(x, i, n * k), n);
    });
  });
  return x;
}

void solve_back(Vjp& v) {
  static const Op with_factors("_C._lu_solve");
  // The factors are constants to autograd: good for the gradient, not for the gradient's gradient.
  Tensor g = v.grad(0);
  Tensor gb = grad_enabled() ? solve(adjoint(v.input(0)), g) : with_factors(v.output(1), v.output(2), g, true);
  if (v.needs(0)) v.set(0, -matmul(gb, adjoint(v.output(0))));
  if (v.needs(1)) v.set(1, gb);
}

Pair inv_op(const Tensor& a) {
  check_square(a, "linalg.inv");
  int64_t n = a.size(-1);
  Tensor x = columns(a), info = zeros(batch_sizes(a), DType::Int32, a.device());
  if (a.is_meta() || a.numel() == 0) return {x, info};
  with_lapack_type(a.dtype(), "linalg.inv", [&]<class T>() {
    for_each_matrix(batch_count(a), cubed(n, n), [&](int64_t b) {
      std::vector<int> pivots(n);
      T* data = nth<T>(x, b, n * n);
      int state = blas::getrf<T>(n, n, data, n, pivots.data());
      if (!state) state = blas::getri<T>(n, data, n, pivots.data());
      *nth<int>(info, b, 1) = state;
    });
  });
  return {x, info};
}

Tensor solve_triangular_op(const Tensor& a, const Tensor& b, bool upper, bool left, bool unit) {
  check_square(a, "linalg.solve_triangular");
  check_pair(a, b, "linalg.solve_triangular");
  FL_CHECK(a.size(-1) == b.size(left ? -2 : -1), "linalg.solve_triangular: ", shape_text(a.sizes()),
           " can't be solved for ", shape_text(b.sizes()));
  int64_t n = a.size(-1), rows = b.size(-2), k = b.size(-1);
  Tensor triangle = columns(a), x = columns(b);
  if (x.is_meta() || x.numel() == 0) return x;
  with_lapack_type(a.dtype(), "linalg.solve_triangular", [&]<class T>() {
    for_each_matrix(batch_count(a), cubed(rows, k), [&](int64_t i) {
      blas::trsm<T>(left ? 'L' : 'R', upper ? 'U' : 'L', 'N', unit ? 'U' : 'N', rows, k, nth<T>(triangle, i, n * n), n,
                    nth<T>(x, i, rows * k), rows);
    });
  });
  return x;
}
void solve_triangular_back(Vjp& v) {
  bool upper = v.flag(2), left = v.flag(3), unit = v.flag(4);
  Tensor gb = solve_triangular(adjoint(v.input(0)), v.grad(0), !upper, left, unit);
  if (v.needs(1)) v.set(1, gb);
  if (!v.needs(0)) return;
  Tensor x = v.output(0), ga = left ? -matmul(gb, adjoint(x)) : -matmul(adjoint(x), gb);
  v.set(0, upper ? triu(ga, unit ? 1 : 0) : tril(ga, unit ? -1 : 0));
}

Tensor cholesky_solve(const Tensor& b, const Tensor& factor, bool upper) {
  check_square(factor, "cholesky_solve");
  check_pair(factor, b, "cholesky_solve");
  FL_CHECK(factor.size(-1) == b.size(-2), "cholesky_solve: ", shape_text(factor.sizes()), " can't be solved for ",
           shape_text(b.sizes()));
  int64_t n = factor.size(-1), k = b.size(-1);
  Tensor triangle = columns(factor), x = columns(b);
  if (x.is_meta() || x.numel() == 0) return x;
  with_lapack_type(b.dtype(), "cholesky_solve", [&]<class T>() {
    for_each_matrix(batch_count(b), cubed(n, k), [&](int64_t i) {
      blas::potrs<T>(upper ? 'U' : 'L', n, k, nth<T>(triangle, i, n * n), n, nth<T>(x, i, n * k), n);
    });
  });
  return x;
}
// As of the solution of L L^H X = B for any L, triangular or not.
void cholesky_solve_back(Vjp& v) {
  static const Op again("_C._cholesky_solve");
  Tensor gb = again(v.grad(0), v.input(1), v.flag(2));
  if (v.needs(0)) v.set(0, gb);
  if (!v.needs(1)) return;
  Tensor c = matmul(gb, adjoint(v.output(0)));
  c = c + adjoint(c);
  v.set(1, -(v.flag(2) ? matmul(v.input(1), c) : matmul(c, v.input(1))));
}

// The least squares solution, the rank and the singular values (the latter two where the driver finds them).
std::tuple<Tensor, Tensor, Tensor> lstsq_op(const Tensor& a, const Tensor& b, double rcond, std::string_view driver) {
  check_pair(a, b, "linalg.lstsq");
  FL_CHECK(driver == "gels" || driver == "gelsy" || driver == "gelsd" || driver == "gelss",
           "linalg.lstsq: driver is gels, gelsy, gelsd or gelss, got ", driver);
  FL_CHECK(a.size(-2) == b.size(-2), "linalg.lstsq: ", shape_text(a.sizes()), " has not as many rows as ",
           shape_text(b.sizes()));
  int64_t m = a.size(-2), n = a.size(-1), k = b.size(-1), rows = std::max(m, n);
  bool svd = driver == "gelsd" || driver == "gelss", ranked = driver != "gels";
  Tensor work = columns(a), x = empty_columns(batch_sizes(a), rows, k, a);
  raw_fill(x, Scalar(0));
  raw_copy(narrow(x, -2, 0, m), b);
  Tensor rank = ranked ? zeros(batch_sizes(a), DType::Int64, a.device()) : empty(Dims{0}, DType::Int64, a.device());
  Tensor values = svd ? zeros(with_sizes(batch_sizes(a), {std::min(m, n)}), real_of(a.dtype()), a.device())
                      : empty(Dims{0}, real_of(a.dtype()), a.device());
  Tensor solution = empty_columns(batch_sizes(a), n, k, a);
  if (!a.is_meta() && work.numel()) {
    with_lapack_type(a.dtype(), "linalg.lstsq", [&]<class T>() {
      for_each_matrix(batch_count(a), cubed(m, n), [&](int64_t i) {
        T *data = nth<T>(work, i, m * n), *to = nth<T>(x, i, rows * k);
        auto* s = svd ? nth<blas::Real<T>>(values, i, std::min(m, n)) : nullptr;
        int found = 0, state = 0;
        if (!all_finite(data, m * n) || !all_finite(to, rows * k)) return fill_nan(to, rows * k);
        if (driver == "gels") {
          state = blas::gels<T>(false, m, n, k, data, m, to, rows);
        } else if (driver == "gelsy") {
          std::vector<int> pivots(n, 0);
          state = blas::gelsy<T>(m, n, k, data, m, to, rows, pivots.data(), rcond, &found);
        } else if (driver == "gelsd") {
          state = blas::gelsd<T>(m, n, k, data, m, to, rows, s, rcond, &found);
        } else {
          state = blas::gelss<T>(m, n, k, data, m, to, rows, s, rcond, &found);
        }
        FL_CHECK(state == 0, ErrorKind::Linalg, "linalg.lstsq: ",
                 driver == "gels" ? "the matrix does not have full rank: use another driver"
                                  : "the singular values did not converge",
                 " (matrix ", i, ")");
        if (ranked) *nth<int64_t>(rank, i, 1) = found;
      });
    });
  }
  raw_copy(solution, narrow(x, -2, 0, n));
  return {solution, rank, values};
}

// The gradient of P = pinv(A) with respect to A.
Tensor pinv_gradient(const Tensor& g, const Tensor& p, const Tensor& a) {
  Tensor ph = adjoint(p), gh = adjoint(g);
  Tensor rest = matmul(gh, matmul(p, ph)), other = matmul(matmul(ph, p), gh);
  Tensor result = (rest - matmul(a, matmul(p, rest))) + (other - matmul(matmul(other, p), a));
  return result - matmul(ph, matmul(g, ph));
}
void lstsq_back(Vjp& v) {
  static const Op pinv("linalg.pinv");
  Tensor g = v.grad(0), p = pinv(v.input(0));
  if (v.needs(0)) v.set(0, pinv_gradient(matmul(g, adjoint(v.input(1))), p, v.input(0)));
  if (v.needs(1)) v.set(1, matmul(adjoint(p), g));
}

// Gives a determinant computed from A its derivative. Where A can't be inverted, that is found from the singular
// values, of which each is left out in turn.
void det_back(Vjp& v) {
  if (!v.needs(0)) return;
  static const Op prod("prod.dim_int"), det("linalg.det"), svd("_C._svd"), all("all");
  Tensor a = v.input(0), d = v.output(0), g = v.grad(0);
  int64_t n = a.size(-1);
  bool invertible = true;
  {
    NoGrad guard;
    Tensor regular = all(d != 0);
    invertible = *regular.data<bool>();
  }
  if (invertible) {
    Tensor scale = unsqueeze(unsqueeze(g * conj(d), -1), -1) * to_dtype(identity_mask(n, a), a.dtype());
    v.set(0, solve(adjoint(a), scale));
    return;
  }
  std::vector<Tensor> parts = svd.run(a, false, "gesdd").tensors;
  Tensor s = where(identity_mask(n, a), Scalar(1), unsqueeze(parts[1], -2));
  Tensor others = unsqueeze(prod(s, -1), -2);
  Tensor sign = conj(det(parts[0]) * det(parts[2]));
  v.set(0, unsqueeze(unsqueeze(g * sign, -1), -1) * matmul(parts[0] * others, parts[2]));
}
Tensor given(const Tensor&, const Tensor& result) { return raw_clone(result); }

const Declare ops([] {
  Define("_C._solve(Tensor A, Tensor B) -> (Tensor X, Tensor LU, Tensor pivots, Tensor info)")
      .kernel<solve_op>()
      .constant_outputs(14)
      .vjp("A result result1 result2", solve_back)
      .node("LinalgSolveExBackward0");
  Define("_C._lu_solve(Tensor LU, Tensor pivots, Tensor B, bool adjoint) -> Tensor")
      .kernel<lu_solve>()
      .constant_outputs(1);
  Define("_C._inv(Tensor A) -> (Tensor inverse, Tensor info)")
      .kernel<inv_op>()
      .constant_outputs(2)
      .vjp("result",
           [](Vjp& v) {
             Tensor x = adjoint(v.output(0));
             if (v.needs(0)) v.set(0, -matmul(x, matmul(v.grad(0), x)));
           })
      .node("LinalgInvExBackward0");
  Define("_C._solve_triangular(Tensor A, Tensor B, bool upper, bool left, bool unitriangular) -> Tensor")
      .kernel<solve_triangular_op>()
      .vjp("A result", solve_triangular_back)
      .node("LinalgSolveTriangularBackward0");
  Define("_C._cholesky_solve(Tensor B, Tensor L, bool upper) -> Tensor")
      .kernel<cholesky_solve>()
      .vjp("L result", cholesky_solve_back)
      .node("CholeskySolveBackward0");
  Define(
      "_C._lstsq(Tensor A, Tensor B, float rcond, str driver) -> (Tensor solution, Tensor rank, Tensor "
      "singular_values)")
      .kernel<lstsq_op>()
      .constant_outputs(6)
      .vjp("A B", lstsq_back)
      .node("LinalgLstsqBackward0");
  Define("_C._det_of(Tensor A, Tensor det) -> Tensor")
      .kernel<given>()
      .vjp("A result", det_back)
      .node("LinalgDetBackward0");
  Define("_C._pinv_of(Tensor A, Tensor pinv) -> Tensor")
      .kernel<given>()
      .vjp("A result",
           [](Vjp& v) {
             if (v.needs(0)) v.set(0, pinv_gradient(v.grad(0), v.output(0), v.input(0)));
           })
      .node("LinalgPinvBackward0");
});

}  // namespace
}  // namespace fl
