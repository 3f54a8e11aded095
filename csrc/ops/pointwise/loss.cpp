// The elements of losses, which nn.functional reduces.
#include "tile/pointwise.h"

namespace fl {
namespace FL_ISA {
namespace {

FL_POINTWISE(losses) {
  Pointwise<1>("_C._smooth_l1_element(Tensor input, Scalar beta) -> Tensor", Rule::Same)
      .body<kFloat>([](auto x, auto beta) {
        auto distance = abs(x);
        return where(distance < beta, distance * distance * 0.5 / beta, distance - beta * 0.5);
      })
      .fused_grad<kFirst>(
          [](auto g, auto x, auto, auto beta) { return where(abs(x) < beta, g * x / beta, g * sign(x)); });
  Pointwise<1>("_C._huber_element(Tensor input, Scalar delta) -> Tensor", Rule::Same)
      .body<kFloat>([](auto x, auto delta) {
        auto distance = abs(x);
        return where(distance <= delta, distance * distance * 0.5, delta * (distance - delta * 0.5));
      })
      .fused_grad<kFirst>(
          [](auto g, auto x, auto, auto delta) { return where(abs(x) <= delta, g * x, g * sign(x) * delta); });
  // Logarithms are at least -100, and what they are divided by at least 1e-12: neither the loss nor its derivative is
  // infinite.
  Pointwise<2>("_C._binary_cross_entropy_element(Tensor input, Tensor target) -> Tensor", Rule::Same)
      .body<kFloat>(
          [](auto x, auto target) { return (target - 1) * maximum(log1p(-x), -100) - target * maximum(log(x), -100); })
      .grad<kFirst | kSecond, 0>([](auto g, auto x, auto target, auto) {
        auto spread = x * (1 - x);
        return g * (x - target) / where(spread < 1e-12, 1e-12, spread);
      })
      .grad<kFirst, 1>([](auto g, auto x, auto, auto) {
        auto no = log1p(-x), yes = log(x);
        return g * (where(no < -100, -100.0, no) - where(yes < -100, -100.0, yes));
      })
      .cost(20);
}

}  // namespace
}  // namespace FL_ISA
}  // namespace fl
