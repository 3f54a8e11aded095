// The error function and its relatives.
//
// erf is an odd polynomial up to 1; beyond, float uses 1 - 2^p(x) with p fitted to log2(erfc), double 1 - erfc.
// erfc(x) = e^(-x^2) erfcx(x), where erfcx is one polynomial in t = (x - 3.75) / (x + 3.75) for all x >= 0 (Shepherd
// and Laframboise, "Chebyshev approximation of (1 + 2x) exp(x^2) erfc x"). erfinv is piecewise in w = -log(1 - x^2)
// (Giles, "Approximating the erfinv function"). Coefficients: tools/fit_minimax.py. Bounds: erf 1.5 ulp, erfc 5 ulp,
// erfcx 4 ulp for x >= 0, erfinv and ndtri 4 ulp; float versions other than erf and erfinv are computed in double.
#pragma once

#include "exp_log.h"
#include "hyperbolic.h"

namespace fl {
namespace FL_ISA {

inline constexpr double sqrt_half = 0.70710678118654752440;

// erfcx(x) = e^(x^2) erfc(x) for x >= 0.
FL_INLINE Vec<double> erfcx_positive(Vec<double> x) {
  Vec<double> t = (x - Vec<double>(3.75)) / (x + Vec<double>(3.75));
  t = where(x > Vec<double>(0x1p60), Vec<double>(1), t);
  Vec<double> p = polynomial(
      t, 1.2375126308378275, -0.14024059858554697, 0.0035854154854637749, 0.082276738490145163, -0.10880393014171785,
      0.092304321160378761, -0.058693398590212366, 0.028362277418940665, -0.0097465795525042438, 0.0017556258530017257,
      0.00029371363428500811, -0.00029015408097952711, 5.1649211390702855e-5, 2.2384240314224437e-5,
      -1.1444412439171722e-5, -9.7356190151826627e-7, 1.7520579701663180e-6, -5.7215972559909873e-8,
      -2.5910696877966578e-7, 2.3261913276696566e-8, 3.8965452548985966e-8, -3.7435680336345831e-9,
      -5.2842869796314203e-9, 3.1103107198391652e-10, 4.4349590700096280e-10);
  return p / mul_add(x, Vec<double>(2), Vec<double>(1));
}
// e^(sign x^2) with the square in two parts.
FL_INLINE Vec<double> exp_of_square(Vec<double> x, double sign) {
  Vec<double> h = x * x, low = fma(x, x, -h);
  low = where(h < Vec<double>(1e4), low, Vec<double>(0));
  Vec<double> e = exp(h * Vec<double>(sign));
  return where(isinf(e), e, mul_add(e, low * Vec<double>(sign), e));
}
// erf for |x| <= 1.
FL_INLINE Vec<double> erf_small(Vec<double> x) {
  return mul_add(
      x,
      polynomial(x * x, 0.12837916709551256, -0.37612638903183543, 0.11283791670945006, -0.026866170643237770,
                 0.0052239776071164225, -0.00085483259753896918, 0.00012055294904839707, -1.4924736907419661e-5,
                 1.6447424703317362e-6, -1.6208483801871705e-7, 1.3720064546777686e-8, -7.7958988270021425e-10),
      x);
}

inline Vec<double> erf(Vec<double> x) {
  Vec<double> a = abs(x), large = Vec<double>(1) - exp_of_square(a, -1) * erfcx_positive(a);
  return where(a < Vec<double>(1), erf_small(x), copysign(large, x));
}
inline Vec<double> erfc(Vec<double> x) {
  Vec<double> a = abs(x), tail = exp_of_square(a, -1) * erfcx_positive(a);
  Vec<double> result = where(x < Vec<double>(0), Vec<double>(2) - tail, tail);
  return where(a < Vec<double>(0.5), Vec<double>(1) - erf_small(x), result);
}
inline Vec<double> erfcx(Vec<double> x) {
  Vec<double> positive = erfcx_positive(abs(x));
  return where(x < Vec<double>(0), exp_of_square(x, 1) * Vec<double>(2) - positive, positive);
}

FL_INLINE Vec<float> erf(Vec<float> x) {
  Vec<float> a = abs(x);
  Vec<float> small = mul_add(a,
                             polynomial(a * a, 0.1283791661f, -0.3761262596f, 0.1128359437f, -0.02685421146f,
                                        0.005189087242f, -0.0008016864303f, 7.875874871e-5f),
                             a);
  Vec<float> p =
      polynomial(clamp_keep_nan(a, 0.0f, 3.9375f), 0.0004611230106f, -1.630590796f, -0.9114985466f, -0.1588608772f,
                 0.03815461323f, -0.006882714108f, 0.0008650528616f, -6.699615187e-5f, 2.392929673e-6f);
  return copysign(where(a < Vec<float>(0.9375f), small, Vec<float>(1) - exp2(p)), x);
}
inline Vec<double> erfc_for_float(Vec<double> x) {
  Vec<double> a = clamp_keep_nan(abs(x), 0.0, 15.0), t = (a - Vec<double>(3.75)) / (a + Vec<double>(3.75));
  Vec<double> p = polynomial(t, 1.2375126308378275, -0.14024065901788993, 0.0035854380164763370, 0.082278433904752840,
                             -0.10880456454860984, 0.092290691672078762, -0.058688252049401611, 0.028409430391479109,
                             -0.0097646904977876318, 0.0016757342508064283, 0.00032538846455351872,
                             -0.00022405204951954954, 2.3634820068462686e-5);
  Vec<double> n, r = reduce_exp(-(a * a), n);
  Vec<double> scale = power_of_two_shifted(n + Vec<double>(FloatTraits<double>::round_magic));
  Vec<double> tail = mul_add(r * r, exp_tail_for_float(r), r + Vec<double>(1)) * scale * p;
  tail = tail / mul_add(a, Vec<double>(2), Vec<double>(1));
  return where(x < Vec<double>(0), Vec<double>(2) - tail, tail);
}
inline Vec<float> erfc(Vec<float> x) {
  return through_double([](Vec<double> y) { return erfc_for_float(y); }, x);
}
inline Vec<float> erfcx(Vec<float> x) {
  return through_double([](Vec<double> y) { return erfcx(y); }, x);
}

// |erfinv(x)| where w = -log(1 - x^2) and a = |x|; w up to 740 serves the tails of ndtri.
inline Vec<double> erfinv_of_log(Vec<double> a, Vec<double> w) {
  Vec<double> s = sqrt(w), v = w - Vec<double>(3.125);
  Vec<double> low =
      a * polynomial(v, 1.6536545626831027, 0.24015818242558970, -0.0060336708714270109, -0.00074070253416694016,
                     0.00018673420802124271, -1.3882523361276876e-5, -1.3654691796592068e-6, 4.2347877672780653e-7,
                     -2.9070386660191431e-8, -4.1126331042976142e-9, 1.0512202440121784e-9, -5.4154417754696635e-11,
                     -1.2977505202014966e-11, 2.6335724924608484e-12, -8.1065944564384956e-14, -4.0554139746886002e-14,
                     6.5819553059292389e-15, 2.1669946262835741e-17, -1.2907023546130730e-16, 1.1125794759379464e-17,
                     1.1027771591500033e-18, -1.6787330615256773e-19, -2.3623696985661072e-22);
  Mask<double> central = w < Vec<double>(6.25);
  if (central.all()) return low;
  Vec<double> m = s - Vec<double>(3.25);
  Vec<double> middle =
      polynomial(m, 3.0838457231032423, 1.0055052352452993, 0.0046526098392196723, -0.0024458934121345081,
                 0.00085602607058169996, -0.00022201675750971274, 2.4145128018158083e-5, 1.7074768065068560e-5,
                 -1.3807789578575624e-5, 5.0823050937779068e-6, -4.6473254389568204e-7, -6.1941149054124084e-7,
                 3.9752398051539066e-7, -9.6407380440178035e-8, -1.8082279049616797e-8, 2.5460437357234635e-8,
                 -8.7317372127125342e-9, -1.0081330006194249e-9, 1.2948292495325167e-9);
  Vec<double> h = s - Vec<double>(5);
  Vec<double> high =
      polynomial(h, 4.8499064013749065, 1.0103004651943051, -0.00013872089842859611, -0.00021502518738452940,
                 7.5984011950520390e-5, -1.9661727303482434e-5, 4.4971860953555929e-6, -9.5851211787680512e-7,
                 1.9421079404201340e-7, -3.7540829960710242e-8, 6.7639435332698862e-9, -1.0054892167666795e-9,
                 5.0633391768690106e-11, 4.8845527099066705e-11, -4.2193951854595780e-11, 2.5008067701395200e-11,
                 -6.4901480523377270e-12);
  Vec<double> result = where(central, low, where(s < Vec<double>(4), middle, high));
  Mask<double> far = s > Vec<double>(6.03);
  if (far.any()) {
    Vec<double> u = Vec<double>(15) / s - Vec<double>(1.55);
    result = where(
        far,
        s * polynomial(u, 0.98849346323558263, -0.011424339514219169, -0.0014831230360578087, 0.00046925122700616122,
                       -7.7925943618124729e-5, 1.9405745960508365e-5, -6.4014094748841809e-6, 2.3740425451128969e-6,
                       -9.5674400688602193e-7, 4.1117087086439382e-7, -1.8543629636463917e-7, 8.7410096208324846e-8,
                       -4.3015377315071298e-8, 1.9890668026314302e-8, -8.2031691165855818e-9, 7.5639774486024066e-9,
                       -7.1808919703503357e-9, -1.3757964274103928e-9, 4.3745238889618479e-9, 3.0457155386055415e-9,
                       -4.2732583569309985e-9, -1.2716459916222430e-9, 1.7787837963117715e-9, 4.1536607600817763e-10,
                       -4.2690175790134495e-10),
        result);
  }
  return result;
}
inline Vec<double> erfinv(Vec<double> x) {
  Vec<double> a = abs(x), one(1);
  Vec<double> result = erfinv_of_log(a, where(a < Vec<double>(0.5), -log1p(-(a * a)), -log((one - a) * (one + a))));
  result = where(a == one, Vec<double>(infinity_of<double>), where(a > one, Vec<double>(nan_of<double>), result));
  return copysign(result, x);
}
inline Vec<float> erfinv(Vec<float> x) {
  Vec<float> a = abs(x), one(1), w = -log((one - a) * (one + a)), s = sqrt(w);
  Vec<float> v = w - Vec<float>(2.5f),
             low =
                 a * polynomial(v, 1.501409411f, 0.2466402799f, -0.004177392926f, -0.001252726419f, 0.0002183493925f,
                                -4.972419902e-6f, -3.463985195e-6f, 4.681313612e-7f, 2.333596782e-8f, -8.931926310e-9f);
  Vec<float> h = s - Vec<float>(3.125f),
             high = polynomial(h, 2.958235264f, 1.004220366f, 0.005654397421f, -0.002908565104f, 0.0009998598834f,
                               -0.0002364267712f, -3.358792640e-7f, 4.023160363e-5f, -1.646436249e-5f);
  Vec<float> result = where(w < Vec<float>(5), low, high);
  result = where(a == one, Vec<float>(infinity_of<float>), where(a > one, Vec<float>(nan_of<float>), result));
  return copysign(result, x);
}

// The normal distribution's quantile: sqrt(2) erfinv(2p - 1), with 1 - (2p-1)^2 = 4 p (1-p) kept exact in the tails.
inline Vec<double> ndtri(Vec<double> p) {
  Vec<double> zero(0), one(1), x = p + p - one, a = abs(x);
  Vec<double> central = -log1p(-(a * a)), tail = -(log(p) + log1p(-p) + Vec<double>(1.38629436111989061883));
  Vec<double> result =
      erfinv_of_log(a, where(a < Vec<double>(0.5), central, tail)) * Vec<double>(1.41421356237309504880);
  result = where((p == zero) | (p == one), Vec<double>(infinity_of<double>), result);
  result = where((p < zero) | (p > one), Vec<double>(nan_of<double>), result);
  return flip_sign(result, x);
}
inline Vec<float> ndtri(Vec<float> p) {
  return through_double([](Vec<double> y) { return ndtri(y); }, p);
}
// The normal distribution function and its logarithm.
inline Vec<double> ndtr(Vec<double> x) { return erfc(x * Vec<double>(-sqrt_half)) * Vec<double>(0.5); }
inline Vec<double> log_ndtr(Vec<double> x) {
  Vec<double> t = x * Vec<double>(-sqrt_half), one(1);
  Vec<double> left = log(erfcx(maximum(t, Vec<double>(0))) * Vec<double>(0.5)) - t * t;
  return where(x < Vec<double>(-1), left, log1p(erfc(-t) * Vec<double>(-0.5)));
}
inline Vec<float> ndtr(Vec<float> x) {
  return through_double([](Vec<double> y) { return ndtr(y); }, x);
}
inline Vec<float> log_ndtr(Vec<float> x) {
  return through_double([](Vec<double> y) { return log_ndtr(y); }, x);
}

// x times the normal distribution function, by erf and by the tanh approximation (Hendrycks and Gimpel), with their
// derivatives.
FL_INLINE Vec<double> normal_distribution(Vec<double> x) {
  return mul_add(erf(x * Vec<double>(sqrt_half)), Vec<double>(0.5), Vec<double>(0.5));
}
// Absolute error 6e-8: the tail is 2^(a q(a) - 1) with q fitted to its logarithm, cut to 0 where it falls below 2e-8.
FL_INLINE Vec<float> normal_distribution(Vec<float> x) {
  Vec<float> a = abs(x), bounded = clamp_keep_nan(a, 0.0f, 5.625f);
  Vec<float> q = polynomial(bounded, -1.151104331f, -0.4592164755f, -0.05246500671f, 0.006994467694f, -4.622384586e-5f,
                            -0.0002550377976f, 6.888485223e-5f, -9.628088264e-6f, 7.324259741e-7f, -2.390465781e-8f);
  Vec<float> tail = exp2(mul_add(bounded, q, Vec<float>(-1)));
  tail = where(a > Vec<float>(5.625f), Vec<float>(0), tail);
  return where(x < Vec<float>(0), tail, Vec<float>(1) - tail);
}
// An infinite x times a tail of 0 would be NaN.
template <Floating T>
FL_INLINE Vec<T> gelu_erf(Vec<T> x) {
  return where(x == Vec<T>(-infinity_of<T>), Vec<T>(0), x * normal_distribution(x));
}
template <Floating T>
FL_INLINE Vec<T> gelu_erf_gradient(Vec<T> x) {
  Vec<T> bounded = clamp_keep_nan(x, T(-50), T(50));
  Vec<T> density = exp(bounded * bounded * Vec<T>(-0.5)) * Vec<T>(0.39894228040143267794);
  return mul_add(bounded, density, normal_distribution(x));
}
template <Floating T>
FL_INLINE Vec<T> gelu_tanh(Vec<T> x) {
  Vec<T> inner = x * mul_add(x * x, Vec<T>(0.044715 * 0.79788456080286535588), Vec<T>(0.79788456080286535588));
  return x * Vec<T>(0.5) * (Vec<T>(1) + tanh(inner));
}
template <Floating T>
FL_INLINE Vec<T> gelu_tanh_gradient(Vec<T> x) {
  Vec<T> square = x * x, half(0.5), one(1);
  Vec<T> inner = x * mul_add(square, Vec<T>(0.044715 * 0.79788456080286535588), Vec<T>(0.79788456080286535588));
  Vec<T> slope = mul_add(square, Vec<T>(3 * 0.044715 * 0.79788456080286535588), Vec<T>(0.79788456080286535588));
  Vec<T> t = tanh(inner);
  return mul_add(x * half * (one - t * t), slope, half * (one + t));
}

}  // namespace FL_ISA
}  // namespace fl
