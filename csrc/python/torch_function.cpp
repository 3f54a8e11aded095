// __torch_function__: subclasses and modes that want to see calls before they run.
#include <algorithm>

#include "python/tensor_type.h"
#include "tensor/thread_state.h"

namespace fl {

PyObject* disabled_torch_function = nullptr;

namespace {

std::vector<PyObject*>& modes() {
  static auto* stack = new std::vector<PyObject*>;
  return *stack;
}

bool overrides(PyObject* o) {
  if (is_tensor(o)) return reinterpret_cast<TensorObject*>(o)->flags & kOverride;
  return has_torch_function(o);
}

// Subclasses before their bases, otherwise by position.
void collect(PyObject* o, std::vector<PyObject*>& found, int depth) {
  if (overrides(o)) {
    for (PyObject* f : found)
      if (Py_TYPE(f) == Py_TYPE(o)) return;
    size_t at = found.size();
    for (size_t i = 0; i < found.size(); i++)
      if (PyType_IsSubtype(Py_TYPE(o), Py_TYPE(found[i]))) {
        at = i;
        break;
      }
    found.insert(found.begin() + at, o);
    return;
  }
  if (depth < 2 && (PyTuple_Check(o) || PyList_Check(o)))
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); i++)
      collect(PySequence_Fast_GET_ITEM(o, i), found, depth + 1);
}

struct Suspended {
  int saved = thread_state.function_modes;
  PyObject* mode;
  Suspended() : mode(modes().back()) {
    modes().pop_back();
    thread_state.function_modes--;
  }
  ~Suspended() {
    modes().push_back(mode);
    thread_state.function_modes = saved;
  }
};

PyObject* push_mode(PyObject*, PyObject* mode) {
  Py_INCREF(mode);
  modes().push_back(mode);
  thread_state.function_modes++;
  Py_RETURN_NONE;
}
PyObject* pop_mode(PyObject*, PyObject*) {
  return guarded([&] {
    FL_CHECK(!modes().empty(), "torch function mode stack: nothing to pop");
    PyObject* m = modes().back();
    modes().pop_back();
    thread_state.function_modes--;
    return m;
  });
}
PyObject* mode_count(PyObject*, PyObject*) { return PyLong_FromSize_t(modes().size()); }
PyObject* mode_at(PyObject*, PyObject* i) {
  return guarded([&] {
    Py_ssize_t k = PyLong_AsSsize_t(i);
    FL_CHECK(k >= 0 && k < static_cast<Py_ssize_t>(modes().size()), ErrorKind::Index,
             "torch function mode stack: no mode ", k);
    Py_INCREF(modes()[k]);
    return modes()[k];
  });
}
PyObject* disabled_function(PyObject*, PyObject* args, PyObject* kw) {
  // (func, types, args, kwargs): runs the function as if no subclass had an opinion.
  PyObject *func, *types, *inner, *kwargs = nullptr;
  (void)kw;
  if (!PyArg_ParseTuple(args, "OOO|O", &func, &types, &inner, &kwargs)) return nullptr;
  bool saved = thread_state.function_disabled;
  thread_state.function_disabled = true;
  PyObject* r = PyObject_Call(func, inner, kwargs == Py_None ? nullptr : kwargs);
  thread_state.function_disabled = saved;
  return r;
}
PyObject* set_disabled(PyObject*, PyObject* args) {
  int subclasses, all;
  if (!PyArg_ParseTuple(args, "pp", &subclasses, &all)) return nullptr;
  PyObject* old = Py_BuildValue("(OO)", thread_state.function_disabled ? Py_True : Py_False,
                                thread_state.function_modes_disabled ? Py_True : Py_False);
  thread_state.function_disabled = subclasses;
  thread_state.function_modes_disabled = all;
  return old;
}
PyObject* has_function(PyObject*, PyObject* args) {
  PyRef list = PyRef::take(PySequence_Fast(args, "expected an iterable of arguments"));
  if (!list) return nullptr;
  if (thread_state.function_modes && !thread_state.function_modes_disabled) Py_RETURN_TRUE;
  if (!thread_state.function_disabled)
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); i++)
      if (overrides(PySequence_Fast_GET_ITEM(list.get(), i))) Py_RETURN_TRUE;
  Py_RETURN_FALSE;
}
PyObject* call_function_py(PyObject*, PyObject* args) {
  // (public function, relevant arguments, args, kwargs)
  return guarded([&]() -> PyObject* {
    PyObject *function, *relevant, *inner, *kwargs;
    if (!PyArg_ParseTuple(args, "OOO!O", &function, &relevant, &PyTuple_Type, &inner, &kwargs)) return nullptr;
    std::vector<PyObject*> stack;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inner); i++) stack.push_back(PyTuple_GET_ITEM(inner, i));
    PyRef names;
    if (kwargs != Py_None && PyDict_Size(kwargs)) {
      names = checked(PyTuple_New(PyDict_Size(kwargs)));
      PyObject *k, *v;
      Py_ssize_t pos = 0, n = 0;
      while (PyDict_Next(kwargs, &pos, &k, &v)) {
        Py_INCREF(k);
        PyTuple_SET_ITEM(names.get(), n++, k);
        stack.push_back(v);
      }
    }
    (void)relevant;
    return call_torch_function(function, stack.data(), PyTuple_GET_SIZE(inner), names.get());
  });
}

