// Picks the C++ type that a fill writes.
#pragma once

#include <concepts>
#include <type_traits>

#include "base/dtype.h"

namespace fl {

template <class T>
inline constexpr bool is_reduced_float = std::same_as<T, Half> || std::same_as<T, BFloat16>;

// Bits of the significand, the hidden one included.
template <class T>
inline constexpr int significand_bits = std::same_as<T, Half>       ? 11
                                        : std::same_as<T, BFloat16> ? 8
                                        : std::same_as<T, float>    ? 24
                                                                    : 53;

// A double as an element: the reduced floats round by way of float.
template <class T>
T to_element(double value) {
  if constexpr (is_reduced_float<T>) {
    return T(static_cast<float>(value));
  } else if constexpr (std::same_as<T, Bool>) {
    return Bool(value != 0);
  } else {
    return static_cast<T>(value);
  }
}

// Calls f.template operator()<T>() for a floating dtype.
template <class F>
void visit_floating(DType dtype, F&& f) {
  visit_dtype(dtype, [&]<class T>() {
    if constexpr (is_reduced_float<T> || std::is_floating_point_v<T>) f.template operator()<T>();
  });
}

// Calls f.template operator()<T>() for any dtype but the complex ones.
template <class F>
void visit_real(DType dtype, F&& f) {
  visit_dtype(dtype, [&]<class T>() {
    if constexpr (std::is_arithmetic_v<T> || is_reduced_float<T> || std::same_as<T, Bool>) f.template operator()<T>();
  });
}

}  // namespace fl
