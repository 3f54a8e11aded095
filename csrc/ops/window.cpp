// Window functions of signal processing.
#include <cmath>
#include <numbers>

#include "ops/factory.h"

namespace fl {
namespace {

// f(x) at evenly spaced x in [0, 1]. A periodic window is a symmetric one of one point more without its last point.
template <class F>
Tensor window(const char* op, int64_t length, bool periodic, FL_FACTORY_PARAMETERS, F f) {
  FactoryOptions o = factory_options(FL_FACTORY_ARGUMENTS, default_dtype());
  FL_CHECK(length >= 0, op, " requires a non-negative window_length, got window_length=", length);
  FL_CHECK(!is_complex(o.dtype), ErrorKind::NotImplemented, op, ": not implemented for ", info(o.dtype).name);
  FL_CHECK(is_floating(o.dtype), op, " expects floating point dtypes, got ", info(o.dtype).name);
  Tensor t = empty({&length, 1}, o.dtype, o.device);
  if (t.is_meta()) return o.finish(t);
  double last = static_cast<double>(periodic ? length : length - 1);
  visit_dtype(o.dtype, [&]<class T>() {
    if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      for (int64_t i = 0; i < length; i++)
        t.data<T>()[i] = T(static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(
            length == 1 ? 1.0 : f(static_cast<double>(i) / last)));
  });
  return o.finish(t);
}

double cosine(double x, double times) { return std::cos(2 * std::numbers::pi * times * x); }

Tensor bartlett(int64_t n, bool periodic, FL_FACTORY_PARAMETERS) {
  return window("bartlett_window", n, periodic, FL_FACTORY_ARGUMENTS,
                [](double x) { return x <= 0.5 ? 2 * x : 2 - 2 * x; });
}
Tensor blackman(int64_t n, bool periodic, FL_FACTORY_PARAMETERS) {
  return window("blackman_window", n, periodic, FL_FACTORY_ARGUMENTS,
                [](double x) { return 0.42 - 0.5 * cosine(x, 1) + 0.08 * cosine(x, 2); });
}
Tensor hann(int64_t n, bool periodic, FL_FACTORY_PARAMETERS) {
  return window("hann_window", n, periodic, FL_FACTORY_ARGUMENTS, [](double x) { return 0.5 - 0.5 * cosine(x, 1); });
}
Tensor hamming(int64_t n, bool periodic, double alpha, double beta, FL_FACTORY_PARAMETERS) {
  return window("hamming_window", n, periodic, FL_FACTORY_ARGUMENTS,
                [&](double x) { return alpha - beta * cosine(x, 1); });
}
Tensor kaiser(int64_t n, bool periodic, double beta, FL_FACTORY_PARAMETERS) {
  double at_centre = std::cyl_bessel_i(0.0, std::abs(beta));
  return window("kaiser_window", n, periodic, FL_FACTORY_ARGUMENTS, [&](double x) {
    return std::cyl_bessel_i(0.0, std::abs(beta) * std::sqrt(std::max(0.0, 1 - (2 * x - 1) * (2 * x - 1)))) / at_centre;
  });
}

const Declare ops([] {
  Define("bartlett_window(int window_length, bool periodic=True, *, " FL_FACTORY_OPTIONS ") -> Tensor")
      .kernel<bartlett>()
      .doc("The Bartlett window: a triangle.");
  Define("blackman_window(int window_length, bool periodic=True, *, " FL_FACTORY_OPTIONS ") -> Tensor")
      .kernel<blackman>()
      .doc("The Blackman window.");
  Define("hann_window(int window_length, bool periodic=True, *, " FL_FACTORY_OPTIONS ") -> Tensor")
      .kernel<hann>()
      .doc("The Hann window: a raised cosine.");
  Define(
      "hamming_window(int window_length, bool periodic=True, float alpha=0.54, float beta=0.46, *, " FL_FACTORY_OPTIONS
      ") -> Tensor")
      .kernel<hamming>()
      .doc("The Hamming window alpha - beta cos.");
  Define("kaiser_window(int window_length, bool periodic=True, float beta=12.0, *, " FL_FACTORY_OPTIONS ") -> Tensor")
      .kernel<kaiser>()
      .doc("The Kaiser window with the shape parameter beta.");
});

}  // namespace
}  // namespace fl
