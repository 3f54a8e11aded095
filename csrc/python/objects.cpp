#include "python/objects.h"

#include <cstring>

#include "tensor/thread_state.h"

namespace fl {

PyTypeObject *dtype_type, *device_type, *layout_type, *memory_format_type, *size_type;

namespace {

PyObject* dtypes[kNumDTypes];
PyObject* layouts[8];
PyObject* formats[4];
constexpr const char* kLayouts[] = {"strided",    "sparse_coo", "sparse_csr", "sparse_csc",
                                    "sparse_bsr", "sparse_bsc", "jagged",     "_mkldnn"};
constexpr const char* kFormats[] = {"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"};

DType self_dtype(PyObject* o) { return reinterpret_cast<DTypeObject*>(o)->dtype; }
PyObject* dtype_repr(PyObject* o) { return PyUnicode_FromFormat("torch.%s", info(self_dtype(o)).name.data()); }
PyObject* dtype_reduce(PyObject* o, PyObject*) { return PyUnicode_FromString(info(self_dtype(o)).name.data()); }
PyObject* dtype_to_real(PyObject* o, PyObject*) {
  PyObject* r = dtype_object(real_of(self_dtype(o)));
  Py_INCREF(r);
  return r;
}
PyObject* dtype_to_complex(PyObject* o, PyObject*) {
  PyObject* r = dtype_object(complex_of(self_dtype(o)));
  Py_INCREF(r);
  return r;
}
PyMethodDef dtype_methods[] = {
    {"__reduce__", dtype_reduce, METH_NOARGS, nullptr},
    {"to_real", dtype_to_real, METH_NOARGS, "The real dtype of the same precision."},
    {"to_complex", dtype_to_complex, METH_NOARGS, "The complex dtype of the same precision."},
    {}};
PyGetSetDef dtype_getset[] = {
    {"is_floating_point", [](PyObject* o, void*) { return PyBool_FromLong(is_floating(self_dtype(o))); }, nullptr,
     nullptr, nullptr},
    {"is_complex", [](PyObject* o, void*) { return PyBool_FromLong(is_complex(self_dtype(o))); }, nullptr, nullptr,
     nullptr},
    {"is_signed", [](PyObject* o, void*) { return PyBool_FromLong(info(self_dtype(o)).is_signed); }, nullptr, nullptr,
     nullptr},
    {"itemsize", [](PyObject* o, void*) { return PyLong_FromLong(info(self_dtype(o)).size); }, nullptr, nullptr,
     nullptr},
    {}};
PyType_Slot dtype_slots[] = {{Py_tp_repr, reinterpret_cast<void*>(dtype_repr)},
                             {Py_tp_methods, dtype_methods},
                             {Py_tp_getset, dtype_getset},
                             {0, nullptr}};

Device self_device(PyObject* o) { return reinterpret_cast<DeviceObject*>(o)->device; }
PyObject* device_repr(PyObject* o) {
  Device d = self_device(o);
  if (d.index >= 0)
    return PyUnicode_FromFormat("device(type='%s', index=%d)", kDeviceNames[int(d.type)].data(), d.index);
  return PyUnicode_FromFormat("device(type='%s')", kDeviceNames[int(d.type)].data());
}
PyObject* device_str(PyObject* o) { return PyUnicode_FromString(device_text(self_device(o)).c_str()); }
PyObject* device_compare(PyObject* a, PyObject* b, int op) {
  if (Py_TYPE(a) != device_type || Py_TYPE(b) != device_type || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((self_device(a) == self_device(b)) == (op == Py_EQ));
}
Py_hash_t device_hash(PyObject* o) { return static_cast<int>(self_device(o).type) * 257 + self_device(o).index + 1; }
PyObject* device_new(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"type", "index", nullptr};
    PyObject *type, *index = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:device", const_cast<char**>(names), &type, &index))
      return nullptr;
    Device d = parse_device(type);
    if (index != Py_None) {
      FL_CHECK(d.index < 0, "device: the type string '", device_text(d), "' has an index already");
      int64_t i;
      FL_CHECK(to_int(index, &i), ErrorKind::Type, "device: index must be an int, got ", Py_TYPE(index)->tp_name);
      FL_CHECK(i >= 0 && i < 128, "device: index must be in [0, 127], got ", i);
      d.index = static_cast<int8_t>(i);
    }
    return new_device(d);
  });
}
PyObject* device_reduce(PyObject* o, PyObject*) {
  Device d = self_device(o);
  if (d.index >= 0) return Py_BuildValue("O(si)", device_type, kDeviceNames[int(d.type)].data(), int(d.index));
  return Py_BuildValue("O(s)", device_type, kDeviceNames[int(d.type)].data());
}
// As a context: factory functions put new tensors on the device.
thread_local std::vector<Device> outer_devices;
PyObject* device_enter(PyObject* o, PyObject*) {
  outer_devices.push_back(thread_state.default_device);
  thread_state.default_device = self_device(o);
  Py_INCREF(o);
  return o;
}
PyObject* device_exit(PyObject*, PyObject*) {
  if (!outer_devices.empty()) {
    thread_state.default_device = outer_devices.back();
    outer_devices.pop_back();
  }
  Py_RETURN_NONE;
}
PyObject* get_default_device(PyObject*, PyObject*) { return new_device(thread_state.default_device); }
PyObject* set_default_device(PyObject*, PyObject* device) {
  return guarded([&] {
    thread_state.default_device = device == Py_None ? Device{} : parse_device(device);
    Py_INCREF(Py_None);
    return Py_None;
  });
}
PyMethodDef device_functions[] = {
    {"get_default_device", get_default_device, METH_NOARGS, "Where factory functions put new tensors."},
    {"_set_default_device", set_default_device, METH_O, nullptr},
    {}};
