// Pointing tensors at other memory and resizing them.
#include "python/storage.h"

#include "autograd/node.h"
#include "ops/api.h"
#include "python/tensor_type.h"

namespace fl {
namespace {

// What set_ may be given: a tensor, an untyped storage, or a typed one with the tensor's own element type.
Storage* storage_from(PyObject* source, DType dtype) {
  if (Storage* s = storage_of(source)) return s;
  PyRef untyped = PyRef::take(PyObject_GetAttrString(source, "_untyped_storage"));
  PyErr_Clear();
  Storage* s = untyped ? storage_of(untyped.get()) : nullptr;
  FL_CHECK(s, ErrorKind::Type, "set_(): argument 'source' must be a Tensor or a storage, not ",
           Py_TYPE(source)->tp_name);
  PyRef typed = checked(PyObject_GetAttrString(source, "dtype"));
  FL_CHECK(!is_dtype(typed.get()) || dtype_of_object(typed.get()) == dtype, "set_: expected a storage of ",
           info(dtype).name, " or an untyped one, got one of ", info(dtype_of_object(typed.get())).name);
  return s;
}

void point_at(const Tensor& self, Storage* storage, IntList sizes, IntList strides, int64_t offset) {
  FL_CHECK(storage->device.type == self.device().type, "set_: can't set the storage of a tensor on device \"",
           device_text(self.device()), "\" to a storage on device \"", device_text(storage->device), "\"");
  FL_CHECK(offset >= 0, "set_: invalid storage offset ", offset, ": it must not be negative");
  FL_CHECK(sizes.size() == strides.size(), "set_: sizes ", shape_text(sizes), " and strides ", shape_text(strides),
           " must have the same length");
  checked_numel(sizes);
  for (int64_t s : strides) FL_CHECK(s >= 0, "set_: negative strides are not supported, got ", shape_text(strides));
  int64_t needed = storage_bytes_needed(sizes, strides, offset, self.item_size());
  StorageRef keep = StorageRef::share(storage);
  if (needed > storage->bytes) resize_storage(storage, needed);
  set_storage(self, storage, offset);
  set_geometry(self, sizes, strides, offset);
  bump_version(self);
}

Tensor set_op(const Tensor& input, const Value& source, int64_t storage_offset, const Value& size,
              const Value& stride) {
  FL_CHECK(!grad_enabled() || !input.requires_grad() || !is_leaf(input),
           "set_: a leaf Variable that requires grad is being used in an in-place operation");
  if (source.is_none() || source.object == Py_None) {
    StorageRef empty_storage = StorageRef::take(new_storage(0, input.device()));
    int64_t none = 0, one = 1;
    point_at(input, empty_storage.get(), {&none, 1}, {&one, 1}, 0);
    return input;
  }
  bool from_tensor = is_tensor(source.object);
  if (from_tensor) {
    const Tensor& t = as_tensor(source.object);
    FL_CHECK(t.dtype() == input.dtype(), "set_: could not set a tensor of type ", info(input.dtype()).name,
             " to one of type ", info(t.dtype()).name);
    if (size.is_none()) {
      Dims sizes(t.sizes()), strides(t.strides());
      point_at(input, t.storage(), sizes, strides, t.offset());
      return input;
    }
  }
  Storage* storage = from_tensor ? as_tensor(source.object).storage() : storage_from(source.object, input.dtype());
  Dims sizes;
  if (size.is_none())
    sizes.push_back(storage->bytes / input.item_size());
  else
    sizes = Dims(size.int_list());
  bool dense = stride.is_none() || (stride.length == 0 && !sizes.empty());
  point_at(input, storage, sizes, dense ? contiguous_strides(sizes) : Dims(stride.int_list()), storage_offset);
  return input;
}

void resize_in_format(const Tensor& t, IntList sizes, MemoryFormat format) {
  FL_CHECK(!t.requires_grad(), "resize_: cannot resize variables that require grad");
  Dims wanted(sizes);
  resize_tensor(t, wanted);
  if (format != MemoryFormat::Contiguous) set_geometry(t, wanted, strides_for(wanted, format), t.offset());
  bump_version(t);
}
Tensor resize_op(const Tensor& self, IntList size, std::optional<MemoryFormat> format) {
  FL_CHECK(
      format != MemoryFormat::Preserve,
      "resize_: memory_format=torch.preserve_format is not supported: there is no tensor to preserve the format of");
  resize_in_format(self, size, format.value_or(MemoryFormat::Contiguous));
  return self;
}
Tensor resize_as_op(const Tensor& self, const Tensor& like, std::optional<MemoryFormat> format) {
  MemoryFormat wanted =
      format == MemoryFormat::Preserve ? suggest_memory_format(like) : format.value_or(MemoryFormat::Contiguous);
  resize_in_format(self, like.sizes(), wanted);
  return self;
}

const Declare ops([] {
  Define(
      "Tensor.set_(Tensor input, any source=None, int storage_offset=0, int[]? size=None, int[]? stride=None) -> "
      "Tensor")
      .composite<set_op>()
      .returns_self()
      .doc(
          "Points this tensor at the memory of another tensor or of a storage, with sizes and strides; with no "
          "arguments, at none.");
  Define("Tensor.resize_(Tensor self, int[] size, *, memory_format? memory_format=None) -> Tensor")
      .composite<resize_op>()
      .returns_self()
      .doc("Changes the sizes; memory grows where it must and what is new is not initialised.");
  Define("resize_as_(Tensor self, Tensor the_template, *, memory_format? memory_format=None) -> Tensor")
      .composite<resize_as_op>()
      .returns_self()
      .doc("Changes the sizes to those of the_template.");
});

}  // namespace
}  // namespace fl
