// Bits of integers.
#include "tile/pointwise.h"

namespace fl {
namespace FL_ISA {
namespace {

constexpr unsigned kBits = kInt | kInt32 | kByte | kBool;

FL_POINTWISE(bits) {
  Pointwise<1>(
      "bitwise_not(Tensor input) -> Tensor", Rule::Same,
      "Every bit flipped; of bool, logical not.\n\n>>> torch.bitwise_not(torch.tensor([0, 5]))\ntensor([-1, -6])")
      .body<kInt | kInt32 | kByte>([](auto x) { return ~x; })
      .body<kBool>([](auto x) { return x ^ 1; });
#define FL_BITWISE(name, symbol, text)                                                  \
  Pointwise<2>(#name "(Tensor input, Tensor|Scalar other) -> Tensor", Rule::Same, text) \
      .body<kBits>([](auto a, auto b) { return a symbol b; });                          \
  Pointwise<2>(#name ".Scalar(Scalar self, Tensor other) -> Tensor", Rule::Same)        \
      .body<kBits>([](auto a, auto b) { return a symbol b; })                           \
      .no_in_place()                                                                    \
      .function_only();
  FL_BITWISE(bitwise_and, &,
             "The bits set in both; of bool, logical and.\n\n>>> torch.bitwise_and(torch.tensor([6]), 3)\ntensor([2])")
  FL_BITWISE(bitwise_or, |,
             "The bits set in either; of bool, logical or.\n\n>>> torch.bitwise_or(torch.tensor([6]), 3)\ntensor([7])")
  FL_BITWISE(
      bitwise_xor, ^,
      "The bits set in just one; of bool, exclusive or.\n\n>>> torch.bitwise_xor(torch.tensor([6]), 3)\ntensor([5])")
#undef FL_BITWISE
#define FL_SHIFT(name, symbol, text)                                                    \
  Pointwise<2>(#name "(Tensor input, Tensor|Scalar other) -> Tensor", Rule::Same, text) \
      .body<kInt | kInt32 | kByte>([](auto a, auto b) { return a symbol b; })           \
      .lacks_bool();                                                                    \
  Pointwise<2>(#name ".Scalar(Scalar self, Tensor other) -> Tensor", Rule::Same)        \
      .body<kInt | kInt32 | kByte>([](auto a, auto b) { return a symbol b; })           \
      .lacks_bool()                                                                     \
      .no_in_place()                                                                    \
      .function_only();
  FL_SHIFT(bitwise_left_shift, <<,
           "Bits moved up by other; 0 once other reaches the width.\n\n>>> torch.bitwise_left_shift(torch.tensor([1]), "
           "4)\ntensor([16])")
  FL_SHIFT(bitwise_right_shift, >>,
           "Bits moved down by other, keeping the sign.\n\n>>> torch.bitwise_right_shift(torch.tensor([-8]), "
           "1)\ntensor([-4])")
#undef FL_SHIFT
}

}  // namespace
}  // namespace FL_ISA
}  // namespace fl
