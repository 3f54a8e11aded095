// Comparisons, truth values and choices by them.
#include "tile/pointwise.h"

#if FL_PRIMARY
#include "ops/factory.h"
#endif

namespace fl {
#if FL_PRIMARY
namespace {
// Of the larger (or smaller) operand; halved where they are equal.
Tensor extremum_gradient(const Tensor& g, const Tensor& here, const Tensor& there, bool largest) {
  return where(here == there, g * 0.5, where(largest ? here < there : here > there, 0, g));
}
void check_fill_value(const Value* args, DType) {
  if (args[2].is_number()) return check_fits(args[2].scalar(), args[0].tensor->dtype, "masked_fill");
  FL_CHECK(is_complex(args[0].tensor->dtype) || !is_complex(args[2].tensor->dtype),
           "masked_fill: a complex value cannot be converted to type ", info(args[0].tensor->dtype).name,
           " without overflow");
  FL_CHECK(args[2].tensor->ndim == 0,
           "masked_fill: expected the value to be a number or a tensor without dimensions, got sizes ",
           shape_text(borrow(args[2].tensor).sizes()));
}
Tensor chosen_gradient(const Tensor& g, const Tensor& chosen) { return where(chosen, g, 0); }
}  // namespace
#endif
namespace FL_ISA {
namespace {

constexpr unsigned kOrdered = kFloat | kInt | kInt32 | kByte | kUInt64;

FL_POINTWISE(comparisons) {
#define FL_COMPARE(name, symbol, kinds, other_name, text)                                  \
  Pointwise<2>(#name "(Tensor input, Tensor|Scalar other) -> Tensor", Rule::Boolean, text) \
      .body<kinds>([](auto a, auto b) { return a symbol b; })                              \
      .by_value()                                                                          \
      .alias(other_name);
  Pointwise<2>("eq(Tensor input, Tensor|Scalar other) -> Tensor", Rule::Boolean,
               "Where the two are equal.\n\n>>> torch.eq(torch.tensor([1, 2]), 2)\ntensor([False,  True])")
      .body<kOrdered | kComplex>([](auto a, auto b) { return a == b; })
      .by_value();
  FL_COMPARE(ne, !=, kOrdered | kComplex, "not_equal",
             "Where the two differ.\n\n>>> torch.ne(torch.tensor([1, 2]), 2)\ntensor([ True, False])")
  FL_COMPARE(lt, <, kOrdered, "less",
             "Where input is below other.\n\n>>> torch.lt(torch.tensor([1, 2]), 2)\ntensor([ True, False])")
  FL_COMPARE(le, <=, kOrdered, "less_equal",
             "Where input is at most other.\n\n>>> torch.le(torch.tensor([1, 2]), 1)\ntensor([ True, False])")
  FL_COMPARE(gt, >, kOrdered, "greater",
             "Where input is above other.\n\n>>> torch.gt(torch.tensor([1, 2]), 1)\ntensor([False,  True])")
  FL_COMPARE(ge, >=, kOrdered, "greater_equal",
             "Where input is at least other.\n\n>>> torch.ge(torch.tensor([1, 2]), 2)\ntensor([False,  True])")
#undef FL_COMPARE
}

FL_POINTWISE(classes) {
  Pointwise<1>("isnan(Tensor input) -> Tensor", Rule::Boolean,
               "Where input is NaN.\n\n>>> torch.isnan(torch.tensor([1.0, float('nan')]))\ntensor([False,  True])")
      .body<kFloat | kInt | kByte | kComplex>([](auto x) { return isnan(x); })
      .no_in_place()
      .no_out();
  Pointwise<1>("isinf(Tensor input) -> Tensor", Rule::Boolean,
               "Where input is infinite.\n\n>>> torch.isinf(torch.tensor([1.0, float('inf')]))\ntensor([False,  True])")
      .body<kFloat | kInt | kByte | kComplex>([](auto x) { return isinf(x); })
      .no_in_place()
      .no_out();
  Pointwise<1>("isfinite(Tensor input) -> Tensor", Rule::Boolean,
               "Where input is neither infinite nor NaN.\n\n>>> torch.isfinite(torch.tensor([1.0, "
               "float('inf')]))\ntensor([ True, False])")
      .body<kFloat | kInt | kByte | kComplex>([](auto x) { return isfinite(x); })
      .no_in_place()
      .no_out();
  Pointwise<1>("isposinf(Tensor input) -> Tensor", Rule::Boolean,
               "Where input is positive infinity.\n\n>>> torch.isposinf(torch.tensor([1.0, "
               "float('inf')]))\ntensor([False,  True])")
      .body<kFloat | kInt | kByte>([](auto x) { return isinf(x) & (x > 0); })
      .no_in_place();
  Pointwise<1>("isneginf(Tensor input) -> Tensor", Rule::Boolean,
               "Where input is negative infinity.\n\n>>> torch.isneginf(torch.tensor([1.0, "
               "float('-inf')]))\ntensor([False,  True])")
      .body<kFloat | kInt | kByte>([](auto x) { return isinf(x) & (x < 0); })
      .no_in_place();
  Pointwise<1>("isreal(Tensor input) -> Tensor", Rule::Boolean,
               "Where the imaginary part is 0.\n\n>>> torch.isreal(torch.tensor([1.0, 1j]))\ntensor([ True, False])")
      .body<kFloat | kInt | kByte | kComplex>([](auto x) { return imag(x) == 0; })
      .no_in_place()
      .no_out();
}

FL_POINTWISE(truth_values) {
  constexpr unsigned kAny = kFloat | kInt | kInt32 | kByte | kComplex;
  Pointwise<1>("logical_not(Tensor input) -> Tensor", Rule::Boolean,
               "Where input is zero.\n\n>>> torch.logical_not(torch.tensor([0, 2]))\ntensor([ True, False])")
      .body<kAny>([](auto x) { return x == 0; });
  Pointwise<2>("logical_and(Tensor input, Tensor other) -> Tensor", Rule::Boolean,
               "Where neither is zero.\n\n>>> torch.logical_and(torch.tensor([0, 2]), torch.tensor([1, "
               "1]))\ntensor([False,  True])")
      .body<kAny>([](auto a, auto b) { return (a != 0) & (b != 0); })
      .by_value();
  Pointwise<2>("logical_or(Tensor input, Tensor other) -> Tensor", Rule::Boolean,
               "Where one or both aren't zero.\n\n>>> torch.logical_or(torch.tensor([0, 2]), torch.tensor([0, "
               "1]))\ntensor([False,  True])")
      .body<kAny>([](auto a, auto b) { return (a != 0) | (b != 0); })
      .by_value();
  Pointwise<2>("logical_xor(Tensor input, Tensor other) -> Tensor", Rule::Boolean,
               "Where just one isn't zero.\n\n>>> torch.logical_xor(torch.tensor([0, 2]), torch.tensor([1, "
               "1]))\ntensor([ True, False])")
      .body<kAny>([](auto a, auto b) { return (a != 0) ^ (b != 0); })
      .by_value();
}

FL_POINTWISE(choices) {
  constexpr unsigned kAll = kFloat | kInt | kInt32 | kByte | kBool | kComplex;
  Pointwise<3, 1>(
      "where(Tensor condition, Tensor|Scalar input, Tensor|Scalar other) -> Tensor", Rule::Same,
      "input where the condition holds, other elsewhere. With the condition alone, the indices where it holds.\n\n"
      ">>> torch.where(torch.tensor([True, False]), torch.tensor([1, 2]), 0)\ntensor([1, 0])")
      .body<kAll>([](auto mask, auto a, auto b) { return where(mask, a, b); })
      .grad<kFirst, 1>([](auto g, auto mask, auto, auto, auto) { return chosen_gradient(g, mask); })
      .grad<kFirst, 2>([](auto g, auto mask, auto, auto, auto) { return chosen_gradient(g, !mask); })
      .no_in_place();
  Pointwise<3, 2> masked_fill(
      "masked_fill(Tensor input, Tensor mask, Tensor|Scalar value) -> Tensor", Rule::First,
      "input, but value where the mask holds. value is a number or a tensor without dimensions.\n\n"
      ">>> torch.masked_fill(torch.tensor([1, 2]), torch.tensor([True, False]), 0)\ntensor([0, 2])");
  masked_fill.body<kAll>([](auto x, auto mask, auto value) { return where(mask, value, x); })
      .grad<kSecond, 0>([](auto g, auto, auto mask, auto, auto) { return chosen_gradient(g, !mask); })
      .grad<kSecond, 2>([](auto g, auto, auto mask, auto, auto) { return chosen_gradient(g, mask); })
      .no_out();
#if FL_PRIMARY
  masked_fill.check(check_fill_value);
#endif
  Pointwise<2>("maximum(Tensor input, Tensor other) -> Tensor", Rule::Same,
               "The larger of the two; NaN where either is.\n\n>>> torch.maximum(torch.tensor([1, 5]), "
               "torch.tensor([3, 2]))\ntensor([3, 5])")
      .body<kOrdered | kBool>([](auto a, auto b) { return maximum(a, b); })
      .grad<kFirst | kSecond, 0>([](auto g, auto a, auto b, auto) { return extremum_gradient(g, a, b, true); })
      .grad<kFirst | kSecond, 1>([](auto g, auto a, auto b, auto) { return extremum_gradient(g, b, a, true); })
      .no_in_place();
  Pointwise<2>("minimum(Tensor input, Tensor other) -> Tensor", Rule::Same,
               "The smaller of the two; NaN where either is.\n\n>>> torch.minimum(torch.tensor([1, 5]), "
               "torch.tensor([3, 2]))\ntensor([1, 2])")
      .body<kOrdered | kBool>([](auto a, auto b) { return minimum(a, b); })
      .grad<kFirst | kSecond, 0>([](auto g, auto a, auto b, auto) { return extremum_gradient(g, a, b, false); })
      .grad<kFirst | kSecond, 1>([](auto g, auto a, auto b, auto) { return extremum_gradient(g, b, a, false); })
      .no_in_place();
  Pointwise<2>("fmax(Tensor input, Tensor other) -> Tensor", Rule::Same,
               "The larger of the two; the other where one is NaN.\n\n>>> torch.fmax(torch.tensor([1.0, "
               "float('nan')]), torch.tensor([3.0, 2.0]))\ntensor([3., 2.])")
      .body<kOrdered | kBool>([](auto a, auto b) { return fmax(a, b); })
      .grad<kFirst | kSecond, 0>([](auto g, auto a, auto b, auto) { return chosen_gradient(g, (a >= b) | isnan(b)); })
      .grad<kFirst | kSecond, 1>(
          [](auto g, auto a, auto b, auto) { return chosen_gradient(g, !((a >= b) | isnan(b))); })
      .no_in_place();
  Pointwise<2>("fmin(Tensor input, Tensor other) -> Tensor", Rule::Same,
               "The smaller of the two; the other where one is NaN.\n\n>>> torch.fmin(torch.tensor([1.0, "
               "float('nan')]), torch.tensor([3.0, 2.0]))\ntensor([1., 2.])")
      .body<kOrdered | kBool>([](auto a, auto b) { return fmin(a, b); })
      .grad<kFirst | kSecond, 0>([](auto g, auto a, auto b, auto) { return chosen_gradient(g, (a <= b) | isnan(b)); })
      .grad<kFirst | kSecond, 1>(
          [](auto g, auto a, auto b, auto) { return chosen_gradient(g, !((a <= b) | isnan(b))); })
      .no_in_place();
}

// Bounds are compared as numbers: one outside the type's range is no bound.
FL_POINTWISE(bounds) {
  Pointwise<3>("clamp(Tensor input, Tensor|Scalar min, Tensor|Scalar max) -> Tensor", Rule::Same,
               "input limited to [min, max]; either may be left out, and max wins where min is above it.\n\n"
               ">>> torch.clamp(torch.tensor([-1, 5, 10]), 0, 7)\ntensor([0, 5, 7])")
      .body<kOrdered>([](auto x, auto low, auto high) { return minimum(maximum(x, low), high); })
      .grad<kFirst | kSecond | kThird, 0>(
          [](auto g, auto x, auto low, auto high, auto) { return chosen_gradient(g, (x >= low) & (x <= high)); })
      .grad<kFirst | kSecond | kThird, 1>(
          [](auto g, auto x, auto low, auto high, auto) { return chosen_gradient(g, (x < low) & (low < high)); })
      .grad<kFirst | kSecond | kThird, 2>(
          [](auto g, auto x, auto low, auto high, auto) { return chosen_gradient(g, (x > high) | (high < low)); })
      .by_value()
      .alias("clip");
  Pointwise<2>("clamp.min(Tensor input, Tensor|Scalar min) -> Tensor", Rule::Same)
      .body<kOrdered>([](auto x, auto low) { return maximum(x, low); })
      .grad<kFirst | kSecond, 0>([](auto g, auto x, auto low, auto) { return chosen_gradient(g, x >= low); })
      .grad<kFirst | kSecond, 1>([](auto g, auto x, auto low, auto) { return chosen_gradient(g, x < low); })
      .by_value();
  Pointwise<2>("clamp.max(Tensor input, *, Tensor|Scalar max) -> Tensor", Rule::Same)
      .body<kOrdered>([](auto x, auto high) { return minimum(x, high); })
      .grad<kFirst | kSecond, 0>([](auto g, auto x, auto high, auto) { return chosen_gradient(g, x <= high); })
      .grad<kFirst | kSecond, 1>([](auto g, auto x, auto high, auto) { return chosen_gradient(g, x > high); })
      .by_value();
  Pointwise<2>("clamp_min(Tensor input, Tensor|Scalar min) -> Tensor", Rule::Same,
               "input, but at least min.\n\n>>> torch.clamp_min(torch.tensor([-1, 5]), 0)\ntensor([0, 5])")
      .body<kOrdered>([](auto x, auto low) { return maximum(x, low); })
      .grad<kFirst | kSecond, 0>([](auto g, auto x, auto low, auto) { return chosen_gradient(g, x >= low); })
      .grad<kFirst | kSecond, 1>([](auto g, auto x, auto low, auto) { return chosen_gradient(g, x < low); })
      .by_value();
  Pointwise<2>("clamp_max(Tensor input, Tensor|Scalar max) -> Tensor", Rule::Same,
               "input, but at most max.\n\n>>> torch.clamp_max(torch.tensor([-1, 5]), 0)\ntensor([-1,  0])")
      .body<kOrdered>([](auto x, auto high) { return minimum(x, high); })
      .grad<kFirst | kSecond, 0>([](auto g, auto x, auto high, auto) { return chosen_gradient(g, x <= high); })
      .grad<kFirst | kSecond, 1>([](auto g, auto x, auto high, auto) { return chosen_gradient(g, x > high); })
      .by_value();
}

#if FL_PRIMARY
Tensor clamp_optional(const Tensor& input, const Value& min, const Value& max) {
  static const Op both("clamp"), low("clamp_min"), high("clamp_max");
  FL_CHECK(!min.is_none() || !max.is_none(), "clamp: at least one of 'min' and 'max' must not be None");
  return max.is_none() ? low(input, min) : min.is_none() ? high(input, max) : both(input, min, max);
}
Tensor where_method(const Tensor& self, const Tensor& condition, const Value& other) {
  static const Op choose("where");
  return choose(condition, self, other);
}
std::vector<Tensor> where_indices(const Tensor& condition) {
  static const Op indices("_C.nonzero_tuple");
  return indices.list(condition);
}

const Declare composites([] {
  Define("clamp.optional(Tensor input, Tensor|Scalar? min=None, Tensor|Scalar? max=None) -> Tensor")
      .composite<clamp_optional>()
      .in_place()
      .out();
  Define("Tensor.where(Tensor self, Tensor condition, Tensor|Scalar other) -> Tensor").composite<where_method>();
  Define("where.indices(Tensor condition) -> Tensor[]").composite<where_indices>();
});
#endif

}  // namespace
}  // namespace FL_ISA
}  // namespace fl
