// Vec, Mask, integer arithmetic, complex numbers and array conversion.
#include <initializer_list>

#include "check.h"
#include "math/math.h"
#include "simd/convert.h"

using namespace fl;
using namespace fl::FL_ISA;

// Every quotient, remainder and shift of a grid of values against 64-bit scalar arithmetic.
template <class T>
void integers(const char* name) {
  using U = std::make_unsigned_t<T>;
  constexpr T least = std::is_signed_v<T> ? T(U(1) << (8 * sizeof(T) - 1)) : T(0), most = T(~U(least));
  T values[] = {T(0),  T(1),  T(2),  T(3),  T(7), T(10),       T(100),
                T(-1), T(-2), T(-7), least, most, T(most - 1), T(least + 1)};
  constexpr int bits = 8 * sizeof(T);
  bool ok = true;
  for (T a : values) {
    for (T b : values) {
      Vec<T> x(a), y(b);
      bool overflows = std::is_signed_v<T> && a == least && b == T(-1);
      T quotient = b == 0 ? T(0) : overflows ? least : T(a / b);
      T rest = b == 0 || overflows ? T(0) : T(a % b);
      bool lower = rest != 0 && (rest < 0) != (b < 0);
      ok &= trunc_divide(x, y)[0] == quotient && (x / y)[0] == quotient && fmod(x, y)[0] == rest;
      ok &= remainder(x, y)[0] == T(lower ? rest + b : rest);
      ok &= floor_divide(x, y)[0] == T(lower ? quotient - 1 : quotient);
      bool inside = b >= 0 && uint64_t(b) < bits;
      ok &= (x << y)[0] == (inside ? T(U(a) << b) : T(0));
      ok &= (x >> y)[0] == (inside ? T(a >> b) : T(a < 0 ? -1 : 0));
      ok &= (x + y)[0] == T(U(a) + U(b)) && (x * y)[0] == T(uint64_t(a) * uint64_t(b));
    }
  }
  ok &= pow(Vec<T>(3), Vec<T>(4))[0] == 81 && pow(Vec<T>(0), Vec<T>(0))[0] == 1;
  ok &= gcd(Vec<T>(12), Vec<T>(18))[0] == 6 && gcd(Vec<T>(0), Vec<T>(5))[0] == 5 && lcm(Vec<T>(4), Vec<T>(6))[0] == 12;
  if constexpr (std::is_signed_v<T>) {
    ok &= pow(Vec<T>(-1), Vec<T>(-3))[0] == -1 && pow(Vec<T>(2), Vec<T>(-1))[0] == 0;
  }
  expect(ok, name);
}

template <class T>
void masks(const char* name) {
  uint8_t truth[64], back[64];
  for (int i = 0; i < 64; i++) truth[i] = i % 3 == 0;
  Mask<T> mask = Mask<T>::load_bool(truth);
  mask.store_bool(back);
  bool ok = std::memcmp(truth, back, Mask<T>::N) == 0 && mask.any() && (Mask<T>::N == 1 || !mask.all());
  ok &= (mask | !mask).all() && !(mask & !mask).any() && !Mask<T>(false).any() && Mask<T>(true).all();
  ok &= where(mask, Vec<T>(1), Vec<T>(2))[0] == T(1);
  expect(ok, name);
}

void minimum_and_maximum() {
  Vec<float> nan(NAN), one(1.0f), two(2.0f);
  expect(maximum(one, two)[0] == 2 && minimum(one, two)[0] == 1, "maximum, minimum");
  expect(isnan(maximum(nan, one)).all() && isnan(maximum(one, nan)).all() && isnan(minimum(one, nan)).all(),
         "NaN wins");
  expect(fmax(nan, one)[0] == 1 && fmax(one, nan)[0] == 1 && fmin(one, nan)[0] == 1, "NaN is ignored");
  expect(round(Vec<double>(2.5))[0] == 2 && round(Vec<double>(-3.5))[0] == -4, "round half to even");
  expect(std::signbit(Vec<double>(-0.0)[0]) && std::signbit((-Vec<float>(0.0f))[0]), "negative zero");
  expect(remainder(Vec<double>(-7), Vec<double>(3))[0] == 2 && floor_divide(Vec<float>(-7), Vec<float>(2))[0] == -4,
         "floor division");
}

