// Ops of several operands: interpolation, fused products, angles, and functions of pairs.
#include "tile/pointwise.h"

namespace fl {
#if FL_PRIMARY
namespace {
void refuse_integers(const Value* args, DType compute) {
  FL_CHECK(!is_integral(compute, true),
           "addcdiv: integer division is not supported; convert to a floating type first, or use div with "
           "rounding_mode, got ",
           info(args[0].tensor->dtype).name);
}
Tensor inverse_square_sum(const Tensor& a, const Tensor& b) {
  Tensor sum = a * a + b * b;
  return where(sum == 0, 0, reciprocal(sum));
}
}  // namespace
#endif
namespace FL_ISA {
namespace {

// Whether |weight| < 0.5: then the sum from the start is the exact one, otherwise the one from the end.
template <class T>
FL_INLINE Mask<T> near_start(Vec<T> weight) {
  return abs(weight) < Vec<T>(0.5);
}
template <class T>
FL_INLINE Mask<Complex<T>> near_start(Vec<Complex<T>> w) {
  return Mask<Complex<T>>(w.v.real * w.v.real + w.v.imag * w.v.imag < T(0.25));
}

// The larger operand goes in front: then the exponential can't overflow.
template <class T>
Vec<Complex<T>> logaddexp(Vec<Complex<T>> a, Vec<Complex<T>> b) {
  return a.v.real >= b.v.real ? a + log1p(exp(b - a)) : b + log1p(exp(a - b));
}

FL_POINTWISE(mixtures) {
  Pointwise<3>(
      "lerp(Tensor input, Tensor end, Tensor|Scalar weight) -> Tensor", Rule::First,
      "input + weight * (end - input).\n\n>>> torch.lerp(torch.tensor([0.0]), torch.tensor([10.0]), 0.3)\ntensor([3.])")
      .body<kFloat | kComplex>(
          [](auto a, auto b, auto w) { return where(near_start(w), a + w * (b - a), b - (b - a) * (1 - w)); })
      .grad<kThird, 0>([](auto g, auto, auto, auto w, auto) { return g * (1 - conj(w)); })
      .grad<kThird, 1>([](auto g, auto, auto, auto w, auto) { return g * conj(w); })
      .grad<kFirst | kSecond, 2>([](auto g, auto a, auto b, auto, auto) { return g * conj(b - a); })
      .equal_types();
  Pointwise<3> addcmul("addcmul(Tensor input, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor", Rule::Same,
                       "input + value * tensor1 * tensor2.\n\n>>> torch.addcmul(torch.tensor([1.0]), "
                       "torch.tensor([2.0]), torch.tensor([3.0]))\ntensor([7.])");
  addcmul.body<kFloat | kInt | kInt32 | kComplex>([](auto x, auto a, auto b, auto value) { return x + value * a * b; })
      .grad<kNothing, 0>([](auto g, auto, auto, auto, auto, auto) { return g; })
      .grad<kThird, 1>([](auto g, auto, auto, auto b, auto, auto value) { return g * conj(b * value); })
      .grad<kSecond, 2>([](auto g, auto, auto a, auto, auto, auto value) { return g * conj(a * value); })
      .lacks_bool();
  Pointwise<3> addcdiv(
      "addcdiv(Tensor input, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor", Rule::Same,
      "input + value * tensor1 / tensor2, of floating or complex tensors.\n\n"
      ">>> torch.addcdiv(torch.tensor([1.0]), torch.tensor([6.0]), torch.tensor([3.0]))\ntensor([3.])");
  addcdiv.body<kFloat | kInt | kComplex>([](auto x, auto a, auto b, auto value) { return x + value * a / b; })
      .grad<kNothing, 0>([](auto g, auto, auto, auto, auto, auto) { return g; })
      .grad<kThird, 1>([](auto g, auto, auto, auto b, auto, auto value) { return g * conj(reciprocal(b) * value); })
      .grad<kSecond | kThird, 2>(
          [](auto g, auto, auto a, auto b, auto, auto value) { return -g * conj(a * value / (b * b)); });
#if FL_PRIMARY
  addcdiv.check(refuse_integers);
#endif
}

FL_POINTWISE(pairs) {
  Pointwise<2>("atan2(Tensor input, Tensor other) -> Tensor", Rule::Float,
               "The angle of the point (other, input).\n\n>>> torch.atan2(torch.tensor([1.0]), "
               "torch.tensor([1.0]))\ntensor([0.7854])")
      .body<kFloat>([](auto a, auto b) { return atan2(a, b); })
      .grad<kFirst | kSecond, 0>([](auto g, auto a, auto b, auto) { return g * b * inverse_square_sum(a, b); })
      .grad<kFirst | kSecond, 1>([](auto g, auto a, auto b, auto) { return -g * a * inverse_square_sum(a, b); })
      .cost(8)
      .alias("arctan2");
  Pointwise<2>("hypot(Tensor input, Tensor other) -> Tensor", Rule::Same,
               "sqrt(input^2 + other^2) without overflow.\n\n>>> torch.hypot(torch.tensor([3.0]), "
               "torch.tensor([4.0]))\ntensor([5.])")
      .body<kFloat>([](auto a, auto b) { return hypot(a, b); })
      .grad<kFirst | kResult, 0>([](auto g, auto a, auto, auto y) { return g * (a / y); })
      .grad<kSecond | kResult, 1>([](auto g, auto, auto b, auto y) { return g * (b / y); });
  Pointwise<2>(
      "copysign(Tensor input, Tensor|Scalar other) -> Tensor", Rule::Float,
      "The magnitude of input with the sign of other.\n\n>>> torch.copysign(torch.tensor([1.0]), -2)\ntensor([-1.])")
      .body<kFloat>([](auto a, auto b) { return copysign(a, b); })
      .grad<kFirst | kResult, 0>([](auto g, auto a, auto, auto y) { return where(a == 0, 0, g * (y / a)); })
      .grad<kNothing, 1>([](auto g, auto, auto, auto) { return zeros_like(g); });
  Pointwise<2>("nextafter(Tensor input, Tensor other) -> Tensor", Rule::Same,
               "The next representable number from input toward other.\n\n>>> torch.nextafter(torch.tensor([1.0]), "
               "torch.tensor([2.0])) > 1\ntensor([True])")
      .body<kFloat>([](auto a, auto b) { return nextafter(a, b); });
  Pointwise<2>("heaviside(Tensor input, Tensor values) -> Tensor", Rule::Same,
               "0 for negative input, 1 for positive, values where it is 0.\n\n>>> torch.heaviside(torch.tensor([-1.0, "
               "0.0, 2.0]), torch.tensor([0.5]))\ntensor([0.0000, 0.5000, 1.0000])")
      .body<kFloat | kInt | kInt32 | kByte | kBool>(
          [](auto x, auto values) { return where(x == 0, values, where(x > 0, decltype(x)(1), decltype(x)(0))); })
      .equal_types();
  Pointwise<2>("gcd(Tensor input, Tensor other) -> Tensor", Rule::Same,
               "The greatest common divisor.\n\n>>> torch.gcd(torch.tensor([12]), torch.tensor([18]))\ntensor([6])")
      .body<kInt | kInt32>([](auto a, auto b) { return gcd(a, b); })
      .lacks_bool()
      .cost(16);
  Pointwise<2>("lcm(Tensor input, Tensor other) -> Tensor", Rule::Same,
               "The least common multiple.\n\n>>> torch.lcm(torch.tensor([4]), torch.tensor([6]))\ntensor([12])")
      .body<kInt | kInt32>([](auto a, auto b) { return lcm(a, b); })
      .lacks_bool()
      .cost(16);
}

FL_POINTWISE(log_sums) {
  Pointwise<2>("logaddexp(Tensor input, Tensor other) -> Tensor", Rule::Same,
               "log(exp(input) + exp(other)) without overflow.\n\n>>> torch.logaddexp(torch.tensor([0.0]), "
               "torch.tensor([0.0]))\ntensor([0.6931])")
      .body<kFloat | kComplex>([](auto a, auto b) { return logaddexp(a, b); })
      .grad<kFirst | kSecond, 0>([](auto g, auto a, auto b, auto) { return g / conj(exp(b - a) + 1); })
      .grad<kFirst | kSecond, 1>([](auto g, auto a, auto b, auto) { return g / conj(exp(a - b) + 1); })
      .cost(8)
      .no_in_place();
  Pointwise<2>("logaddexp2(Tensor input, Tensor other) -> Tensor", Rule::Same,
               "log2(2^input + 2^other) without overflow.\n\n>>> torch.logaddexp2(torch.tensor([0.0]), "
               "torch.tensor([0.0]))\ntensor([1.])")
      .body<kFloat>([](auto a, auto b) { return logaddexp2(a, b); })
      .grad<kFirst | kSecond, 0>([](auto g, auto a, auto b, auto) { return g / (exp2(b - a) + 1); })
      .grad<kFirst | kSecond, 1>([](auto g, auto a, auto b, auto) { return g / (exp2(a - b) + 1); })
      .cost(8)
      .no_in_place();
#define FL_XLOGY(name, logarithm, body_function, inner, text)                                               \
  Pointwise<2>(name "(Tensor input, Tensor|Scalar other) -> Tensor", Rule::Float, text)                     \
      .body<kFloat>([](auto a, auto b) { return body_function(a, b); })                                     \
      .grad<kFirst | kSecond, 0>(                                                                           \
          [](auto g, auto a, auto b, auto) { return where((a == 0) & (inner <= 0), 0, g * logarithm(b)); }) \
      .grad<kFirst | kSecond, 1>([](auto g, auto a, auto b, auto) { return g * a / (inner); })              \
      .cost(6);                                                                                             \
  Pointwise<2>(name ".Scalar(Scalar self, Tensor other) -> Tensor", Rule::Float)                            \
      .body<kFloat>([](auto a, auto b) { return body_function(a, b); })                                     \
      .grad<kFirst | kSecond, 1>([](auto g, auto a, auto b, auto) { return g * a / (inner); })              \
      .cost(6)                                                                                              \
      .no_in_place()                                                                                        \
      .function_only();
  FL_XLOGY("xlogy", log, xlogy, b,
           "input * log(other), 0 where input is 0.\n\n>>> torch.xlogy(torch.tensor([0.0]), "
           "torch.tensor([0.0]))\ntensor([0.])")
  FL_XLOGY("special.xlog1py", log1p, xlog1py, b + 1,
           "input * log1p(other), 0 where input is 0.\n\n>>> torch.special.xlog1py(torch.tensor([0.0]), "
           "torch.tensor([-1.0]))\ntensor([0.])")
#undef FL_XLOGY
}

#if FL_PRIMARY
Tensor ldexp(const Tensor& input, const Tensor& other) {
  static const Op power("pow.Scalar");
  return input * power(2.0, other);
}

// In double, or complex double.
Value widened(const Value& v, DType type, Tensor& keep) {
  if (!v.is_tensor()) return v;
  keep = to_dtype(borrow(v.tensor), type);
  return Value(keep);
}
Tensor power_in_double(const Value& input, const Value& exponent) {
  static const Op power("pow"), of_number("pow.Scalar");
  auto complex = [](const Value& v) { return v.is_tensor() ? is_complex(v.tensor->dtype) : v.tag == Tag::Complex; };
  DType type = complex(input) || complex(exponent) ? DType::ComplexDouble : DType::Double;
  Tensor a, b;
  Value base = widened(input, type, a), power_value = widened(exponent, type, b);
  return input.is_tensor() ? power(base, power_value) : of_number(base, power_value);
}
Tensor float_power(const Tensor& input, const Value& exponent) { return power_in_double(Value(input), exponent); }
Tensor float_power_of_number(const Value& self, const Tensor& exponent) {
  return power_in_double(self, Value(exponent));
}
void float_power_in_place(const Tensor& input, const Value& exponent) {
  Tensor r = float_power(input, exponent);
  FL_CHECK(r.dtype() == input.dtype(), "float_power_: the base has dtype ", info(input.dtype()).name, ", the result ",
           info(r.dtype()).name);
  FL_CHECK(equal(r.sizes(), input.sizes()), "float_power_: output with shape ", shape_text(input.sizes()),
           " doesn't match the broadcast shape ", shape_text(r.sizes()));
  raw_copy(input, r);
}

const Declare composites([] {
  declare_alias("special.xlogy", "xlogy() -> Tensor");
  Define("ldexp(Tensor input, Tensor other) -> Tensor")
      .composite<ldexp>()
      .in_place()
      .out()
      .doc("input * 2^other.\n\n>>> torch.ldexp(torch.tensor([1.0]), torch.tensor([3]))\ntensor([8.])");
  Define("float_power(Tensor input, Tensor|Scalar exponent) -> Tensor")
      .composite<float_power>()
      .in_place_kernel<float_power_in_place>()
      .out()
      .doc(
          "input^exponent in double precision.\n\n>>> torch.float_power(torch.tensor([2]), 3)\ntensor([8.], "
          "dtype=torch.float64)");
  Define("float_power.Scalar(Scalar self, Tensor exponent) -> Tensor")
      .composite<float_power_of_number>()
      .out()
      .function_only();
});
#endif

}  // namespace
}  // namespace FL_ISA
}  // namespace fl
