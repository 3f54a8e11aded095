// Functions of statistics and physics: the error function, the gamma function and their relatives.
#include "tile/pointwise.h"

namespace fl {
namespace {
[[maybe_unused]] constexpr double kTwoOverSqrtPi = 1.12837916709551257390, kHalfSqrtPi = 0.88622692545275801365,
                                  kSqrtTwoPi = 2.50662827463100050242;
}  // namespace
#if FL_PRIMARY
namespace {
Tensor special(const char* id, const Tensor& x) { return Op(id)(x); }

Tensor sinc_gradient(const Tensor& g, const Tensor& x) {
  constexpr double pi = 3.14159265358979323846;
  Tensor t = x * pi;
  return where(x == 0, 0, g * conj((cos(t) * t - sin(t)) / (t * x)));
}
Tensor i1_gradient(const Tensor& g, const Tensor& x, const Tensor& y) {
  return g * where(x == 0, 0.5, special("i0", x) - y / x);
}
Tensor i1e_gradient(const Tensor& g, const Tensor& x, const Tensor& y) {
  return g * where(x == 0, 0.5, special("special.i0e", x) - y * (sgn(x) + reciprocal(x)));
}
Tensor log_ndtr_gradient(const Tensor& g, const Tensor& x) {
  constexpr double kSqrtHalf = 0.70710678118654752440, kSqrt2OverPi = 0.79788456080286535588;
  return g / special("special.erfcx", x * -kSqrtHalf) * kSqrt2OverPi;
}
Tensor zeta_gradient(const Tensor& g, const Tensor& x, const Tensor& q) {
  static const Op zeta("special.zeta");
  return g * -x * zeta(x + 1, q);
}
Tensor incomplete_gamma_gradient(const Tensor& g, const Tensor& a, const Tensor& x) {
  return g * exp((a - 1) * log(x) - x - lgamma(a));
}
Tensor polygamma_gradient(const Tensor& g, const Tensor& x, const Scalar& n) {
  return g * polygamma(n.to_int() + 1, x);
}
Tensor logit_gradient(const Tensor& g, const Tensor& x) { return g / (x * (1 - x)); }
}  // namespace
#endif
namespace FL_ISA {
namespace {

FL_POINTWISE(error_functions) {
  Pointwise<1>("erf(Tensor input) -> Tensor", Rule::Float,
               "The error function.\n\n>>> torch.erf(torch.tensor([0.0]))\ntensor([0.])")
      .body<kFloat>([](auto x) { return erf(x); })
      .fused_grad<kFirst>([](auto g, auto x, auto) { return g * (exp(-(x * x)) * 1.12837916709551257390); })
      .cost(6)
      .alias("special.erf");
  Pointwise<1>("erfc(Tensor input) -> Tensor", Rule::Float,
               "1 - erf(input), exact where that is small.\n\n>>> torch.erfc(torch.tensor([0.0]))\ntensor([1.])")
      .body<kFloat>([](auto x) { return erfc(x); })
      .fused_grad<kFirst>([](auto g, auto x, auto) { return g * (exp(-(x * x)) * -1.12837916709551257390); })
      .cost(8)
      .alias("special.erfc");
  Pointwise<1>("special.erfcx(Tensor input) -> Tensor", Rule::Float,
               "exp(input^2) * erfc(input).\n\n>>> torch.special.erfcx(torch.tensor([0.0]))\ntensor([1.])")
      .body<kFloat>([](auto x) { return erfcx(x); })
      .grad<kFirst | kResult>([](auto g, auto x, auto y) { return g * (2 * x * y - kTwoOverSqrtPi); })
      .cost(8)
      .no_in_place();
  Pointwise<1>("erfinv(Tensor input) -> Tensor", Rule::Float,
               "The inverse of erf.\n\n>>> torch.erfinv(torch.tensor([0.0]))\ntensor([0.])")
      .body<kFloat>([](auto x) { return erfinv(x); })
      .grad<kResult>([](auto g, auto, auto y) { return g * (exp(y * y) * kHalfSqrtPi); })
      .cost(8)
      .alias("special.erfinv");
  Pointwise<1>(
      "special.ndtr(Tensor input) -> Tensor", Rule::Float,
      "The standard normal distribution function.\n\n>>> torch.special.ndtr(torch.tensor([0.0]))\ntensor([0.5000])")
      .body<kFloat>([](auto x) { return ndtr(x); })
      .grad<kFirst>([](auto g, auto x, auto) { return g * (exp(x * x * -0.5) / kSqrtTwoPi); })
      .cost(8)
      .no_in_place();
  Pointwise<1>("special.ndtri(Tensor input) -> Tensor", Rule::Float,
               "The inverse of ndtr.\n\n>>> torch.special.ndtri(torch.tensor([0.5]))\ntensor([0.])")
      .body<kFloat>([](auto x) { return ndtri(x); })
      .grad<kResult>([](auto g, auto, auto y) { return g * (exp(y * y * 0.5) * kSqrtTwoPi); })
      .cost(8)
      .no_in_place();
  Pointwise<1>("special.log_ndtr(Tensor input) -> Tensor", Rule::Float,
               "The logarithm of ndtr.\n\n>>> torch.special.log_ndtr(torch.tensor([0.0]))\ntensor([-0.6931])")
      .body<kFloat>([](auto x) { return log_ndtr(x); })
      .grad<kFirst>([](auto g, auto x, auto) { return log_ndtr_gradient(g, x); })
      .cost(8)
      .no_in_place();
}

FL_POINTWISE(gamma_functions) {
  Pointwise<1>("lgamma(Tensor input) -> Tensor", Rule::Float,
               "The logarithm of the absolute value of the gamma function.\n\n>>> torch.lgamma(torch.tensor([1.0, "
               "2.0]))\ntensor([0., 0.])")
      .body<kFloat>([](auto x) { return lgamma(x); })
      .grad<kFirst>([](auto g, auto x, auto) { return g * digamma(x); })
      .cost(16)
      .alias("special.gammaln");
  Pointwise<1>("digamma(Tensor input) -> Tensor", Rule::Float,
               "The derivative of lgamma.\n\n>>> torch.digamma(torch.tensor([1.0]))\ntensor([-0.5772])")
      .body<kFloat>([](auto x) { return digamma(x); })
      .grad<kFirst>([](auto g, auto x, auto) { return g * polygamma(1, x); })
      .cost(16)
      .alias("special.digamma")
      .alias("special.psi");
  Pointwise<1>("_C.polygamma(Tensor input, Scalar n) -> Tensor", Rule::Float)
      .body<kFloat>([](auto x, auto n) { return polygamma(static_cast<int64_t>(n[0]), x); })
      .grad<kFirst>([](auto g, auto x, auto, auto n) { return polygamma_gradient(g, x, n); })
      .cost(32);
#define FL_INCOMPLETE_GAMMA(name, other_name, sign, text)                                                              \
  Pointwise<2>(#name "(Tensor input, Tensor other) -> Tensor", Rule::Float, text)                                      \
      .body<kFloat>([](auto a, auto x) { return name(a, x); })                                                         \
      .grad<kFirst | kSecond, 1>([](auto g, auto a, auto x, auto) { return sign incomplete_gamma_gradient(g, a, x); }) \
      .cost(32)                                                                                                        \
      .alias(other_name);
  FL_INCOMPLETE_GAMMA(igamma, "special.gammainc", ,
                      "The regularized lower incomplete gamma function.\n\n>>> torch.igamma(torch.tensor([1.0]), "
                      "torch.tensor([0.0]))\ntensor([0.])")
  FL_INCOMPLETE_GAMMA(igammac, "special.gammaincc", -,
                      "The regularized upper incomplete gamma function.\n\n>>> torch.igammac(torch.tensor([1.0]), "
                      "torch.tensor([0.0]))\ntensor([1.])")
#undef FL_INCOMPLETE_GAMMA
  Pointwise<2>("special.zeta(Tensor input, Tensor|Scalar other) -> Tensor", Rule::Float,
               "The Hurwitz zeta function.\n\n>>> torch.special.zeta(torch.tensor([2.0]), 1)\ntensor([1.6449])")
      .body<kFloat>([](auto x, auto q) { return zeta(x, q); })
      .grad<kFirst | kSecond, 1>([](auto g, auto x, auto q, auto) { return zeta_gradient(g, x, q); })
      .cost(32)
      .no_in_place();
  Pointwise<2>("special.zeta.Scalar(Scalar self, Tensor other) -> Tensor", Rule::Float)
      .body<kFloat>([](auto x, auto q) { return zeta(x, q); })
      .grad<kFirst | kSecond, 1>([](auto g, auto x, auto q, auto) { return zeta_gradient(g, x, q); })
      .cost(32)
      .no_in_place();
}

FL_POINTWISE(bessel_functions) {
  Pointwise<1>(
      "i0(Tensor input) -> Tensor", Rule::Float,
      "The modified Bessel function of the first kind, of order 0.\n\n>>> torch.i0(torch.tensor([0.0]))\ntensor([1.])")
      .body<kFloat>([](auto x) { return i0(x); })
      .grad<kFirst>([](auto g, auto x, auto) { return g * special("special.i1", x); })
      .cost(16)
      .alias("special.i0");
  Pointwise<1>("special.i0e(Tensor input) -> Tensor", Rule::Float,
               "i0(input) * exp(-|input|).\n\n>>> torch.special.i0e(torch.tensor([0.0]))\ntensor([1.])")
      .body<kFloat>([](auto x) { return i0e(x); })
      .grad<kFirst | kResult>([](auto g, auto x, auto y) { return g * (special("special.i1e", x) - sgn(x) * y); })
      .cost(16)
      .no_in_place();
  Pointwise<1>("special.i1(Tensor input) -> Tensor", Rule::Float,
               "The modified Bessel function of the first kind, of order 1.\n\n>>> "
               "torch.special.i1(torch.tensor([0.0]))\ntensor([0.])")
      .body<kFloat>([](auto x) { return i1(x); })
      .grad<kFirst | kResult>([](auto g, auto x, auto y) { return i1_gradient(g, x, y); })
      .cost(16)
      .no_in_place();
  Pointwise<1>("special.i1e(Tensor input) -> Tensor", Rule::Float,
               "i1(input) * exp(-|input|).\n\n>>> torch.special.i1e(torch.tensor([0.0]))\ntensor([0.])")
      .body<kFloat>([](auto x) { return i1e(x); })
      .grad<kFirst | kResult>([](auto g, auto x, auto y) { return i1e_gradient(g, x, y); })
      .cost(16)
      .no_in_place();
#define FL_BESSEL(name, text)                                                  \
  Pointwise<1>("special." #name "(Tensor input) -> Tensor", Rule::Float, text) \
      .body<kFloat>([](auto x) { return name(x); })                            \
      .cost(16)                                                                \
      .no_in_place();
  FL_BESSEL(bessel_j0, "The Bessel function of the first kind, of order 0.")
  FL_BESSEL(bessel_j1, "The Bessel function of the first kind, of order 1.")
  FL_BESSEL(bessel_y0, "The Bessel function of the second kind, of order 0.")
  FL_BESSEL(bessel_y1, "The Bessel function of the second kind, of order 1.")
  FL_BESSEL(modified_bessel_i0, "The modified Bessel function of the first kind, of order 0.")
  FL_BESSEL(modified_bessel_i1, "The modified Bessel function of the first kind, of order 1.")
  FL_BESSEL(modified_bessel_k0, "The modified Bessel function of the second kind, of order 0.")
  FL_BESSEL(modified_bessel_k1, "The modified Bessel function of the second kind, of order 1.")
#undef FL_BESSEL
#define FL_BESSEL(name, text)                                              \
  Pointwise<1>("special." #name "(Tensor x) -> Tensor", Rule::Float, text) \
      .body<kFloat>([](auto x) { return name(x); })                        \
      .cost(16)                                                            \
      .no_in_place();
  FL_BESSEL(scaled_modified_bessel_k0, "modified_bessel_k0(x) * exp(x).")
  FL_BESSEL(scaled_modified_bessel_k1, "modified_bessel_k1(x) * exp(x).")
  FL_BESSEL(spherical_bessel_j0, "The spherical Bessel function of the first kind, of order 0: sin(x) / x.")
#undef FL_BESSEL
}

FL_POINTWISE(small_functions) {
  Pointwise<1>("sinc(Tensor input) -> Tensor", Rule::Float,
               "sin(pi * input) / (pi * input), 1 at 0.\n\n>>> torch.sinc(torch.tensor([0.0]))\ntensor([1.])")
      .body<kFloat | kComplex>([](auto x) {
        auto t = x * 3.14159265358979323846;
        return where(x == 0, 1, sin(t) / t);
      })
      .grad<kFirst>([](auto g, auto x, auto) { return sinc_gradient(g, x); })
      .cost(8)
      .alias("special.sinc");
  Pointwise<1>("special.entr(Tensor input) -> Tensor", Rule::Float,
               "-input * log(input), 0 at 0 and -inf below.\n\n>>> torch.special.entr(torch.tensor([0.0, "
               "1.0]))\ntensor([0., -0.])")
      .body<kFloat>(
          [](auto x) { return where(isnan(x), x, where(x > 0, -x * log(x), where(x == 0, 0, -__builtin_inf()))); })
      .grad<kFirst>([](auto g, auto x, auto) { return g * (-log(x) - 1); })
      .cost(6)
      .no_in_place();
  Pointwise<1>("_C.logit(Tensor input) -> Tensor", Rule::Float)
      .body<kFloat>([](auto x) { return log(x / (1 - x)); })
      .grad<kFirst>(
          [](auto g, auto x, auto) { return where((x >= 0) & (x <= 1), logit_gradient(g, x), __builtin_nan("")); })
      .cost(6);
  Pointwise<1>("_C.logit_clamped(Tensor input, Scalar eps) -> Tensor", Rule::Float)
      .body<kFloat>([](auto x, auto eps) {
        auto inside = where(x < eps, eps, where(x > 1 - eps, 1 - eps, x));
        return log(inside / (1 - inside));
      })
      .grad<kFirst>([](auto g, auto x, auto, auto eps) {
        return where((x >= eps) & (x <= Scalar(1 - eps.to_double())), logit_gradient(g, x), 0);
      })
      .cost(6);
  Pointwise<1>("deg2rad(Tensor input) -> Tensor", Rule::Float,
               "Degrees to radians.\n\n>>> torch.deg2rad(torch.tensor([180.0]))\ntensor([3.1416])")
      .body<kFloat>([](auto x) { return x * 0.017453292519943295769; })
      .grad<kNothing>([](auto g, auto, auto) { return g * 0.017453292519943295769; });
  Pointwise<1>("rad2deg(Tensor input) -> Tensor", Rule::Float,
               "Radians to degrees.\n\n>>> torch.rad2deg(torch.tensor([0.0]))\ntensor([0.])")
      .body<kFloat>([](auto x) { return x * 57.295779513082320877; })
      .grad<kNothing>([](auto g, auto, auto) { return g * 57.295779513082320877; });
  Pointwise<1>("_C.nan_to_num(Tensor input, Scalar nan, Scalar posinf, Scalar neginf) -> Tensor", Rule::Same)
      .body<kFloat>([](auto x, auto nan, auto high, auto low) {
        return where(isnan(x), nan, where(isinf(x), where(x > 0, high, low), x));
      })
      .grad<kFirst>([](auto g, auto x, auto, auto, auto, auto) { return where(isnan(x) | isinf(x), 0, g); });
}

}  // namespace
}  // namespace FL_ISA
}  // namespace fl
