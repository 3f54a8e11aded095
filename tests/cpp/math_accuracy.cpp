// The error of csrc/math in units in the last place, against long double, and its special values against the C library.
// Prints the worst case of each function and fails if one passes its bound.
#include <algorithm>
#include <initializer_list>

#include "check.h"
#include "math/math.h"

using namespace fl::FL_ISA;

// The worst error over random points in [low, high] (logarithmically spaced where `logarithmic`).
template <class T, class F, class R>
void measure(const char* name, F function, R reference, double low, double high, double bound, bool logarithmic) {
  constexpr int count = 6400;
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(0, 1);
  long double worst = 0;
  double at = 0;
  for (int i = 0; i < count; i += Vec<T>::N) {
    T in[Vec<T>::N], out[Vec<T>::N];
    for (T& x : in)
      x = T(logarithmic ? low * std::pow(high / low, uniform(random)) : low + (high - low) * uniform(random));
    function(Vec<T>::load(in)).store(out);
    for (int j = 0; j < Vec<T>::N; j++) {
      long double error = ulps(out[j], reference((long double)in[j]));
      if (!(error <= worst)) {
        worst = error;
        at = in[j];
      }
      // A value doesn't depend on its lane or its neighbours.
      if (j == 0) {
        T alone = function(Vec<T>(in[j]))[Vec<T>::N - 1];
        if (std::memcmp(&alone, &out[j], sizeof(T)) != 0) {
          failures++;
          std::printf("FAIL %s: %a depends on its lane\n", name, double(in[j]));
        }
      }
    }
  }
  bool bad = !(worst <= bound);
  failures += bad;
  std::printf("%s %-10s %-6s %8.3Lf ulp at %.9g\n", bad ? "FAIL" : "ok  ", name, sizeof(T) == 4 ? "float" : "double",
              worst, at);
}
template <class T, class F, class R>
void special_values(const char* name, F function, R reference) {
  T tiny = T(sizeof(T) == 4 ? 1e-40 : 1e-310), largest = T(sizeof(T) == 4 ? FLT_MAX : DBL_MAX);
  for (T x :
       {T(0), T(-0.0), T(INFINITY), T(-INFINITY), T(NAN), tiny, -tiny, T(1), T(-1), T(2), T(-2), largest, -largest}) {
    T got = function(Vec<T>(x))[0];
    long double exact = reference((long double)x);
    // lgamma(-0.0) and such: the sign of a zero or infinite result counts.
    bool sign_matters = !std::isnan(exact) && (exact == 0 || std::isinf(T(exact)));
    if (ulps(got, exact) > 5 || (sign_matters && std::signbit(got) != std::signbit(exact))) {
      failures++;
      std::printf("FAIL %s(%g) = %.17g, not %.17Lg\n", name, double(x), double(got), exact);
    }
  }
}

#define RANGE(name, low, high, float_bound, double_bound, logarithmic)                                          \
  measure<float>(                                                                                               \
      #name, [](auto x) { return name(x); }, [](long double x) { return name##l(x); }, low, high, float_bound,  \
      logarithmic);                                                                                             \
  measure<double>(                                                                                              \
      #name, [](auto x) { return name(x); }, [](long double x) { return name##l(x); }, low, high, double_bound, \
      logarithmic);
