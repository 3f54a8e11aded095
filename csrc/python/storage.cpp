#include "python/storage.h"

#include <structmember.h>

#include <cstring>

#include "memory/shared.h"
#include "tensor/tensor.h"

namespace fl {
namespace {

struct StorageObject {
  PyObject_HEAD PyObject* dict;
  PyObject* weakrefs;
  Storage* storage;
};
PyTypeObject* storage_type;

Storage*& held(PyObject* o) { return reinterpret_cast<StorageObject*>(o)->storage; }

PyObject* construct(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"size", "device", nullptr};
    PyObject *size = nullptr, *device = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:UntypedStorage", const_cast<char**>(names), &size, &device))
      return nullptr;
    int64_t bytes = 0;
    std::string data;
    bool copied = false;
    if (size && !to_int(size, &bytes)) {
      PyRef list =
          checked(PySequence_Fast(size, "UntypedStorage: expected a size in bytes or a sequence of byte values"));
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); i++) {
        int64_t v;
        FL_CHECK(to_int(PySequence_Fast_GET_ITEM(list.get(), i), &v), ErrorKind::Type,
                 "UntypedStorage: expected byte values");
        data += static_cast<char>(v);
      }
      bytes = static_cast<int64_t>(data.size());
      copied = true;
    }
    FL_CHECK(bytes >= 0, "UntypedStorage: the size must not be negative, got ", bytes);
    StorageRef s = StorageRef::take(new_storage(bytes, device == Py_None ? Device{} : parse_device(device)));
    if (copied && s->data) std::memcpy(s->data, data.data(), data.size());
    PyObject* o = type->tp_alloc(type, 0);
    if (!o) throw PythonError();
    held(o) = s.detach();
    return o;
  });
}
void dealloc(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  PyObject_GC_UnTrack(o);
  StorageObject* s = reinterpret_cast<StorageObject*>(o);
  if (s->weakrefs) PyObject_ClearWeakRefs(o);
  Py_CLEAR(s->dict);
  if (s->storage) release(s->storage);
  type->tp_free(o);
  Py_DECREF(type);
}
int traverse(PyObject* o, visitproc visit, void* arg) {
  Py_VISIT(reinterpret_cast<StorageObject*>(o)->dict);
  Py_VISIT(Py_TYPE(o));
  return 0;
}
int clear(PyObject* o) {
  Py_CLEAR(reinterpret_cast<StorageObject*>(o)->dict);
  return 0;
}
int get_buffer(PyObject* o, Py_buffer* view, int flags) {
  Storage* s = held(o);
  static char nothing;
  return PyBuffer_FillInfo(view, o, s->data ? s->data : &nothing, s->data ? s->bytes : 0, s->read_only, flags);
}
PyObject* nbytes(PyObject* o, PyObject*) { return PyLong_FromLongLong(held(o)->bytes); }
PyObject* data_ptr(PyObject* o, PyObject*) { return PyLong_FromVoidPtr(held(o)->data); }
PyObject* resize(PyObject* o, PyObject* size) {
  return guarded([&] {
    int64_t bytes;
    FL_CHECK(to_int(size, &bytes) && bytes >= 0, ErrorKind::Type, "resize_: expected a size in bytes");
    resize_storage(held(o), bytes);
    Py_INCREF(o);
    return o;
  });
}
PyObject* clone(PyObject* o, PyObject*) {
  return guarded([&] {
    Storage* s = held(o);
    StorageRef copy = StorageRef::take(new_storage(s->bytes, s->device));
    if (s->data && s->bytes) std::memcpy(copy->data, s->data, s->bytes);
    return storage_object(copy.get());
  });
}
PyObject* copy(PyObject* o, PyObject* const* args, Py_ssize_t n, PyObject*) {
  return guarded([&] {
    FL_CHECK(n >= 1 && storage_of(args[0]), ErrorKind::Type, "copy_: expected an untyped storage");
    Storage *to = held(o), *from = storage_of(args[0]);
    FL_CHECK(to->bytes == from->bytes, "copy_: the storages have ", to->bytes, " and ", from->bytes, " bytes");
    FL_CHECK(!to->read_only, "copy_: this storage is read-only");
    if (to->data && from->data) std::memmove(to->data, from->data, to->bytes);
    to->version++;
    to->writes++;
    Py_INCREF(o);
    return o;
  });
}
PyObject* fill(PyObject* o, PyObject* value) {
  return guarded([&] {
    int64_t v;
    FL_CHECK(to_int(value, &v), ErrorKind::Type, "fill_: expected an int");
    if (held(o)->data) std::memset(held(o)->data, static_cast<int>(v), held(o)->bytes);
    Py_INCREF(o);
    return o;
  });
}
PyObject* share_memory(PyObject* o, PyObject*) {
  return guarded([&] {
    share_storage(held(o));
    Py_INCREF(o);
    return o;
  });
}
PyObject* is_shared_py(PyObject* o, PyObject*) {
  return PyBool_FromLong(is_shared(held(o)) || held(o)->device.type != DeviceType::CPU);
}
PyObject* share_descriptor(PyObject* o, PyObject*) {
  return guarded([&] {
    share_storage(held(o));
    return Py_BuildValue("iL", shared_descriptor(held(o)), static_cast<long long>(held(o)->bytes));
  });
}
PyObject* from_descriptor(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int descriptor;
    long long bytes;
    if (!PyArg_ParseTuple(args, "iL:_new_shared_fd_cpu", &descriptor, &bytes)) return nullptr;
    StorageRef s = StorageRef::take(open_shared(descriptor, bytes));
    return storage_object(s.get());
  });
}
PyObject* get_device(PyObject* o, void*) { return new_device(held(o)->device); }
PyObject* get_address(PyObject* o, void*) { return PyLong_FromVoidPtr(held(o)); }
PyObject* get_resizable(PyObject* o, void*) { return PyBool_FromLong(held(o)->resizable); }
PyObject* compare(PyObject* a, PyObject* b, int op) {
  if (!storage_of(b) || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((held(a) == held(b)) == (op == Py_EQ));
}
Py_hash_t hash(PyObject* o) { return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(held(o)) >> 4); }

