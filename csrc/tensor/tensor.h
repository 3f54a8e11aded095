// The tensor: sizes and strides over a storage, and its place in the autograd graph.
//
// A tensor is a Python object. There is no wrapper around a C++ tensor and so nothing to keep in step with it: one
// reference count, one identity, attributes and subclasses by Python's own rules, and the cycle collector sees the
// graph.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string>
#include <utility>
#include <vector>

#include "base/device.h"
#include "base/dtype.h"
#include "base/error.h"
#include "base/scalar.h"
#include "base/small_vector.h"
#include "memory/storage.h"

namespace fl {

struct AutogradMeta;

// Bits of TensorObject::flags. The low byte doubles as the set of layers that an op on the tensor must pass through.
enum Flag : uint16_t {
  kRequiresGrad = 1 << 0,
  kOverride = 1 << 1,  // a subclass with a __torch_function__ of its own
  kMeta = 1 << 2,      // on the meta device: no memory
  kContiguous = 1 << 8,
  kWrappedNumber = 1 << 9,  // stands for a Python number: weak in type promotion
  kInference = 1 << 10,
  kOwnVersion = 1 << 11,  // made by `.data`: writes don't count as changes for autograd
  kNoGradView = 1 << 12,  // a view made while recording was off
  kParameter = 1 << 13,
  kHeapDims = 1 << 14,
};
inline constexpr uint16_t kLayerFlags = 0xff;
inline constexpr int kMaxDims = 64;

struct TensorObject {
  PyObject_HEAD PyObject* dict;
  PyObject* weakrefs;
  Storage* storage;
  int64_t byte_offset;  // of the first element
  int64_t offset;       // the same in elements
  int64_t numel;
  AutogradMeta* autograd;
  TensorObject* base;     // of a view: the tensor that is not a view itself
  uint32_t view_version;  // storage->version when the view was made or its history last rebuilt
  uint16_t flags;
  DType dtype;
  uint8_t ndim;
  int64_t* sizes;
  int64_t* strides;
  int64_t inline_dims[10];
};

extern PyTypeObject* tensor_type;  // set once, when the extension is loaded
inline bool is_tensor(PyObject* o) { return Py_TYPE(o) == tensor_type || PyType_IsSubtype(Py_TYPE(o), tensor_type); }

// Where the first element is; null on the meta device. Always by way of the storage, whose memory moves when it is
// resized or shared.
inline char* address(const TensorObject* t) {
  char* start = t->storage->data;
  return start ? start + t->byte_offset : nullptr;
}

// Owning pointer to a TensorObject; may be empty ("undefined").
class Tensor {
 public:
  Tensor() = default;
  static Tensor take(TensorObject* o) {
    Tensor t;
    t.p_ = o;
    return t;
  }
  static Tensor share(TensorObject* o) {
    Py_XINCREF(reinterpret_cast<PyObject*>(o));
    return take(o);
  }
  static Tensor share(PyObject* o) { return share(reinterpret_cast<TensorObject*>(o)); }
  Tensor(const Tensor& o) : p_(o.p_) { Py_XINCREF(object()); }
  Tensor(Tensor&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  Tensor& operator=(const Tensor& o) {
    Tensor copy(o);
    std::swap(p_, copy.p_);
    return *this;
  }
  Tensor& operator=(Tensor&& o) noexcept {
    Tensor moved(std::move(o));
    std::swap(p_, moved.p_);
    return *this;
  }
  ~Tensor() { Py_XDECREF(object()); }

  bool defined() const { return p_; }
  explicit operator bool() const { return p_; }
  TensorObject* get() const { return p_; }
  TensorObject* operator->() const { return p_; }
  PyObject* object() const { return reinterpret_cast<PyObject*>(p_); }
  TensorObject* detach_pointer() { return std::exchange(p_, nullptr); }
  bool is(const Tensor& o) const { return p_ == o.p_; }

  IntList sizes() const { return {p_->sizes, p_->ndim}; }
  IntList strides() const { return {p_->strides, p_->ndim}; }
  int64_t size(int64_t dim) const;  // negative dims count from the end; throws IndexError
  int64_t stride(int64_t dim) const;
  int64_t dim() const { return p_->ndim; }
  int64_t numel() const { return p_->numel; }
  int64_t offset() const { return p_->offset; }
  DType dtype() const { return p_->dtype; }
  Device device() const { return p_->storage->device; }
  bool is_meta() const { return p_->storage->device.type == DeviceType::Meta; }
  bool is_complex() const { return fl::is_complex(p_->dtype); }
  bool is_floating() const { return fl::is_floating(p_->dtype); }
  int64_t item_size() const { return fl::item_size(p_->dtype); }
  bool is_contiguous() const { return p_->flags & kContiguous; }
  bool is_contiguous(MemoryFormat format) const;
  bool is_wrapped_number() const { return p_->flags & kWrappedNumber; }
  Storage* storage() const { return p_->storage; }
  char* bytes() const { return address(p_); }
  template <class T>
  T* data() const {
    return reinterpret_cast<T*>(address(p_));
  }
  // Autograd's view of the tensor; defined in autograd/.
  bool requires_grad() const;

 private:
  TensorObject* p_ = nullptr;
};
static_assert(sizeof(Tensor) == sizeof(void*));
using TensorList = std::span<const Tensor>;
// A borrowed pointer seen as a handle, without counting.
inline const Tensor& borrow(TensorObject* const& p) { return reinterpret_cast<const Tensor&>(p); }

// The flags that decide which layers an op on `t` passes through. A view whose memory was written to since it was made
// may have become part of a graph through its base.
inline uint16_t layer_flags(const TensorObject* t) {
  uint16_t f = t->flags;
  if (t->base && t->view_version != t->storage->version && !(f & kNoGradView)) f |= t->base->flags & kRequiresGrad;
  return f & kLayerFlags;
}

// ---- making tensors

// A tensor over fresh memory, not initialised. Throws for negative or overflowing sizes and when memory runs out.
Tensor empty(IntList sizes, DType dtype, Device device = {});
Tensor empty(IntList sizes, DType dtype, Device device, MemoryFormat format);
Tensor empty_strided(IntList sizes, IntList strides, DType dtype, Device device = {});
// Like `t`, dense; keeps the order of its dimensions in memory when it is dense and non-overlapping.
Tensor empty_like(const Tensor& t, DType dtype);
inline Tensor empty_like(const Tensor& t) { return empty_like(t, t.dtype()); }
// A zero-dimensional tensor with the value; `wrapped` marks it as standing for a Python number.
Tensor scalar_tensor(const Scalar& value, DType dtype, bool wrapped = false);
// A tensor over the same storage. No history, no base.
Tensor alias(const Tensor& t, IntList sizes, IntList strides, int64_t offset);
inline Tensor alias(const Tensor& t) { return alias(t, t.sizes(), t.strides(), t.offset()); }
Tensor from_storage(StorageRef storage, IntList sizes, IntList strides, int64_t offset, DType dtype);
// Points an existing tensor elsewhere (set_, resize_, .data =).
void set_geometry(const Tensor& t, IntList sizes, IntList strides, int64_t offset);
void set_storage(const Tensor& t, Storage* storage, int64_t offset);
void release_tensor_memory(TensorObject* t);  // for the type's dealloc

// ---- geometry

int64_t checked_numel(IntList sizes);  // throws when negative or past int64
int64_t storage_bytes_needed(IntList sizes, IntList strides, int64_t offset, int64_t item_size);
Dims contiguous_strides(IntList sizes);
Dims strides_for(IntList sizes, MemoryFormat format);
bool is_dense(const Tensor& t);            // non-overlapping and without gaps, in some order
bool may_overlap_itself(const Tensor& t);  // two elements at one place (expanded)
enum class Overlap { None, Same, Partial };
Overlap overlap(const Tensor& a, const Tensor& b);
int64_t wrap_dim(int64_t dim, int64_t ndim, const char* op = nullptr);  // throws IndexError
Dims wrap_dims(IntList dims, int64_t ndim, const char* op);             // also refuses repeats
std::string shape_text(IntList sizes);                                  // "[2, 3]"
MemoryFormat suggest_memory_format(const Tensor& t);

// ---- promotion and broadcasting

DType promote(DType a, DType b);
DType default_dtype();
void set_default_dtype(DType dtype);
Dims broadcast(IntList a, IntList b, const char* op);  // throws RuntimeError naming op and the sizes
bool can_cast(DType from, DType to);

// What a result's type is, from operands in three classes: tensors with dimensions, without, and Python numbers.
class TypePromoter {
 public:
  void add(const Tensor& t);
  void add(const Scalar& s);
  DType result() const;

 private:
  DType dim_ = DType::Bool, zero_ = DType::Bool, number_ = DType::Bool;
  bool has_dim_ = false, has_zero_ = false, has_number_ = false;
};

}  // namespace fl