#define LINEAR(name, low, high, float_bound, double_bound) RANGE(name, low, high, float_bound, double_bound, false)
#define LOGARITHMIC(name, low, high, float_bound, double_bound) RANGE(name, low, high, float_bound, double_bound, true)
#define SPECIAL(name)                                                                   \
  special_values<float>(                                                                \
      #name, [](auto x) { return name(x); }, [](long double x) { return name##l(x); }); \
  special_values<double>(                                                               \
      #name, [](auto x) { return name(x); }, [](long double x) { return name##l(x); });

static long double sigmoidl(long double x) { return 1 / (1 + expl(-x)); }
static long double rsqrtl(long double x) { return 1 / sqrtl(x); }

template <class T>
void measure_pow(double bound) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> uniform(0, 1);
  long double worst = 0;
  for (int i = 0; i < 20000; i++) {
    T x = T(std::exp(std::pow(10.0, 3 * uniform(random) - 3) * (i % 2 ? 1 : -1)));
    T y = T(std::pow(10.0, 4 * uniform(random) - 3) * (i % 3 ? 1 : -1));
    long double exact = powl(x, y);
    if (std::fabs(exact) < (sizeof(T) == 4 ? FLT_MIN : DBL_MIN)) continue;
    worst = std::max(worst, ulps(pow(Vec<T>(x), Vec<T>(y))[0], exact));
  }
  bool bad = !(worst <= bound);
  failures += bad;
  std::printf("%s pow        %-6s %8.3Lf ulp\n", bad ? "FAIL" : "ok  ", sizeof(T) == 4 ? "float" : "double", worst);
}
template <class T>
void binary_special_values() {
  double tiny = sizeof(T) == 4 ? 1e-40 : 1e-310, huge = sizeof(T) == 4 ? 1e38 : 1e308;
  double values[] = {0, -0.0, 1, -1, 2, -2, 3, -3, 0.5, -0.5, INFINITY, -INFINITY, NAN, tiny, -tiny, huge, -huge, 1e17};
  auto check = [](const char* name, T x, T y, T got, T exact, double bound) {
    bool sign_differs = !std::isnan(exact) && std::signbit(got) != std::signbit(exact);
    if (ulps(got, (long double)exact) > bound || sign_differs) {
      failures++;
      std::printf("FAIL %s(%g, %g) = %.17g, not %.17g\n", name, double(x), double(y), double(got), double(exact));
    }
  };
  for (double a : values) {
    for (double b : values) {
      T x = T(a), y = T(b);
      Vec<T> u(x), v(y);
      check("pow", x, y, pow(u, v)[0], T(powl(x, y)), 1.5);
      check("atan2", x, y, atan2(u, v)[0], T(atan2l(x, y)), 3);
      check("hypot", x, y, hypot(u, v)[0], T(hypotl(x, y)), 1.5);
      check("fmod", x, y, fmod(u, v)[0], T(std::fmod(x, y)), 0);
      check("nextafter", x, y, nextafter(u, v)[0], std::nextafter(x, y), 0);
      check("copysign", x, y, copysign(u, v)[0], std::copysign(x, y), 0);
    }
  }
}

int main() {
  LINEAR(exp, -87, 88, 1.1, 1.2)
  LINEAR(exp2, -126, 127, 1.2, 1.2)
  LINEAR(expm1, -3, 3, 2, 2)
  LINEAR(sigmoid, -40, 40, 2.5, 2.5)
  LOGARITHMIC(log, 1e-37, 1e37, 1, 1)
  LINEAR(log, 0.5, 2, 1, 1)
  LINEAR(log1p, -0.9, 2, 1, 1)
  LINEAR(log2, 0.5, 2, 1.5, 1)
  LINEAR(log10, 0.5, 2, 2, 1)
  LOGARITHMIC(log10, 1e-37, 1e37, 1.5, 1)
  LINEAR(rsqrt, 0.1, 10, 1.5, 1.5)
  LINEAR(sin, -4, 4, 1.5, 1.5)
  LINEAR(sin, -1e4, 1e4, 1.5, 1.5)
  LOGARITHMIC(sin, 1e4, 1e30, 1.5, 1.5)
  LINEAR(cos, -4, 4, 1.5, 1.5)
  LINEAR(cos, -1e6, 1e6, 1.5, 1.5)
  LINEAR(tan, -10, 10, 0.51, 2.5)
  LINEAR(asin, -1, 1, 0.51, 2.5)
  LINEAR(acos, -1, 1, 0.51, 1.5)
  LINEAR(atan, -4, 4, 2.5, 2.5)
  LINEAR(sinh, -4, 4, 2, 2)
  LINEAR(sinh, -80, 80, 2, 2)
  LINEAR(cosh, -80, 80, 2, 2)
  LINEAR(tanh, -6, 6, 1.5, 1.5)
  LINEAR(asinh, -3, 3, 0.51, 2)
  LOGARITHMIC(asinh, 1e-10, 1e30, 0.51, 2)
  LINEAR(acosh, 1, 4, 0.51, 2.5)
  LINEAR(atanh, -1, 1, 2.5, 2.5)
  LINEAR(erf, -5, 5, 1.5, 1.5)
  LINEAR(erfc, -5, 9, 0.7, 5.5)
  LINEAR(lgamma, 0.1, 30, 0.7, 4)
  measure_pow<float>(0.55);
  measure_pow<double>(1.1);

  SPECIAL(exp)
  SPECIAL(exp2)
  SPECIAL(expm1)
  SPECIAL(log) SPECIAL(log1p) SPECIAL(log2) SPECIAL(log10) SPECIAL(sin) SPECIAL(cos) SPECIAL(tan) SPECIAL(asin)
      SPECIAL(acos) SPECIAL(atan) SPECIAL(sinh) SPECIAL(cosh) SPECIAL(tanh) SPECIAL(asinh) SPECIAL(acosh) SPECIAL(atanh)
          SPECIAL(erf) SPECIAL(erfc) SPECIAL(lgamma) SPECIAL(sqrt) SPECIAL(floor) SPECIAL(ceil) SPECIAL(trunc)
              binary_special_values<float>();
  binary_special_values<double>();
  return failures != 0;
}
