#include "python/callable.h"

#include <structmember.h>

#include <unordered_map>

#include "dispatch/dispatch.h"

namespace fl {
namespace {

struct OpObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  OpGroup* group;
  Form form;
  PyObject* name;
  PyObject* module;
};

PyTypeObject *function_type, *method_type;
const char* package_name = "flambeau";

bool is_in_place(Form f) { return f == Form::InPlaceFunction || f == Form::InPlaceMethod; }
bool is_method(Form f) { return f == Form::Method || f == Form::InPlaceMethod; }

// One line for each result: they are tensors.
PyObject* result_repr(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject* text = PyUnicode_FromFormat("%s(", type->tp_name);
  for (Py_ssize_t i = 0; text && i < PyTuple_GET_SIZE(self); i++) {
    PyObject* item =
        PyUnicode_FromFormat("%s\n%s=%R", i ? "," : "", type->tp_members[i].name, PyTuple_GET_ITEM(self, i));
    PyUnicode_AppendAndDel(&text, item);
  }
  if (text) PyUnicode_AppendAndDel(&text, PyUnicode_FromString(")"));
  return text;
}

// Named tuples for ops with named results, by the names.
PyTypeObject* result_type(const Entry& entry) {
  static auto* types = new std::unordered_map<std::string, PyTypeObject*>;
  PyTypeObject*& type = (*types)[entry.schema.name + entry.schema.returns];
  if (type) return type;
  size_t n = entry.schema.result_names.size();
  auto* fields = new PyStructSequence_Field[n + 1]{};
  for (size_t i = 0; i < n; i++) fields[i].name = entry.schema.result_names[i].c_str();
  auto* name = new std::string(std::string(package_name) + ".return_types." + entry.schema.name);
  PyStructSequence_Desc desc{name->c_str(), nullptr, fields, static_cast<int>(n)};
  type = PyStructSequence_NewType(&desc);
  if (!type) throw PythonError();
  type->tp_repr = result_repr;
  return type;
}

PyObject* tensor_or_none(const Tensor& t) {
  PyObject* o = t ? t.object() : Py_None;
  Py_INCREF(o);
  return o;
}

// A composite written in Python: the checked arguments, by position.
PyObject* call_python(const Entry& entry, Parsed& p) {
  size_t n = entry.schema.args.size();
  PyObject* stack[kMaxArguments + 1];
  std::vector<PyRef> made;
  for (size_t i = 0; i < n; i++) {
    const Argument& a = entry.schema.args[i];
    PyObject* o = p.objects[i];
    const Value& v = p.values[i];
    bool as_value = !o || a.type == ArgType::IntList || a.type == ArgType::DType || a.type == ArgType::Device ||
                    (a.type == ArgType::Int && !PyLong_CheckExact(o));
    if (as_value) {
      switch (v.tag) {
        case Tag::None:
          o = Py_None;
          Py_INCREF(o);
          break;
        case Tag::Bool:
          o = PyBool_FromLong(v.i != 0);
          break;
        case Tag::Int:
          o = PyLong_FromLongLong(v.i);
          break;
        case Tag::Float:
          o = PyFloat_FromDouble(v.d);
          break;
        case Tag::String:
          o = PyUnicode_FromStringAndSize(v.chars, v.length);
          break;
        case Tag::DType:
          o = dtype_object(static_cast<DType>(v.i));
          Py_INCREF(o);
          break;
        case Tag::Device:
          o = new_device(v.device);
          break;
        case Tag::MemoryFormat:
          o = memory_format_object(static_cast<MemoryFormat>(v.i));
          Py_INCREF(o);
          break;
        case Tag::IntList: {
          o = PyTuple_New(v.length);
          for (uint32_t k = 0; k < v.length; k++) PyTuple_SET_ITEM(o, k, PyLong_FromLongLong(v.ints[k]));
          break;
        }
        case Tag::TensorList:
          o = PyTuple_New(0);
          break;
        default:
          o = o ? o : Py_None;
          Py_INCREF(o);
      }
      if (!o) throw PythonError();
      made.push_back(PyRef::take(o));
    }
    stack[i] = o;
  }
  PyRef result = checked(PyObject_Vectorcall(entry.python, stack, n, nullptr));
  const auto& names = entry.schema.result_names;
  if (names.empty() || !PyTuple_CheckExact(result.get()) ||
      PyTuple_GET_SIZE(result.get()) != static_cast<Py_ssize_t>(names.size()))
    return result.detach();
  PyRef tuple = checked(PyStructSequence_New(result_type(entry)));
  for (size_t i = 0; i < names.size(); i++) {
    PyObject* item = PyTuple_GET_ITEM(result.get(), i);
    Py_INCREF(item);
    PyStructSequence_SET_ITEM(tuple.get(), i, item);
  }
  return tuple.detach();
}

std::vector<Tensor> out_tensors(PyObject* out, const char* op) {
  std::vector<Tensor> outs;
  if (is_tensor(out)) {
    outs.push_back(Tensor::share(out));
    return outs;
  }
  FL_CHECK(PyTuple_Check(out) || PyList_Check(out), ErrorKind::Type, op, "(): argument 'out' must be Tensor, not ",
           Py_TYPE(out)->tp_name);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(out); i++) {
    PyObject* o = PySequence_Fast_GET_ITEM(out, i);
    FL_CHECK(is_tensor(o), ErrorKind::Type, op, "(): argument 'out' must be a tuple of Tensors, not of ",
             Py_TYPE(o)->tp_name);
    outs.push_back(Tensor::share(o));
  }
  return outs;
}

