// Making tensors from sizes and data.
#include "autograd/record.h"
#include "ops/api.h"
#include "python/data.h"
#include "python/autograd.h"

namespace fl {
namespace {

// The options that factory functions share.
Tensor finish(Tensor t, bool requires_grad) {
  if (requires_grad) change_requires_grad(t, true);
  return t;
}

Tensor empty_op(IntList size, std::optional<DType> dtype, const Value&, std::optional<Device> device, bool requires_grad, bool, std::optional<MemoryFormat> format) {
  return finish(empty(size, dtype.value_or(default_dtype()), device.value_or(Device{}), format.value_or(MemoryFormat::Contiguous)), requires_grad);
}
Tensor zeros_op(IntList size, std::optional<DType> dtype, const Value&, std::optional<Device> device, bool requires_grad, bool) {
  return finish(zeros(size, dtype.value_or(default_dtype()), device.value_or(Device{})), requires_grad);
}
Tensor ones_op(IntList size, std::optional<DType> dtype, const Value&, std::optional<Device> device, bool requires_grad, bool) {
  return finish(full(size, Scalar(1), dtype.value_or(default_dtype()), device.value_or(Device{})), requires_grad);
}
Tensor tensor_op(const Value& data, std::optional<DType> dtype, std::optional<Device> device, bool requires_grad, bool) {
  Tensor t = tensor_from_data(data.object, dtype, "tensor");
  if (device && device->type != DeviceType::CPU) {
    static const Op to("_C._to_device");
    t = to(t, *device);
  }
  return finish(std::move(t), requires_grad);
}

const Declare ops([] {
  Define("empty(int[] size, *, dtype? dtype=None, layout? layout=None, device? device=None, bool requires_grad=False, bool pin_memory=False, memory_format? memory_format=None) -> Tensor")
      .kernel<empty_op>().out().doc("A tensor whose values are whatever the memory holds.");
  Define("zeros(int[] size, *, dtype? dtype=None, layout? layout=None, device? device=None, bool requires_grad=False, bool pin_memory=False) -> Tensor")
      .kernel<zeros_op>().out().doc("A tensor of zeros.");
  Define("ones(int[] size, *, dtype? dtype=None, layout? layout=None, device? device=None, bool requires_grad=False, bool pin_memory=False) -> Tensor")
      .kernel<ones_op>().out().doc("A tensor of ones.");
  Define("torch.tensor(any data, *, dtype? dtype=None, device? device=None, bool requires_grad=False, bool pin_memory=False) -> Tensor")
      .kernel<tensor_op>().doc("A tensor with a copy of the data: numbers, nested sequences of numbers, arrays or tensors.");
});

}  // namespace
}  // namespace fl
