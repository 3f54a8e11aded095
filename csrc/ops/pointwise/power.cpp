// Powers and roots.
#include "tile/pointwise.h"

namespace fl {
#if FL_PRIMARY
namespace {

// The exponents that have a loop of their own.
const PointwiseInfo* simple_power(const Value* args) {
  static const PointwiseInfo &squared = pointwise_info("square(Tensor input) -> Tensor"),
                             &root = pointwise_info("sqrt(Tensor input) -> Tensor"),
                             &inverse = pointwise_info("reciprocal(Tensor input) -> Tensor"),
                             &inverse_root = pointwise_info("rsqrt(Tensor input) -> Tensor"),
                             &cubed = pointwise_info("_C.cube(Tensor input) -> Tensor");
  if (!args[1].is_number() || args[1].tag == Tag::Complex) return nullptr;
  double e = args[1].to_double();
  return e == 2      ? &squared
         : e == 0.5  ? &root
         : e == -1   ? &inverse
         : e == -0.5 ? &inverse_root
         : e == 3    ? &cubed
                     : nullptr;
}

void refuse_negative_exponent(const Value* args, DType compute) {
  FL_CHECK(!is_integral(compute, true) || !args[1].is_number() || args[1].scalar().to_int() >= 0,
           "pow: Integers to negative integer powers are not allowed; convert the base to a floating type");
}

Scalar one_less(const Scalar& e) {
  return e.is_complex() ? Scalar(e.to_complex() - 1.0) : e.is_integral() ? Scalar(e.i - 1) : Scalar(e.d - 1);
}

Scalar number_of(const Tensor& wrapped) {
  DType wide = wrapped.is_complex() ? DType::ComplexDouble : wrapped.is_floating() ? DType::Double : DType::Int64;
  Tensor t = empty({}, wide);
  raw_copy(t, wrapped);
  if (wide == DType::Int64) return Scalar(*t.data<int64_t>());
  return wide == DType::Double ? Scalar(*t.data<double>()) : Scalar(*t.data<std::complex<double>>());
}

Tensor power_base_gradient(const Tensor& g, const Tensor& x, const Tensor& exponent) {
  if (!exponent.is_wrapped_number())
    return where(exponent == 0, 0, zero_stays(g, g * conj(exponent * pow(x, exponent - 1))));
  Scalar e = number_of(exponent);
  if (e.equals(0)) return zeros_like(g);
  if (e.equals(1)) return g;
  if (e.equals(2)) return g * conj(x * 2);
  return zero_stays(g, g * conj(pow(x, one_less(e)) * e));
}

// The exponent's influence at base 0 is none where the power is 0 or 1 whatever the exponent nearby.
Tensor power_exponent_gradient(const Tensor& g, const Tensor& x, const Tensor& exponent, const Tensor& y) {
  Tensor flat = exponent.is_complex() ? (x == 0) & (real(exponent) >= 0) : (x == 0) & (exponent >= 0);
  return where(flat, 0, g * conj(y * log(x)));
}

}  // namespace
#endif
namespace FL_ISA {
namespace {

FL_POINTWISE(powers) {
  Pointwise<1>("_C.cube(Tensor input) -> Tensor", Rule::Same).body<kFloat | kInt | kInt32 | kComplex>([](auto x) {
    return x * x * x;
  });
  Pointwise<2> power("pow(Tensor input, Tensor|Scalar exponent) -> Tensor", Rule::Same,
                     "input raised to the exponent. Raises RuntimeError for integers and a negative integer number.\n\n"
                     ">>> torch.pow(torch.tensor([1.0, 2.0, 3.0]), 2)\ntensor([1., 4., 9.])");
  power.body<kFloat | kInt | kInt32 | kComplex>([](auto a, auto b) { return pow(a, b); })
      .grad<kFirst | kSecond, 0>([](auto g, auto x, auto e, auto) { return power_base_gradient(g, x, e); })
      .grad<kFirst | kSecond | kResult, 1>(
          [](auto g, auto x, auto e, auto y) { return power_exponent_gradient(g, x, e, y); })
      .lacks_bool()
      .cost(8);
#if FL_PRIMARY
  power.substitute(simple_power).check(refuse_negative_exponent);
#endif
  Pointwise<2>("pow.Scalar(Scalar self, Tensor exponent) -> Tensor", Rule::Same)
      .body<kFloat | kInt | kInt32 | kComplex>([](auto a, auto b) { return pow(a, b); })
      .grad<kFirst | kSecond | kResult, 1>(
          [](auto g, auto x, auto e, auto y) { return power_exponent_gradient(g, x, e, y); })
      .lacks_bool()
      .cost(8)
      .no_in_place()
      .function_only();
  Pointwise<1>(
      "sqrt(Tensor input) -> Tensor", Rule::Float,
      "The square root; NaN of negative numbers.\n\n>>> torch.sqrt(torch.tensor([4.0, 9.0]))\ntensor([2., 3.])")
      .body<kFloat | kComplex>([](auto x) { return sqrt(x); })
      .fused_grad<kResult>([](auto g, auto, auto y) { return zero_stays(g, g / conj(y * 2)); });
  Pointwise<1>("rsqrt(Tensor input) -> Tensor", Rule::Float,
               "1 / sqrt(input).\n\n>>> torch.rsqrt(torch.tensor([4.0, 16.0]))\ntensor([0.5000, 0.2500])")
      .body<kFloat | kComplex>([](auto x) { return rsqrt(x); })
      .fused_grad<kResult>([](auto g, auto, auto y) { return zero_stays(g, g * conj(y * y * y) * -0.5); });
}

}  // namespace
}  // namespace FL_ISA
}  // namespace fl
