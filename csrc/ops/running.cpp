// Sums and means that pass over NaN, differences and integrals along a dimension.
#include "ops/reduction.h"

namespace fl {
namespace {

Tensor without_nan(const Tensor& x) { return is_floating(x.dtype()) ? where(isnan(x), 0.0, x) : x; }
Tensor nansum_op(const Tensor& input, std::optional<IntList> dim, bool keepdim, std::optional<DType> dtype) {
  FL_CHECK(!input.is_complex(), "nansum: does not support complex inputs");
  static const Op sum("sum.dim");
  return sum(without_nan(input), dim, keepdim, dtype);
}
Tensor nanmean_op(const Tensor& input, std::optional<IntList> dim, bool keepdim, std::optional<DType> dtype) {
  FL_CHECK(is_floating(input.dtype()) || is_complex(input.dtype()),
           "nanmean: expected input to have floating point or complex dtype but got ", info(input.dtype()).name);
  static const Op sum("sum.dim");
  Tensor there = !isnan(input), total = sum(where(there, input, 0.0), dim, keepdim, dtype);
  return total / to_dtype(sum(there, dim, keepdim), real_of(total.dtype()));
}

Tensor diff_op(const Tensor& input, int64_t n, int64_t dim, const Tensor& prepend, const Tensor& append) {
  FL_CHECK(input.dim() >= 1, "diff: expects input to be at least one-dimensional");
  FL_CHECK(n >= 0, "diff: order must be non-negative but got ", n);
  int64_t d = wrap_dim(dim, input.dim(), "diff");
  Tensor x = input;
  if (prepend || append) {
    std::vector<Tensor> parts;
    for (const Tensor& t : {prepend, input, append}) {
      if (!t.defined()) continue;
      FL_CHECK(t.dim() == input.dim(),
               "diff: expects prepend or append to have the same number of dimensions as input");
      for (int64_t k = 0; k < input.dim(); k++)
        FL_CHECK(k == d || t->sizes[k] == input->sizes[k],
                 "diff: expects the shape of tensor to prepend or append to match that of input except along the "
                 "differencing dimension; input.size(",
                 k, ") = ", input->sizes[k], ", but got tensor.size(", k, ") = ", t->sizes[k]);
      parts.push_back(t);
    }
    x = cat(parts, d);
  }
  if (n == 0) return x.is(input) ? clone(x) : x;
  for (int64_t i = 0; i < n; i++) {
    int64_t size = x->sizes[d];
    if (size == 0) return x;
    Tensor later = narrow(x, d, 1, size - 1), earlier = narrow(x, d, 0, size - 1);
    static const Op differ("logical_xor");
    x = x.dtype() == DType::Bool ? differ(later, earlier) : later - earlier;
  }
  return x;
}

// y[i] + y[i + 1] along dim.
Tensor neighbours(const Tensor& y, int64_t d) {
  int64_t n = y->sizes[d];
  return narrow(y, d, 1, n - 1) + narrow(y, d, 0, n - 1);
}
// The widths of the steps along x, shaped to lie along dimension d of y. x is a vector for all of y, or has a shape of
// its own.
Tensor steps(const Tensor& y, const Tensor& x, int64_t d, const char* op) {
  int64_t n = x.dim() ? x->sizes[x.dim() == 1 ? 0 : wrap_dim(d - y.dim(), x.dim(), op)] : 0;
  if (x.dim() == 1) {
    FL_CHECK(x->sizes[0] == y->sizes[d], op, ": There must be one `x` value for each sample point, got ", x->sizes[0],
             " for ", y->sizes[d]);
    Tensor widths = narrow(x, 0, 1, n - 1) - narrow(x, 0, 0, n - 1);
    Dims sizes(y.dim() - d, 1);
    sizes[0] = n - 1;
    return view(widths, sizes);
  }
  int64_t k = wrap_dim(d - y.dim(), x.dim(), op);
  return narrow(x, k, 1, n - 1) - narrow(x, k, 0, n - 1);
}
Tensor trapezoid_x(const Tensor& y, const Tensor& x, int64_t dim) {
  int64_t d = wrap_dim(dim, y.dim(), "trapezoid");
  int64_t dims[1] = {d};
  if (y.dim() && y->sizes[d] == 0) return sum(zeros_like(y), dims);
  FL_CHECK(!(y.dtype() == DType::Bool || x.dtype() == DType::Bool),
           "trapezoid: received a bool input for `x` or `y`, but bool is not supported");
  return sum(steps(y, x, d, "trapezoid") * neighbours(y, d), dims) / 2.0;
}
Tensor trapezoid_dx(const Tensor& y, Scalar dx, int64_t dim) {
  FL_CHECK(y.dtype() != DType::Bool, "trapezoid: received a bool input for `y`, but bool is not supported");
  FL_CHECK(!dx.is_complex() && dx.type != Scalar::Type::Bool,
           "trapezoid: Currently, we only support dx as a real number.");
  int64_t d = wrap_dim(dim, y.dim(), "trapezoid");
  int64_t dims[1] = {d};
  if (y.dim() && y->sizes[d] == 0) return sum(zeros_like(y), dims);
  return sum(neighbours(y, d), dims) * dx / 2.0;
}
const Op cumsum("cumsum");
Tensor cumulative_x(const Tensor& y, const Tensor& x, int64_t dim) {
  int64_t d = wrap_dim(dim, y.dim(), "cumulative_trapezoid");
  if (y.dim() && y->sizes[d] == 0) return zeros_like(y);
  FL_CHECK(!(y.dtype() == DType::Bool || x.dtype() == DType::Bool),
           "cumulative_trapezoid: received a bool input for `x` or `y`, but bool is not supported");
  return cumsum(steps(y, x, d, "cumulative_trapezoid") * neighbours(y, d), d) / 2.0;
}
Tensor cumulative_dx(const Tensor& y, Scalar dx, int64_t dim) {
  FL_CHECK(y.dtype() != DType::Bool, "cumulative_trapezoid: received a bool input for `y`, but bool is not supported");
  FL_CHECK(!dx.is_complex() && dx.type != Scalar::Type::Bool,
           "cumulative_trapezoid: Currently, we only support dx as a real number.");
  int64_t d = wrap_dim(dim, y.dim(), "cumulative_trapezoid");
  if (y.dim() && y->sizes[d] == 0) return zeros_like(y);
  return cumsum(neighbours(y, d), d) * dx / 2.0;
}

const Declare ops([] {
  Define("nansum(Tensor input, int[1]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor")
      .composite<nansum_op>()
      .out()
      .doc("The sum of what isn't NaN, of all elements or along dim.");
  Define("nanmean(Tensor input, int[1]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor")
      .composite<nanmean_op>()
      .out()
      .doc("The mean of what isn't NaN, of all elements or along dim.");
  Define("diff(Tensor input, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor")
      .composite<diff_op>()
      .out()
      .doc("The n-th differences of neighbours along dim.");
  for (const char* name : {"torch.trapezoid", "torch.trapz"}) {
    std::string n = name;
    Define((n + ".x(Tensor y, Tensor x, *, int dim=-1) -> Tensor").c_str())
        .composite<trapezoid_x>()
        .doc("The integral of y along dim by the trapezoidal rule, at places x or at steps of dx.");
    Define((n + ".dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor").c_str()).composite<trapezoid_dx>();
  }
  Define("torch.cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor")
      .composite<cumulative_x>()
      .doc("The running integral of y along dim by the trapezoidal rule, at places x or at steps of dx.");
  Define("torch.cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor").composite<cumulative_dx>();
});

}  // namespace
}  // namespace fl
