#include "python/array.h"

#include <cstring>

#include "autograd/node.h"
#include "python/tensor_type.h"

namespace fl {
namespace {

struct Format {
  const char* code;
  DType dtype;
};
// Of the struct module, with NumPy's Z for complex; native sizes on LP64.
constexpr Format kFormats[] = {
    {"?", DType::Bool},   {"b", DType::Int8},   {"B", DType::UInt8},         {"h", DType::Int16},
    {"H", DType::UInt16}, {"i", DType::Int32},  {"I", DType::UInt32},        {"l", DType::Int64},
    {"L", DType::UInt64}, {"q", DType::Int64},  {"Q", DType::UInt64},        {"e", DType::Half},
    {"f", DType::Float},  {"d", DType::Double}, {"Zf", DType::ComplexFloat}, {"Zd", DType::ComplexDouble}};

std::optional<DType> dtype_of_format(const char* format) {
  if (!format) return DType::UInt8;
  if (*format == '@' || *format == '=' || *format == '<') format++;
  for (const Format& f : kFormats)
    if (std::strcmp(f.code, format) == 0) return f.dtype;
  return std::nullopt;
}

const char* format_of(DType t) {
  for (const Format& f : kFormats)
    if (f.dtype == t) return f.code;
  return nullptr;
}

// A view of a tensor's memory keeps its sizes and strides in one block.
int get_buffer(PyObject* o, Py_buffer* view, int flags) {
  const Tensor& t = as_tensor(o);
  const char* format = format_of(t.dtype());
  auto refuse = [&](const char* why) {
    PyErr_SetString(PyExc_BufferError, why);
    view->obj = nullptr;
    return -1;
  };
  if (!format) return refuse("a bfloat16 tensor has no buffer format; convert it to float first");
  if (t.is_meta()) return refuse("a meta tensor has no memory");
  if (t.requires_grad()) return refuse("can't take the memory of a tensor that requires grad; use tensor.detach()");
  if (!t.is_contiguous() && (flags & PyBUF_STRIDES) != PyBUF_STRIDES) return refuse("the tensor is not contiguous");
  auto* dims = static_cast<Py_ssize_t*>(PyMem_Malloc(sizeof(Py_ssize_t) * (2 * t.dim() + 1)));
  for (int64_t d = 0; d < t.dim(); d++) {
    dims[d] = t->sizes[d];
    dims[t.dim() + d] = t->strides[d] * t.item_size();
  }
  static char nothing;
  Py_INCREF(o);
  view->obj = o;
  view->buf = t.bytes() ? t.bytes() : &nothing;
  view->len = t.numel() * t.item_size();
  view->readonly = t.storage()->read_only;
  view->itemsize = t.item_size();
  view->format = (flags & PyBUF_FORMAT) ? const_cast<char*>(format) : nullptr;
  view->ndim = static_cast<int>(t.dim());
  view->shape = (flags & PyBUF_ND) ? dims : nullptr;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? dims + t.dim() : nullptr;
  view->suboffsets = nullptr;
  view->internal = dims;
  return 0;
}
void release_buffer(PyObject*, Py_buffer* view) { PyMem_Free(view->internal); }

void release_view(Storage* s) {
  auto* view = static_cast<Py_buffer*>(s->owner);
  PyBuffer_Release(view);
  delete view;
}

PyObject* from_array(PyObject*, PyObject* o) {
  return guarded([&] { return to_python(tensor_from_array(o, "from_numpy")); });
}

// _from_buffer(buffer, dtype, count, offset)
PyObject* from_buffer(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *o, *dtype;
    long long count, offset;
    if (!PyArg_ParseTuple(args, "OOLL", &o, &dtype, &count, &offset)) return nullptr;
    FL_CHECK(is_dtype(dtype), ErrorKind::Type, "frombuffer(): argument 'dtype' must be torch.dtype, not ",
             Py_TYPE(dtype)->tp_name);
    return to_python(tensor_from_buffer(o, dtype_of_object(dtype), count, offset, "frombuffer"));
  });
}

PyMethodDef functions[] = {{"_from_array", from_array, METH_O, "A tensor over the memory of an array."},
                           {"_from_buffer", from_buffer, METH_VARARGS, nullptr},
                           {}};

}  // namespace

void add_buffer_slots(std::vector<PyType_Slot>& slots) {
  slots.push_back({Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)});
  slots.push_back({Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)});
}

bool is_array(PyObject* o) {
  PyTypeObject* t = Py_TYPE(o);
  if (t == &PyList_Type || t == &PyTuple_Type || PyLong_Check(o) || PyFloat_Check(o) || PyUnicode_Check(o) ||
      PyBytes_Check(o) || PyByteArray_Check(o))
    return false;
  static PyObject* name = PyUnicode_InternFromString("__array_interface__");
  return _PyType_Lookup(t, name) != nullptr && PyObject_CheckBuffer(o) && std::strncmp(t->tp_name, "numpy.", 6) == 0 &&
         !is_number(o);
}

