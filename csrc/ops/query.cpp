// Questions about tensors, as functions of the package.
#include "autograd/record.h"
#include "ops/api.h"
#include "python/objects.h"

namespace fl {
namespace {

Scalar numel_op(const Tensor& input) { return Scalar(input.numel()); }
Scalar is_floating_op(const Tensor& input) { return Scalar(input.is_floating()); }
Scalar is_complex_op(const Tensor& input) { return Scalar(input.is_complex()); }
Scalar is_signed_op(const Tensor& input) { return Scalar(info(input.dtype()).is_signed); }
Scalar is_inference_op(const Tensor& input) { return Scalar((input->flags & kInference) != 0); }
Scalar never(const Tensor&) { return Scalar(false); }
Scalar is_same_size_op(const Tensor& input, const Tensor& other) { return Scalar(equal(input.sizes(), other.sizes())); }
Scalar get_device_op(const Tensor& input) {
  return Scalar(int64_t(input.device().type == DeviceType::CPU ? -1 : input.device().index));
}
Scalar is_nonzero_op(const Tensor& input) {
  FL_CHECK(input.numel() == 1, "is_nonzero: Boolean value of Tensor with ",
           input.numel() ? "more than one value" : "no values", " is ambiguous");
  FL_CHECK(!input.is_meta(), "is_nonzero: a meta tensor has no value");
  return visit_dtype(input.dtype(), [&]<class T>() {
    T v = *input.data<T>();
    if constexpr (std::is_same_v<T, Complex<float>> || std::is_same_v<T, Complex<double>>)
      return Scalar(v.real != 0 || v.imag != 0);
    else
      return Scalar(v != T(0));
  });
}
Result result_type_op(const Entry&, const Value* args, const Destination*) {
  TypePromoter p;
  for (int i = 0; i < 2; i++) {
    if (args[i].is_tensor())
      p.add(borrow(args[i].tensor));
    else
      p.add(args[i].scalar());
  }
  Result r;
  r.kind = Result::Kind::Object;
  r.object = dtype_object(p.result());
  Py_INCREF(r.object);
  return r;
}

const Declare ops([] {
  Define("torch.numel(Tensor input) -> any").kernel<numel_op>().constant_outputs(~0u).doc("The number of elements.");
  Define("torch.is_floating_point(Tensor input) -> any")
      .kernel<is_floating_op>()
      .constant_outputs(~0u)
      .doc("Whether the elements are floating point numbers.");
  Define("torch.is_complex(Tensor input) -> any")
      .kernel<is_complex_op>()
      .constant_outputs(~0u)
      .doc("Whether the elements are complex numbers.");
  Define("torch.is_signed(Tensor input) -> any")
      .kernel<is_signed_op>()
      .constant_outputs(~0u)
      .doc("Whether the element type has negative numbers.");
  Define("torch.is_inference(Tensor input) -> any")
      .kernel<is_inference_op>()
      .constant_outputs(~0u)
      .doc("Whether the tensor was made in inference mode.");
  Define("torch.is_conj(Tensor input) -> any")
      .kernel<never>()
      .constant_outputs(~0u)
      .doc("Whether a conjugation is pending: never.");
  Define("torch.is_neg(Tensor input) -> any")
      .kernel<never>()
      .constant_outputs(~0u)
      .doc("Whether a negation is pending: never.");
  Define("is_distributed(Tensor input) -> any")
      .kernel<never>()
      .constant_outputs(~0u)
      .doc("Whether the tensor is spread over processes: never.");
  Define("is_same_size(Tensor input, Tensor other) -> any")
      .kernel<is_same_size_op>()
      .constant_outputs(~0u)
      .doc("Whether two tensors have the same sizes.");
  Define("is_nonzero(Tensor input) -> any")
      .kernel<is_nonzero_op>()
      .constant_outputs(~0u)
      .doc("Whether the only element differs from zero. Raises RuntimeError for other numbers of elements.");
  Define("torch.get_device(Tensor input) -> any")
      .kernel<get_device_op>()
      .constant_outputs(~0u)
      .doc("The index of the device; -1 for the CPU.");
  Define("torch.result_type(Tensor|Scalar tensor, Tensor|Scalar other) -> any")
      .raw_kernel(result_type_op)
      .constant_outputs(~0u)
      .doc("The dtype of arithmetic on the two.");
});

}  // namespace
}  // namespace fl
