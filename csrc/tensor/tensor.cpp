#include "tensor/tensor.h"

#include <algorithm>

#include "tensor/thread_state.h"

namespace fl {

PyTypeObject* tensor_type = nullptr;

namespace {

constexpr int kPoolSize = 1024;
TensorObject* pool[kPoolSize];
int pooled = 0;

TensorObject* new_object() {
  if (pooled) {
    TensorObject* t = pool[--pooled];
    PyObject* o = reinterpret_cast<PyObject*>(t);
    Py_SET_REFCNT(o, 1);
#ifdef Py_TRACE_REFS
    _Py_NewReference(o);
#endif
    return t;
  }
  TensorObject* t = PyObject_GC_New(TensorObject, tensor_type);
  if (!t) throw PythonError();
  return t;
}

void write_dims(TensorObject* t, IntList sizes, IntList strides) {
  size_t n = sizes.size();
  if (n > 5) {
    int64_t* room = static_cast<int64_t*>(PyMem_Malloc(2 * n * sizeof(int64_t)));
    std::copy(sizes.begin(), sizes.end(), room);
    std::copy(strides.begin(), strides.end(), room + n);
    if (t->flags & kHeapDims) PyMem_Free(t->sizes);
    t->flags |= kHeapDims;
    t->sizes = room;
    t->strides = room + n;
  } else if (sizes.data() != t->inline_dims && strides.data() != t->inline_dims + 5) {
    if (t->flags & kHeapDims) PyMem_Free(t->sizes);
    t->flags &= ~kHeapDims;
    t->sizes = t->inline_dims;
    t->strides = t->inline_dims + 5;
    for (size_t d = 0; d < n; d++) {
      t->sizes[d] = sizes[d];
      t->strides[d] = strides[d];
    }
  } else {
    int64_t copy[10];
    std::copy(sizes.begin(), sizes.end(), copy);
    std::copy(strides.begin(), strides.end(), copy + n);
    if (t->flags & kHeapDims) PyMem_Free(t->sizes);
    t->flags &= ~kHeapDims;
    t->sizes = t->inline_dims;
    t->strides = t->inline_dims + 5;
    std::copy(copy, copy + n, t->sizes);
    std::copy(copy + n, copy + 2 * n, t->strides);
  }
  t->ndim = static_cast<uint8_t>(n);
  int64_t numel = 1, expected = 1;
  bool contiguous = true;
  for (size_t d = n; d-- > 0;) {
    numel *= t->sizes[d];
    if (t->sizes[d] == 1) continue;
    if (t->strides[d] != expected) contiguous = false;
    expected *= t->sizes[d];
  }
  t->numel = numel;
  if (contiguous || numel == 0)
    t->flags |= kContiguous;
  else
    t->flags &= ~kContiguous;
}

uint16_t device_flag(const Storage* s) { return s->device.type == DeviceType::Meta ? kMeta : 0; }

Tensor make(Storage* storage_taken, IntList sizes, IntList strides, int64_t offset, DType dtype) {
  StorageRef guard = StorageRef::take(storage_taken);
  FL_CHECK(sizes.size() <= kMaxDims, "a tensor can have at most ", kMaxDims, " dimensions, got ", sizes.size());
  TensorObject* t = new_object();
  t->dict = t->weakrefs = nullptr;
  t->autograd = nullptr;
  t->base = nullptr;
  t->flags = thread_state.new_tensor_flags | device_flag(guard.get());
  t->dtype = dtype;
  t->view_version = 0;
  t->offset = offset;
  t->storage = guard.detach();
  t->byte_offset = offset * item_size(dtype);
  write_dims(t, sizes, strides);
  return Tensor::take(t);
}

}  // namespace

void release_tensor_memory(TensorObject* t) {
  release(t->storage);
  if (t->flags & kHeapDims) PyMem_Free(t->sizes);
  PyObject* o = reinterpret_cast<PyObject*>(t);
  PyTypeObject* type = Py_TYPE(o);
  if (type == tensor_type && pooled < kPoolSize) {
    pool[pooled++] = t;
    return;
  }
  type->tp_free(o);
  Py_DECREF(type);
}

int64_t Tensor::size(int64_t d) const { return p_->sizes[wrap_dim(d, p_->ndim, "size")]; }
int64_t Tensor::stride(int64_t d) const { return p_->strides[wrap_dim(d, p_->ndim, "stride")]; }

bool Tensor::is_contiguous(MemoryFormat format) const {
  if (format == MemoryFormat::Contiguous || format == MemoryFormat::Preserve) return is_contiguous();
  int64_t want = format == MemoryFormat::ChannelsLast ? 4 : 5;
  if (dim() != want) return false;
  int64_t expected = 1;
  for (int64_t i = 0; i < want; i++) {
    int64_t d = i == 0 ? 1 : i == want - 1 ? 0 : want - i;  // channels, then spatial from the last, then batch
    if (p_->sizes[d] == 1) continue;
    if (p_->strides[d] != expected) return false;
    expected *= p_->sizes[d];
  }
  return true;
}

Tensor empty(IntList sizes, DType dtype, Device device) {
  int64_t numel = checked_numel(sizes);
  int64_t bytes;
  FL_CHECK(!__builtin_mul_overflow(numel, item_size(dtype), &bytes), "a tensor of sizes ", shape_text(sizes),
           " and type ", info(dtype).name, " is too large: its size in bytes overflows int64");
  Dims strides;
  strides.resize(sizes.size());
  int64_t step = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = step;
    step *= std::max<int64_t>(sizes[d], 1);
  }
  return make(new_storage(bytes, device), sizes, strides, 0, dtype);
}