void half_precision() {
  static Half half[65536], back[65536];
  static float wide[65536];
  for (int i = 0; i < 65536; i++) half[i] = Half::from_bits(uint16_t(i));
  convert_array(half, wide, 65535);
  convert_array(wide, back, 65535);
  bool ok = true;
  for (int i = 0; i < 65535; i++) {
    float x = float(half[i]);
    ok &= std::isnan(x) ? std::isnan(wide[i]) : (x == wide[i] && back[i].bits == i && Half(x).bits == i);
  }
  expect(ok, "float16 to float and back");
  expect(Half(65519.0f).bits == 0x7bff && Half(65520.0f).bits == 0x7c00, "float16 overflow");
  expect(Half(0x1p-25f).bits == 0 && Half(0x1.8p-25f).bits == 1 && Half(0x1p-24f).bits == 1, "float16 subnormals");
  expect(BFloat16(1.00390625f).bits == 0x3f80 && BFloat16(1.01171875f).bits == 0x3f82, "bfloat16 rounds half to even");
  expect(BFloat16(float(NAN)).bits == 0x7fc0 && BFloat16(FLT_MAX).bits == 0x7f80, "bfloat16 NaN and overflow");
  // The vector path and the scalar one agree on random bits.
  std::mt19937 random(3);
  ok = true;
  for (int i = 0; i < 100000; i++) {
    uint32_t bits = random();
    float x[16];
    std::memcpy(x, &bits, 4);
    if (std::isnan(x[0])) continue;
    Half h[1];
    BFloat16 b[1];
    convert_array(x, h, 1);
    convert_array(x, b, 1);
    ok &= h[0].bits == Half(x[0]).bits && b[0].bits == BFloat16(x[0]).bits;
  }
  expect(ok, "vector and scalar narrowing agree");
}

template <class From, class To>
To converted(From x) {
  From from[1] = {x};
  To to[1];
  convert_array(from, to, 1);
  return to[0];
}
void conversions() {
  expect(converted<float, int32_t>(3e9f) == INT32_MIN && converted<double, int64_t>(1e19) == INT64_MIN, "float to int");
  expect(converted<float, uint8_t>(300.0f) == 44 && converted<float, uint8_t>(-1.0f) == 255, "float to uint8 wraps");
  expect(converted<float, int8_t>(1e10f) == 0 && converted<double, uint32_t>(3e9) == 3000000000u,
         "float to small ints");
  expect(converted<double, uint64_t>(1e19) == 10000000000000000000u, "float to uint64");
  expect(converted<float, Bool>(0.5f).value == 1 && converted<double, Bool>(NAN).value == 1, "non-zero is true");
  Complex<float> z[1] = {{0, 2}};
  double real[1];
  Bool truth[1];
  convert_array(z, real, 1);
  convert_array(z, truth, 1);
  expect(real[0] == 0 && truth[0].value == 1, "complex to real and bool");
}

void complex_numbers() {
  using Z = Vec<Complex<double>>;
  Z a(1.0, 2.0), b(3.0, -4.0), quotient = a / b;
  expect((a * b)[0] == Complex<double>(11, 2), "complex product");
  expect(std::fabs(quotient[0].real + 0.2) < 1e-16 && std::fabs(quotient[0].imag - 0.4) < 1e-16, "complex quotient");
  Z huge = Z(1e300, 1e300) / Z(1e300, 1e300);
  expect(huge[0] == Complex<double>(1, 0), "complex division doesn't overflow");
  Z back = exp(log(a));
  expect(std::fabs(back[0].real - 1) < 1e-15 && std::fabs(back[0].imag - 2) < 1e-15, "complex exp and log");
  Z small = log1p(Z(1e-20, 1e-20));
  expect(small[0].real == 1e-20 && small[0].imag == 1e-20, "complex log1p near 0");
  expect(abs(b)[0] == Complex<double>(5) && conj(b)[0].imag == 4 && sgn(Z(0.0, -2.0))[0].imag == -1, "abs, conj, sgn");
}

int main() {
  integers<int8_t>("int8");
  integers<int16_t>("int16");
  integers<int32_t>("int32");
  integers<int64_t>("int64");
  integers<uint8_t>("uint8");
  integers<uint16_t>("uint16");
  integers<uint32_t>("uint32");
  integers<uint64_t>("uint64");
  masks<int8_t>("mask of int8");
  masks<int16_t>("mask of int16");
  masks<float>("mask of float");
  masks<double>("mask of double");
  masks<Complex<float>>("mask of complex");
  minimum_and_maximum();
  half_precision();
  conversions();
  complex_numbers();
  return failures != 0;
}