PyObject* write_out(const Entry& entry, Parsed& p) {
  std::vector<Tensor> outs = out_tensors(p.out, entry.public_name.c_str());
  if (!entry.python) {
    call_out(entry, p.values, outs);
  } else {
    PyRef r = checked(call_python(entry, p));
    std::vector<Tensor> results = out_tensors(r.get(), entry.public_name.c_str());
    FL_CHECK(results.size() == outs.size(), ErrorKind::Type, entry.public_name, "(): out= needs ", results.size(),
             " tensors, got ", outs.size());
    for (size_t i = 0; i < outs.size(); i++) {
      FL_CHECK(!(grad_enabled() && (outs[i].requires_grad() || results[i].requires_grad())), entry.public_name,
               ": functions with out= don't support automatic differentiation, but one of the arguments requires grad");
      check_out(results[i], outs[i], entry.public_name.c_str());
      check_writable(outs[i], entry.public_name.c_str());
    }
    NoGrad guard;
    for (size_t i = 0; i < outs.size(); i++) {
      resize_tensor(outs[i], results[i].sizes());
      raw_copy(outs[i], results[i]);
      bump_version(outs[i]);
    }
  }
  if (entry.schema.returns_list) Py_RETURN_NONE;
  Py_INCREF(p.out);
  if (PyTuple_Check(p.out) && !entry.schema.result_names.empty()) {
    PyRef out = PyRef::take(p.out);
    PyRef tuple = checked(PyStructSequence_New(result_type(entry)));
    for (size_t i = 0; i < outs.size(); i++) PyStructSequence_SET_ITEM(tuple.get(), i, tensor_or_none(outs[i]));
    return tuple.detach();
  }
  return p.out;
}

PyObject* write_in_place(const Entry& entry, Parsed& p) {
  if (entry.python) {
    PyRef r = checked(call_python(entry, p));
    FL_CHECK(is_tensor(r.get()), ErrorKind::Type, entry.public_name, "_: the result is no tensor");
    Tensor self = Tensor::share(p.values[0].tensor), result = Tensor::share(r.get());
    FL_CHECK(equal(self.sizes(), result.sizes()), entry.public_name, "_: output with shape ", shape_text(self.sizes()),
             " doesn't match the broadcast shape ", shape_text(result.sizes()));
    FL_CHECK(can_cast(result.dtype(), self.dtype()), entry.public_name, "_: result type ", info(result.dtype()).name,
             " can't be cast to the desired output type ", info(self.dtype()).name);
    static const Op copy("copy_");
    copy.run(self, result);
  } else {
    call_in_place(entry, p.values);
  }
  PyObject* self = reinterpret_cast<PyObject*>(p.values[0].tensor);
  Py_INCREF(self);
  return self;
}

PyObject* call_form(OpGroup* group, Form form, PyObject* callable, PyObject* const* items, Py_ssize_t count,
                    PyObject* names) {
  Arguments args{items, count, names, is_method(form)};
  if (args.is_method && (count == 0 || !is_tensor(items[0]))) {
    fail(ErrorKind::Type, "descriptor '", group->name, "' for Tensor objects needs a Tensor as its first argument",
         count ? std::string(", got ") + Py_TYPE(items[0])->tp_name : std::string());
  }
  if (thread_state.function_modes && !thread_state.function_modes_disabled)
    return call_torch_function(callable, items, count, names);
  Parsed p;
  bool in_place = is_in_place(form);
  for (Entry* e : group->overloads) {
    if (in_place && !e->has_in_place) continue;
    if (e->no_method && args.is_method) continue;
    bool allow_out = e->has_out && !in_place;
    if (!parse_arguments(*e, args, allow_out, p, nullptr)) {
      p.out = nullptr;
      p.has_override = false;
      continue;
    }
    if (p.has_override && !thread_state.function_disabled) return call_torch_function(callable, items, count, names);
    if (p.out) return write_out(*e, p);
    if (in_place) return write_in_place(*e, p);
    if (e->python) return call_python(*e, p);
    return result_object(*e, call(*e, p.values));
  }
  bool any_out = false;
  for (Entry* e : group->overloads) any_out |= e->has_out;
  std::string shown = group->overloads[0]->public_name + (in_place ? "_" : "");
  refuse_call(*group, shown.c_str(), args, any_out && !in_place);
}

