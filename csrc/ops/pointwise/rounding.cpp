// Rounding.
#include "tile/pointwise.h"

namespace fl {
namespace FL_ISA {
namespace {

FL_POINTWISE(roundings) {
  Pointwise<1>(
      "floor(Tensor input) -> Tensor", Rule::Same,
      "The largest whole number not above input.\n\n>>> torch.floor(torch.tensor([1.5, -1.5]))\ntensor([ 1., -2.])")
      .body<kFloat | kInt | kInt32 | kByte>([](auto x) { return floor(x); })
      .grad<kNothing>([](auto g, auto, auto) { return zeros_like(g); })
      .lacks_bool();
  Pointwise<1>(
      "ceil(Tensor input) -> Tensor", Rule::Same,
      "The smallest whole number not below input.\n\n>>> torch.ceil(torch.tensor([1.5, -1.5]))\ntensor([ 2., -1.])")
      .body<kFloat | kInt | kInt32 | kByte>([](auto x) { return ceil(x); })
      .grad<kNothing>([](auto g, auto, auto) { return zeros_like(g); })
      .lacks_bool();
  Pointwise<1>("trunc(Tensor input) -> Tensor", Rule::Same,
               "input without its fraction.\n\n>>> torch.trunc(torch.tensor([1.5, -1.5]))\ntensor([ 1., -1.])")
      .body<kFloat | kInt | kInt32 | kByte>([](auto x) { return trunc(x); })
      .grad<kNothing>([](auto g, auto, auto) { return zeros_like(g); })
      .lacks_bool()
      .alias("fix");
  Pointwise<1>("round(Tensor input) -> Tensor", Rule::Same,
               "To the nearest whole number, halves to the even one; with decimals, to that many places.\n\n>>> "
               "torch.round(torch.tensor([0.5, 1.5]))\ntensor([0., 2.])")
      .body<kFloat | kInt | kInt32 | kByte>([](auto x) { return round(x); })
      .grad<kNothing>([](auto g, auto, auto) { return zeros_like(g); })
      .lacks_bool()
      .alias("special.round");
  // Scaled by a power of ten; negative places divide first, for powers of ten below 1 are not exact.
  Pointwise<1>("_C.round_scaled(Tensor input, Scalar ten_power, Scalar divides) -> Tensor", Rule::Same)
      .body<kFloat>([](auto x, auto power, auto divides) {
        return where(divides == 0, round(x * power) / power, round(x / power) * power);
      })
      .grad<kNothing>([](auto g, auto, auto, auto, auto) { return zeros_like(g); });
  Pointwise<1>(
      "frac(Tensor input) -> Tensor", Rule::Same,
      "The fraction of input, with its sign.\n\n>>> torch.frac(torch.tensor([1.5, -2.5]))\ntensor([ 0.5000, -0.5000])")
      .body<kFloat>([](auto x) { return frac(x); })
      .grad<kNothing>([](auto g, auto, auto) { return g; });
}

#if FL_PRIMARY
Tensor round_decimals(const Tensor& input, int64_t decimals) {
  static const Op scaled("_C.round_scaled");
  double power = 1;
  for (int64_t i = std::abs(std::clamp<int64_t>(decimals, -400, 400)); i > 0; i--) power *= 10;
  return scaled(input, power, decimals < 0 ? 1.0 : 0.0);
}
const Declare composites([] {
  Define("round.decimals(Tensor input, *, int decimals) -> Tensor").composite<round_decimals>().in_place().out();
});
#endif

}  // namespace
}  // namespace FL_ISA
}  // namespace fl
