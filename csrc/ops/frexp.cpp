// Splitting floating point numbers into mantissa and exponent.
#include <cmath>

#include "autograd/record.h"
#include "ops/api.h"

namespace fl {
namespace {

std::tuple<Tensor, Tensor> frexp_op(const Tensor& input) {
  FL_CHECK(input.is_floating(), "frexp: only floating point tensors are supported, got ", info(input.dtype()).name);
  Tensor mantissa = empty_like(input), exponent = empty_like(input, DType::Int32);
  if (input.is_meta() || input.numel() == 0) return {mantissa, exponent};
  Tensor x = raw_clone(input);
  int32_t* exponents = exponent.data<int32_t>();
  visit_dtype(input.dtype(), [&]<class T>() {
    if constexpr (std::is_convertible_v<T, double> && !std::is_integral_v<T>) {
      const T* from = x.data<T>();
      T* to = mantissa.data<T>();
      for (int64_t i = 0, n = x.numel(); i < n; i++) {
        int e = 0;
        to[i] = T(static_cast<std::conditional_t<sizeof(T) == 8, double, float>>(
            std::frexp(static_cast<double>(from[i]), &e)));
        exponents[i] = e;
      }
    }
  });
  return {mantissa, exponent};
}

const Declare ops([] {
  Define("frexp(Tensor input) -> (Tensor mantissa, Tensor exponent)")
      .kernel<frexp_op>()
      .out()
      .constant_outputs(2)
      .vjp("result1",
           [](Vjp& v) {
             if (v.needs(0)) v.set(0, v.grad() * exp2(to_dtype(-v.output(1), v.grad().dtype())));
           })
      .doc(
          "input as mantissa * 2^exponent, the mantissa's size in [0.5, 1).\n\n>>> "
          "torch.frexp(torch.tensor([8.0])).exponent\ntensor([4], dtype=torch.int32)");
});

}  // namespace
}  // namespace fl
