// Norms of vectors. None overflows or underflows on the way to a norm that fits its type: where a sum of powers does, the
// largest magnitude is divided out first.
#include <cmath>

#include "ops/reduction.h"

namespace fl {
namespace {

const Op amax("amax"), amin("amin");

Dims dims_of(uint64_t mask, int64_t ndim) {
  Dims dims;
  for (int64_t d = 0; d < ndim; d++)
    if (mask >> d & 1) dims.push_back(d);
  return dims;
}

// (sum of |x|^p)^(1/p) by way of |x| / max |x|.
Tensor scaled_norm(const Tensor& magnitude, double p, uint64_t mask, bool keepdim) {
  Dims dims = dims_of(mask, magnitude.dim());
  const Op& extreme = p < 0 ? amin : amax;  // of negative powers the smallest is the one that counts
  Tensor scale = extreme(magnitude, dims, true);
  scale = where((scale == 0) | isinf(scale), Scalar(1), scale);
  Tensor powers = p == 2 ? square(magnitude / scale) : pow(magnitude / scale, Scalar(p));
  Tensor total = dims.empty() ? powers : sum(powers, dims, true);
  Tensor norm = (p == 2 ? sqrt(total) : pow(total, Scalar(1 / p))) * scale;
  return keepdim ? norm : reshape(norm, kept_sizes(magnitude, mask, false));
}

// Whether a sum of squares left the range in which it is exact.
bool out_of_range(const Tensor& norm) {
  if (norm.is_meta()) return false;
  Tensor wide = raw_cast(norm, DType::Double);
  double smallest = norm.dtype() == DType::Double ? 1e-146 : norm.dtype() == DType::Float ? 1e-15 : 0;
  for (int64_t i = 0; i < wide.numel(); i++) {
    double v = wide.data<double>()[i];
    if (std::isinf(v) || v < smallest) return true;
  }
  return false;
}

Tensor vector_norm(const Tensor& input, const Scalar& ord, std::optional<IntList> dim, bool keepdim, std::optional<DType> dtype) {
  constexpr const char* op = "linalg.vector_norm";
  FL_CHECK(is_differentiable(input.dtype()), op, ": expected a floating point or complex tensor, got ", info(input.dtype()).name);
  FL_CHECK(!ord.is_complex(), op, ": expected a non-complex scalar as the order of norm");
  if (dtype) {
    FL_CHECK(is_differentiable(*dtype), op, ": dtype should be floating point or complex, got ", info(*dtype).name);
    FL_CHECK(is_complex(*dtype) == input.is_complex(), op, ": dtype should be ", input.is_complex() ? "complex" : "real", " for inputs of ", info(input.dtype()).name, ", got ", info(*dtype).name);
    FL_CHECK(promote(input.dtype(), *dtype) == *dtype, op, ": the dtype of the input, ", info(input.dtype()).name, ", should be convertible without narrowing to ", info(*dtype).name);
  }
  double p = ord.to_double();
  uint64_t mask = dims_mask(input, dim, op);
  if ((p < 0 || std::isinf(p)) && input.numel() == 0) {
    FL_CHECK(dim && !dim->empty(), op, " cannot compute the ", p, " norm on an empty tensor because the operation does not have an identity");
    for (int64_t d = 0; d < input.dim(); d++)
      FL_CHECK(!(mask >> d & 1) || input->sizes[d] != 0, op, " cannot compute the ", p, " norm on the dimension ", d, " because this dimension is empty and the operation does not have an identity");
  }
  NoGrad guard;
  Tensor x = dtype ? raw_cast(input, *dtype) : input;
  DType result = real_of(x.dtype());
  if (p == 0) return raw_cast(reduce(Reduction::CountNonzero, x, mask, keepdim, DType::Int64), result);
  if (x.is_complex()) x = abs(x);
  if (p == 2) {
    Tensor norm = reduce(Reduction::Norm2, x, mask, keepdim, result);
    return out_of_range(norm) && x.numel() ? scaled_norm(abs(x), p, mask, keepdim) : norm;
  }
  if (p == 1) return reduce(Reduction::SumAbs, x, mask, keepdim, result);
  Tensor magnitude = abs(x);
  if (std::isinf(p)) {
    Dims dims = dims_of(mask, x.dim());
    return dims.empty() ? magnitude : (p > 0 ? amax : amin)(magnitude, dims, keepdim);
  }
  if (x.numel() == 0) return zeros(kept_sizes(x, mask, keepdim), result, x.device());
  return raw_cast(scaled_norm(raw_cast(magnitude, result == DType::Double ? result : DType::Float), p, mask, keepdim), result);
}

void vector_norm_back(Vjp& v) {
  if (!v.needs(0)) return;
  Tensor x = v.input(0);
  double p = v.number(1);
  uint64_t mask = mask_of(v, 2);
  Tensor norm = with_dims(v.output(0), x.dim(), mask, v.flag(3)), g = with_dims(v.grad(0), x.dim(), mask, v.flag(3));
  Tensor result;
  if (p == 0) {
    result = zeros_like(x);
  } else if (p == 1) {
    result = sgn(x) * g;
  } else if (p == 2) {
    result = where(norm == 0, Scalar(0), x / norm) * g;
  } else if (std::isinf(p)) {
    // Equal extremes share the gradient.
    Tensor at = abs(x) == norm;
    static const Op count("sum.dim");
    Dims dims = dims_of(mask, x.dim());
    Tensor shares = dims.empty() ? at : count(at, dims, true);
    result = sgn(x) * (at * (g / shares));
  } else {
    Tensor ratio = where(norm == 0, Scalar(0), abs(x) / norm);
    Tensor power = pow(ratio, Scalar(p - 1));
    if (p < 2) power = where(x == 0, Scalar(0), power);
    result = sgn(x) * (power * g);
  }
  v.set(0, to_dtype(result, v.dtype(0)));
}

const Declare ops([] {
  Define("linalg.vector_norm(Tensor x, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor").kernel<vector_norm>().out()
      .vjp("x result", vector_norm_back).node("LinalgVectorNormBackward0")
      .doc("The p-norm of x seen as a vector, over all or the given dimensions: ord is a number, also 0 (how many are not zero) and infinities.");
});

}  // namespace
}  // namespace fl
