// What the test programs of csrc/math share: a failure counter and distances in units in the last place.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>

inline int failures = 0;

// One unit in the last place of T at the magnitude of `exact`.
template <class T>
long double unit_at(long double exact) {
  int exponent;
  std::frexp(std::fabs(exact), &exponent);
  constexpr int digits = sizeof(T) == 4 ? FLT_MANT_DIG : DBL_MANT_DIG,
                least = sizeof(T) == 4 ? FLT_MIN_EXP : DBL_MIN_EXP;
  return std::ldexp(1.0L, std::max(exponent, least) - digits);
}
template <class T>
long double ulps(T got, long double exact) {
  if (std::isnan(exact)) return std::isnan(got) ? 0 : INFINITY;
  T rounded = T(exact);
  if (got == rounded) return std::isinf(got) ? 0 : std::fabs((long double)got - exact) / unit_at<T>(exact);
  if (std::isnan(got) || std::isinf(got) || std::isinf(rounded)) return INFINITY;
  return std::fabs((long double)got - exact) / unit_at<T>(exact);
}

inline void expect(bool condition, const char* what) {
  if (condition) return;
  failures++;
  std::printf("FAIL %s\n", what);
}
