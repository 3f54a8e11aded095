// The storage type of bool tensors: one byte, 0 or 1. A type of its own, so that it is never taken for uint8.
#pragma once

#include <cstdint>

namespace fl {

struct Bool {
  uint8_t value;

  constexpr Bool() = default;
  [[gnu::always_inline]] constexpr explicit Bool(bool truth) : value(truth) {}
  [[gnu::always_inline]] constexpr explicit operator bool() const { return value != 0; }
  [[gnu::always_inline]] friend constexpr bool operator==(Bool a, Bool b) { return (a.value != 0) == (b.value != 0); }
};

}  // namespace fl
