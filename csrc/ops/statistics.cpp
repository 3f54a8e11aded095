// Variance and standard deviation, alone and with the mean.
#include "ops/reduction.h"

namespace fl {
namespace {

void warn_of_freedom(const Tensor& x, uint64_t mask, double correction, const char* op) {
  if (static_cast<double>(reduced_count(x.sizes(), mask)) - correction > 0 || x.is_meta()) return;
  std::string text = std::string(op) +
                     "(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor "
                     "(input numel divided by output numel).";
  if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) < 0) throw PythonError();
}

Tensor spread(const Tensor& x, uint64_t mask, bool keepdim, double correction, bool root, const char* op) {
  FL_CHECK(is_differentiable(x.dtype()), op, " only support floating point and complex dtypes, got ",
           info(x.dtype()).name);
  warn_of_freedom(x, mask, correction, op);
  ReduceParams params;
  params.correction = correction;
  if (!x.is_complex()) return reduce(root ? Reduction::Std : Reduction::Var, x, mask, keepdim, x.dtype(), params);
  // The distance in the plane: the parts' variances add up.
  DType part = real_of(x.dtype());
  NoGrad guard;
  Tensor sum = reduce(Reduction::Var, real(x), mask, keepdim, part, params) +
               reduce(Reduction::Var, imag(x), mask, keepdim, part, params);
  return root ? sqrt(sum) : sum;
}

// The three forms of arguments, each for var, std and the pairs with the mean.
struct Form {
  uint64_t mask;
  bool keepdim;
  double correction;
};
double correction_of(const std::optional<Scalar>& c) { return c ? c->to_double() : 1; }
template <bool root>
constexpr const char* kName = root ? "std" : "var";
template <bool root>
constexpr const char* kPairName = root ? "std_mean" : "var_mean";

template <bool root>
Tensor spread_all(const Tensor& input, bool unbiased) {
  return spread(input, all_dims(input), false, unbiased, root, kName<root>);
}
template <bool root>
Tensor spread_dim(const Tensor& input, std::optional<IntList> dim, bool unbiased, bool keepdim) {
  return spread(input, dims_mask(input, dim, kName<root>), keepdim, unbiased, root, kName<root>);
}
template <bool root>
Tensor spread_correction(const Tensor& input, std::optional<IntList> dim, std::optional<Scalar> correction,
                         bool keepdim) {
  return spread(input, dims_mask(input, dim, kName<root>), keepdim, correction_of(correction), root, kName<root>);
}
using Pair = std::tuple<Tensor, Tensor>;
template <bool root>
Pair with_mean(const Tensor& x, uint64_t mask, bool keepdim, double correction) {
  Tensor s = spread(x, mask, keepdim, correction, root, kPairName<root>);
  return {s, reduce(Reduction::Mean, x, mask, keepdim, x.dtype())};
}
template <bool root>
Pair pair_all(const Tensor& input, bool unbiased) {
  return with_mean<root>(input, all_dims(input), false, unbiased);
}
template <bool root>
Pair pair_dim(const Tensor& input, std::optional<IntList> dim, bool unbiased, bool keepdim) {
  return with_mean<root>(input, dims_mask(input, dim, kPairName<root>), keepdim, unbiased);
}
template <bool root>
Pair pair_correction(const Tensor& input, std::optional<IntList> dim, std::optional<Scalar> correction, bool keepdim) {
  return with_mean<root>(input, dims_mask(input, dim, kPairName<root>), keepdim, correction_of(correction));
}

// The arguments of a recorded call, whichever form it had: (unbiased), (dim, unbiased, keepdim) or (dim, correction,
// keepdim).
Form form_of(Vjp& v) {
  const Schema& s = v.entry().schema;
  if (s.overload.empty()) return {(uint64_t(1) << v.sizes(0).size()) - 1, false, v.flag(1) ? 1.0 : 0.0};
  double correction = s.overload == "dim" ? v.flag(2) : v.is_none(2) ? 1 : v.number(2);
  return {mask_of(v, 1), v.flag(3), correction};
}
Tensor spread_gradient(Vjp& v, const Form& f, bool root, bool with_mean) {
  Tensor x = v.input(0), g;
  double n = static_cast<double>(reduced_count(x.sizes(), f.mask));
  if (v.has_grad(0)) {
    g = v.grad(0);
    if (root) {
      Tensor y = v.output(0);
      g = where(y == 0.0, 0.0, g / (y * 2.0));
    }
    g = with_dims(g, x.dim(), f.mask, f.keepdim);
    Dims dims;
    for (int64_t d = 0; d < x.dim(); d++)
      if (f.mask >> d & 1) dims.push_back(d);
    static const Op mean("mean.dim");
    g = (g * (2.0 / (n - f.correction > 0 ? n - f.correction : 0.0))) * (x - mean(x, dims, true));
  }
  if (with_mean && v.has_grad(1)) {
    Tensor m = expand_reduced(v.grad(1) / n, x.sizes(), f.mask, f.keepdim);
    g = g ? g + m : m;
  }
  return g;
}
template <bool root>
void spread_back(Vjp& v) {
  if (v.needs(0)) v.set(0, spread_gradient(v, form_of(v), root, false));
}
template <bool root>
void pair_back(Vjp& v) {
  if (v.needs(0)) v.set(0, spread_gradient(v, form_of(v), root, true));
}

template <bool root>
void define() {
  const char* saves = root ? "input result" : "input";
  std::string name = kName<root>, pair = kPairName<root>;
  const char* node = root ? "StdBackward0" : "VarBackward0";
  const char* pair_node = root ? "StdMeanBackward0" : "VarMeanBackward0";
  Define((name + "(Tensor input, bool unbiased=True) -> Tensor").c_str())
      .kernel<spread_all<root>>()
      .vjp(saves, spread_back<root>)
      .node(node)
      .doc(root ? "The standard deviation, divided by n - correction (or n - 1, n by unbiased) before the root."
                : "The variance, divided by n - correction (or n - 1, n by unbiased).");
  Define((name + ".dim(Tensor input, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor").c_str())
      .kernel<spread_dim<root>>()
      .out()
      .vjp(saves, spread_back<root>)
      .node(node);
  Define(
      (name + ".correction(Tensor input, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor")
          .c_str())
      .kernel<spread_correction<root>>()
      .out()
      .vjp(saves, spread_back<root>)
      .node(node);
  Define((pair + (root ? "(Tensor input, bool unbiased=True) -> (Tensor std, Tensor mean)"
                       : "(Tensor input, bool unbiased=True) -> (Tensor var, Tensor mean)"))
             .c_str())
      .kernel<pair_all<root>>()
      .function_only()
      .vjp(saves, pair_back<root>)
      .node(pair_node)
      .doc("The standard deviation or variance, and the mean.");
  Define((pair + ".dim(Tensor input, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)").c_str())
      .kernel<pair_dim<root>>()
      .function_only()
      .vjp(saves, pair_back<root>)
      .node(pair_node);
  Define((pair + ".correction(Tensor input, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> "
                 "(Tensor, Tensor)")
             .c_str())
      .kernel<pair_correction<root>>()
      .function_only()
      .vjp(saves, pair_back<root>)
      .node(pair_node);
}

const Declare ops([] {
  define<false>();
  define<true>();
});

}  // namespace
}  // namespace fl
