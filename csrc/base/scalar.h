// A number from Python: bool, int, float or complex.
#pragma once
#include <complex>
#include <cstdint>
#include <ostream>

#include "base/dtype.h"

namespace fl {

struct Scalar {
  enum class Type : uint8_t { Bool, Int, Float, Complex };
  Type type;
  union {
    int64_t i;
    double d;
    double c[2];
  };
  Scalar() : type(Type::Int), i(0) {}
  Scalar(bool v) : type(Type::Bool), i(v) {}
  Scalar(int v) : type(Type::Int), i(v) {}
  Scalar(int64_t v) : type(Type::Int), i(v) {}
  Scalar(double v) : type(Type::Float), d(v) {}
  Scalar(std::complex<double> v) : type(Type::Complex), c{v.real(), v.imag()} {}

  bool is_integral() const { return type == Type::Int || type == Type::Bool; }
  bool is_complex() const { return type == Type::Complex; }
  bool is_floating() const { return type == Type::Float; }
  double to_double() const { return is_integral() ? static_cast<double>(i) : is_floating() ? d : c[0]; }
  int64_t to_int() const {
    if (is_integral()) return i;
    double v = is_floating() ? d : c[0];
    return v >= -9.2233720368547758e18 && v < 9.2233720368547758e18 ? static_cast<int64_t>(v) : INT64_MIN;
  }
  bool to_bool() const { return is_integral() ? i != 0 : is_floating() ? d != 0 : (c[0] != 0 || c[1] != 0); }
  std::complex<double> to_complex() const {
    return is_complex() ? std::complex<double>(c[0], c[1]) : std::complex<double>(to_double(), 0.0);
  }
  template <class T>
  T to() const {
    if constexpr (std::is_same_v<T, Bool> || std::is_same_v<T, bool>)
      return T(to_bool());
    else if constexpr (std::is_integral_v<T>)
      return static_cast<T>(to_int());
    else if constexpr (std::is_same_v<T, Complex<float>> || std::is_same_v<T, Complex<double>>)
      return T(Complex<double>(to_complex().real(), to_complex().imag()));
    else if constexpr (std::is_same_v<T, double>)
      return to_double();
    else
      return T(static_cast<float>(to_double()));
  }
  Scalar operator-() const {
    switch (type) {
      case Type::Float:
        return Scalar(-d);
      case Type::Complex:
        return Scalar(-to_complex());
      default:
        return Scalar(static_cast<int64_t>(0 - static_cast<uint64_t>(i)));
    }
  }
  bool equals(double v) const { return is_complex() ? c[0] == v && c[1] == 0 : to_double() == v; }
  DType natural_dtype() const {
    return type == Type::Bool    ? DType::Bool
           : type == Type::Int   ? DType::Int64
           : type == Type::Float ? DType::Double
                                 : DType::ComplexDouble;
  }
};

inline std::ostream& operator<<(std::ostream& out, const Scalar& s) {
  if (s.type == Scalar::Type::Bool) return out << (s.i ? "True" : "False");
  if (s.type == Scalar::Type::Int) return out << s.i;
  if (s.is_floating()) return out << s.d;
  return out << '(' << s.c[0] << (s.c[1] < 0 ? "" : "+") << s.c[1] << "j)";
}

}  // namespace fl
