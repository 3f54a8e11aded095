// Norms of vectors, distances, renorm.
#include <cmath>
#include <limits>

#include "ops/reduction.h"

namespace fl {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

bool has_extreme(const Tensor& y) {
  bool found = false;
  for (int64_t i = 0; i < y.numel(); i++) {
    double v = y.data<double>()[i];
    found |= v == kInf || v < 1e-140;
  }
  return found;
}

// The norm of |x| / m times m, for the largest m: nothing overflows or vanishes on the way.
template <class F>
Tensor scaled(const Tensor& a, uint64_t mask, bool keepdim, F norm) {
  Tensor top = reduce(Reduction::Max, a, mask, true, a.dtype());
  top = where((top == 0.0) | (top == kInf), 1.0, top);
  Tensor y = norm(a / top);
  return y * (keepdim ? top : reshape(top, y.sizes()));
}

Tensor vector_norm(const Tensor& input, Scalar order, std::optional<IntList> dim, bool keepdim,
                   std::optional<DType> dtype) {
  FL_CHECK(is_differentiable(input.dtype()),
           "linalg.vector_norm: Expected a floating point or complex tensor as input. Got ", info(input.dtype()).name);
  FL_CHECK(!order.is_complex(), "linalg.vector_norm: Expected a non-complex scalar as the order of norm.");
  if (dtype) {
    FL_CHECK(is_differentiable(*dtype), "linalg.vector_norm: dtype should be floating point or complex. Got ",
             info(*dtype).name);
    FL_CHECK(is_complex(*dtype) == input.is_complex(), "linalg.vector_norm: dtype ", info(*dtype).name,
             " and the input's type ", info(input.dtype()).name, " must both be real or both complex");
    FL_CHECK(promote(*dtype, input.dtype()) == *dtype, "linalg.vector_norm: the dtype of the input (",
             info(input.dtype()).name, ") should be convertible without narrowing to the specified dtype (",
             info(*dtype).name, ")");
  }
  NoGrad guard;
  double p = order.to_double();
  uint64_t mask = dims_mask(input, dim, "linalg.vector_norm");
  DType t = dtype.value_or(input.dtype()), result = real_of(t);
  if (input.numel() == 0 && (p < 0 || p == kInf)) {
    FL_CHECK(dim && !dim->empty(), "linalg.vector_norm: cannot compute the ", p,
             " norm on an empty tensor because the operation does not have an identity");
    for (int64_t d = 0; d < input.dim(); d++)
      FL_CHECK(!(mask >> d & 1) || input->sizes[d], "linalg.vector_norm: cannot compute the ", p,
               " norm on the dimension ", d,
               " because this dimension is empty and the operation does not have an identity");
  }
  if (input.is_meta()) return empty(kept_sizes(input, mask, keepdim), result, input.device());
  Tensor x = raw_cast(input, t);
  if (p == 0) return raw_cast(reduce(Reduction::CountNonzero, x, mask, keepdim, DType::Int64), result);
  if (x.is_complex()) x = abs(x);
  if (p == 1) return reduce(Reduction::SumAbs, x, mask, keepdim, result);
  if (p == 2) {
    Tensor y = reduce(Reduction::Norm2, x, mask, keepdim, result);
    // Squares of doubles leave their range; those of floats, added as doubles, don't.
    if (x.dtype() == DType::Double && x.numel() && has_extreme(y))
      y = scaled(abs(x), mask, keepdim,
                 [&](const Tensor& a) { return reduce(Reduction::Norm2, a, mask, keepdim, result); });
    return y;
  }
  Tensor a = abs(x);
  if (p == kInf) return reduce(Reduction::Max, a, mask, keepdim, result);
  if (p == -kInf) return reduce(Reduction::Min, a, mask, keepdim, result);
  a = raw_cast(a, result == DType::Double ? result : DType::Float);
  auto norm = [&](const Tensor& v) {
    return pow(reduce(Reduction::Sum, pow(v, Scalar(p)), mask, keepdim, a.dtype()), Scalar(1 / p));
  };
  return raw_cast(p > 0 && a.numel() ? scaled(a, mask, keepdim, norm) : norm(a), result);
}

}  // namespace

