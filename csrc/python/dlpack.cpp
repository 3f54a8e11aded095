#include "python/dlpack.h"

#include "autograd/node.h"
#include "python/tensor_type.h"

namespace fl {
namespace {

// The structures of the DLPack specification, versions 0.8 (unversioned) and 1.x.
namespace dl {
struct Device {
  int32_t type, id;
};
struct DataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct Tensor {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
};
struct Managed {
  Tensor tensor;
  void* context;
  void (*deleter)(Managed*);
};
struct Version {
  uint32_t major, minor;
};
struct ManagedVersioned {
  Version version;
  void* context;
  void (*deleter)(ManagedVersioned*);
  uint64_t flags;
  Tensor tensor;
};
enum Code : uint8_t { Int = 0, UInt = 1, Float = 2, Bfloat = 4, Complex = 5, Bool = 6 };
constexpr int32_t kCpu = 1;
constexpr uint64_t kReadOnly = 1, kCopied = 2;
constexpr const char *kName = "dltensor", *kUsedName = "used_dltensor";
constexpr const char *kVersionedName = "dltensor_versioned", *kUsedVersionedName = "used_dltensor_versioned";
}  // namespace dl

dl::DataType type_of(DType t) {
  uint8_t bits = static_cast<uint8_t>(8 * item_size(t));
  if (t == DType::Bool) return {dl::Bool, 8, 1};
  if (t == DType::BFloat16) return {dl::Bfloat, 16, 1};
  if (is_complex(t)) return {dl::Complex, bits, 1};
  if (is_floating(t)) return {dl::Float, bits, 1};
  return {info(t).is_signed ? dl::Int : dl::UInt, bits, 1};
}

DType dtype_of_type(dl::DataType given) {
  for (int i = 0; i < kNumDTypes; i++) {
    dl::DataType t = type_of(static_cast<DType>(i));
    if (t.code == given.code && t.bits == given.bits && given.lanes == 1) return static_cast<DType>(i);
  }
  fail(ErrorKind::Buffer, "from_dlpack: no dtype has type code ", int(given.code), ", ", int(given.bits), " bits and ",
       int(given.lanes), " lanes");
}

// ---- out

// The tensor that a capsule shows, kept alive with its sizes by the structure a consumer releases.
template <class M>
struct Exported {
  M managed;
  PyObject* tensor;
  std::vector<int64_t> sizes, strides;
};

template <class M>
void delete_exported(M* m) {
  PyGILState_STATE gil = PyGILState_Ensure();
  auto* e = static_cast<Exported<M>*>(m->context);
  Py_DECREF(e->tensor);
  delete e;
  PyGILState_Release(gil);
}

// A capsule that nobody took releases what it holds.
template <class M>
void destroy_capsule(PyObject* capsule, const char* name) {
  if (!PyCapsule_IsValid(capsule, name)) return;
  auto* m = static_cast<M*>(PyCapsule_GetPointer(capsule, name));
  if (m->deleter) m->deleter(m);
}

template <class M>
PyObject* export_as(const Tensor& t, const char* name, PyCapsule_Destructor destructor) {
  auto* e = new Exported<M>{};
  e->sizes.assign(t.sizes().begin(), t.sizes().end());
  e->strides.assign(t.strides().begin(), t.strides().end());
  for (size_t d = 0; d < e->sizes.size(); d++)
    if (e->sizes[d] < 2) e->strides[d] = 1;
  e->tensor = t.object();
  Py_INCREF(e->tensor);
  e->managed.context = e;
  e->managed.deleter = delete_exported<M>;
  e->managed.tensor = {
      t.bytes(), {dl::kCpu, 0}, static_cast<int32_t>(t.dim()), type_of(t.dtype()), e->sizes.data(), e->strides.data(),
      0};
  PyObject* capsule = PyCapsule_New(&e->managed, name, destructor);
  if (!capsule) {
    delete_exported(&e->managed);
    throw PythonError();
  }
  return capsule;
}

// _to_dlpack(tensor, versioned, copied)
PyObject* to_dlpack(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject* o;
    int versioned, copied;
    if (!PyArg_ParseTuple(args, "Opp", &o, &versioned, &copied)) return nullptr;
    FL_CHECK(is_tensor(o), ErrorKind::Type, "to_dlpack: expected a Tensor, got ", Py_TYPE(o)->tp_name);
    const Tensor& t = as_tensor(o);
    FL_CHECK(!t.requires_grad(), ErrorKind::Buffer, "can't export tensors that require gradient, use tensor.detach()");
    FL_CHECK(!t.is_meta(), ErrorKind::Buffer, "can't export a meta tensor: it has no memory");
    if (!versioned)
      return export_as<dl::Managed>(t, dl::kName, [](PyObject* c) { destroy_capsule<dl::Managed>(c, dl::kName); });
    PyObject* capsule = export_as<dl::ManagedVersioned>(
        t, dl::kVersionedName, [](PyObject* c) { destroy_capsule<dl::ManagedVersioned>(c, dl::kVersionedName); });
    auto* m = static_cast<dl::ManagedVersioned*>(PyCapsule_GetPointer(capsule, dl::kVersionedName));
    m->version = {1, 0};
    m->flags = (t.storage()->read_only ? dl::kReadOnly : 0) | (copied ? dl::kCopied : 0);
    return capsule;
  });
}