PyMethodDef device_methods[] = {{"__enter__", device_enter, METH_NOARGS, nullptr},
                                {"__exit__", device_exit, METH_VARARGS, nullptr},
                                {"__reduce__", device_reduce, METH_NOARGS, nullptr},
                                {}};
PyGetSetDef device_getset[] = {
    {"type", [](PyObject* o, void*) { return PyUnicode_FromString(kDeviceNames[int(self_device(o).type)].data()); },
     nullptr, nullptr, nullptr},
    {"index",
     [](PyObject* o, void*) -> PyObject* {
       if (self_device(o).index < 0) Py_RETURN_NONE;
       return PyLong_FromLong(self_device(o).index);
     },
     nullptr, nullptr, nullptr},
    {}};
PyType_Slot device_slots[] = {{Py_tp_repr, reinterpret_cast<void*>(device_repr)},
                              {Py_tp_str, reinterpret_cast<void*>(device_str)},
                              {Py_tp_richcompare, reinterpret_cast<void*>(device_compare)},
                              {Py_tp_hash, reinterpret_cast<void*>(device_hash)},
                              {Py_tp_new, reinterpret_cast<void*>(device_new)},
                              {Py_tp_methods, device_methods},
                              {Py_tp_getset, device_getset},
                              {0, nullptr}};

PyObject* name_repr(PyObject* o) { return PyUnicode_FromFormat("torch.%s", reinterpret_cast<NameObject*>(o)->name); }
PyObject* name_reduce(PyObject* o, PyObject*) { return PyUnicode_FromString(reinterpret_cast<NameObject*>(o)->name); }
PyMethodDef name_methods[] = {{"__reduce__", name_reduce, METH_NOARGS, nullptr}, {}};
PyType_Slot name_slots[] = {
    {Py_tp_repr, reinterpret_cast<void*>(name_repr)}, {Py_tp_methods, name_methods}, {0, nullptr}};

