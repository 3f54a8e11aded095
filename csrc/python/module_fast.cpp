// nn.Module is written in Python, and what it does when it is called or asked for a submodule is defined there. Most of
// the time that is little: without hooks a call is a call of `forward`, and a submodule is an entry of a dictionary. In
// Python each costs several times what a small op does, so a class that leaves both as they are gets these two C
// functions in its type slots instead. A class that defines its own __call__, __getattr__ or __getattribute__ keeps the
// slots Python gave it, and so does one to which they are assigned later: assigning resets the slot.
#include "python/module_fast.h"

// Exported by CPython, though not declared everywhere: the generic lookup without the cost of an exception.
extern "C" PyObject* _PyObject_GenericGetAttrWithDict(PyObject*, PyObject*, PyObject*, int);

namespace fl {
namespace {

PyObject *python_call = nullptr, *python_getattr = nullptr;  // Module's own, the sign that a class has not changed them
PyObject* note = nullptr;  // note(error, module): says in the error which module it was
bool any_global = false;   // whether hooks for every module are registered

PyObject *s_call, *s_getattr, *s_getattribute, *s_slow_call, *s_forward;
PyObject* hook_names[5];  // dictionaries (and one function) that must be absent or empty for the fast call
PyObject* member_names[3];

PyObject* instance_dict(PyObject* self) { return PyObject_GenericGetDict(self, nullptr); }

// 1 when nothing but `forward` is to run, 0 when something else is, -1 with an error.
int is_plain(PyObject* dict) {
  for (PyObject* name : hook_names) {
    PyObject* value = PyDict_GetItemWithError(dict, name);
    if (!value) {
      if (PyErr_Occurred()) return -1;
      // Only what `compile` sets is absent as a rule; hook dictionaries are missing before Module.__init__ has run.
      if (name != hook_names[4]) return 0;
      continue;
    }
    if (value == Py_None || (PyDict_Check(value) && PyDict_GET_SIZE(value) == 0)) continue;
    return 0;
  }
  return 1;
}

void add_note(PyObject* self) {
  if (!note || !PyErr_ExceptionMatches(PyExc_Exception)) return;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace) PyException_SetTraceback(value, trace);
  PyObject* result = PyObject_CallFunctionObjArgs(note, value, self, nullptr);
  if (result)
    Py_DECREF(result);
  else
    PyErr_Clear();  // an error without its note is still the error
  PyErr_Restore(type, value, trace);
}

// A new reference to what is called, and whether `self` is to be passed to it as well.
PyObject* find_forward(PyObject* self, PyObject* dict, bool* unbound) {
  *unbound = false;
  PyObject* own = PyDict_GetItemWithError(dict, s_forward);
  if (own || PyErr_Occurred()) {
    Py_XINCREF(own);
    return own;
  }
  PyObject* found = _PyType_Lookup(Py_TYPE(self), s_forward);
  if (found && PyFunction_Check(found)) {
    *unbound = true;
    Py_INCREF(found);
    return found;
  }
  return PyObject_GetAttr(self, s_forward);
}

PyObject* module_call(PyObject* self, PyObject* args, PyObject* kwargs) {
  PyObject* dict = instance_dict(self);
  if (!dict) return nullptr;
  int plain = any_global ? 0 : is_plain(dict);
  if (plain <= 0) {
    Py_DECREF(dict);
    if (plain < 0) return nullptr;
    PyObject* slow = PyObject_GetAttr(self, s_slow_call);
    if (!slow) return nullptr;
    PyObject* result = PyObject_Call(slow, args, kwargs);
    Py_DECREF(slow);
    return result;
  }
  bool unbound;
  PyObject* forward = find_forward(self, dict, &unbound);
  Py_DECREF(dict);
  if (!forward) return nullptr;
  PyObject* result = nullptr;
  Py_ssize_t count = PyTuple_GET_SIZE(args);
  constexpr Py_ssize_t kSmall = 8;
  if (!unbound) {
    result = PyObject_Call(forward, args, kwargs);
  } else if (count < kSmall) {
    PyObject* stack[kSmall];
    stack[0] = self;
    for (Py_ssize_t i = 0; i < count; i++) stack[i + 1] = PyTuple_GET_ITEM(args, i);
    result = PyObject_VectorcallDict(forward, stack, count + 1, kwargs);
  } else if (PyObject* method = PyMethod_New(forward, self)) {
    result = PyObject_Call(method, args, kwargs);
    Py_DECREF(method);
  }
  Py_DECREF(forward);
  if (!result) add_note(self);
  return result;
}

PyObject* generic_attribute(PyObject* self, PyObject* name) {
#if PY_VERSION_HEX < 0x030D0000
  return _PyObject_GenericGetAttrWithDict(self, name, nullptr, 1);
#else
  PyObject* found = PyObject_GenericGetAttr(self, name);
  if (!found && PyErr_ExceptionMatches(PyExc_AttributeError)) PyErr_Clear();
  return found;
#endif
}

PyObject* module_getattr(PyObject* self, PyObject* name) {
  PyObject* found = generic_attribute(self, name);
  if (found || PyErr_Occurred()) return found;
  PyObject* dict = instance_dict(self);
  if (!dict) return nullptr;
  for (PyObject* members : member_names) {
    PyObject* listed = PyDict_GetItemWithError(dict, members);
    if (!listed && PyErr_Occurred()) break;
    if (!listed || !PyDict_CheckExact(listed)) continue;
    found = PyDict_GetItemWithError(listed, name);
    if (found) {
      Py_INCREF(found);
      Py_DECREF(dict);
      return found;
    }
    if (PyErr_Occurred()) break;
  }
  Py_DECREF(dict);
  if (PyErr_Occurred()) return nullptr;
  // Not there, or not in a plain dictionary: the Python method finds it or words the error.
  PyObject* arguments[] = {self, name};
  return PyObject_Vectorcall(python_getattr, arguments, 2, nullptr);
}

// _quicken_module(cls): give the class the fast slots where it has not changed what they do.
PyObject* quicken(PyObject*, PyObject* cls) {
  if (!PyType_Check(cls)) {
    PyErr_Format(PyExc_TypeError, "_quicken_module: expected a class, got %s", Py_TYPE(cls)->tp_name);
    return nullptr;
  }
  PyTypeObject* type = reinterpret_cast<PyTypeObject*>(cls);
  bool changed = false;
  if (python_call && _PyType_Lookup(type, s_call) == python_call) {
    type->tp_call = module_call;
    changed = true;
  }
  PyObject* generic = _PyType_Lookup(&PyBaseObject_Type, s_getattribute);
  if (python_getattr && _PyType_Lookup(type, s_getattr) == python_getattr &&
      _PyType_Lookup(type, s_getattribute) == generic) {
    type->tp_getattro = module_getattr;
    changed = true;
  }
  if (changed) PyType_Modified(type);
  Py_RETURN_NONE;
}

// _quicken_modules(Module, note): what the fast path stands in for, and what it tells about errors.
PyObject* set_up(PyObject* self, PyObject* arguments) {
  PyObject *cls, *function;
  if (!PyArg_ParseTuple(arguments, "O!O", &PyType_Type, &cls, &function)) return nullptr;
  PyTypeObject* type = reinterpret_cast<PyTypeObject*>(cls);
  Py_XSETREF(python_call, Py_XNewRef(_PyType_Lookup(type, s_call)));
  Py_XSETREF(python_getattr, Py_XNewRef(_PyType_Lookup(type, s_getattr)));
  Py_INCREF(function);
  Py_XSETREF(note, function);
  return quicken(self, cls);
}

PyObject* set_global_hooks(PyObject*, PyObject* on) {
  int truth = PyObject_IsTrue(on);
  if (truth < 0) return nullptr;
  any_global = truth;
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"_quicken_module", quicken, METH_O, "Gives a module class the fast call and attribute access."},
    {"_quicken_modules", set_up, METH_VARARGS, "Says which class the fast paths belong to."},
    {"_set_global_module_hooks", set_global_hooks, METH_O, "Whether hooks for every module are registered."},
    {}};

}  // namespace

void init_module_fast(PyObject* module) {
  struct {
    PyObject** to;
    const char* name;
  } names[] = {{&s_call, "__call__"},
               {&s_getattr, "__getattr__"},
               {&s_getattribute, "__getattribute__"},
               {&s_slow_call, "_wrapped_call_impl"},
               {&s_forward, "forward"},
               {&hook_names[0], "_forward_hooks"},
               {&hook_names[1], "_forward_pre_hooks"},
               {&hook_names[2], "_backward_hooks"},
               {&hook_names[3], "_backward_pre_hooks"},
               {&hook_names[4], "_compiled_call_impl"},
               {&member_names[0], "_parameters"},
               {&member_names[1], "_buffers"},
               {&member_names[2], "_modules"}};
  for (auto& each : names)
    if (!(*each.to = PyUnicode_InternFromString(each.name))) throw PythonError();
  if (PyModule_AddFunctions(module, functions)) throw PythonError();
}

}  // namespace fl