Tensor tensor_from_array(PyObject* o, const char* op) {
  auto view = std::make_unique<Py_buffer>();
  FL_CHECK(PyObject_CheckBuffer(o), ErrorKind::Type, op, ": expected np.ndarray (got ", Py_TYPE(o)->tp_name, ")");
  bool writable = PyObject_GetBuffer(o, view.get(), PyBUF_FULL) == 0;
  if (!writable) {
    PyErr_Clear();
    if (PyObject_GetBuffer(o, view.get(), PyBUF_FULL_RO)) {
      PyErr_Clear();
      fail(ErrorKind::Type, op,
           ": can't convert this array: its element type is not one of the supported numeric types");
    }
  }
  std::optional<DType> dtype = dtype_of_format(view->format);
  Dims sizes, strides;
  bool negative = false, divisible = true;
  for (int d = 0; d < view->ndim; d++) {
    sizes.push_back(view->shape[d]);
    negative |= view->strides[d] < 0;
    if (dtype) divisible &= view->strides[d] % item_size(*dtype) == 0;
    strides.push_back(dtype ? view->strides[d] / item_size(*dtype) : 0);
  }
  if (!dtype) {
    std::string format = view->format ? view->format : "B";
    PyBuffer_Release(view.get());
    fail(ErrorKind::Type, op, ": can't convert np.ndarray of element format '", format,
         "'. The only supported types are: float64, float32, float16, ",
         "complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8, and bool.");
  }
  if (negative || !divisible) {
    PyBuffer_Release(view.get());
    if (std::strcmp(op, "from_numpy") == 0)
      fail(ErrorKind::Value,
           "from_numpy: at least one stride in the given numpy array is negative or not a multiple of the element "
           "size, and tensors with such strides are not supported. ",
           "(You can probably work around this by making a copy of your array with array.copy().)");
    PyRef numpy = checked(PyImport_ImportModule("numpy"));
    PyRef dense = checked(PyObject_CallMethod(numpy.get(), "ascontiguousarray", "O", o));
    Tensor t = tensor_from_array(dense.get(), op);
    return sizes.empty() ? alias(t, {}, {}, 0) : t;
  }
  Py_buffer* raw = view.release();
  int64_t bytes = raw->len ? storage_bytes_needed(sizes, strides, 0, item_size(*dtype)) : 0;
  StorageRef s = StorageRef::take(adopt_storage(raw->buf, bytes, raw, release_view, !writable));
  return from_storage(std::move(s), sizes, strides, 0, *dtype);
}

// Shares the memory of any object with the buffer protocol, from a byte offset on; a count of -1 takes the rest.
Tensor tensor_from_buffer(PyObject* o, DType t, int64_t count, int64_t offset, const char* op) {
  auto view = std::make_unique<Py_buffer>();
  bool writable = PyObject_GetBuffer(o, view.get(), PyBUF_WRITABLE) == 0;
  if (!writable) {
    PyErr_Clear();
    if (PyObject_GetBuffer(o, view.get(), PyBUF_SIMPLE)) {
      PyErr_Clear();
      fail(ErrorKind::Value, op, ": object of type ", Py_TYPE(o)->tp_name,
           " does not implement Python buffer protocol.");
    }
  }
  struct Guard {
    Py_buffer* v;
    ~Guard() {
      if (v) PyBuffer_Release(v);
    }
  } guard{view.get()};
  int64_t item = item_size(t), length = view->len;
  FL_CHECK(length > 0 && count != 0, ErrorKind::Value, "both buffer length (", length, ") and count (", count,
           ") must not be 0");
  FL_CHECK(offset >= 0 && offset < length, ErrorKind::Value, "offset (", offset,
           " bytes) must be non-negative and no greater than buffer length (", length, " bytes) minus 1");
  FL_CHECK(count > 0 || (length - offset) % item == 0, ErrorKind::Value, "buffer length (", length - offset,
           " bytes) after offset (", offset, " bytes) must be a multiple of element size (", item, ")");
  int64_t n = count < 0 ? (length - offset) / item : count;
  FL_CHECK(n <= (length - offset) / item, ErrorKind::Value, "requested buffer length (", n, " * ", item,
           " bytes) after offset (", offset, " bytes) must not be greater than actual buffer length (", length,
           " bytes)");
  Py_buffer* raw = view.release();
  guard.v = nullptr;
  StorageRef s =
      StorageRef::take(adopt_storage(static_cast<char*>(raw->buf) + offset, n * item, raw, release_view, !writable));
  int64_t one = 1;
  return from_storage(std::move(s), {&n, 1}, {&one, 1}, 0, t);
}

void init_array(PyObject* module) {
  if (PyModule_AddFunctions(module, functions)) throw PythonError();
}

}  // namespace fl
