// Conversion to other types and devices.
#include "autograd/record.h"
#include "ops/api.h"

namespace fl {
namespace {

// The copy, in the type, place and order of memory asked for.
Tensor to_copy(const Tensor& input, std::optional<DType> dtype, std::optional<Device> device,
               std::optional<MemoryFormat> format) {
  DType type = dtype.value_or(input.dtype());
  Device place = device.value_or(input.device());
  FL_CHECK(!input.is_meta() || place.type == DeviceType::Meta, ErrorKind::NotImplemented,
           "Cannot copy out of meta tensor; no data! Use torch.empty_like or Module.to_empty() to give it memory");
  Tensor r;
  if (format && *format != MemoryFormat::Preserve) {
    r = empty(input.sizes(), type, place, *format);
  } else if (place == input.device()) {
    r = empty_like(input, type);
  } else {
    Dims strides = input.is_contiguous() ? contiguous_strides(input.sizes()) : Dims(empty_like(input, type).strides());
    r = empty_strided(input.sizes(), strides, type, place);
  }
  raw_copy(r, input);
  return r;
}

Tensor convert(const Tensor& self, DType dtype, Device device, bool copy, std::optional<MemoryFormat> format) {
  bool same_format = !format || *format == MemoryFormat::Preserve || self.is_contiguous(*format);
  // "cpu:0" is the same place as "cpu".
  bool same_place = device.type == self.device().type && (device.type == DeviceType::CPU || device == self.device());
  if (dtype == self.dtype() && same_place && same_format && !copy) return self;
  static const Op copied("_C._to_copy");
  return copied(self, dtype, device, format);
}

Tensor to_dtype_method(const Tensor& self, DType dtype, bool, bool copy, std::optional<MemoryFormat> format) {
  return convert(self, dtype, self.device(), copy, format);
}
Tensor to_device_method(const Tensor& self, std::optional<Device> device, std::optional<DType> dtype, bool, bool copy,
                        std::optional<MemoryFormat> format) {
  return convert(self, dtype.value_or(self.dtype()), device.value_or(self.device()), copy, format);
}
Tensor to_other_method(const Tensor& self, const Tensor& other, bool, bool copy, std::optional<MemoryFormat> format) {
  return convert(self, other.dtype(), other.device(), copy, format);
}
Tensor type_as_method(const Tensor& self, const Tensor& other) {
  return convert(self, other.dtype(), other.device(), false, std::nullopt);
}
Tensor cpu_method(const Tensor& self, std::optional<MemoryFormat> format) {
  return convert(self, self.dtype(), Device{}, false, format);
}
template <DType dtype>
Tensor converted(const Tensor& self, std::optional<MemoryFormat> format) {
  return convert(self, dtype, self.device(), false, format);
}
template <DeviceType type>
Tensor to_accelerator(const Tensor& self, const Value&, bool, std::optional<MemoryFormat> format) {
  return convert(self, self.dtype(), Device{type}, false, format);
}

template <DType dtype>
void define_conversion(const char* schema) {
  Define(schema).composite<converted<dtype>>().doc(
      "The tensor converted to the type the method is named for; itself when it has that type already.");
}

const Declare ops([] {
  Define(
      "_C._to_copy(Tensor input, dtype? dtype=None, device? device=None, memory_format? memory_format=None) -> Tensor")
      .kernel<to_copy>()
      .node("ToCopyBackward0")
      .vjp("", [](Vjp& v) {
        if (v.needs(0)) v.set(0, to_dtype(v.grad(), v.dtype(0)));
      });
  Define(
      "Tensor.to.dtype(Tensor self, dtype dtype, bool non_blocking=False, bool copy=False, *, memory_format? "
      "memory_format=None) -> Tensor")
      .composite<to_dtype_method>()
      .returns_self()
      .doc(
          "The tensor converted to a dtype and a device, or to those of another tensor. Returns the tensor itself when "
          "nothing changes, unless copy is set.");
  Define(
      "Tensor.to.device(Tensor self, device? device=None, dtype? dtype=None, bool non_blocking=False, bool copy=False, "
      "*, memory_format? memory_format=None) -> Tensor")
      .composite<to_device_method>()
      .returns_self();
  Define(
      "Tensor.to.other(Tensor self, Tensor other, bool non_blocking=False, bool copy=False, *, memory_format? "
      "memory_format=None) -> Tensor")
      .composite<to_other_method>()
      .returns_self();
  Define("Tensor.type_as(Tensor self, Tensor other) -> Tensor")
      .composite<type_as_method>()
      .returns_self()
      .doc("The tensor converted to the type of other.");
  Define("Tensor.cpu(Tensor self, *, memory_format? memory_format=None) -> Tensor")
      .composite<cpu_method>()
      .returns_self()
      .doc("The tensor in CPU memory.");
  Define(
      "Tensor.cuda(Tensor self, any device=None, bool non_blocking=False, *, memory_format? memory_format=None) -> "
      "Tensor")
      .composite<to_accelerator<DeviceType::CUDA>>()
      .doc("Raises AssertionError: this build has no CUDA devices.");
  define_conversion<DType::Float>("Tensor.float(Tensor self, *, memory_format? memory_format=None) -> Tensor");
  define_conversion<DType::Double>("Tensor.double(Tensor self, *, memory_format? memory_format=None) -> Tensor");
  define_conversion<DType::Half>("Tensor.half(Tensor self, *, memory_format? memory_format=None) -> Tensor");
  define_conversion<DType::BFloat16>("Tensor.bfloat16(Tensor self, *, memory_format? memory_format=None) -> Tensor");
  define_conversion<DType::Int64>("Tensor.long(Tensor self, *, memory_format? memory_format=None) -> Tensor");
  define_conversion<DType::Int32>("Tensor.int(Tensor self, *, memory_format? memory_format=None) -> Tensor");
  define_conversion<DType::Int16>("Tensor.short(Tensor self, *, memory_format? memory_format=None) -> Tensor");
  define_conversion<DType::Int8>("Tensor.char(Tensor self, *, memory_format? memory_format=None) -> Tensor");
  define_conversion<DType::UInt8>("Tensor.byte(Tensor self, *, memory_format? memory_format=None) -> Tensor");
  define_conversion<DType::Bool>("Tensor.bool(Tensor self, *, memory_format? memory_format=None) -> Tensor");
  define_conversion<DType::ComplexFloat>("Tensor.cfloat(Tensor self, *, memory_format? memory_format=None) -> Tensor");
  define_conversion<DType::ComplexDouble>(
      "Tensor.cdouble(Tensor self, *, memory_format? memory_format=None) -> Tensor");
});

}  // namespace
}  // namespace fl
