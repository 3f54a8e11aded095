// Complex numbers: their parts and how they are put together.
#include "tile/pointwise.h"

namespace fl {
#if FL_PRIMARY
namespace {
Tensor angle_gradient(const Tensor& g, const Tensor& x) {
  if (!x.is_complex()) return zeros_like(g);
  Tensor square = real(x * conj(x));
  static const Op complex("complex");
  return where(x == 0, 0, complex(-imag(x) * g / square, real(x) * g / square));
}
}  // namespace
#endif
namespace FL_ISA {
namespace {

FL_POINTWISE(complex_numbers) {
  Pointwise<1>("_C.conj_physical(Tensor input) -> Tensor", Rule::Same)
      .body<kComplex>([](auto x) { return conj(x); })
      .grad<kNothing>([](auto g, auto, auto) { return conj(g); });
  Pointwise<1>("angle(Tensor input) -> Tensor", Rule::FloatReal,
               "The angle of a complex number in radians; of a negative real one, pi.\n\n>>> "
               "torch.angle(torch.tensor([1j]))\ntensor([1.5708])")
      .body<kFloat | kComplex>([](auto x) { return angle(x); })
      .grad<kFirst>([](auto g, auto x, auto) { return angle_gradient(g, x); })
      .no_in_place();
  Pointwise<2>("complex(Tensor real, Tensor imag) -> Tensor", Rule::ToComplex,
               "A complex tensor of the real and imaginary parts, of one floating dtype.\n\n>>> "
               "torch.complex(torch.tensor([1.0]), torch.tensor([2.0]))\ntensor([1.+2.j])")
      .body<kComplex>([](auto a, auto b) { return decltype(a)(a.v.real, b.v.real); })
      .grad<kNothing, 0>([](auto g, auto, auto, auto) { return real(g); })
      .grad<kNothing, 1>([](auto g, auto, auto, auto) { return imag(g); })
      .equal_types()
      .exact_out()
      .no_in_place();
  Pointwise<2>("polar(Tensor abs, Tensor angle) -> Tensor", Rule::ToComplex,
               "A complex tensor of absolute values and angles, of one floating dtype.\n\n>>> "
               "torch.polar(torch.tensor([1.0]), torch.tensor([0.0]))\ntensor([1.+0.j])")
      .body<kComplex>([](auto r, auto t) {
        return decltype(r)(r.v.real * __builtin_cos(t.v.real), r.v.real * __builtin_sin(t.v.real));
      })
      .grad<kSecond, 0>([](auto g, auto, auto t, auto) { return real(g) * cos(t) + imag(g) * sin(t); })
      .grad<kFirst | kSecond, 1>([](auto g, auto r, auto t, auto) { return r * (imag(g) * cos(t) - real(g) * sin(t)); })
      .equal_types()
      .exact_out()
      .no_in_place();
}

#if FL_PRIMARY
Tensor conj_op(const Tensor& input) {
  static const Op physical("_C.conj_physical");
  return input.is_complex() ? physical(input) : input;
}
// Conjugates and negatives are never left for later here.
Tensor resolved(const Tensor& input) { return input; }

const Declare composites([] {
  Define("conj(Tensor input) -> Tensor")
      .composite<conj_op>()
      .doc("The complex conjugate.\n\n>>> torch.conj(torch.tensor([1 + 2j]))\ntensor([1.-2.j])");
  Define("conj_physical(Tensor input) -> Tensor").composite<conj_op>().in_place().out().doc("The complex conjugate.");
  Define("resolve_conj(Tensor input) -> Tensor")
      .composite<resolved>()
      .doc("The tensor itself: conj computes its result at once.");
  Define("resolve_neg(Tensor input) -> Tensor")
      .composite<resolved>()
      .doc("The tensor itself: negatives are computed at once.");
});
#endif

}  // namespace
}  // namespace FL_ISA
}  // namespace fl