SmallVector<int64_t, 6> numbers(PyObject* sequence, const char* what) {
  PyRef list = checked(PySequence_Fast(sequence, "set_: expected a sequence of ints"));
  SmallVector<int64_t, 6> values(PySequence_Fast_GET_SIZE(list.get()));
  for (size_t i = 0; i < values.size(); i++) {
    FL_CHECK(PySequence_Fast_GET_SIZE(list.get()) == static_cast<Py_ssize_t>(values.size()), ErrorKind::Value,
             "set_: ", what, " changed its length while it was read");
    FL_CHECK(to_int(PySequence_Fast_GET_ITEM(list.get(), i), &values[i]), ErrorKind::Type, "set_: ", what,
             " holds ints");
    FL_CHECK(values[i] >= 0, "set_: ", what, " has a negative entry: ", values[i]);
  }
  return values;
}

// (tensor, storage, offset, size, stride or None): points the tensor at a storage, which grows if it is too small.
PyObject* set_memory(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *tensor, *source, *size, *stride;
    Py_ssize_t offset;
    if (!PyArg_ParseTuple(args, "OOnOO", &tensor, &source, &offset, &size, &stride)) return nullptr;
    FL_CHECK(is_tensor(tensor), ErrorKind::Type, "set_: expected a Tensor");
    Storage* storage = storage_of(source);
    FL_CHECK(storage, ErrorKind::Type, "set_: expected an untyped storage, got ", Py_TYPE(source)->tp_name);
    const Tensor t = Tensor::share(tensor);
    FL_CHECK(t.device() == storage->device, "set_: the tensor and the storage are on different devices");
    FL_CHECK(offset >= 0, "set_: the offset is negative: ", offset);
    SmallVector<int64_t, 6> sizes = numbers(size, "size");
    checked_numel(sizes);
    Dims steps = contiguous_strides(sizes);
    if (stride != Py_None) {
      SmallVector<int64_t, 6> given = numbers(stride, "stride");
      FL_CHECK(given.size() == sizes.size(), "set_: size has ", sizes.size(), " entries, stride ", given.size());
      for (size_t i = 0; i < given.size(); i++) steps[i] = given[i];
    }
    FL_CHECK(sizes.size() <= kMaxDims, "set_: at most ", kMaxDims, " dimensions");
    const int64_t needed = storage_bytes_needed(sizes, steps, offset, t.item_size());
    if (needed > storage->bytes) resize_storage(storage, needed);
    set_storage(t, storage, offset);
    set_geometry(t, sizes, steps, offset);
    storage->version++;
    storage->writes++;
    Py_RETURN_NONE;
  });
}