PyMethodDef functions[] = {
    {"_push_torch_function_mode", push_mode, METH_O, nullptr},
    {"_pop_torch_function_mode", pop_mode, METH_NOARGS, nullptr},
    {"_len_torch_function_stack", mode_count, METH_NOARGS, nullptr},
    {"_get_function_stack_at", mode_at, METH_O, nullptr},
    {"_disabled_torch_function_impl", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(disabled_function)),
     METH_VARARGS | METH_KEYWORDS, nullptr},
    {"_set_torch_function_disabled", set_disabled, METH_VARARGS, nullptr},
    {"_has_torch_function", has_function, METH_O, nullptr},
    {"_call_torch_function", call_function_py, METH_VARARGS, nullptr},
    {}};

}  // namespace

PyObject* call_torch_function(PyObject* function, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  std::vector<PyObject*> found;
  Py_ssize_t keywords = names ? PyTuple_GET_SIZE(names) : 0;
  for (Py_ssize_t i = 0; i < count + keywords; i++) collect(args[i], found, 0);
  PyRef positional = checked(PyTuple_New(count));
  for (Py_ssize_t i = 0; i < count; i++) {
    Py_INCREF(args[i]);
    PyTuple_SET_ITEM(positional.get(), i, args[i]);
  }
  PyRef kwargs = checked(PyDict_New());
  for (Py_ssize_t i = 0; i < keywords; i++)
    if (PyDict_SetItem(kwargs.get(), PyTuple_GET_ITEM(names, i), args[count + i])) throw PythonError();
  PyRef types = checked(PyTuple_New(found.size()));
  for (size_t i = 0; i < found.size(); i++) {
    PyObject* t = reinterpret_cast<PyObject*>(Py_TYPE(found[i]));
    Py_INCREF(t);
    PyTuple_SET_ITEM(types.get(), i, t);
  }
  if (thread_state.function_modes && !thread_state.function_modes_disabled) {
    Suspended top;
    PyRef r = checked(PyObject_CallMethod(top.mode, "__torch_function__", "OOOO", function, types.get(),
                                          positional.get(), kwargs.get()));
    if (r.get() != Py_NotImplemented) return r.detach();
  }
  for (PyObject* o : found) {
    PyRef method = checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(o)), "__torch_function__"));
    if (method.get() == disabled_torch_function) continue;
    PyRef r = checked(
        PyObject_CallFunctionObjArgs(method.get(), function, types.get(), positional.get(), kwargs.get(), nullptr));
    if (r.get() != Py_NotImplemented) return r.detach();
  }
  if (found.empty()) return PyObject_Call(function, positional.get(), kwargs.get());
  PyRef name = PyRef::take(PyObject_Repr(function)), list = PyRef::take(PyObject_Repr(types.get()));
  fail(ErrorKind::Type, "no implementation found for ", text_of(name.get()),
       " on types that implement __torch_function__: ", text_of(list.get()));
}

void init_torch_function(PyObject* module) {
  if (PyModule_AddFunctions(module, functions)) throw PythonError();
  disabled_torch_function = PyObject_GetAttrString(module, "_disabled_torch_function_impl");
}

}  // namespace fl
