// Orthogonal polynomials of `torch.special`, and Airy's function.
#include "math/polynomials.h"

#include "tile/pointwise.h"

namespace fl {
namespace FL_ISA {
namespace {

FL_POINTWISE(polynomials) {
#define FL_POLYNOMIAL(name, expression, text)                                               \
  Pointwise<2>("special." name "(Tensor x, Tensor|Scalar n) -> Tensor", Rule::Float, text)  \
      .body<kFloat>([](auto a, auto degree) {                                               \
        return polynomial_lanes([](double x, int64_t n) { return expression; }, a, degree); \
      })                                                                                    \
      .cost(64)                                                                             \
      .no_in_place();                                                                       \
  Pointwise<2>("special." name ".Scalar(Scalar x, Tensor n) -> Tensor", Rule::Float)        \
      .body<kFloat>([](auto a, auto degree) {                                               \
        return polynomial_lanes([](double x, int64_t n) { return expression; }, a, degree); \
      })                                                                                    \
      .cost(64)                                                                             \
      .no_in_place();
  FL_POLYNOMIAL("chebyshev_polynomial_t", chebyshev_t(x, n), "The Chebyshev polynomial of the first kind of degree n.")
  FL_POLYNOMIAL("chebyshev_polynomial_u", chebyshev_u(x, n), "The Chebyshev polynomial of the second kind of degree n.")
  FL_POLYNOMIAL("chebyshev_polynomial_v", chebyshev_v(x, n), "The Chebyshev polynomial of the third kind of degree n.")
  FL_POLYNOMIAL("chebyshev_polynomial_w", chebyshev_w(x, n), "The Chebyshev polynomial of the fourth kind of degree n.")
  FL_POLYNOMIAL("shifted_chebyshev_polynomial_t", chebyshev_t(2 * x - 1, n),
                "The Chebyshev polynomial of the first kind, shifted to [0, 1].")
  FL_POLYNOMIAL("shifted_chebyshev_polynomial_u", chebyshev_u(2 * x - 1, n),
                "The Chebyshev polynomial of the second kind, shifted to [0, 1].")
  FL_POLYNOMIAL("shifted_chebyshev_polynomial_v", chebyshev_v(2 * x - 1, n),
                "The Chebyshev polynomial of the third kind, shifted to [0, 1].")
  FL_POLYNOMIAL("shifted_chebyshev_polynomial_w", chebyshev_w(2 * x - 1, n),
                "The Chebyshev polynomial of the fourth kind, shifted to [0, 1].")
  FL_POLYNOMIAL("hermite_polynomial_h", hermite_h(x, n), "The physicist's Hermite polynomial of degree n.")
  FL_POLYNOMIAL("hermite_polynomial_he", hermite_he(x, n), "The probabilist's Hermite polynomial of degree n.")
  FL_POLYNOMIAL("laguerre_polynomial_l", laguerre_l(x, n), "The Laguerre polynomial of degree n.")
  FL_POLYNOMIAL("legendre_polynomial_p", legendre_p(x, n), "The Legendre polynomial of degree n.")
#undef FL_POLYNOMIAL
  Pointwise<1>("special.airy_ai(Tensor x) -> Tensor", Rule::Float,
               "Airy's function Ai.\n\n>>> torch.special.airy_ai(torch.tensor([0.0]))\ntensor([0.3550])")
      .body<kFloat>(
          [](auto x) { return map_lanes([](auto lane) { return static_cast<decltype(lane)>(airy_ai(lane)); }, x); })
      .cost(64)
      .no_in_place();
}

}  // namespace
}  // namespace FL_ISA
}  // namespace fl