PyObject* vectorcall(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* names) {
  OpObject* f = reinterpret_cast<OpObject*>(self);
  return guarded([&] { return call_form(f->group, f->form, self, args, PyVectorcall_NARGS(nargsf), names); });
}

void dealloc(PyObject* o) {
  Py_XDECREF(reinterpret_cast<OpObject*>(o)->name);
  Py_XDECREF(reinterpret_cast<OpObject*>(o)->module);
  PyTypeObject* t = Py_TYPE(o);
  PyObject_Free(o);
  Py_DECREF(t);
}
PyObject* method_get(PyObject* self, PyObject* instance, PyObject*) {
  if (!instance || instance == Py_None) {
    Py_INCREF(self);
    return self;
  }
  return PyMethod_New(self, instance);
}
PyObject* repr(PyObject* o) {
  OpObject* f = reinterpret_cast<OpObject*>(o);
  if (is_method(f->form)) return PyUnicode_FromFormat("<method '%U' of 'torch._C.TensorBase' objects>", f->name);
  return PyUnicode_FromFormat("<built-in function %U>", f->name);
}
PyObject* get_name(PyObject* o, void*) {
  PyObject* n = reinterpret_cast<OpObject*>(o)->name;
  Py_INCREF(n);
  return n;
}
PyObject* get_qualname(PyObject* o, void*) {
  OpObject* f = reinterpret_cast<OpObject*>(o);
  if (is_method(f->form)) return PyUnicode_FromFormat("Tensor.%U", f->name);
  Py_INCREF(f->name);
  return f->name;
}
PyObject* get_module(PyObject* o, void*) {
  PyObject* m = reinterpret_cast<OpObject*>(o)->module;
  Py_INCREF(m);
  return m;
}
PyObject* get_doc(PyObject* o, void*) {
  OpObject* f = reinterpret_cast<OpObject*>(o);
  std::string text;
  for (Entry* e : f->group->overloads) text += e->schema.text + "\n";
  for (Entry* e : f->group->overloads) {
    if (*e->doc) {
      text += "\n" + std::string(e->doc);
      break;
    }
    if (e->python) {
      PyRef doc = PyRef::take(PyObject_GetAttrString(e->python, "__doc__"));
      if (doc && PyUnicode_Check(doc.get())) {
        text += "\n" + text_of(doc.get());
        break;
      }
    }
  }
  PyErr_Clear();
  return PyUnicode_FromString(text.c_str());
}
PyObject* reduce(PyObject* o, PyObject*) {
  OpObject* f = reinterpret_cast<OpObject*>(o);
  if (is_method(f->form))
    return Py_BuildValue(
        "N(OO)", PyObject_GetAttrString(PyEval_GetBuiltins() ? PyImport_AddModule("builtins") : nullptr, "getattr"),
        tensor_type, f->name);
  Py_INCREF(f->name);
  return f->name;
}
PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {}};
PyGetSetDef getset[] = {{"__name__", get_name, nullptr, nullptr, nullptr},
                        {"__qualname__", get_qualname, nullptr, nullptr, nullptr},
                        {"__module__", get_module, nullptr, nullptr, nullptr},
                        {"__doc__", get_doc, nullptr, nullptr, nullptr},
                        {}};
PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(OpObject, vectorcall), READONLY, nullptr}, {}};
PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                       {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                       {Py_tp_repr, reinterpret_cast<void*>(repr)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, getset},
                       {Py_tp_members, members},
                       {Py_tp_descr_get, nullptr},
                       {0, nullptr}};

std::string module_for(const OpGroup& g) {
  size_t dot = g.name.rfind('.');
  std::string prefix = dot == std::string::npos ? "" : g.name.substr(0, dot);
  std::string package = package_name;
  if (prefix == "nn") return package + ".nn.functional";
  if (prefix == "linalg" || prefix == "special" || prefix == "fft") return package + "." + prefix;
  return package;
}

}  // namespace