Tensor empty(IntList sizes, DType dtype, Device device, MemoryFormat format) {
  if (format == MemoryFormat::Contiguous || format == MemoryFormat::Preserve) return empty(sizes, dtype, device);
  checked_numel(sizes);
  return empty_strided(sizes, strides_for(sizes, format), dtype, device);
}

Tensor empty_strided(IntList sizes, IntList strides, DType dtype, Device device) {
  checked_numel(sizes);
  FL_CHECK(sizes.size() == strides.size(), "empty_strided: sizes ", shape_text(sizes), " and strides ",
           shape_text(strides), " must have the same length");
  for (int64_t s : strides)
    FL_CHECK(s >= 0, "empty_strided: negative strides are not supported, got ", shape_text(strides));
  return make(new_storage(storage_bytes_needed(sizes, strides, 0, item_size(dtype)), device), sizes, strides, 0, dtype);
}

Tensor empty_like(const Tensor& t, DType dtype) {
  if (t.is_contiguous()) return empty(t.sizes(), dtype, t.device());
  // Keep the order of dimensions by stride; expanded ones (stride 0) become real.
  size_t n = t.sizes().size();
  SmallVector<int, 8> order(n);
  for (size_t i = 0; i < n; i++) order[i] = static_cast<int>(i);
  bool dense = is_dense(t);
  if (!dense) {
    for (int64_t s : t.strides())
      if (s == 0) return empty(t.sizes(), dtype, t.device());
  }
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return t->strides[a] > t->strides[b]; });
  Dims strides(n);
  int64_t step = 1;
  for (size_t i = n; i-- > 0;) {
    strides[order[i]] = step;
    step *= std::max<int64_t>(t->sizes[order[i]], 1);
  }
  return make(new_storage(t.numel() * item_size(dtype), t.device()), t.sizes(), dense ? t.strides() : IntList(strides),
              0, dtype);
}

Tensor scalar_tensor(const Scalar& value, DType dtype, bool wrapped) {
  Tensor t = empty({}, dtype);
  visit_dtype(dtype, [&]<class T>() { *t.data<T>() = value.to<T>(); });
  if (wrapped) t->flags |= kWrappedNumber;
  return t;
}

Tensor alias(const Tensor& t, IntList sizes, IntList strides, int64_t offset) {
  retain(t.storage());
  return make(t.storage(), sizes, strides, offset, t.dtype());
}

Tensor from_storage(StorageRef storage, IntList sizes, IntList strides, int64_t offset, DType dtype) {
  return make(storage.detach(), sizes, strides, offset, dtype);
}

void set_geometry(const Tensor& t, IntList sizes, IntList strides, int64_t offset) {
  FL_CHECK(sizes.size() <= kMaxDims, "a tensor can have at most ", kMaxDims, " dimensions, got ", sizes.size());
  t->offset = offset;
  t->byte_offset = offset * t.item_size();
  write_dims(t.get(), sizes, strides);
}

void set_storage(const Tensor& t, Storage* storage, int64_t offset) {
  retain(storage);
  release(t->storage);
  t->storage = storage;
  t->flags = (t->flags & ~kMeta) | device_flag(storage);
  t->offset = offset;
  t->byte_offset = offset * t.item_size();
}

}  // namespace fl
