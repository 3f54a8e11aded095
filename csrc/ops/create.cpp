// Making tensors from sizes, from other tensors and from data.
#include "autograd/record.h"
#include "ops/factory.h"
#include "python/data.h"
#include "python/dlpack.h"

namespace fl {
namespace {

Tensor filled(IntList size, const Scalar& value, const FactoryOptions& options, const char* op) {
  check_fits(value, options.dtype, op);
  return options.finish(full(size, value, options.dtype, options.device));
}

Tensor empty_op(IntList size, FL_FACTORY_PARAMETERS, std::optional<MemoryFormat> format) {
  FactoryOptions o = factory_options(FL_FACTORY_ARGUMENTS, default_dtype());
  FL_CHECK(format != MemoryFormat::Preserve,
           "empty: memory_format=torch.preserve_format needs a tensor to preserve the format of");
  return o.finish(empty(size, o.dtype, o.device, format.value_or(MemoryFormat::Contiguous)));
}
Tensor zeros_op(IntList size, FL_FACTORY_PARAMETERS) {
  FactoryOptions o = factory_options(FL_FACTORY_ARGUMENTS, default_dtype());
  return o.finish(zeros(size, o.dtype, o.device));
}
Tensor ones_op(IntList size, FL_FACTORY_PARAMETERS) {
  return filled(size, Scalar(1), factory_options(FL_FACTORY_ARGUMENTS, default_dtype()), "ones");
}
DType dtype_for(const Scalar& value) {
  switch (value.type) {
    case Scalar::Type::Bool:
      return DType::Bool;
    case Scalar::Type::Int:
      return DType::Int64;
    case Scalar::Type::Float:
      return default_dtype();
    default:
      return complex_of(default_dtype());
  }
}
Tensor full_op(IntList size, Scalar value, FL_FACTORY_PARAMETERS) {
  return filled(size, value, factory_options(FL_FACTORY_ARGUMENTS, dtype_for(value)), "full");
}
Tensor scalar_tensor_op(Scalar value, FL_FACTORY_PARAMETERS) {
  return filled({}, value, factory_options(FL_FACTORY_ARGUMENTS, default_dtype()), "scalar_tensor");
}
Tensor empty_strided_op(IntList size, IntList stride, FL_FACTORY_PARAMETERS) {
  FactoryOptions o = factory_options(FL_FACTORY_ARGUMENTS, default_dtype());
  return o.finish(empty_strided(size, stride, o.dtype, o.device));
}
Tensor empty_permuted_op(IntList size, IntList physical_layout, FL_FACTORY_PARAMETERS) {
  FactoryOptions o = factory_options(FL_FACTORY_ARGUMENTS, default_dtype());
  size_t n = size.size();
  FL_CHECK(physical_layout.size() == n, "empty_permuted: ", n, " sizes need a physical_layout of ", n,
           " dimensions, got ", physical_layout.size());
  Dims seen(n, 0), physical(n), strides(n);
  for (size_t i = 0; i < n; i++) {
    int64_t d = physical_layout[i];
    FL_CHECK(d >= 0 && d < static_cast<int64_t>(n), "empty_permuted: dimension ", d,
             " of physical_layout is not in [0, ", n, ")");
    FL_CHECK(!seen[d]++, "empty_permuted: physical_layout names dimension ", d, " twice");
    physical[i] = size[d];
  }
  Dims dense = contiguous_strides(physical);
  for (size_t i = 0; i < n; i++) strides[physical_layout[i]] = dense[i];
  checked_numel(size);
  return o.finish(empty_strided(size, strides, o.dtype, o.device));
}

// ---- as another tensor

Tensor room_like(const Tensor& input, const FactoryOptions& o, std::optional<MemoryFormat> format) {
  if (format && *format != MemoryFormat::Preserve) return empty(input.sizes(), o.dtype, o.device, *format);
  if (o.device == input.device()) return empty_like(input, o.dtype);
  Tensor shape = empty_like(alias(input), o.dtype);
  return empty_strided(shape.sizes(), shape.strides(), o.dtype, o.device);
}
Tensor filled_like(const Tensor& input, const Scalar& value, const FactoryOptions& o,
                   std::optional<MemoryFormat> format, const char* op) {
  check_fits(value, o.dtype, op);
  Tensor t = room_like(input, o, format);
  raw_fill(t, value);
  return o.finish(std::move(t));
}
Tensor empty_like_op(const Tensor& input, FL_FACTORY_PARAMETERS, std::optional<MemoryFormat> format) {
  FactoryOptions o = factory_options(FL_FACTORY_ARGUMENTS, input.dtype(), input.device());
  return o.finish(room_like(input, o, format));
}
Tensor zeros_like_op(const Tensor& input, FL_FACTORY_PARAMETERS, std::optional<MemoryFormat> format) {
  return filled_like(input, Scalar(0), factory_options(FL_FACTORY_ARGUMENTS, input.dtype(), input.device()), format,
                     "zeros_like");
}
Tensor ones_like_op(const Tensor& input, FL_FACTORY_PARAMETERS, std::optional<MemoryFormat> format) {
  return filled_like(input, Scalar(1), factory_options(FL_FACTORY_ARGUMENTS, input.dtype(), input.device()), format,
                     "ones_like");
}
Tensor full_like_op(const Tensor& input, Scalar value, FL_FACTORY_PARAMETERS, std::optional<MemoryFormat> format) {
  return filled_like(input, value, factory_options(FL_FACTORY_ARGUMENTS, input.dtype(), input.device()), format,
                     "full_like");
}

Tensor new_empty_op(const Tensor& self, IntList size, FL_FACTORY_PARAMETERS) {
  FactoryOptions o = factory_options(FL_FACTORY_ARGUMENTS, self.dtype(), self.device());
  return o.finish(empty(size, o.dtype, o.device));
}
Tensor new_empty_strided_op(const Tensor& self, IntList size, IntList stride, FL_FACTORY_PARAMETERS) {
  FactoryOptions o = factory_options(FL_FACTORY_ARGUMENTS, self.dtype(), self.device());
  return o.finish(empty_strided(size, stride, o.dtype, o.device));
}
Tensor new_zeros_op(const Tensor& self, IntList size, FL_FACTORY_PARAMETERS) {
  return filled(size, Scalar(0), factory_options(FL_FACTORY_ARGUMENTS, self.dtype(), self.device()), "new_zeros");
}
Tensor new_ones_op(const Tensor& self, IntList size, FL_FACTORY_PARAMETERS) {
  return filled(size, Scalar(1), factory_options(FL_FACTORY_ARGUMENTS, self.dtype(), self.device()), "new_ones");
}
Tensor new_full_op(const Tensor& self, IntList size, Scalar value, FL_FACTORY_PARAMETERS) {
  return filled(size, value, factory_options(FL_FACTORY_ARGUMENTS, self.dtype(), self.device()), "new_full");
}

// ---- from data

Tensor from_data(PyObject* data, std::optional<DType> dtype, Device device, const char* op) {
  Tensor t = tensor_from_data(data, dtype, op);
  if (t.device() == device) return t;
  static const Op to("_C._to_device");
  return to(t, device);
}
// What has a device of its own stays there.
Device device_for(PyObject* data) {
  return is_tensor(data) ? Tensor::share(data).device() : thread_state.default_device;
}
Tensor tensor_op(const Value& data, std::optional<DType> dtype, std::optional<Device> device, bool requires_grad,
                 bool pin_memory) {
  if (!device) device = device_for(data.object);
  FactoryOptions o = factory_options(dtype, Value(), device, requires_grad, pin_memory, DType::Float);
  return o.finish(from_data(data.object, dtype, o.device, "tensor"));
}
Tensor new_tensor_op(const Tensor& self, const Value& data, std::optional<DType> dtype, std::optional<Device> device,
                     bool requires_grad, bool pin_memory) {
  FactoryOptions o = factory_options(dtype, Value(), device, requires_grad, pin_memory, self.dtype(), self.device());
  return o.finish(from_data(data.object, o.dtype, o.device, "new_tensor"));
}

Tensor converted(const Tensor& t, std::optional<DType> dtype, std::optional<Device> device) {
  static const Op to("Tensor.to.device");
  return to(t, device, dtype);
}
Tensor as_tensor_op(const Value& data, std::optional<DType> dtype, std::optional<Device> device) {
  if (is_tensor(data.object)) return converted(Tensor::share(data.object), dtype, device);
  Device place = device.value_or(thread_state.default_device);
  if (is_array(data.object)) return converted(tensor_from_array(data.object, "as_tensor"), dtype, place);
  return from_data(data.object, dtype, place, "as_tensor");
}

// A tensor over the memory of the object where it has memory that a tensor can look at; undefined otherwise.
Tensor look_at(PyObject* o, std::optional<DType> dtype) {
  if (is_tensor(o)) return Tensor::share(o);
  if (is_array(o)) return tensor_from_array(o, "asarray");
  if (is_dlpack_capsule(o)) return tensor_from_capsule(o);
  if (PyObject_HasAttrString(o, "__dlpack__") && !is_number(o)) {
    PyRef capsule = checked(PyObject_CallMethod(o, "__dlpack__", nullptr));
    return tensor_from_capsule(capsule.get());
  }
  if (PyObject_CheckBuffer(o) && !is_number(o))
    return tensor_from_buffer(o, dtype.value_or(default_dtype()), -1, 0, "asarray");
  return Tensor();
}
Tensor asarray_op(const Value& data, std::optional<DType> dtype, std::optional<Device> device, std::optional<bool> copy,
                  std::optional<bool> requires_grad) {
  Tensor t = look_at(data.object, dtype);
  if (t) {
    Tensor r = converted(t, dtype, device);
    FL_CHECK(copy != false || r.is(t), ErrorKind::Value, "asarray: with copy=False, can't look at ",
             info(t.dtype()).name, " on ", device_text(t.device()), " as ", info(r.dtype()).name, " on ",
             device_text(r.device()));
    static const Op clone_of("clone"), detach("detach");
    if (copy == true && r.is(t)) r = clone_of(r);
    t = requires_grad == false && r.requires_grad() ? detach(r) : r;
  } else {
    FL_CHECK(copy != false, ErrorKind::Value,
             "asarray: with copy=False, can't make a tensor of an arbitrary sequence without copying it");
    t = from_data(data.object, dtype, device.value_or(thread_state.default_device), "asarray");
  }
  if (requires_grad == true && !t.requires_grad()) change_requires_grad(t, true);
  return t;
}

#define LIKE_OPTIONS FL_FACTORY_OPTIONS ", memory_format? memory_format=None"
const Declare ops([] {
  Define("empty(int[] size, *, " FL_FACTORY_OPTIONS ", memory_format? memory_format=None) -> Tensor")
      .kernel<empty_op>()
      .out()
      .doc("A tensor whose values are whatever the memory holds.");
  Define("zeros(int[] size, *, " FL_FACTORY_OPTIONS ") -> Tensor").kernel<zeros_op>().out().doc("A tensor of zeros.");
  Define("ones(int[] size, *, " FL_FACTORY_OPTIONS ") -> Tensor").kernel<ones_op>().out().doc("A tensor of ones.");
  Define("full(int[] size, Scalar fill_value, *, " FL_FACTORY_OPTIONS ") -> Tensor")
      .kernel<full_op>()
      .out()
      .doc("A tensor with every element equal to fill_value, whose type it takes unless dtype says otherwise.");
  Define("scalar_tensor(Scalar s, *, " FL_FACTORY_OPTIONS ") -> Tensor")
      .kernel<scalar_tensor_op>()
      .doc("A 0-dimensional tensor with the value s.");
  Define("empty_strided(int[] size, int[] stride, *, " FL_FACTORY_OPTIONS ") -> Tensor")
      .kernel<empty_strided_op>()
      .doc("A tensor with the given sizes and strides over fresh memory, not initialised.");
  Define("empty_permuted(int[] size, int[] physical_layout, *, " FL_FACTORY_OPTIONS ") -> Tensor")
      .kernel<empty_permuted_op>()
      .doc(
          "A dense tensor, not initialised, whose dimensions lie in memory in the order of physical_layout, outermost "
          "first.");

  Define("torch.empty_like(Tensor input, *, " LIKE_OPTIONS ") -> Tensor")
      .kernel<empty_like_op>()
      .constant_outputs(~0u)
      .doc("A tensor of the sizes, type and device of input, not initialised.");
  Define("torch.zeros_like(Tensor input, *, " LIKE_OPTIONS ") -> Tensor")
      .kernel<zeros_like_op>()
      .constant_outputs(~0u)
      .doc("Zeros of the sizes, type and device of input.");
  Define("torch.ones_like(Tensor input, *, " LIKE_OPTIONS ") -> Tensor")
      .kernel<ones_like_op>()
      .constant_outputs(~0u)
      .doc("Ones of the sizes, type and device of input.");
  Define("torch.full_like(Tensor input, Scalar fill_value, *, " LIKE_OPTIONS ") -> Tensor")
      .kernel<full_like_op>()
      .constant_outputs(~0u)
      .doc("A tensor of the sizes, type and device of input filled with fill_value.");

  Define("Tensor.new_empty(Tensor self, int[] size, *, " FL_FACTORY_OPTIONS ") -> Tensor")
      .kernel<new_empty_op>()
      .constant_outputs(~0u)
      .doc("A tensor of the given sizes, not initialised, with the type and device of this one.");
  Define("Tensor.new_empty_strided(Tensor self, int[] size, int[] stride, *, " FL_FACTORY_OPTIONS ") -> Tensor")
      .kernel<new_empty_strided_op>()
      .constant_outputs(~0u)
      .doc("Like empty_strided, with the type and device of this tensor.");
  Define("Tensor.new_zeros(Tensor self, int[] size, *, " FL_FACTORY_OPTIONS ") -> Tensor")
      .kernel<new_zeros_op>()
      .constant_outputs(~0u)
      .doc("Zeros with the type and device of this tensor.");
  Define("Tensor.new_ones(Tensor self, int[] size, *, " FL_FACTORY_OPTIONS ") -> Tensor")
      .kernel<new_ones_op>()
      .constant_outputs(~0u)
      .doc("Ones with the type and device of this tensor.");
  Define("Tensor.new_full(Tensor self, int[] size, Scalar fill_value, *, " FL_FACTORY_OPTIONS ") -> Tensor")
      .kernel<new_full_op>()
      .constant_outputs(~0u)
      .doc("A tensor filled with fill_value, with the type and device of this tensor.");

  Define(
      "torch.tensor(any data, *, dtype? dtype=None, device? device=None, bool requires_grad=False, bool "
      "pin_memory=False) -> Tensor")
      .kernel<tensor_op>()
      .doc("A tensor with a copy of the data: numbers, nested sequences of numbers, arrays or tensors.");
  Define("torch.as_tensor(any data, *, dtype? dtype=None, device? device=None) -> Tensor")
      .composite<as_tensor_op>()
      .doc("The data as a tensor; tensors and NumPy arrays are shared rather than copied where type and device allow.");
  Define(
      "torch.asarray(any obj, *, dtype? dtype=None, device? device=None, bool? copy=None, bool? requires_grad=None) -> "
      "Tensor")
      .composite<asarray_op>()
      .doc(
          "A tensor over the memory of obj: a tensor, a NumPy array, an object with DLPack or the buffer protocol; or "
          "a copy of a sequence.");
  Define(
      "Tensor.new_tensor(Tensor self, any data, *, dtype? dtype=None, device? device=None, bool requires_grad=False, "
      "bool pin_memory=False) -> Tensor")
      .kernel<new_tensor_op>()
      .constant_outputs(~0u)
      .doc("A tensor with a copy of the data, with the type and device of this tensor.");
});

}  // namespace
}  // namespace fl
