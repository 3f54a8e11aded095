// Sums, products, means, extremes and truth over dimensions.
#include "ops/reduction.h"

namespace fl {
namespace {

Tensor sum_over(const Tensor& x, uint64_t mask, bool keepdim, std::optional<DType> dtype) {
  DType t = sum_type(x, dtype);
  if (t == DType::Bool) return reduce(Reduction::Any, x, mask, keepdim, t);
  bool direct = !dtype || is_integral(x.dtype(), true) == is_integral(t, true);
  direct = direct && is_complex(x.dtype()) == is_complex(t) && !(t == DType::Double && x.dtype() != t);
  return reduce(Reduction::Sum, direct ? x : raw_cast(x, t), mask, keepdim, t);
}
Tensor sum_all(const Tensor& input, std::optional<DType> dtype) {
  return sum_over(input, all_dims(input), false, dtype);
}
Tensor sum_dims(const Tensor& input, std::optional<IntList> dim, bool keepdim, std::optional<DType> dtype) {
  return sum_over(input, dims_mask(input, dim, "sum"), keepdim, dtype);
}
void sum_all_back(Vjp& v) {
  if (v.needs(0)) v.set(0, cast(expand(v.grad(), v.sizes(0)), v.dtype(0)));
}
void sum_dims_back(Vjp& v) {
  if (v.needs(0)) v.set(0, cast(expand_reduced(v.grad(), v.sizes(0), mask_of(v, 1), v.flag(2)), v.dtype(0)));
}

Tensor mean_over(const Tensor& x, uint64_t mask, bool keepdim, std::optional<DType> dtype) {
  DType t = dtype.value_or(x.dtype());
  FL_CHECK(is_differentiable(t),
           "mean: could not infer output dtype. Input dtype must be either a floating point or complex dtype, got ",
           info(t).name);
  return reduce(Reduction::Mean, raw_cast(x, t), mask, keepdim, t);
}
Tensor mean_all(const Tensor& input, std::optional<DType> dtype) {
  return mean_over(input, all_dims(input), false, dtype);
}
Tensor mean_dims(const Tensor& input, std::optional<IntList> dim, bool keepdim, std::optional<DType> dtype) {
  return mean_over(input, dims_mask(input, dim, "mean"), keepdim, dtype);
}
void mean_all_back(Vjp& v) {
  if (!v.needs(0)) return;
  int64_t n = reduced_count(v.sizes(0), ~uint64_t(0));
  v.set(0, cast(expand(v.grad() / static_cast<double>(n), v.sizes(0)), v.dtype(0)));
}
void mean_dims_back(Vjp& v) {
  if (!v.needs(0)) return;
  uint64_t mask = mask_of(v, 1);
  Tensor g = v.grad() / static_cast<double>(reduced_count(v.sizes(0), mask));
  v.set(0, cast(expand_reduced(g, v.sizes(0), mask, v.flag(2)), v.dtype(0)));
}

// ---- truth

DType truth_type(const Tensor& x) { return x.dtype() == DType::UInt8 ? DType::UInt8 : DType::Bool; }
template <Reduction kind>
Tensor truth_all(const Tensor& input) {
  return reduce(kind, input, all_dims(input), false, truth_type(input));
}
template <Reduction kind>
Tensor truth_dim(const Tensor& input, int64_t dim, bool keepdim) {
  int64_t d = wrap_dim(dim, input.dim(), kind == Reduction::Any ? "any" : "all");
  return reduce(kind, input, input.dim() ? uint64_t(1) << d : 0, keepdim, truth_type(input));
}
template <Reduction kind>
Tensor truth_dims(const Tensor& input, std::optional<IntList> dim, bool keepdim) {
  const char* op = kind == Reduction::Any ? "any" : "all";
  uint64_t mask = dim && dim->empty() ? 0 : dims_mask(input, dim, op);
  return reduce(kind, input, mask, keepdim, truth_type(input));
}

// ---- extremes

void check_ordered(const Tensor& x, const char* op) {
  FL_CHECK(!x.is_complex(), op, ": not implemented for ", info(x.dtype()).name, ": complex numbers have no order");
}
template <Reduction kind>
Tensor extreme_all(const Tensor& input) {
  const char* op = kind == Reduction::Max ? "max" : "min";
  check_ordered(input, op);
  FL_CHECK(input.numel() > 0, op,
           "(): expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
           "'dim' argument.");
  return reduce(kind, input, all_dims(input), false, input.dtype());
}
template <Reduction kind>
Tensor extreme_dims(const Tensor& input, IntList dim, bool keepdim) {
  const char* op = kind == Reduction::Max ? "amax" : "amin";
  check_ordered(input, op);
  uint64_t mask = dims_mask(input, dim, op);
  if (dim.empty()) {
    FL_CHECK(input.numel() > 0, op,
             "(): expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
             "'dim' argument.");
  } else {
    for (int64_t d = 0; d < input.dim(); d++)
      if (mask >> d & 1) check_not_empty(input, d, op);
  }
  return reduce(kind, input, mask, keepdim, input.dtype());
}
// Ties share the gradient; where the result is NaN the NaNs do.
Tensor share_among_ties(const Tensor& g, const Tensor& x, const Tensor& y, uint64_t mask) {
  Tensor ties = (x == y) | (isnan(x) & isnan(y));
  Tensor count = mask ? ties.dim() ? sum(
                                         ties,
                                         [&] {
                                           Dims dims;
                                           for (int64_t d = 0; d < x.dim(); d++)
                                             if (mask >> d & 1) dims.push_back(d);
                                           return dims;
                                         }(),
                                         true)
                                   : sum(ties)
                      : to_dtype(ties, DType::Int64);
  return to_dtype(ties, g.dtype()) * (g / to_dtype(count, g.dtype()));
}
void extreme_all_back(Vjp& v) {
  if (!v.needs(0)) return;
  Tensor x = v.input(0);
  v.set(0, share_among_ties(v.grad(), x, v.output(), all_dims(x)));
}
void extreme_dims_back(Vjp& v) {
  if (!v.needs(0)) return;
  Tensor x = v.input(0);
  uint64_t mask = mask_of(v, 1);
  bool keepdim = v.flag(2);
  v.set(0, share_among_ties(with_dims(v.grad(), x.dim(), mask, keepdim), x,
                            with_dims(v.output(), x.dim(), mask, keepdim), mask));
}
std::tuple<Tensor, Tensor> aminmax(const Tensor& input, std::optional<int64_t> dim, bool keepdim) {
  check_ordered(input, "aminmax");
  uint64_t mask = all_dims(input);
  if (dim) {
    int64_t d = wrap_dim(*dim, input.dim(), "aminmax");
    FL_CHECK(input.dim() == 0 || input->sizes[d], ErrorKind::Index, "aminmax: Expected reduction dim ", d,
             " to have non-zero size");
    mask = input.dim() ? uint64_t(1) << d : 0;
  } else {
    FL_CHECK(input.numel() > 0,
             "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.");
  }
  return {reduce(Reduction::Min, input, mask, keepdim, input.dtype()),
          reduce(Reduction::Max, input, mask, keepdim, input.dtype())};
}
void aminmax_back(Vjp& v) {
  if (!v.needs(0)) return;
  Tensor x = v.input(0), g;
  uint64_t mask = mask_of(v, 1);
  bool keepdim = v.flag(2);
  for (int i = 0; i < 2; i++) {
    if (!v.has_grad(i)) continue;
    Tensor part = share_among_ties(with_dims(v.grad(i), x.dim(), mask, keepdim), x,
                                   with_dims(v.output(i), x.dim(), mask, keepdim), mask);
    g = g ? g + part : part;
  }
  if (g) v.set(0, g);
}

const Declare ops([] {
  Define("sum(Tensor input, *, dtype? dtype=None) -> Tensor")
      .kernel<sum_all>()
      .out()
      .vjp("", sum_all_back)
      .node("SumBackward0")
      .doc("The sum of all elements, or along the dimensions dim. Integers are added as int64.");
  Define("sum.dim(Tensor input, int[1]? dim, bool keepdim=False, *, dtype? dtype=None) -> Tensor")
      .kernel<sum_dims>()
      .out()
      .vjp("", sum_dims_back)
      .node("SumBackward1");
  Define("mean(Tensor input, *, dtype? dtype=None) -> Tensor")
      .kernel<mean_all>()
      .out()
      .vjp("", mean_all_back)
      .node("MeanBackward0")
      .doc("The mean of all elements, or along the dimensions dim. Raises RuntimeError for integers.");
  Define("mean.dim(Tensor input, int[1]? dim, bool keepdim=False, *, dtype? dtype=None) -> Tensor")
      .kernel<mean_dims>()
      .out()
      .vjp("", mean_dims_back)
      .node("MeanBackward1");

  Define("any(Tensor input) -> Tensor")
      .kernel<truth_all<Reduction::Any>>()
      .out()
      .constant_outputs(~0u)
      .doc("Whether any element is not zero, in all of the tensor or along dim.");
  Define("any.dim(Tensor input, int dim, bool keepdim=False) -> Tensor")
      .kernel<truth_dim<Reduction::Any>>()
      .out()
      .constant_outputs(~0u);
  Define("any.dims(Tensor input, int[]? dim=None, bool keepdim=False) -> Tensor")
      .kernel<truth_dims<Reduction::Any>>()
      .out()
      .constant_outputs(~0u);
  Define("all(Tensor input) -> Tensor")
      .kernel<truth_all<Reduction::All>>()
      .out()
      .constant_outputs(~0u)
      .doc("Whether every element is not zero, in all of the tensor or along dim.");
  Define("all.dim(Tensor input, int dim, bool keepdim=False) -> Tensor")
      .kernel<truth_dim<Reduction::All>>()
      .out()
      .constant_outputs(~0u);
  Define("all.dims(Tensor input, int[]? dim=None, bool keepdim=False) -> Tensor")
      .kernel<truth_dims<Reduction::All>>()
      .out()
      .constant_outputs(~0u);

  Define("max(Tensor input) -> Tensor")
      .kernel<extreme_all<Reduction::Max>>()
      .out()
      .vjp("input result", extreme_all_back)
      .node("MaxBackward1")
      .doc("The largest element; along dim also where it is, the first of equals; of two tensors the larger elements.");
  Define("min(Tensor input) -> Tensor")
      .kernel<extreme_all<Reduction::Min>>()
      .out()
      .vjp("input result", extreme_all_back)
      .node("MinBackward1")
      .doc(
          "The smallest element; along dim also where it is, the first of equals; of two tensors the smaller "
          "elements.");
  Define("amax(Tensor input, int[1] dim=[], bool keepdim=False) -> Tensor")
      .kernel<extreme_dims<Reduction::Max>>()
      .out()
      .vjp("input result", extreme_dims_back)
      .doc("The largest elements along dim; equal ones share the gradient.");
  Define("amin(Tensor input, int[1] dim=[], bool keepdim=False) -> Tensor")
      .kernel<extreme_dims<Reduction::Min>>()
      .out()
      .vjp("input result", extreme_dims_back)
      .doc("The smallest elements along dim; equal ones share the gradient.");
  Define("aminmax(Tensor input, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)")
      .kernel<aminmax>()
      .out()
      .vjp("input result result1", aminmax_back)
      .doc("The smallest and the largest elements, of all or along dim.");
});

}  // namespace
}  // namespace fl