// ---- in

template <class M>
void release_imported(Storage* s) {
  auto* m = static_cast<M*>(s->owner);
  if (m->deleter) m->deleter(m);
}

// The memory from the lowest element to the highest; a tensor has no negative strides.
template <class M>
Tensor import_from(M* m, bool read_only) {
  struct Guard {
    M* m;
    ~Guard() {
      if (m && m->deleter) m->deleter(m);
    }
  } guard{m};
  const dl::Tensor& t = m->tensor;
  FL_CHECK(t.device.type == dl::kCpu, ErrorKind::Buffer, "from_dlpack: the data is on a device of DLPack type ",
           t.device.type, ", and this build reads only CPU memory");
  FL_CHECK(t.ndim >= 0 && t.ndim <= kMaxDims && (t.ndim == 0 || t.shape), ErrorKind::Buffer,
           "from_dlpack: the capsule describes no tensor");
  DType dtype = dtype_of_type(t.dtype);
  Dims sizes, strides;
  for (int32_t d = 0; d < t.ndim; d++) sizes.push_back(t.shape[d]);
  checked_numel(sizes);
  if (t.strides) {
    for (int32_t d = 0; d < t.ndim; d++) strides.push_back(t.strides[d]);
  } else {
    strides = contiguous_strides(sizes);
  }
  for (int64_t s : strides)
    FL_CHECK(s >= 0, ErrorKind::Buffer, "from_dlpack: tensors have no negative strides, got ", shape_text(strides),
             "; copy the array first");
  char* data = static_cast<char*>(t.data) + t.byte_offset;
  int64_t bytes = storage_bytes_needed(sizes, strides, 0, item_size(dtype));
  FL_CHECK(bytes == 0 || t.data, ErrorKind::Buffer, "from_dlpack: the capsule has no memory");
  StorageRef s = StorageRef::take(adopt_storage(data, bytes, m, release_imported<M>, read_only));
  guard.m = nullptr;
  return from_storage(std::move(s), sizes, strides, 0, dtype);
}

PyObject* from_dlpack(PyObject*, PyObject* capsule) {
  return guarded([&] { return to_python(tensor_from_capsule(capsule)); });
}

PyMethodDef functions[] = {{"_to_dlpack", to_dlpack, METH_VARARGS, "A DLPack capsule over the memory of a tensor."},
                           {"_from_dlpack", from_dlpack, METH_O, "A tensor over the memory of a DLPack capsule."},
                           {}};

}  // namespace

bool is_dlpack_capsule(PyObject* o) {
  return PyCapsule_CheckExact(o) && (PyCapsule_IsValid(o, dl::kName) || PyCapsule_IsValid(o, dl::kVersionedName));
}

Tensor tensor_from_capsule(PyObject* capsule) {
  FL_CHECK(
      is_dlpack_capsule(capsule), "from_dlpack: expected a DLPack capsule, got ",
      PyCapsule_CheckExact(capsule) ? "one of another kind or one that was used already" : Py_TYPE(capsule)->tp_name);
  if (PyCapsule_IsValid(capsule, dl::kVersionedName)) {
    auto* m = static_cast<dl::ManagedVersioned*>(PyCapsule_GetPointer(capsule, dl::kVersionedName));
    FL_CHECK(m->version.major <= 1, ErrorKind::Buffer, "from_dlpack: the capsule has DLPack version ", m->version.major,
             ".", m->version.minor, ", and this build reads 1.x");
    PyCapsule_SetName(capsule, dl::kUsedVersionedName);
    return import_from(m, m->flags & dl::kReadOnly);
  }
  auto* m = static_cast<dl::Managed*>(PyCapsule_GetPointer(capsule, dl::kName));
  PyCapsule_SetName(capsule, dl::kUsedName);
  return import_from(m, false);
}

void init_dlpack(PyObject* module) {
  if (PyModule_AddFunctions(module, functions)) throw PythonError();
}

}  // namespace fl
