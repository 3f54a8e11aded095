// Making random tensors.
#include "ops/factory.h"
#include "ops/random.h"
#include "random/fill.h"

namespace fl {
namespace {

Tensor rand_op(IntList size, Generator* g, FL_FACTORY_PARAMETERS) {
  FactoryOptions o = factory_options(FL_FACTORY_ARGUMENTS, default_dtype());
  Tensor t = empty(size, o.dtype, o.device);
  uniform_fill(t, 0, 1, g);
  return o.finish(std::move(t));
}
Tensor randn_op(IntList size, Generator* g, FL_FACTORY_PARAMETERS) {
  FactoryOptions o = factory_options(FL_FACTORY_ARGUMENTS, default_dtype());
  Tensor t = empty(size, o.dtype, o.device);
  normal_fill(t, 0, 1, g);
  return o.finish(std::move(t));
}
void integers_fill(const Tensor& t, int64_t low, int64_t high, Generator* g) {
  static const Op random("random_.from");
  NoGrad guard;
  random(t, low, high, g);
}
Tensor randint_between(int64_t low, int64_t high, IntList size, Generator* g, FL_FACTORY_PARAMETERS) {
  FactoryOptions o = factory_options(FL_FACTORY_ARGUMENTS, DType::Int64);
  Tensor t = empty(size, o.dtype, o.device);
  integers_fill(t, low, high, g);
  return o.finish(std::move(t));
}
Tensor randint_below(int64_t high, IntList size, Generator* g, FL_FACTORY_PARAMETERS) {
  return randint_between(0, high, size, g, FL_FACTORY_ARGUMENTS);
}
Tensor randperm_op(int64_t n, Generator* g, FL_FACTORY_PARAMETERS) {
  FactoryOptions o = factory_options(FL_FACTORY_ARGUMENTS, DType::Int64);
  FL_CHECK(n >= 0, "randperm: n must be non-negative, got ", n);
  FL_CHECK(o.dtype != DType::Bool && !is_complex(o.dtype), ErrorKind::NotImplemented, "randperm: not implemented for ",
           info(o.dtype).name);
  int64_t most = visit_dtype(o.dtype, [&]<class T>() -> int64_t {
    if constexpr (std::is_same_v<T, Half>)
      return 2049;
    else if constexpr (std::is_same_v<T, BFloat16>)
      return 257;
    else if constexpr (std::is_same_v<T, float>)
      return (1 << 24) + 1;
    else if constexpr (std::is_same_v<T, double>)
      return (1LL << 53) + 1;
    else if constexpr (std::is_integral_v<T> && sizeof(T) < 8)
      return static_cast<int64_t>(std::numeric_limits<T>::max());
    else
      return INT64_MAX;
  });
  FL_CHECK(n <= most, "randperm: n cannot be greater than ", most, " for ", info(o.dtype).name, ", got ", n);
  Tensor t = empty({&n, 1}, o.dtype, o.device);
  if (!t.is_meta() && n) fill_permutation(generator_or_default(g), o.dtype, t.bytes(), n);
  return o.finish(std::move(t));
}

Tensor room(const Tensor& input, const FactoryOptions& o, std::optional<MemoryFormat> format) {
  static const Op like("empty_like");
  return like(input, o.dtype, std::nullopt, o.device, false, false, format);
}
Tensor rand_like_op(const Tensor& input, Generator* g, FL_FACTORY_PARAMETERS, std::optional<MemoryFormat> format) {
  FactoryOptions o = factory_options(FL_FACTORY_ARGUMENTS, input.dtype(), input.device());
  Tensor t = room(input, o, format);
  uniform_fill(t, 0, 1, g);
  return o.finish(std::move(t));
}
Tensor randn_like_op(const Tensor& input, Generator* g, FL_FACTORY_PARAMETERS, std::optional<MemoryFormat> format) {
  FactoryOptions o = factory_options(FL_FACTORY_ARGUMENTS, input.dtype(), input.device());
  Tensor t = room(input, o, format);
  normal_fill(t, 0, 1, g);
  return o.finish(std::move(t));
}
Tensor randint_like_between(const Tensor& input, int64_t low, int64_t high, Generator* g, FL_FACTORY_PARAMETERS,
                            std::optional<MemoryFormat> format) {
  FactoryOptions o = factory_options(FL_FACTORY_ARGUMENTS, input.dtype(), input.device());
  Tensor t = room(input, o, format);
  integers_fill(t, low, high, g);
  return o.finish(std::move(t));
}
Tensor randint_like_below(const Tensor& input, int64_t high, Generator* g, FL_FACTORY_PARAMETERS,
                          std::optional<MemoryFormat> format) {
  return randint_like_between(input, 0, high, g, FL_FACTORY_ARGUMENTS, format);
}
Tensor randint_like_below_tensor(const Tensor& input, const Tensor& high, Generator* g, FL_FACTORY_PARAMETERS,
                                 std::optional<MemoryFormat> format) {
  FL_CHECK(high.dim() == 0 && !high.is_meta(), "randint_like: high must be a number or a 0-dimensional tensor");
  static const Op to_int64("_C._to_dtype");
  return randint_like_between(input, 0, *to_int64(high, DType::Int64).data<int64_t>(), g, FL_FACTORY_ARGUMENTS, format);
}

#define GENERATOR "Generator? generator=None, "
#define LIKE_OPTIONS FL_FACTORY_OPTIONS ", memory_format? memory_format=None"
const Declare ops([] {
  Define("rand(int[] size, *, " GENERATOR FL_FACTORY_OPTIONS ") -> Tensor")
      .kernel<rand_op>()
      .out()
      .doc("Numbers uniform on [0, 1).");
  Define("randn(int[] size, *, " GENERATOR FL_FACTORY_OPTIONS ") -> Tensor")
      .kernel<randn_op>()
      .out()
      .doc("Standard normal numbers.");
  Define("randint.low(int low, int high, int[] size, *, " GENERATOR FL_FACTORY_OPTIONS ") -> Tensor")
      .kernel<randint_between>()
      .out();
  Define("randint(int high, int[] size, *, " GENERATOR FL_FACTORY_OPTIONS ") -> Tensor")
      .kernel<randint_below>()
      .out()
      .doc("Whole numbers from [low, high), where low is 0 unless given.");
  Define("randperm(int n, *, " GENERATOR FL_FACTORY_OPTIONS ") -> Tensor")
      .kernel<randperm_op>()
      .out()
      .doc("The numbers 0 to n - 1 in random order.");
  Define("torch.rand_like(Tensor input, *, " GENERATOR LIKE_OPTIONS ") -> Tensor")
      .kernel<rand_like_op>()
      .constant_outputs(~0u)
      .doc("Numbers uniform on [0, 1) in a tensor like input.");
  Define("torch.randn_like(Tensor input, *, " GENERATOR LIKE_OPTIONS ") -> Tensor")
      .kernel<randn_like_op>()
      .constant_outputs(~0u)
      .doc("Standard normal numbers in a tensor like input.");
  Define("torch.randint_like.low(Tensor input, int low, int high, *, " GENERATOR LIKE_OPTIONS ") -> Tensor")
      .kernel<randint_like_between>()
      .constant_outputs(~0u);
  Define("torch.randint_like(Tensor input, int high, *, " GENERATOR LIKE_OPTIONS ") -> Tensor")
      .kernel<randint_like_below>()
      .constant_outputs(~0u)
      .doc("Whole numbers from [low, high) in a tensor like input.");
  Define("torch.randint_like.Tensor(Tensor input, Tensor high, *, " GENERATOR LIKE_OPTIONS ") -> Tensor")
      .kernel<randint_like_below_tensor>()
      .constant_outputs(~0u);
});

}  // namespace
}  // namespace fl