// torch.Size: a tuple of ints that knows its product.
PyObject* as_size(PyObject* tuple) {
  PyRef t = PyRef::take(tuple);
  if (!t) return nullptr;
  Py_ssize_t n = PyTuple_GET_SIZE(t.get());
  PyObject* s = size_type->tp_alloc(size_type, n);
  if (!s) return nullptr;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject* x = PyTuple_GET_ITEM(t.get(), i);
    Py_INCREF(x);
    PyTuple_SET_ITEM(s, i, x);
  }
  return s;
}
PyObject* size_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject* s = PyTuple_Type.tp_new(type, args, kwargs);
    if (!s) return nullptr;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(s); i++) {
      PyObject* x = PyTuple_GET_ITEM(s, i);
      int64_t v;
      if (PyLong_CheckExact(x)) continue;
      if (!to_int(x, &v)) {
        std::string given = Py_TYPE(x)->tp_name;
        Py_DECREF(s);
        fail(ErrorKind::Type, "Size: expected ints, got ", given, " at position ", i);
      }
      PyObject* number = PyLong_FromLongLong(v);
      PyTuple_SET_ITEM(s, i, number);
      Py_DECREF(x);
    }
    return s;
  });
}
PyObject* size_repr(PyObject* o) {
  std::string s = "torch.Size([";
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); i++) {
    PyRef text = PyRef::take(PyObject_Str(PyTuple_GET_ITEM(o, i)));
    if (!text) return nullptr;
    s += (i ? ", " : "") + text_of(text.get());
  }
  return PyUnicode_FromString((s + "])").c_str());
}
PyObject* size_numel(PyObject* o, PyObject*) {
  int64_t n = 1;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); i++) n *= PyLong_AsLongLong(PyTuple_GET_ITEM(o, i));
  return PyLong_FromLongLong(n);
}
PyObject* size_reduce(PyObject* o, PyObject*) {
  PyRef t = PyRef::take(PySequence_List(o));
  PyRef plain = PyRef::take(PyList_AsTuple(t.get()));
  return Py_BuildValue("O(O)", size_type, plain.get());
}
PyObject* size_concat(PyObject* a, PyObject* b) {
  if (!PyTuple_Check(a) || !PyTuple_Check(b)) {
    PyErr_Format(PyExc_TypeError, "can only concatenate tuple (not \"%s\") to Size",
                 Py_TYPE(PyTuple_Check(a) ? b : a)->tp_name);
    return nullptr;
  }
  return as_size(PyTuple_Type.tp_as_sequence->sq_concat(a, b));
}
PyObject* size_add(PyObject* a, PyObject* b) {
  if (!PyTuple_Check(a) || !PyTuple_Check(b)) Py_RETURN_NOTIMPLEMENTED;
  return as_size(PyTuple_Type.tp_as_sequence->sq_concat(a, b));
}
PyObject* size_repeat(PyObject* a, Py_ssize_t n) { return as_size(PyTuple_Type.tp_as_sequence->sq_repeat(a, n)); }
PyObject* size_subscript(PyObject* o, PyObject* key) {
  PyObject* r = PyTuple_Type.tp_as_mapping->mp_subscript(o, key);
  return r && PySlice_Check(key) ? as_size(r) : r;
}
PyMethodDef size_methods[] = {{"numel", size_numel, METH_NOARGS, "The number of elements of a tensor of this size."},
                              {"__reduce__", size_reduce, METH_NOARGS, nullptr},
                              {}};
PyType_Slot size_slots[] = {{Py_tp_base, nullptr},
                            {Py_tp_new, reinterpret_cast<void*>(size_new)},
                            {Py_tp_repr, reinterpret_cast<void*>(size_repr)},
                            {Py_sq_concat, reinterpret_cast<void*>(size_concat)},
                            {Py_nb_add, reinterpret_cast<void*>(size_add)},
                            {Py_sq_repeat, reinterpret_cast<void*>(size_repeat)},
                            {Py_mp_subscript, reinterpret_cast<void*>(size_subscript)},
                            {Py_tp_methods, size_methods},
                            {0, nullptr}};

PyTypeObject* make_type(PyObject* module, const std::string& package, const char* name, int size, PyType_Slot* slots,
                        unsigned flags) {
  auto* full = new std::string(package + "." + name);
  PyType_Spec spec{full->c_str(), size, 0, flags, slots};
  PyObject* type = PyType_FromSpec(&spec);
  if (!type) throw PythonError();
  Py_INCREF(type);
  PyModule_AddObject(module, name, type);
  return reinterpret_cast<PyTypeObject*>(type);
}

