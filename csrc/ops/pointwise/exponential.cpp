// Exponentials and logarithms.
#include "tile/pointwise.h"

namespace fl {
namespace FL_ISA {
namespace {

constexpr double kLn2 = 0.69314718055994530942, kLn10 = 2.30258509299404568402;

FL_POINTWISE(exponentials) {
  Pointwise<1>("exp(Tensor input) -> Tensor", Rule::Float,
               "e to the power of input.\n\n>>> torch.exp(torch.tensor([0.0, 1.0]))\ntensor([1.0000, 2.7183])")
      .body<kFloat | kComplex>([](auto x) { return exp(x); })
      .fused_grad<kResult>([](auto g, auto, auto y) { return zero_stays(g, g * conj(y)); })
      .cost(4);
  Pointwise<1>("exp2(Tensor input) -> Tensor", Rule::Float,
               "2 to the power of input.\n\n>>> torch.exp2(torch.tensor([0.0, 3.0]))\ntensor([1., 8.])")
      .body<kFloat | kComplex>([](auto x) { return exp2(x); })
      .fused_grad<kResult>([](auto g, auto, auto y) { return zero_stays(g, g * conj(y) * kLn2); })
      .cost(4)
      .alias("special.exp2");
  Pointwise<1>("expm1(Tensor input) -> Tensor", Rule::Float,
               "exp(input) - 1, exact for small numbers.\n\n>>> torch.expm1(torch.tensor([0.0]))\ntensor([0.])")
      .body<kFloat | kComplex>([](auto x) { return expm1(x); })
      .fused_grad<kResult>([](auto g, auto, auto y) { return zero_stays(g, g * (conj(y) + 1)); })
      .cost(4)
      .alias("special.expm1");
  Pointwise<1>("sigmoid(Tensor input) -> Tensor", Rule::Float,
               "1 / (1 + exp(-input)).\n\n>>> torch.sigmoid(torch.tensor([0.0]))\ntensor([0.5000])")
      .body<kFloat | kComplex>([](auto x) { return sigmoid(x); })
      .fused_grad<kResult>([](auto g, auto, auto y) { return g * conj((1 - y) * y); })
      .cost(4)
      .alias("special.expit")
      .alias("nn.sigmoid");
}

FL_POINTWISE(logarithms) {
  Pointwise<1>("log(Tensor input) -> Tensor", Rule::Float,
               "The natural logarithm.\n\n>>> torch.log(torch.tensor([1.0, 0.0]))\ntensor([0., -inf])")
      .body<kFloat | kComplex>([](auto x) { return log(x); })
      .fused_grad<kFirst>([](auto g, auto x, auto) { return zero_stays(g, g / conj(x)); })
      .cost(4);
  Pointwise<1>("log2(Tensor input) -> Tensor", Rule::Float,
               "The logarithm to base 2.\n\n>>> torch.log2(torch.tensor([8.0]))\ntensor([3.])")
      .body<kFloat | kComplex>([](auto x) { return log2(x); })
      .fused_grad<kFirst>([](auto g, auto x, auto) { return zero_stays(g, g / (conj(x) * kLn2)); })
      .cost(4);
  Pointwise<1>("log10(Tensor input) -> Tensor", Rule::Float,
               "The logarithm to base 10.\n\n>>> torch.log10(torch.tensor([100.0]))\ntensor([2.])")
      .body<kFloat | kComplex>([](auto x) { return log10(x); })
      .fused_grad<kFirst>([](auto g, auto x, auto) { return zero_stays(g, g / (conj(x) * kLn10)); })
      .cost(4);
  Pointwise<1>("log1p(Tensor input) -> Tensor", Rule::Float,
               "log(1 + input), exact for small numbers.\n\n>>> torch.log1p(torch.tensor([0.0]))\ntensor([0.])")
      .body<kFloat | kComplex>([](auto x) { return log1p(x); })
      .fused_grad<kFirst>([](auto g, auto x, auto) { return zero_stays(g, g / (conj(x) + 1)); })
      .cost(4)
      .alias("special.log1p");
}

}  // namespace
}  // namespace FL_ISA
}  // namespace fl
