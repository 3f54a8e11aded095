// Addition, multiplication, division and their kin.
#include "tile/pointwise.h"

namespace fl {
#if FL_PRIMARY
namespace {
Tensor div_trunc(const Tensor& a, const Tensor& b) {
  static const Op op("_C.div_trunc");
  return op(a, b);
}
// Products and quotients of a gradient: where it is zero they are too, whatever the other operand.
Tensor gradient_product(const Tensor& g, const Tensor& b) {
  static const Op op("_C.gradient_product");
  return op(g, b);
}
Tensor gradient_quotient(const Tensor& g, const Tensor& b) {
  static const Op op("_C.gradient_quotient");
  return op(g, b);
}
// Of z/|z|: the part of g across z, over |z|.
Tensor sgn_gradient(const Tensor& g, const Tensor& x, const Tensor& sign) {
  if (!x.is_complex()) return zeros_like(g);
  Tensor modulus = abs(x);
  return where(modulus == 0, 0, (g - sign * real(sign * conj(g))) / modulus);
}
}  // namespace
#endif
namespace FL_ISA {
namespace {

constexpr unsigned kNumbers = kFloat | kInt | kInt32 | kByte | kComplex;
constexpr const char* kNoBoolSub =
    "subtraction is not defined for bool tensors; use logical_xor, or logical_not to invert a mask";
constexpr const char* kNoBoolSign = "not defined for bool tensors; use logical_not to invert a mask";

FL_POINTWISE(sums) {
  // The forms without alpha come first: they are exact for complex infinities and need no multiplication.
  Pointwise<2>("add(Tensor input, Tensor|Scalar other) -> Tensor", Rule::Same,
               "The sum of input and other, which alpha scales; shapes broadcast and dtypes promote.\n\n"
               ">>> torch.add(torch.tensor([1, 2]), torch.tensor([10, 20]), alpha=2)\ntensor([21, 42])")
      .body<kNumbers>([](auto a, auto b) { return a + b; })
      .grad<kNothing, 0>([](auto g, auto, auto, auto) { return g; })
      .grad<kNothing, 1>([](auto g, auto, auto, auto) { return g; });
  Pointwise<2>("add.alpha(Tensor input, Tensor|Scalar other, *, Scalar alpha) -> Tensor", Rule::Same)
      .body<kFloat | kInt | kComplex>([](auto a, auto b, auto alpha) { return a + alpha * b; })
      .grad<kNothing, 0>([](auto g, auto, auto, auto, auto) { return g; })
      .grad<kNothing, 1>([](auto g, auto, auto, auto, auto alpha) { return g * conj(alpha); });
  Pointwise<2>("sub(Tensor input, Tensor|Scalar other) -> Tensor", Rule::Same,
               "The difference of input and other, which alpha scales. Raises RuntimeError for bool tensors.\n\n"
               ">>> torch.sub(torch.tensor([5, 7]), 2)\ntensor([3, 5])")
      .body<kNumbers>([](auto a, auto b) { return a - b; })
      .grad<kNothing, 0>([](auto g, auto, auto, auto) { return g; })
      .grad<kNothing, 1>([](auto g, auto, auto, auto) { return -g; })
      .refuses_bool(kNoBoolSub)
      .alias("subtract");
  Pointwise<2>("sub.alpha(Tensor input, Tensor|Scalar other, *, Scalar alpha) -> Tensor", Rule::Same)
      .body<kFloat | kInt | kComplex>([](auto a, auto b, auto alpha) { return a - alpha * b; })
      .grad<kNothing, 0>([](auto g, auto, auto, auto, auto) { return g; })
      .grad<kNothing, 1>([](auto g, auto, auto, auto, auto alpha) { return g * -conj(alpha); })
      .refuses_bool(kNoBoolSub);
  Pointwise<2>("rsub(Tensor input, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor", Rule::Same,
               "other minus input, which alpha scales.\n\n>>> torch.rsub(torch.tensor([5, 7]), 2)\ntensor([-3, -5])")
      .body<kFloat | kInt | kComplex>([](auto a, auto b, auto alpha) { return b - alpha * a; })
      .grad<kNothing, 0>([](auto g, auto, auto, auto, auto alpha) { return g * -conj(alpha); })
      .grad<kNothing, 1>([](auto g, auto, auto, auto, auto) { return g; })
      .refuses_bool(kNoBoolSub)
      .no_in_place()
      .no_out();
}

FL_POINTWISE(products) {
  Pointwise<2>("mul(Tensor input, Tensor|Scalar other) -> Tensor", Rule::Same,
               "The product of input and other; shapes broadcast and dtypes promote.\n\n"
               ">>> torch.mul(torch.tensor([1.0, 2.0]), 3)\ntensor([3., 6.])")
      .body<kNumbers>([](auto a, auto b) { return a * b; })
      .grad<kSecond, 0>([](auto g, auto, auto b, auto) { return gradient_product(g, conj(b)); })
      .grad<kFirst, 1>([](auto g, auto a, auto, auto) { return gradient_product(g, conj(a)); })
      .alias("multiply");
  Pointwise<2>("div(Tensor input, Tensor|Scalar other) -> Tensor", Rule::Float,
               "The quotient of input and other, of integers too; rounding_mode 'trunc' or 'floor' rounds it.\n\n"
               ">>> torch.div(torch.tensor([7, -7]), 2)\ntensor([ 3.5000, -3.5000])\n"
               ">>> torch.div(torch.tensor([7, -7]), 2, rounding_mode='floor')\ntensor([ 3, -4])")
      .body<kFloat | kComplex>([](auto a, auto b) { return a / b; })
      .grad<kSecond, 0>([](auto g, auto, auto b, auto) { return gradient_quotient(g, conj(b)); })
      .grad<kFirst | kSecond, 1>([](auto g, auto a, auto b, auto) {
        return -gradient_quotient(gradient_quotient(gradient_product(g, conj(a)), conj(b)), conj(b));
      })
      .alias("divide")
      .alias("true_divide");
  // The branch that where() didn't take sends zeros, which must not become NaN on an infinite derivative.
  Pointwise<2>("_C.gradient_product(Tensor input, Tensor|Scalar other) -> Tensor", Rule::Same)
      .body<kFloat | kComplex>([](auto g, auto b) { return zero_stays(g, g * b); })
      .grad<kSecond, 0>([](auto g, auto, auto b, auto) { return gradient_product(g, conj(b)); })
      .grad<kFirst, 1>([](auto g, auto a, auto, auto) { return gradient_product(g, conj(a)); });
  Pointwise<2>("_C.gradient_quotient(Tensor input, Tensor|Scalar other) -> Tensor", Rule::Same)
      .body<kFloat | kComplex>([](auto g, auto b) { return zero_stays(g, g / b); })
      .grad<kSecond, 0>([](auto g, auto, auto b, auto) { return gradient_quotient(g, conj(b)); })
      .grad<kFirst | kSecond, 1>([](auto g, auto a, auto b, auto) {
        return -gradient_quotient(gradient_quotient(gradient_product(g, conj(a)), conj(b)), conj(b));
      });
  Pointwise<2>("_C.div_trunc(Tensor input, Tensor|Scalar other) -> Tensor", Rule::Same)
      .body<kFloat | kInt | kInt32>([](auto a, auto b) { return trunc_divide(a, b); })
      .grad<kNothing, 0>([](auto g, auto, auto, auto) { return zeros_like(g); })
      .grad<kNothing, 1>([](auto g, auto, auto, auto) { return zeros_like(g); })
      .lacks_bool()
      .refuses_zero_divisor();
  Pointwise<2>("floor_divide(Tensor input, Tensor|Scalar other) -> Tensor", Rule::Same,
               "The quotient rounded down, as Python's //. Raises RuntimeError for an integer divided by zero.\n\n"
               ">>> torch.floor_divide(torch.tensor([7, -7]), 2)\ntensor([ 3, -4])")
      .body<kFloat | kInt | kInt32>([](auto a, auto b) { return floor_divide(a, b); })
      .grad<kNothing, 0>([](auto g, auto, auto, auto) { return zeros_like(g); })
      .grad<kNothing, 1>([](auto g, auto, auto, auto) { return zeros_like(g); })
      .lacks_bool()
      .refuses_zero_divisor();
  Pointwise<2>("remainder(Tensor input, Tensor|Scalar other) -> Tensor", Rule::Same,
               "The remainder with the sign of the divisor, as Python's %.\n\n"
               ">>> torch.remainder(torch.tensor([7, -7]), 3)\ntensor([1, 2])")
      .body<kFloat | kInt | kInt32>([](auto a, auto b) { return remainder(a, b); })
      .grad<kNothing, 0>([](auto g, auto, auto, auto) { return g; })
      .grad<kFirst | kSecond, 1>([](auto g, auto a, auto b, auto) { return -g * floor_divide(a, b); })
      .lacks_bool()
      .refuses_zero_divisor();
  Pointwise<2>("remainder.Scalar(Scalar self, Tensor other) -> Tensor", Rule::Same)
      .body<kFloat | kInt | kInt32>([](auto a, auto b) { return remainder(a, b); })
      .grad<kFirst | kSecond, 1>([](auto g, auto a, auto b, auto) { return -g * floor_divide(a, b); })
      .lacks_bool()
      .refuses_zero_divisor()
      .no_in_place()
      .function_only();
  Pointwise<2>("fmod(Tensor input, Tensor|Scalar other) -> Tensor", Rule::Same,
               "The remainder with the sign of the dividend, as C's fmod.\n\n"
               ">>> torch.fmod(torch.tensor([7, -7]), 3)\ntensor([ 1, -1])")
      .body<kFloat | kInt | kInt32>([](auto a, auto b) { return fmod(a, b); })
      .grad<kNothing, 0>([](auto g, auto, auto, auto) { return g; })
      .grad<kFirst | kSecond, 1>([](auto g, auto a, auto b, auto) { return -g * div_trunc(a, b); })
      .lacks_bool()
      .refuses_zero_divisor();
}

FL_POINTWISE(signs) {
  Pointwise<1>(
      "neg(Tensor input) -> Tensor", Rule::Same,
      "The negative. Raises RuntimeError for bool tensors.\n\n>>> torch.neg(torch.tensor([1, -2]))\ntensor([-1,  2])")
      .body<kNumbers>([](auto x) { return -x; })
      .grad<kNothing>([](auto g, auto, auto) { return -g; })
      .refuses_bool(kNoBoolSign)
      .alias("negative");
  Pointwise<1>(
      "abs(Tensor input) -> Tensor", Rule::Real,
      "The absolute value; of a complex number, its modulus.\n\n>>> torch.abs(torch.tensor([-1, 2]))\ntensor([1, 2])")
      .body<kNumbers>([](auto x) { return abs(x); })
      .grad<kFirst>([](auto g, auto x, auto) { return g * sgn(x); })
      .lacks_bool()
      .alias("absolute");
  Pointwise<1>(
      "sign(Tensor input) -> Tensor", Rule::Same,
      "-1, 0 or 1 by the sign; NaN gives 0.\n\n>>> torch.sign(torch.tensor([-3.0, 0.0, 2.0]))\ntensor([-1.,  0.,  1.])")
      .body<kFloat | kInt | kInt32 | kByte | kBool>([](auto x) { return sign(x); })
      .grad<kNothing>([](auto g, auto, auto) { return zeros_like(g); });
  Pointwise<1>("sgn(Tensor input) -> Tensor", Rule::Same,
               "The sign; of a complex number, the number divided by its modulus.\n\n>>> torch.sgn(torch.tensor([-3.0, "
               "2.0]))\ntensor([-1.,  1.])")
      .body<kNumbers | kBool>([](auto x) { return sgn(x); })
      .grad<kFirst | kResult>([](auto g, auto x, auto y) { return sgn_gradient(g, x, y); });
  Pointwise<1>(
      "signbit(Tensor input) -> Tensor", Rule::Boolean,
      "Where the sign bit is set, of -0 too.\n\n>>> torch.signbit(torch.tensor([-0.0, 1.0]))\ntensor([ True, False])")
      .body<kFloat | kInt | kByte>([](auto x) { return signbit(x); })
      .no_in_place();
  Pointwise<1>("square(Tensor input) -> Tensor", Rule::Same,
               "The square.\n\n>>> torch.square(torch.tensor([-2, 3]))\ntensor([4, 9])")
      .body<kFloat | kInt | kInt32 | kByte | kComplex>([](auto x) { return x * x; })
      .fused_grad<kFirst>([](auto g, auto x, auto) { return g * (2 * conj(x)); })
      .bool_as_int();
  Pointwise<1>("reciprocal(Tensor input) -> Tensor", Rule::Float,
               "1 / input.\n\n>>> torch.reciprocal(torch.tensor([2.0, 4.0]))\ntensor([0.5000, 0.2500])")
      .body<kFloat | kComplex>([](auto x) { return reciprocal(x); })
      .fused_grad<kResult>([](auto g, auto, auto y) { return zero_stays(g, -g * conj(y * y)); });
}

#if FL_PRIMARY
Tensor positive(const Tensor& input) {
  FL_CHECK(input.dtype() != DType::Bool, "positive: ", kNoBoolSign);
  return input;
}

Tensor divide_rounded(const Tensor& input, const Value& other, std::optional<std::string_view> mode) {
  static const Op exact("div"), trunc("_C.div_trunc"), floor("floor_divide");
  if (!mode) return exact(input, other);
  FL_CHECK(*mode == "trunc" || *mode == "floor", "div: rounding_mode must be None, 'trunc' or 'floor', got '", *mode,
           "'");
  return *mode == "trunc" ? trunc(input, other) : floor(input, other);
}

Tensor divided_from(const Tensor& input, const Value& other) {
  return other.is_tensor() ? borrow(other.tensor) / input : other.scalar() / input;
}

const Declare composites([] {
  Define("Tensor.__rdiv__(Tensor input, Tensor|Scalar other) -> Tensor").composite<divided_from>();
  Define("positive(Tensor input) -> Tensor")
      .composite<positive>()
      .doc(
          "The tensor itself. Raises RuntimeError for bool tensors.\n\n>>> "
          "torch.positive(torch.tensor([1]))\ntensor([1])");
  Define("div.mode(Tensor input, Tensor|Scalar other, *, str? rounding_mode) -> Tensor")
      .composite<divide_rounded>()
      .in_place()
      .out();
});
#endif

}  // namespace
}  // namespace FL_ISA
}  // namespace fl