PyObject* result_object(const Entry& entry, Result r) {
  switch (r.kind) {
    case Result::Kind::None:
      Py_RETURN_NONE;
    case Result::Kind::Tensor: {
      if (!r.tensor) Py_RETURN_NONE;
      return reinterpret_cast<PyObject*>(r.tensor.detach_pointer());
    }
    case Result::Kind::Number:
      return scalar_object(r.number);
    case Result::Kind::Object:
      return std::exchange(r.object, nullptr);
    case Result::Kind::Tuple:
      if (!entry.schema.result_names.empty()) {
        PyObject* tuple = PyStructSequence_New(result_type(entry));
        if (!tuple) throw PythonError();
        for (size_t i = 0; i < r.tensors.size(); i++) PyStructSequence_SET_ITEM(tuple, i, tensor_or_none(r.tensors[i]));
        return tuple;
      }
      [[fallthrough]];
    case Result::Kind::List: {
      PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(r.tensors.size()));
      for (size_t i = 0; i < r.tensors.size(); i++) PyTuple_SET_ITEM(tuple, i, tensor_or_none(r.tensors[i]));
      return tuple;
    }
  }
  Py_RETURN_NONE;
}

PyObject* op_callable(OpGroup* group, Form form) {
  PyObject*& slot = group->callables[static_cast<int>(form)];
  if (slot) return slot;
  PyTypeObject* type = is_method(form) ? method_type : function_type;
  OpObject* o = PyObject_New(OpObject, type);
  if (!o) throw PythonError();
  o->vectorcall = vectorcall;
  o->group = group;
  o->form = form;
  std::string name = group->overloads[0]->public_name + (is_in_place(form) ? "_" : "");
  o->name = PyUnicode_InternFromString(name.c_str());
  o->module = PyUnicode_InternFromString(module_for(*group).c_str());
  return slot = reinterpret_cast<PyObject*>(o);
}

PyObject* call_op(OpGroup* group, Form form, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return call_form(group, form, op_callable(group, form), args, count, names);
}

Entry* define_python(const char* schema, PyObject* function, bool in_place, bool out) {
  static Kernel from_cpp = [](const Entry& entry, const Value* args, const Destination*) -> Result {
    // An op in C++ calls one in Python: box the values as objects.
    Parsed p;
    std::vector<PyRef> keep;
    for (size_t i = 0; i < entry.schema.args.size(); i++) {
      p.values[i] = args[i];
      p.objects[i] = nullptr;
      if (args[i].tag == Tag::Tensor)
        p.objects[i] = reinterpret_cast<PyObject*>(args[i].tensor);
      else if (args[i].tag == Tag::TensorList) {
        PyObject* list = PyTuple_New(args[i].length);
        for (uint32_t k = 0; k < args[i].length; k++)
          PyTuple_SET_ITEM(list, k, tensor_or_none(borrow(args[i].tensors[k])));
        keep.push_back(PyRef::take(list));
        p.objects[i] = list;
      } else if (args[i].tag == Tag::Complex) {
        keep.push_back(PyRef::take(PyComplex_FromDoubles(args[i].c->real(), args[i].c->imag())));
        p.objects[i] = keep.back().get();
      } else if (args[i].tag == Tag::Object) {
        p.objects[i] = args[i].object;
      }
    }
    PyRef r = checked(call_python(entry, p));
    if (is_tensor(r.get())) return Result(Tensor::share(r.get()));
    if (PyTuple_Check(r.get()) || PyList_Check(r.get())) {
      std::vector<Tensor> list;
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(r.get()); i++) {
        PyObject* o = PySequence_Fast_GET_ITEM(r.get(), i);
        list.push_back(is_tensor(o) ? Tensor::share(o) : Tensor());
      }
      return Result(entry.schema.returns_list ? Result::Kind::List : Result::Kind::Tuple, std::move(list));
    }
    Result boxed;
    boxed.kind = Result::Kind::Object;
    boxed.object = r.detach();
    return boxed;
  };
  Define d(schema);
  Entry* e = d.entry();
  e->composite = true;
  e->python = function;
  e->kernel = from_cpp;
  e->has_in_place = in_place;
  e->has_out = out;
  Py_INCREF(function);
  return e;
}

void init_callables(PyObject* module, const char* package) {
  package_name = package;
  constexpr unsigned flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  slots[6] = {0, nullptr};
  PyType_Spec function_spec{"builtin_function", sizeof(OpObject), 0, flags, slots};
  function_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&function_spec));
  slots[6] = {Py_tp_descr_get, reinterpret_cast<void*>(method_get)};
  PyType_Spec method_spec{"op_method", sizeof(OpObject), 0, flags | Py_TPFLAGS_METHOD_DESCRIPTOR, slots};
  method_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&method_spec));
  if (!function_type || !method_type) throw PythonError();
  Py_INCREF(function_type);
  PyModule_AddObject(module, "_OpFunction", reinterpret_cast<PyObject*>(function_type));
  Py_INCREF(method_type);
  PyModule_AddObject(module, "_OpMethod", reinterpret_cast<PyObject*>(method_type));
}

}  // namespace fl
