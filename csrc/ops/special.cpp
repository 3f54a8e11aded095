// Special functions made of other ops.
#include <limits>

#include "autograd/record.h"
#include "ops/api.h"

namespace fl {
namespace {

Tensor logit(const Tensor& input, std::optional<double> eps) {
  static const Op plain("_C.logit"), clamped("_C.logit_clamped");
  return !eps || *eps < 0 ? plain(input) : clamped(input, *eps);
}

Tensor polygamma_op(int64_t n, const Tensor& input) {
  static const Op general("_C.polygamma");
  FL_CHECK(n >= 0, "polygamma: n must be at least 0, got ", n);
  return n == 0 ? digamma(input) : general(input, n);
}
Tensor polygamma_method(const Tensor& input, int64_t n) { return polygamma_op(n, input); }

Tensor mvlgamma(const Tensor& input, int64_t p) {
  constexpr double kLogPi = 1.14472988584940017414;
  FL_CHECK(p >= 1, "mvlgamma: p has to be greater than or equal to 1, got ", p);
  FL_CHECK(p <= 1 << 24, ErrorKind::OutOfMemory, "mvlgamma: p is too large: ", p, " terms");
  FL_CHECK(!input.is_complex(), ErrorKind::NotImplemented, "\"mvlgamma\" not implemented for '",
           info(input.dtype()).name, "'");
  Tensor x = input.is_floating() ? input : to_dtype(input, default_dtype());
  Tensor sum = lgamma(x);
  for (int64_t j = 1; j < p; j++) sum = sum + lgamma(x - 0.5 * static_cast<double>(j));
  return sum + static_cast<double>(p * (p - 1)) * (kLogPi / 4);
}

double largest(DType t) {
  return t == DType::Half       ? 65504
         : t == DType::BFloat16 ? 3.3895313892515355e38
         : t == DType::Double   ? std::numeric_limits<double>::max()
                                : std::numeric_limits<float>::max();
}
Tensor nan_to_num(const Tensor& input, std::optional<double> nan, std::optional<double> posinf,
                  std::optional<double> neginf) {
  static const Op replace("_C.nan_to_num"), parts("view_as_real"), joined("view_as_complex");
  if (is_integral(input.dtype(), true)) return clone(input);
  double high = largest(real_of(input.dtype()));
  Tensor x = input.is_complex() ? parts(input) : input;
  Tensor y = replace(x, nan.value_or(0), posinf.value_or(high), neginf.value_or(-high));
  return input.is_complex() ? joined(contiguous(y)) : y;
}

const Declare ops([] {
  Define("logit(Tensor input, float? eps=None) -> Tensor")
      .composite<logit>()
      .in_place()
      .out()
      .alias("special.logit")
      .doc(
          "log(input / (1 - input)), with input first limited to [eps, 1 - eps].\n\n>>> "
          "torch.logit(torch.tensor([0.5]))\ntensor([0.])");
  Define("torch.polygamma(int n, Tensor input) -> Tensor")
      .composite<polygamma_op>()
      .out()
      .doc("The n-th derivative of digamma.\n\n>>> torch.polygamma(1, torch.tensor([1.0]))\ntensor([1.6449])");
  Define("special.polygamma(int n, Tensor input) -> Tensor")
      .composite<polygamma_op>()
      .out()
      .doc("The n-th derivative of digamma.");
  Define("Tensor.polygamma(Tensor input, int n) -> Tensor")
      .composite<polygamma_method>()
      .in_place()
      .doc("The n-th derivative of digamma.");
  Define("mvlgamma(Tensor input, int p) -> Tensor")
      .composite<mvlgamma>()
      .in_place()
      .out()
      .alias("special.multigammaln")
      .doc(
          "The logarithm of the multivariate gamma function of dimension p.\n\n>>> torch.mvlgamma(torch.tensor([2.0]), "
          "1)\ntensor([0.])");
  Define("nan_to_num(Tensor input, float? nan=0.0, float? posinf=None, float? neginf=None) -> Tensor")
      .composite<nan_to_num>()
      .in_place()
      .out()
      .doc(
          "NaN and infinities replaced; infinities by the largest numbers when nothing is given.\n\n>>> "
          "torch.nan_to_num(torch.tensor([float('nan'), 1.0]))\ntensor([0., 1.])");
});

}  // namespace
}  // namespace fl
