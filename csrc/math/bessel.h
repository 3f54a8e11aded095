// Bessel functions. The modified ones are polynomials: in x^2/4 for small arguments, where the series has positive
// terms only, and in 1/x beyond, after the exponential and the square root are taken out (DLMF 10.40). The ordinary
// ones are the C library's, lane by lane. Coefficients: tools/fit_minimax.py. Bounds in double: I 4 ulp, K 8 ulp.
#pragma once

#include "exp_log.h"

namespace fl {
namespace FL_ISA {

// I0 and I1/(x/2) for x^2/4 <= 16.
FL_INLINE Vec<double> i0_small(Vec<double> z) {
  return polynomial(z, 1.0000000000000000, 1.0000000000000000, 0.25000000000000000, 0.027777777777777776,
                    0.0017361111111111110, 6.9444444444444444e-5, 1.9290123456790115e-6, 3.9367598891408894e-8,
                    6.1511873267808075e-10, 7.5940584281747765e-12, 7.5940584271185046e-14, 6.2760813618749529e-16,
                    4.3583896179286059e-18, 2.5789309018459285e-20, 1.3157647715571507e-22, 5.8487990217380786e-25,
                    2.2804725963057519e-27, 8.0261359253905846e-30, 2.1793775073553446e-32, 1.0061742150886930e-34);
}
FL_INLINE Vec<double> i1_small(Vec<double> z) {
  return polynomial(z, 1.0000000000000000, 0.50000000000000000, 0.083333333333333329, 0.0069444444444444441,
                    0.00034722222222222224, 1.1574074074074073e-5, 2.7557319223985888e-7, 4.9209498614260745e-9,
                    6.8346525853131368e-11, 7.5940584281491919e-13, 6.9036894796425806e-15, 5.2300677956146162e-17,
                    3.3526074600946661e-19, 1.8420930076533157e-21, 8.7717953213822173e-24, 3.6553611428280443e-26,
                    1.3419136635829374e-28, 4.4485254688095780e-31, 1.1615646437553043e-33, 4.9376221913385238e-36);
}
// sqrt(x) e^-x I(x) at u = 1/x <= 1/8.
FL_INLINE Vec<double> i0_large(Vec<double> u) {
  return polynomial(u, 0.39894228040143265, 0.049867785050534762, 0.028050628671274835, 0.029219602555872609,
                    0.044692938448887679, 0.098153506956105044, -0.54424061200935669, 56.457239654000084,
                    -2943.1423611385435, 116739.06801009261, -3528746.8300974434, 82202228.274572060,
                    -1482258725.4616337, 20676614445.749687, -221783831594.40057, 1806768217843.5288,
                    -10947818168480.627, 47689163436038.172, -140925047491560.78, 252718554933504.56,
                    -207526200175237.13);
}
FL_INLINE Vec<double> i1_large(Vec<double> u) {
  return polynomial(u, 0.39894228040143276, -0.14960335515092818, -0.046751048023866718, -0.040907383772438875,
                    -0.057471759197012716, -0.11898373466300560, 0.57169032372808370, -61.362048864834271,
                    3186.2231731542852, -125975.69366532225, 3795446.1001649452, -88127190.273362264,
                    1584033224.1433513, -22028169662.712265, 235582320881.82574, -1913776618310.2964,
                    11565355077671.213, -50253096062969.086, 148153884686411.81, -265102032061121.97,
                    217253733314024.63);
}

// e^-|x| I(x).
inline Vec<double> i0e(Vec<double> x) {
  Vec<double> a = abs(x), z = a * a * Vec<double>(0.25);
  return where(a < Vec<double>(8), exp(-a) * i0_small(z), i0_large(Vec<double>(1) / a) / sqrt(a));
}
inline Vec<double> i1e(Vec<double> x) {
  Vec<double> a = abs(x), half = a * Vec<double>(0.5), z = half * half;
  Vec<double> result = where(a < Vec<double>(8), exp(-a) * i1_small(z) * half, i1_large(Vec<double>(1) / a) / sqrt(a));
  return copysign(result, x);
}
// e^x I, the exponential in two factors where one would overflow.
inline Vec<double> i0(Vec<double> x) {
  Vec<double> a = abs(x), root = exp(a * Vec<double>(0.5)), z = a * a * Vec<double>(0.25);
  Vec<double> large = i0_large(Vec<double>(1) / a) / sqrt(a) * root * root;
  return where(a < Vec<double>(8), i0_small(z), where(isinf(a), a, large));
}
inline Vec<double> i1(Vec<double> x) {
  Vec<double> a = abs(x), root = exp(a * Vec<double>(0.5)), half = a * Vec<double>(0.5), z = half * half;
  Vec<double> large = i1_large(Vec<double>(1) / a) / sqrt(a) * root * root;
  return copysign(where(a < Vec<double>(8), i1_small(z) * half, where(isinf(a), a, large)), x);
}

// K for x <= 1: the logarithmic term plus a polynomial (beyond, the two would cancel); sqrt(x) e^x K(x) at u = 1/x in
// [1/2, 1] and up to 1/2.
FL_INLINE Vec<double> k0_small(Vec<double> x, Vec<double> z) {
  Vec<double> regular =
      polynomial(z, -0.57721566490153287, 0.42278433509846747, 0.23069608377459008, 0.034892157457293446,
                 0.0026147876053822837, 0.00011848050810395896, 3.6120836670898044e-6, 8.0677915976174673e-8);
  return mul_add(-log(x * Vec<double>(0.5)), i0_small(z), regular);
}
FL_INLINE Vec<double> k1_small(Vec<double> x, Vec<double> z) {
  Vec<double> half = x * Vec<double>(0.5);
  Vec<double> regular =
      polynomial(z, 0.15443132980306573, -0.67278433509846725, -0.18157516696084955, -0.019182189839525136,
                 -0.0011153594889100802, -4.1422502958173920e-5, -1.0714228305803241e-6, -2.0755149696985125e-8);
  return mul_add(half, mul_add(log(half), i1_small(z), regular * Vec<double>(0.5)), Vec<double>(1) / x);
}
FL_INLINE Vec<double> k0_large(Vec<double> u) {
  Vec<double> middle =
      polynomial(u - Vec<double>(0.75), 1.1658263717940323, -0.090816936345841329, 0.023469052677276087,
                 -0.0089933096278030523, 0.0042500679277587845, -0.0022963672177012838, 0.0013637668727309871,
                 -0.00086956329919344862, 0.00058628010459122826, -0.00041371086573272088, 0.00030306053313099716,
                 -0.00022670588866294822, 0.00017605766271906311, -0.00016667056405652263, 0.00013633790459494975);
  Vec<double> far =
      polynomial(u, 1.2533141373154999, -0.15666426716386989, 0.088123650110880941, -0.091795448766372911,
                 0.14056050627166866, -0.28458534235709515, 0.71609621526117706, -2.1371608346745394,
                 7.1891642953859041, -25.537452800298396, 89.110538215517607, -286.33663136718354, 806.27868799977580,
                 -1918.3123097691921, 3746.7909271497824, -5848.4205653969693, 7077.0850137675525, -6373.8743563290054,
                 4010.8201568733207, -1570.5806401123773, 287.71253117616232);
  return where(u > Vec<double>(0.5), middle, far);
}
FL_INLINE Vec<double> k1_large(Vec<double> u) {
  Vec<double> middle =
      polynomial(u - Vec<double>(0.75), 1.5519267345222589, 0.34821717816465914, -0.048724509052988099,
                 0.015399590466107626, -0.0065908654170021711, 0.0033477601017618199, -0.0019048559379520463,
                 0.0011766527706508075, -0.00077403281385160548, 0.00053549292618938272, -0.00038592662255775386,
                 0.00028488561735940743, -0.00021865280346680503, 0.00020425755445465768, -0.00016563033615947628);
  Vec<double> far =
      polynomial(u, 1.2533141373155006, 0.46999280149269218, -0.14687275028183325, 0.12851363450271405,
                 -0.18072090321572340, 0.34783333671319755, -0.84642428625713273, 2.4677291710233571,
                 -8.1660414524036984, 28.686517229626311, -99.376196773359382, 317.84797008257556, -892.34462019268767,
                 2118.9007907203872, -4132.9999240837096, 6445.1066150783554, -7793.6845185538541, 7015.5820212115832,
                 -4412.8298849919183, 1727.4487065695396, -316.36748229474171);
  return where(u > Vec<double>(0.5), middle, far);
}
template <class Small, class Large>
FL_INLINE Vec<double> modified_k(Vec<double> x, bool scaled, Small small, Large large) {
  Vec<double> z = x * x * Vec<double>(0.25), one(1);
  Vec<double> near = small(x, z), far = large(one / x) / sqrt(x);
  if (scaled) {
    near = near * exp(x);
  } else {
    far = far * exp(-x);
  }
  Vec<double> result = where(x <= one, near, far);
  result = where(x == Vec<double>(0), Vec<double>(infinity_of<double>), result);
  return where(x < Vec<double>(0), Vec<double>(nan_of<double>), result);
}
inline Vec<double> modified_bessel_k0(Vec<double> x) {
  return modified_k(
      x, false, [](auto a, auto z) { return k0_small(a, z); }, [](auto u) { return k0_large(u); });
}
inline Vec<double> modified_bessel_k1(Vec<double> x) {
  return modified_k(
      x, false, [](auto a, auto z) { return k1_small(a, z); }, [](auto u) { return k1_large(u); });
}
inline Vec<double> scaled_modified_bessel_k0(Vec<double> x) {
  return modified_k(
      x, true, [](auto a, auto z) { return k0_small(a, z); }, [](auto u) { return k0_large(u); });
}
inline Vec<double> scaled_modified_bessel_k1(Vec<double> x) {
  return modified_k(
      x, true, [](auto a, auto z) { return k1_small(a, z); }, [](auto u) { return k1_large(u); });
}
inline Vec<double> modified_bessel_i0(Vec<double> x) { return i0(x); }
inline Vec<double> modified_bessel_i1(Vec<double> x) { return i1(x); }

inline Vec<double> bessel_j0(Vec<double> x) {
  return map_lanes([](double y) { return __builtin_j0(y); }, x);
}
inline Vec<double> bessel_j1(Vec<double> x) {
  return map_lanes([](double y) { return __builtin_j1(y); }, x);
}
inline Vec<double> bessel_y0(Vec<double> x) {
  return map_lanes([](double y) { return __builtin_y0(y); }, x);
}
inline Vec<double> bessel_y1(Vec<double> x) {
  return map_lanes([](double y) { return __builtin_y1(y); }, x);
}
// sin(x) / x, by its series near 0.
inline Vec<double> spherical_bessel_j0(Vec<double> x) {
  return map_lanes(
      [](double y) {
        if (__builtin_isinf(y)) return 0.0;
        return __builtin_fabs(y) < 1e-4 ? 1 - y * y / 6 : __builtin_sin(y) / y;
      },
      x);
}

#define FL_FLOAT_THROUGH_DOUBLE(name)                                \
  inline Vec<float> name(Vec<float> x) {                             \
    return through_double([](Vec<double> y) { return name(y); }, x); \
  }
FL_FLOAT_THROUGH_DOUBLE(i0e)
FL_FLOAT_THROUGH_DOUBLE(i1e)
FL_FLOAT_THROUGH_DOUBLE(i0)
FL_FLOAT_THROUGH_DOUBLE(i1)
FL_FLOAT_THROUGH_DOUBLE(modified_bessel_i0)
FL_FLOAT_THROUGH_DOUBLE(modified_bessel_i1)
FL_FLOAT_THROUGH_DOUBLE(modified_bessel_k0)
FL_FLOAT_THROUGH_DOUBLE(modified_bessel_k1)
FL_FLOAT_THROUGH_DOUBLE(scaled_modified_bessel_k0)
FL_FLOAT_THROUGH_DOUBLE(scaled_modified_bessel_k1)
FL_FLOAT_THROUGH_DOUBLE(bessel_j0)
FL_FLOAT_THROUGH_DOUBLE(bessel_j1)
FL_FLOAT_THROUGH_DOUBLE(bessel_y0)
FL_FLOAT_THROUGH_DOUBLE(bessel_y1)
FL_FLOAT_THROUGH_DOUBLE(spherical_bessel_j0)
#undef FL_FLOAT_THROUGH_DOUBLE

}  // namespace FL_ISA
}  // namespace fl
