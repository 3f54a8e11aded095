#include "python/generator.h"

#include <cstring>

#include "python/data.h"
#include "python/tensor_type.h"
#include "random/generator.h"

namespace fl {
namespace {

struct GeneratorObject {
  PyObject_HEAD std::shared_ptr<Generator>* generator;
};
PyTypeObject* generator_type;
PyObject* the_default;

Generator& held(PyObject* o) { return **reinterpret_cast<GeneratorObject*>(o)->generator; }

PyObject* wrap(std::shared_ptr<Generator> g) {
  auto* o = PyObject_New(GeneratorObject, generator_type);
  if (!o) throw PythonError();
  o->generator = new std::shared_ptr<Generator>(std::move(g));
  return reinterpret_cast<PyObject*>(o);
}
PyObject* construct(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"device", nullptr};
    PyObject* device = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:Generator", const_cast<char**>(names), &device)) return nullptr;
    if (device != Py_None) {
      Device d = parse_device(device);
      FL_CHECK(d.type == DeviceType::CPU || d.type == DeviceType::Meta, "Device type ", device_text(d),
               " is not supported for torch.Generator() api");
    }
    return wrap(std::make_shared<Generator>());
  });
}
void dealloc(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  delete reinterpret_cast<GeneratorObject*>(o)->generator;
  PyObject_Free(o);
  Py_DECREF(type);
}
// Seeds run from -2^63 to 2^64 - 1; negative ones are taken modulo 2^64.
PyObject* manual_seed(PyObject* o, PyObject* seed) {
  return guarded([&]() -> PyObject* {
    PyRef index = PyRef::take(PyNumber_Index(seed));
    if (!index) {
      PyErr_Clear();
      fail(ErrorKind::Type, "manual_seed expected a long, but got ", Py_TYPE(seed)->tp_name);
    }
    int overflow;
    long long v = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
    uint64_t value = static_cast<uint64_t>(v);
    if (overflow > 0) {
      value = PyLong_AsUnsignedLongLong(index.get());
      if (PyErr_Occurred()) {
        PyErr_Clear();
        overflow = 2;
      }
    }
    FL_CHECK(overflow >= 0 && overflow < 2, ErrorKind::Value,
             "Overflow when unpacking a seed: it must be in [-2^63, 2^64 - 1]");
    std::lock_guard lock(held(o).mutex());
    held(o).set_seed(value);
    Py_INCREF(o);
    return o;
  });
}
PyObject* seed(PyObject* o, PyObject*) { return PyLong_FromUnsignedLongLong(held(o).seed()); }
PyObject* initial_seed(PyObject* o, PyObject*) { return PyLong_FromUnsignedLongLong(held(o).initial_seed()); }
PyObject* get_state(PyObject* o, PyObject*) {
  return guarded([&] {
    uint8_t bytes[Generator::kStateBytes];
    held(o).get_state(bytes);
    int64_t n = Generator::kStateBytes;
    Tensor t = empty({&n, 1}, DType::UInt8);
    std::memcpy(t.bytes(), bytes, n);
    return to_python(std::move(t));
  });
}
PyObject* set_state(PyObject* o, PyObject* state) {
  return guarded([&] {
    FL_CHECK(is_tensor(state), ErrorKind::Type, "set_state: expected a torch.ByteTensor, but got ",
             Py_TYPE(state)->tp_name);
    const Tensor& t = as_tensor(state);
    FL_CHECK(t.dtype() == DType::UInt8 && t.is_contiguous() && !t.is_meta(), ErrorKind::Type,
             "set_state: RNG state must be a torch.ByteTensor, got ", info(t.dtype()).name);
    FL_CHECK(held(o).set_state(t.data<uint8_t>(), t.numel()), "set_state: the tensor of ", t.numel(),
             " bytes is no valid state of this generator");
    Py_INCREF(o);
    return o;
  });
}
PyObject* clone_state(PyObject* o, PyObject*) {
  return guarded([&] { return wrap(held(o).clone()); });
}
PyObject* get_device(PyObject*, void*) { return new_device({}); }
PyObject* reduce(PyObject* o, PyObject*) {
  return guarded([&] {
    PyRef state = checked(get_state(o, nullptr));
    return PyObject_CallFunctionObjArgs(package_function("_tensor_base", "reduce_generator"), o, state.get(), nullptr);
  });
}
PyMethodDef methods[] = {
    {"manual_seed", manual_seed, METH_O, "Restarts the stream from a seed; returns the generator."},
    {"seed", seed, METH_NOARGS, "Restarts from entropy of the system; returns the seed."},
    {"initial_seed", initial_seed, METH_NOARGS, "The seed the stream started from."},
    {"get_state", get_state, METH_NOARGS, "The state as a uint8 tensor, in PyTorch's layout."},
    {"set_state", set_state, METH_O, "Takes a state made by get_state."},
    {"clone_state", clone_state, METH_NOARGS, "A generator of its own in the same state."},
    {"graphsafe_get_state", clone_state, METH_NOARGS, nullptr},
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {}};
PyGetSetDef getset[] = {{"device", get_device, nullptr, nullptr, nullptr}, {}};
PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(construct)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, getset},
                       {0, nullptr}};

}  // namespace

Generator* generator_of(PyObject* o) { return PyObject_TypeCheck(o, generator_type) ? &held(o) : nullptr; }
Generator* default_generator() { return &held(the_default); }

void init_generator(PyObject* module, const char* package) {
  static std::string name = std::string(package) + "._C.Generator";
  PyType_Spec spec{name.c_str(), sizeof(GeneratorObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  generator_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!generator_type) throw PythonError();
  PyModule_AddObject(module, "Generator", reinterpret_cast<PyObject*>(generator_type));
  the_default = wrap(std::make_shared<Generator>());
  held(the_default).seed();
  Py_INCREF(the_default);
  PyModule_AddObject(module, "default_generator", the_default);
}

}  // namespace fl
