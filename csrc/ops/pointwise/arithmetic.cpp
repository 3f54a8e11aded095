// Addition, multiplication and their kin.
#include "tile/pointwise.h"

namespace fl {
namespace FL_ISA {
namespace {

FL_POINTWISE(products) {
  Pointwise<2>("mul(Tensor input, Tensor|Scalar other) -> Tensor", Rule::Same, "The product of input and other, with broadcasting.")
      .body<kFloat | kInt | kInt32 | kByte | kComplex>([](auto a, auto b) { return a * b; })
      .grad<kSecond, 0>([](auto g, auto, auto b, auto) { return g * conj(b); })
      .grad<kFirst, 1>([](auto g, auto a, auto, auto) { return g * conj(a); });
}

}  // namespace
}  // namespace FL_ISA
}  // namespace fl
