// The activation functions of neural networks.
//
// Those of nn.functional take `inplace`; they stand for an op in `_nn`, or in the package where there is one.
#include "tile/pointwise.h"

namespace fl {

constexpr double kSqrtHalf = 0.70710678118654752440, kInvSqrt2Pi = 0.39894228040143267794,
                 kSqrt2OverPi = 0.79788456080286535588;
constexpr double kSeluScale = 1.0507009873554804934193349852946, kSeluAlpha = 1.6732632423543772848170429916717;

#if FL_PRIMARY
// Found beside the vector functions of the same names.
static Tensor gelu_erf_gradient(const Tensor& x) {
  return (erf(x * kSqrtHalf) + 1) * 0.5 + x * exp(x * x * -0.5) * kInvSqrt2Pi;
}
static Tensor gelu_tanh_gradient(const Tensor& x) {
  Tensor square = x * x, t = tanh((square * x * 0.044715 + x) * kSqrt2OverPi);
  return (t + 1) * 0.5 + x * 0.5 * (1 - t * t) * (square * (3 * 0.044715) + 1) * kSqrt2OverPi;
}
#endif

namespace FL_ISA {
namespace {

FL_POINTWISE(rectifiers) {
  Pointwise<1>(
      "relu(Tensor input) -> Tensor", Rule::Same,
      "input where it is positive, 0 elsewhere.\n\n>>> torch.relu(torch.tensor([-1.0, 2.0]))\ntensor([0., 2.])")
      .body<kFloat | kInt | kInt32 | kByte>([](auto x) { return where(x < 0, 0, x); })
      .fused_grad<kResult>([](auto g, auto, auto y) { return where(y <= 0, 0, g); })
      .lacks_bool();
  Pointwise<1>("_nn.relu6(Tensor input) -> Tensor", Rule::Same)
      .body<kFloat | kInt | kInt32 | kByte>([](auto x) { return minimum(where(x < 0, 0, x), 6); })
      .fused_grad<kFirst>([](auto g, auto x, auto) { return where((x <= 0) | (x >= 6), 0, g); })
      .lacks_bool();
  Pointwise<1>("_nn.leaky_relu(Tensor input, Scalar negative_slope=0.01) -> Tensor", Rule::Same)
      .body<kFloat>([](auto x, auto slope) { return where(x > 0, x, x * slope); })
      .fused_grad<kFirst>([](auto g, auto x, auto, auto slope) { return where(x > 0, g, g * slope); });
  Pointwise<2>("_C.prelu(Tensor input, Tensor weight) -> Tensor", Rule::Same)
      .body<kFloat>([](auto x, auto weight) { return where(x > 0, x, x * weight); })
      .grad<kFirst | kSecond, 0>([](auto g, auto x, auto weight, auto) { return where(x > 0, g, g * weight); })
      .grad<kFirst, 1>([](auto g, auto x, auto, auto) { return where(x > 0, 0, g * x); })
      .equal_types();
  Pointwise<1>("threshold(Tensor input, Scalar threshold, Scalar value) -> Tensor", Rule::Same,
               "input where it is above threshold, value elsewhere.\n\n>>> torch.threshold(torch.tensor([0.5, 2.0]), "
               "1, 0)\ntensor([0., 2.])")
      .body<kFloat | kInt | kInt32 | kByte>(
          [](auto x, auto threshold, auto value) { return where(x <= threshold, value, x); })
      .fused_grad<kFirst>([](auto g, auto x, auto, auto threshold, auto) { return where(x <= threshold, 0, g); })
      .lacks_bool()
      .function_only();
  Pointwise<1>("_nn.hardtanh(Tensor input, Scalar min_val=-1, Scalar max_val=1) -> Tensor", Rule::Same)
      .body<kFloat | kInt | kInt32>([](auto x, auto low, auto high) { return minimum(maximum(x, low), high); })
      .fused_grad<kFirst>(
          [](auto g, auto x, auto, auto low, auto high) { return where((x <= low) | (x >= high), 0, g); })
      .lacks_bool()
#if FL_PRIMARY
      .check([](const Value* args, DType) {
        FL_CHECK(args[1].to_double() <= args[2].to_double(), ErrorKind::Value, "hardtanh: min_val ",
                 args[1].to_double(), " cannot be greater than max_val ", args[2].to_double());
      })
#endif
      ;
  Pointwise<1>("_nn.hardsigmoid(Tensor input) -> Tensor", Rule::Same)
      .body<kFloat>([](auto x) { return minimum(maximum(x + 3, 0), 6) / 6; })
      .fused_grad<kFirst>([](auto g, auto x, auto) { return where((x > -3) & (x < 3), g * (1.0 / 6), 0); });
  Pointwise<1>("_nn.hardswish(Tensor input) -> Tensor", Rule::Same)
      .body<kFloat>([](auto x) { return x * minimum(maximum(x + 3, 0), 6) / 6; })
      .fused_grad<kFirst>(
          [](auto g, auto x, auto) { return where(x <= -3, 0, where(x < 3, g * (x * (1.0 / 3) + 0.5), g)); });
  Pointwise<1>("hardshrink(Tensor input, Scalar lambd=0.5) -> Tensor", Rule::Same,
               "input where it is further than lambd from 0, 0 elsewhere.\n\n>>> torch.hardshrink(torch.tensor([0.2, "
               "1.0]))\ntensor([0., 1.])")
      .body<kFloat>([](auto x, auto lambd) { return where((x >= -lambd) & (x <= lambd), 0, x); })
      .fused_grad<kFirst>([](auto g, auto x, auto, auto lambd) { return where((x >= -lambd) & (x <= lambd), 0, g); })
      .no_in_place();
  Pointwise<1>("_nn.softshrink(Tensor input, Scalar lambd=0.5) -> Tensor", Rule::Same)
      .body<kFloat>([](auto x, auto lambd) { return where(x > lambd, x - lambd, where(x < -lambd, x + lambd, x * 0)); })
      .fused_grad<kFirst>([](auto g, auto x, auto, auto lambd) { return where((x >= -lambd) & (x <= lambd), 0, g); })
      .no_in_place();
}

FL_POINTWISE(exponential_units) {
  Pointwise<1>("_nn.elu(Tensor input, Scalar alpha=1) -> Tensor", Rule::Same)
      .body<kFloat>([](auto x, auto alpha) { return (x > 0).all() ? x : where(x > 0, x, alpha * expm1(x)); })
      .fused_grad<kFirst>(
          [](auto g, auto x, auto, auto alpha) { return where(x > 0, g, g * alpha * exp(where(x > 0, 0, x))); })
      .cost(4);
  Pointwise<1>("celu(Tensor input, Scalar alpha=1.0) -> Tensor", Rule::Same,
               "input where positive, alpha * (exp(input / alpha) - 1) elsewhere.\n\n>>> torch.celu(torch.tensor([0.0, "
               "2.0]))\ntensor([0., 2.])")
      .body<kFloat>([](auto x, auto alpha) { return (x > 0).all() ? x : where(x > 0, x, alpha * expm1(x / alpha)); })
      .fused_grad<kFirst>(
          [](auto g, auto x, auto, auto alpha) { return where(x > 0, g, g * exp(where(x > 0, 0, x / alpha))); })
      .cost(4)
      .function_only()
#if FL_PRIMARY
      .check([](const Value* args, DType) {
        FL_CHECK(args[1].to_double() != 0, "celu: ZeroDivisionError: alpha must not be 0");
      })
#endif
      ;
  Pointwise<1>("selu(Tensor input) -> Tensor", Rule::Same,
               "The scaled exponential linear unit of self-normalizing networks.\n\n>>> "
               "torch.selu(torch.tensor([0.0]))\ntensor([0.])")
      .body<kFloat>([](auto x) {
        return (x > 0).all() ? x * kSeluScale : where(x > 0, x * kSeluScale, expm1(x) * (kSeluScale * kSeluAlpha));
      })
      .fused_grad<kFirst>([](auto g, auto x, auto) {
        return where(x > 0, g * kSeluScale, g * exp(where(x > 0, 0, x)) * (kSeluScale * kSeluAlpha));
      })
      .cost(4)
      .function_only();
}

FL_POINTWISE(smooth_units) {
  Pointwise<1>("_nn.silu(Tensor input) -> Tensor", Rule::Same)
      .body<kFloat | kComplex>([](auto x) { return x * sigmoid(x); })
      .fused_grad<kFirst>([](auto g, auto x, auto) {
        auto s = sigmoid(x);
        return g * conj(s * (1 + x * (1 - s)));
      })
      .cost(4);
  Pointwise<1>("_nn.mish(Tensor input) -> Tensor", Rule::Same)
      .body<kFloat>([](auto x) { return x * tanh(maximum(x, 0) + log1p(exp(-abs(x)))); })
      .fused_grad<kFirst>([](auto g, auto x, auto) {
        auto t = tanh(where(x > 0, x, 0) + log1p(exp(-abs(x))));
        return g * (t + x * sigmoid(x) * (1 - t * t));
      })
      .cost(16);
  Pointwise<1>("_C.gelu_erf(Tensor input) -> Tensor", Rule::Same)
      .body<kFloat>([](auto x) { return gelu_erf(x); })
      .fused_grad<kFirst>([](auto g, auto x, auto) { return g * gelu_erf_gradient(x); })
      .cost(6);
  Pointwise<1>("_C.gelu_tanh(Tensor input) -> Tensor", Rule::Same)
      .body<kFloat>([](auto x) { return gelu_tanh(x); })
      .fused_grad<kFirst>([](auto g, auto x, auto) { return g * gelu_tanh_gradient(x); })
      .cost(6);
  Pointwise<1>("nn.softplus(Tensor input, Scalar beta=1, Scalar threshold=20) -> Tensor", Rule::Same,
               "log(1 + exp(beta * input)) / beta, and input itself where beta * input is above threshold.\n\n>>> "
               "torch.nn.functional.softplus(torch.tensor([0.0]))\ntensor([0.6931])")
      .body<kFloat>(
          [](auto x, auto beta, auto threshold) { return where(x * beta > threshold, x, log1p(exp(x * beta)) / beta); })
      .fused_grad<kFirst>([](auto g, auto x, auto, auto beta, auto threshold) {
        return where(x * beta > threshold, g, g * sigmoid(x * beta));
      })
      .cost(8)
      .no_in_place();
  Pointwise<1>("nn.logsigmoid(Tensor input) -> Tensor", Rule::Same,
               "log(sigmoid(input)), without overflow.\n\n>>> "
               "torch.nn.functional.logsigmoid(torch.tensor([0.0]))\ntensor([-0.6931])")
      .body<kFloat>([](auto x) { return minimum(x, 0) - log1p(exp(-abs(x))); })
      .fused_grad<kFirst>([](auto g, auto x, auto) { return g * sigmoid(-x); })
      .cost(8)
      .no_in_place();
  Pointwise<1>("nn.tanhshrink(Tensor input) -> Tensor", Rule::Float,
               "input - tanh(input).\n\n>>> torch.nn.functional.tanhshrink(torch.tensor([0.0]))\ntensor([0.])")
      .body<kFloat | kComplex>([](auto x) { return x - tanh(x); })
      .fused_grad<kFirst>([](auto g, auto x, auto) {
        auto t = conj(tanh(x));
        return g * (t * t);
      })
      .cost(6)
      .no_in_place()
      .no_out();
  Pointwise<1>("nn.softsign(Tensor input) -> Tensor", Rule::Float,
               "input / (1 + |input|).\n\n>>> torch.nn.functional.softsign(torch.tensor([1.0]))\ntensor([0.5000])")
      .body<kFloat>([](auto x) { return x / (1 + abs(x)); })
      .fused_grad<kFirst>([](auto g, auto x, auto) {
        auto d = 1 + abs(x);
        return g / (d * d);
      })
      .no_in_place()
      .no_out();
}

}  // namespace
}  // namespace FL_ISA
}  // namespace fl
