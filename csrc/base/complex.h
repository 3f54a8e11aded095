// Complex<T>: a pair of floating numbers laid out as C and NumPy lay them out.
//
// Not std::complex: its header takes a quarter of a second to parse, and its operators are templates that per-ISA
// objects would share.
#pragma once

namespace fl {

template <class T>
struct Complex {
  T real, imag;

  constexpr Complex() = default;
  [[gnu::always_inline]] constexpr Complex(T re, T im = 0) : real(re), imag(im) {}
  template <class U>
  [[gnu::always_inline]] constexpr explicit Complex(const Complex<U>& other)
      : real(T(other.real)), imag(T(other.imag)) {}

  [[gnu::always_inline]] friend constexpr bool operator==(Complex a, Complex b) {
    return a.real == b.real && a.imag == b.imag;
  }
};

}  // namespace fl
