// Trigonometric and hyperbolic functions.
#include "tile/pointwise.h"

namespace fl {
namespace FL_ISA {
namespace {

FL_POINTWISE(circular) {
  Pointwise<1>("sin(Tensor input) -> Tensor", Rule::Float,
               "The sine.\n\n>>> torch.sin(torch.tensor([0.0]))\ntensor([0.])")
      .body<kFloat | kComplex>([](auto x) { return sin(x); })
      .fused_grad<kFirst>([](auto g, auto x, auto) { return g * conj(cos(x)); })
      .cost(6);
  Pointwise<1>("cos(Tensor input) -> Tensor", Rule::Float,
               "The cosine.\n\n>>> torch.cos(torch.tensor([0.0]))\ntensor([1.])")
      .body<kFloat | kComplex>([](auto x) { return cos(x); })
      .fused_grad<kFirst>([](auto g, auto x, auto) { return -g * conj(sin(x)); })
      .cost(6);
  Pointwise<1>("tan(Tensor input) -> Tensor", Rule::Float,
               "The tangent.\n\n>>> torch.tan(torch.tensor([0.0]))\ntensor([0.])")
      .body<kFloat | kComplex>([](auto x) { return tan(x); })
      .fused_grad<kResult>([](auto g, auto, auto y) { return g * conj(y * y + 1); })
      .cost(8);
  Pointwise<1>("asin(Tensor input) -> Tensor", Rule::Float,
               "The arcsine.\n\n>>> torch.asin(torch.tensor([0.0]))\ntensor([0.])")
      .body<kFloat | kComplex>([](auto x) { return asin(x); })
      .fused_grad<kFirst>([](auto g, auto x, auto) { return zero_stays(g, g * conj(rsqrt(1 - x * x))); })
      .cost(8)
      .alias("arcsin");
  Pointwise<1>("acos(Tensor input) -> Tensor", Rule::Float,
               "The arccosine.\n\n>>> torch.acos(torch.tensor([1.0]))\ntensor([0.])")
      .body<kFloat | kComplex>([](auto x) { return acos(x); })
      .fused_grad<kFirst>([](auto g, auto x, auto) { return zero_stays(g, -g * conj(rsqrt(1 - x * x))); })
      .cost(8)
      .alias("arccos");
  Pointwise<1>("atan(Tensor input) -> Tensor", Rule::Float,
               "The arctangent.\n\n>>> torch.atan(torch.tensor([0.0]))\ntensor([0.])")
      .body<kFloat | kComplex>([](auto x) { return atan(x); })
      .fused_grad<kFirst>([](auto g, auto x, auto) { return g / conj(x * x + 1); })
      .cost(8)
      .alias("arctan");
}

FL_POINTWISE(hyperbolic) {
  Pointwise<1>("sinh(Tensor input) -> Tensor", Rule::Float,
               "The hyperbolic sine.\n\n>>> torch.sinh(torch.tensor([0.0]))\ntensor([0.])")
      .body<kFloat | kComplex>([](auto x) { return sinh(x); })
      .fused_grad<kFirst>([](auto g, auto x, auto) { return zero_stays(g, g * conj(cosh(x))); })
      .cost(6);
  Pointwise<1>("cosh(Tensor input) -> Tensor", Rule::Float,
               "The hyperbolic cosine.\n\n>>> torch.cosh(torch.tensor([0.0]))\ntensor([1.])")
      .body<kFloat | kComplex>([](auto x) { return cosh(x); })
      .fused_grad<kFirst>([](auto g, auto x, auto) { return zero_stays(g, g * conj(sinh(x))); })
      .cost(6);
  Pointwise<1>("tanh(Tensor input) -> Tensor", Rule::Float,
               "The hyperbolic tangent.\n\n>>> torch.tanh(torch.tensor([0.0]))\ntensor([0.])")
      .body<kFloat | kComplex>([](auto x) { return tanh(x); })
      .fused_grad<kResult>([](auto g, auto, auto y) { return g * conj(1 - y * y); })
      .cost(6)
      .alias("nn.tanh");
  Pointwise<1>("asinh(Tensor input) -> Tensor", Rule::Float,
               "The inverse hyperbolic sine.\n\n>>> torch.asinh(torch.tensor([0.0]))\ntensor([0.])")
      .body<kFloat | kComplex>([](auto x) { return asinh(x); })
      .fused_grad<kFirst>([](auto g, auto x, auto) { return g * conj(rsqrt(x * x + 1)); })
      .cost(8)
      .alias("arcsinh");
  Pointwise<1>("acosh(Tensor input) -> Tensor", Rule::Float,
               "The inverse hyperbolic cosine.\n\n>>> torch.acosh(torch.tensor([1.0]))\ntensor([0.])")
      .body<kFloat | kComplex>([](auto x) { return acosh(x); })
      .fused_grad<kFirst>([](auto g, auto x, auto) { return zero_stays(g, g * conj(rsqrt(x - 1) * rsqrt(x + 1))); })
      .cost(8)
      .alias("arccosh");
  Pointwise<1>("atanh(Tensor input) -> Tensor", Rule::Float,
               "The inverse hyperbolic tangent.\n\n>>> torch.atanh(torch.tensor([0.0]))\ntensor([0.])")
      .body<kFloat | kComplex>([](auto x) { return atanh(x); })
      .fused_grad<kFirst>([](auto g, auto x, auto) { return zero_stays(g, g / (1 - conj(x * x))); })
      .cost(8)
      .alias("arctanh");
}

}  // namespace
}  // namespace FL_ISA
}  // namespace fl