bool is_numpy_scalar(PyObject* o) {
  // Without importing NumPy: its scalar types say so by their module.
  const char* name = Py_TYPE(o)->tp_name;
  return std::strncmp(name, "numpy.", 6) == 0 && PyObject_HasAttrString(o, "dtype") &&
         !PyObject_HasAttrString(o, "__len__");
}

}  // namespace

bool is_dtype(PyObject* o) { return Py_TYPE(o) == dtype_type; }
PyObject* dtype_object(DType dtype) { return dtypes[static_cast<int>(dtype)]; }
PyObject* layout_object(int code) { return layouts[code]; }
PyObject* memory_format_object(MemoryFormat f) { return formats[static_cast<int>(f)]; }

PyObject* new_device(Device device) {
  auto* o = PyObject_New(DeviceObject, device_type);
  o->device = device;
  return reinterpret_cast<PyObject*>(o);
}

PyObject* new_size(IntList sizes) {
  PyObject* s = size_type->tp_alloc(size_type, static_cast<Py_ssize_t>(sizes.size()));
  if (!s) throw PythonError();
  for (size_t i = 0; i < sizes.size(); i++) PyTuple_SET_ITEM(s, i, PyLong_FromLongLong(sizes[i]));
  return s;
}

Device parse_device(PyObject* o) {
  if (Py_TYPE(o) == device_type) return self_device(o);
  if (PyUnicode_Check(o)) {
    Py_ssize_t n;
    const char* chars = PyUnicode_AsUTF8AndSize(o, &n);
    if (!chars) throw PythonError();
    std::string_view text(chars, n);
    size_t colon = text.find(':');
    std::string_view type = text.substr(0, colon);
    Device d;
    bool known = false;
    for (size_t i = 0; i < std::size(kDeviceNames); i++)
      if (kDeviceNames[i] == type) d.type = static_cast<DeviceType>(i), known = true;
    FL_CHECK(known,
             "Expected one of cpu, cuda, mps, xpu, meta and other device types at the start of a device string, got: '",
             text, "'");
    if (colon != std::string_view::npos) {
      std::string_view digits = text.substr(colon + 1);
      FL_CHECK(!digits.empty() && digits.size() <= 3 &&
                   digits.find_first_not_of("0123456789") == std::string_view::npos &&
                   (digits.size() == 1 || digits[0] != '0'),
               "Invalid device string: '", text, "'");
      int index = std::stoi(std::string(digits));
      FL_CHECK(index < 128, "Invalid device string: '", text, "': the index is too large");
      d.index = static_cast<int8_t>(index);
    }
    return d;
  }
  int64_t index;
  if (to_int(o, &index)) {
    FL_CHECK(index >= 0 && index < 128, "device: index must be in [0, 127], got ", index);
    return {DeviceType::CUDA, static_cast<int8_t>(index)};
  }
  fail(ErrorKind::Type, "device: expected a torch.device, a string or an int, got ", Py_TYPE(o)->tp_name);
}

bool is_number(PyObject* o) { return PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o) || is_numpy_scalar(o); }

bool to_scalar(PyObject* o, Scalar* out) {
  if (PyFloat_Check(o)) return *out = Scalar(PyFloat_AS_DOUBLE(o)), true;
  if (PyBool_Check(o)) return *out = Scalar(o == Py_True), true;
  if (PyLong_Check(o)) {
    int overflow;
    int64_t v = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow > 0) {
      // Numbers that only uint64 holds keep their bits.
      uint64_t u = PyLong_AsUnsignedLongLong(o);
      if (!PyErr_Occurred()) return *out = Scalar(static_cast<int64_t>(u)), true;
      PyErr_Clear();
    }
    FL_CHECK(!overflow, ErrorKind::Overflow, "a Python int is too large for int64: overflow");
    return *out = Scalar(v), true;
  }
  if (PyComplex_Check(o)) {
    Py_complex c = PyComplex_AsCComplex(o);
    return *out = Scalar(std::complex<double>(c.real, c.imag)), true;
  }
  if (is_tensor(o)) {
    TensorObject* t = reinterpret_cast<TensorObject*>(o);
    if (t->numel != 1 || !address(t) || (t->flags & kRequiresGrad)) return false;
    visit_dtype(t->dtype, [&]<class T>() {
      T v = *reinterpret_cast<T*>(address(t));
      if constexpr (std::is_same_v<T, Bool>)
        *out = Scalar(bool(v));
      else if constexpr (std::is_integral_v<T>)
        *out = Scalar(static_cast<int64_t>(v));
      else if constexpr (std::is_same_v<T, Complex<float>> || std::is_same_v<T, Complex<double>>)
        *out = Scalar(std::complex<double>(v.real, v.imag));
      else
        *out = Scalar(static_cast<double>(static_cast<double>(v)));
    });
    return true;
  }
  if (is_numpy_scalar(o)) {
    PyRef item = PyRef::take(PyObject_CallMethod(o, "item", nullptr));
    if (!item) {
      PyErr_Clear();
      return false;
    }
    return Py_TYPE(item.get()) != Py_TYPE(o) && to_scalar(item.get(), out);
  }
  return false;
}