Tensor norm_gradient(const Tensor& g, const Tensor& x, const Tensor& y, double p, uint64_t mask) {
  if (p == 0) return zeros_like(x);
  if (p == 1) return sgn(x) * g;
  Tensor nonzero = where(y == 0.0, 1.0, y);
  if (p == 2) return x * (where(y == 0.0, 0.0, g) / nonzero);
  Tensor a = abs(x);
  if (p == kInf || p == -kInf) {
    Tensor ties = to_dtype((a == y) | (isnan(a) & isnan(y)), g.dtype());
    Dims dims;
    for (int64_t d = 0; d < x.dim(); d++)
      if (mask >> d & 1) dims.push_back(d);
    Tensor count = x.dim() ? sum(ties, dims, true) : ties;
    return sgn(x) * (ties * (g / count));
  }
  Tensor ratio = p < 1 ? where(a == 0.0, 1.0, a / nonzero) : a / nonzero;
  return sgn(x) * pow(ratio, Scalar(p - 1)) * where(y == 0.0, 0.0, g);
}
namespace {

void vector_norm_back(Vjp& v) {
  if (!v.needs(0)) return;
  Tensor y = v.output(), x = v.input(0);
  x = cast(x, x.is_complex() ? complex_of(y.dtype()) : y.dtype());
  uint64_t mask = mask_of(v, 2);
  bool keepdim = v.flag(3);
  Tensor g = with_dims(v.grad(), x.dim(), mask, keepdim);
  v.set(0, cast(norm_gradient(g, x, with_dims(y, x.dim(), mask, keepdim), v.number(1), mask), v.dtype(0)));
}

Tensor dist_op(const Tensor& input, const Tensor& other, Scalar p) {
  static const Op norm("linalg.vector_norm");
  return norm(input - other, p);
}

Tensor renorm_op(const Tensor& input, Scalar p, int64_t dim, Scalar maxnorm) {
  FL_CHECK(!p.is_complex() && p.to_double() > 0, "renorm: non-positive-norm not supported, got p = ", p);
  FL_CHECK(!maxnorm.is_complex() && maxnorm.to_double() >= 0, "renorm: expected maxnorm to be >= 0 but got ", maxnorm);
  FL_CHECK(input.dim() > 1, "renorm: input needs at least 2 dimensions, got ", input.dim(), " dimensions");
  FL_CHECK(is_differentiable(input.dtype()), "renorm: expected a floating point or complex tensor, got ",
           info(input.dtype()).name);
  int64_t d = wrap_dim(dim, input.dim(), "renorm");
  Dims others;
  for (int64_t k = 0; k < input.dim(); k++)
    if (k != d) others.push_back(k);
  static const Op norm("linalg.vector_norm");
  DType wide = is_complex(input.dtype()) || input.dtype() == DType::Double ? input.dtype() : DType::Float;
  Tensor length = norm(input, p, others, true, wide);
  double most = maxnorm.to_double();
  Tensor factor = where(length > Scalar(most), most / (length + 1e-7), 1.0);
  return cast(input * cast(factor, real_of(input.dtype())), input.dtype());
}

const Declare ops([] {
  Define(
      "linalg.vector_norm(Tensor x, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> "
      "Tensor")
      .kernel<vector_norm>()
      .out()
      .vjp("x result", vector_norm_back)
      .node("LinalgVectorNormBackward0")
      .doc("The norm of order ord of all elements seen as a vector, or of those along dim.");
  Define("dist(Tensor input, Tensor other, Scalar p=2) -> Tensor")
      .composite<dist_op>()
      .doc("The p-norm of input - other.");
  Define("renorm(Tensor input, Scalar p, int dim, Scalar maxnorm) -> Tensor")
      .composite<renorm_op>()
      .in_place()
      .out()
      .doc("The slices along dim, scaled down to maxnorm where their p-norm is larger.");
});

}  // namespace
}  // namespace fl
