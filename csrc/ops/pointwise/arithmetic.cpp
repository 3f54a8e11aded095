// Addition, multiplication and their kin.
#include "tile/pointwise.h"

namespace fl {
namespace FL_ISA {
namespace {

FL_POINTWISE(arithmetic) {
  Pointwise<2>("mul(Tensor input, Tensor|Scalar other) -> Tensor", Rule::Same, "The product of input and other, with broadcasting.")
      .body<kFloat | kInt | kInt32 | kByte | kComplex>([](auto a, auto b) { return a * b; })
      .grad<kSecond, 0>([](auto g, auto, auto b, auto) { return g * conj(b); })
      .grad<kFirst, 1>([](auto g, auto a, auto, auto) { return g * conj(a); });
  // The forms without alpha come first: they are exact for complex infinities and need no multiplication.
  Pointwise<2>("add(Tensor input, Tensor|Scalar other) -> Tensor", Rule::Same, "The sum of input and other, which alpha scales.")
      .body<kFloat | kInt | kInt32 | kByte | kComplex>([](auto a, auto b) { return a + b; })
      .grad<kNothing, 0>([](auto g, auto, auto, auto) { return g; })
      .grad<kNothing, 1>([](auto g, auto, auto, auto) { return g; });
  Pointwise<2>("add.alpha(Tensor input, Tensor|Scalar other, *, Scalar alpha) -> Tensor", Rule::Same)
      .body<kFloat | kInt | kComplex>([](auto a, auto b, auto alpha) { return a + alpha * b; })
      .grad<kNothing, 0>([](auto g, auto, auto, auto, auto) { return g; })
      .grad<kNothing, 1>([](auto g, auto, auto, auto, auto alpha) { return g * alpha; });
}

}  // namespace
}  // namespace FL_ISA
}  // namespace fl