bool to_int(PyObject* o, int64_t* out) {
  if (PyLong_CheckExact(o) || (PyLong_Check(o) && !PyBool_Check(o))) {
    int overflow;
    *out = PyLong_AsLongLongAndOverflow(o, &overflow);
    FL_CHECK(!overflow, "a Python int is too large for int64: Overflow when unpacking long");
    return true;
  }
  if (PyBool_Check(o) || PyFloat_Check(o)) return false;
  if (is_tensor(o)) {
    TensorObject* t = reinterpret_cast<TensorObject*>(o);
    if (t->numel != 1 || t->ndim || !address(t) || !is_integral(t->dtype, false)) return false;
    Scalar s;
    to_scalar(o, &s);
    return *out = s.to_int(), true;
  }
  if (!PyIndex_Check(o)) return false;
  PyRef index = PyRef::take(PyNumber_Index(o));
  if (!index) {
    PyErr_Clear();
    return false;
  }
  return to_int(index.get(), out);
}

PyObject* scalar_object(const Scalar& s) {
  switch (s.type) {
    case Scalar::Type::Bool:
      return PyBool_FromLong(s.i != 0);
    case Scalar::Type::Int:
      return PyLong_FromLongLong(s.i);
    case Scalar::Type::Float:
      return PyFloat_FromDouble(s.d);
    default:
      return PyComplex_FromDoubles(s.c[0], s.c[1]);
  }
}

void init_objects(PyObject* module, const char* package) {
  constexpr unsigned plain = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  dtype_type = make_type(module, package, "dtype", sizeof(DTypeObject), dtype_slots, plain);
  device_type = make_type(module, package, "device", sizeof(DeviceObject), device_slots, Py_TPFLAGS_DEFAULT);
  layout_type = make_type(module, package, "layout", sizeof(NameObject), name_slots, plain);
  memory_format_type = make_type(module, package, "memory_format", sizeof(NameObject), name_slots, plain);
  size_slots[0].pfunc = &PyTuple_Type;
  size_type = make_type(module, package, "Size", 0, size_slots, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE);
  for (int i = 0; i < kNumDTypes; i++) {
    auto* o = PyObject_New(DTypeObject, dtype_type);
    o->dtype = static_cast<DType>(i);
    dtypes[i] = reinterpret_cast<PyObject*>(o);
    Py_INCREF(o);
    PyModule_AddObject(module, kDTypeInfo[i].name.data(), dtypes[i]);
  }
  auto name = [&](PyTypeObject* type, const char* text, int code) {
    auto* o = PyObject_New(NameObject, type);
    o->name = text;
    o->code = code;
    Py_INCREF(o);
    PyModule_AddObject(module, text, reinterpret_cast<PyObject*>(o));
    return reinterpret_cast<PyObject*>(o);
  };
  if (PyModule_AddFunctions(module, device_functions)) throw PythonError();
  for (int i = 0; i < 8; i++) layouts[i] = name(layout_type, kLayouts[i], i);
  for (int i = 0; i < 4; i++) formats[i] = name(memory_format_type, kFormats[i], i);
}

}  // namespace fl