PyMethodDef functions[] = {{"_set_memory", set_memory, METH_VARARGS, nullptr}, {}};
PyMethodDef methods[] = {
    {"nbytes", nbytes, METH_NOARGS, "The number of bytes."},
    {"data_ptr", data_ptr, METH_NOARGS, "The address of the first byte."},
    {"resize_", resize, METH_O, "Changes the number of bytes, keeping what fits."},
    {"clone", clone, METH_NOARGS, "A copy with memory of its own."},
    {"copy_", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(copy)), METH_FASTCALL | METH_KEYWORDS,
     "Copies the bytes of a storage of the same size."},
    {"fill_", fill, METH_O, "Sets every byte."},
    {"share_memory_", share_memory, METH_NOARGS, "Moves the bytes into memory that processes can share."},
    {"is_shared", is_shared_py, METH_NOARGS, "Whether the bytes are in memory that processes can share."},
    {"_share_fd_cpu_", share_descriptor, METH_NOARGS,
     "Shares the bytes; returns the descriptor of the file behind them and their number."},
    {"_new_shared_fd_cpu", from_descriptor, METH_VARARGS | METH_STATIC,
     "A storage over the shared memory behind a descriptor."},
    {}};
PyGetSetDef getset[] = {{"device", get_device, nullptr, nullptr, nullptr},
                        {"_cdata", get_address, nullptr, nullptr, nullptr},
                        {"_resizable", get_resizable, nullptr, nullptr, nullptr},
                        {}};
PyMemberDef members[] = {{"__dictoffset__", T_PYSSIZET, offsetof(StorageObject, dict), READONLY, nullptr},
                         {"__weaklistoffset__", T_PYSSIZET, offsetof(StorageObject, weakrefs), READONLY, nullptr},
                         {}};
PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(construct)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                       {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear)},
                       {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, getset},
                       {Py_tp_members, members},
                       {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
                       {Py_tp_hash, reinterpret_cast<void*>(hash)},
                       {0, nullptr}};

}  // namespace

PyObject* storage_object(Storage* storage) {
  PyObject* o = storage_type->tp_alloc(storage_type, 0);
  if (!o) throw PythonError();
  retain(storage);
  held(o) = storage;
  return o;
}
Storage* storage_of(PyObject* o) { return PyObject_TypeCheck(o, storage_type) ? held(o) : nullptr; }

void init_storage(PyObject* module, const char* package) {
  static std::string name = std::string(package) + ".storage.UntypedStorage";
  PyType_Spec spec{name.c_str(), sizeof(StorageObject), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  storage_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!storage_type) throw PythonError();
  PyModule_AddObject(module, "StorageBase", reinterpret_cast<PyObject*>(storage_type));
  if (PyModule_AddFunctions(module, functions)) throw PythonError();
}

}  // namespace fl
