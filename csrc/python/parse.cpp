#include "python/parse.h"

#include "python/generator.h"

namespace fl {
namespace {

std::string describe(PyObject* o) {
  if (is_tensor(o)) return std::string("Tensor");
  std::string name = Py_TYPE(o)->tp_name;
  if (PyTuple_Check(o) || PyList_Check(o)) {
    name += " of (";
    Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    for (Py_ssize_t i = 0; i < n && i < 6; i++)
      name += std::string(i ? ", " : "") + Py_TYPE(PySequence_Fast_GET_ITEM(o, i))->tp_name;
    name += n > 6 ? ", ...)" : ")";
  }
  return name;
}

bool convert_number(PyObject* o, Parsed& p, Value& v) {
  Scalar s;
  if (!to_scalar(o, &s)) return false;
  if (s.is_complex()) {
    p.lists().complexes.push_back(s.to_complex());
    v.tag = Tag::Complex;
    v.c = &p.lists().complexes.back();
  } else {
    v = Value(s);
  }
  return true;
}

bool note_tensor(PyObject* o, Parsed& p, Value& v) {
  v.tag = Tag::Tensor;
  v.tensor = reinterpret_cast<TensorObject*>(o);
  p.has_override |= (v.tensor->flags & kOverride) != 0;
  return true;
}

bool convert_ints(PyObject* o, const Argument& a, Parsed& p, Value& v) {
  int64_t one;
  if (!PyTuple_Check(o) && !PyList_Check(o)) {
    if (a.repeat == 0 && !a.optional && !is_tensor(o) && !PyLong_Check(o)) return false;
    if (a.repeat == 0) return false;
    if (!to_int(o, &one)) return false;
    auto& repeated = p.new_int_list();
    repeated.resize(a.repeat, one);
    v = Value(IntList(repeated));
    return true;
  }
  auto& list = p.new_int_list();
  // The size is asked for each time: what __index__ runs may change the list.
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); i++) {
    if (!to_int(PySequence_Fast_GET_ITEM(o, i), &one)) return false;
    list.push_back(one);
  }
  v = Value(IntList(list));
  return true;
}

bool convert_tensors(PyObject* o, const Argument& a, Parsed& p, Value& v) {
  if (!PyTuple_Check(o) && !PyList_Check(o)) return false;
  p.lists().tensors.emplace_back();
  auto& list = p.lists().tensors.back();
  Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
  list.reserve(n);
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject* x = PySequence_Fast_GET_ITEM(o, i);
    if (is_tensor(x)) {
      list.push_back(Tensor::share(x));
      p.has_override |= (list.back()->flags & kOverride) != 0;
    } else if (x == Py_None && a.element_optional) {
      list.emplace_back();
    } else if (has_torch_function(x)) {
      p.has_override = true;
      list.emplace_back();
    } else {
      return false;
    }
  }
  v = Value(TensorList(list));
  return true;
}

bool convert_dtype(PyObject* o, Value& v) {
  if (is_dtype(o))
    v = Value(dtype_of_object(o));
  else if (o == reinterpret_cast<PyObject*>(&PyFloat_Type))
    v = Value(DType::Double);
  else if (o == reinterpret_cast<PyObject*>(&PyLong_Type))
    v = Value(DType::Int64);
  else if (o == reinterpret_cast<PyObject*>(&PyBool_Type))
    v = Value(DType::Bool);
  else if (o == reinterpret_cast<PyObject*>(&PyComplex_Type))
    v = Value(DType::ComplexDouble);
  else
    return false;
  return true;
}

bool convert(PyObject* o, const Argument& a, Parsed& p, Value& v) {
  if (o == Py_None && (a.optional || a.type == ArgType::Any)) {
    if (a.type == ArgType::Any) {
      v.tag = Tag::Object;
      v.object = o;
    } else {
      v = Value();
    }
    return true;
  }
  switch (a.type) {
    case ArgType::Tensor:
      if (Py_TYPE(o) == tensor_type || is_tensor(o)) return note_tensor(o, p, v);
      break;
    case ArgType::TensorOrScalar:
      if (Py_TYPE(o) == tensor_type || is_tensor(o)) return note_tensor(o, p, v);
      if (convert_number(o, p, v)) return true;
      break;
    case ArgType::TensorList:
      if (convert_tensors(o, a, p, v)) return true;
      break;
    case ArgType::Int: {
      int64_t i;
      if (to_int(o, &i)) {
        v.tag = Tag::Int;
        v.i = i;
        return true;
      }
      break;
    }
    case ArgType::IntList:
      if (convert_ints(o, a, p, v)) return true;
      break;
    case ArgType::Float: {
      Scalar s;
      if (PyFloat_CheckExact(o)) return v = Value(PyFloat_AS_DOUBLE(o)), true;
      if (to_scalar(o, &s) && !s.is_complex()) return v = Value(s.to_double()), true;
      break;
    }
    case ArgType::FloatList: {
      if (!PyTuple_Check(o) && !PyList_Check(o)) {
        Scalar s;
        if (a.repeat == 0 || !to_scalar(o, &s)) break;
        p.lists().floats.emplace_back(a.repeat, s.to_double());
      } else {
        p.lists().floats.emplace_back();
        bool good = true;
        for (Py_ssize_t i = 0; good && i < PySequence_Fast_GET_SIZE(o); i++) {
          Scalar s;
          good = to_scalar(PySequence_Fast_GET_ITEM(o, i), &s) && !s.is_complex();
          if (good) p.lists().floats.back().push_back(s.to_double());
        }
        if (!good) break;
      }
      v = Value(std::span<const double>(p.lists().floats.back()));
      return true;
    }
    case ArgType::Bool:
      if (PyBool_Check(o)) return v = Value(o == Py_True), true;
      if (Scalar s;
          !PyLong_Check(o) && !PyFloat_Check(o) && !is_tensor(o) && to_scalar(o, &s) && s.type == Scalar::Type::Bool)
        return v = Value(s.i != 0), true;
      break;
    case ArgType::Scalar:
      if (convert_number(o, p, v)) return true;
      break;
    case ArgType::ScalarList: {
      if (!PyTuple_Check(o) && !PyList_Check(o)) break;
      p.lists().scalars.emplace_back();
      bool good = true;
      for (Py_ssize_t i = 0; good && i < PySequence_Fast_GET_SIZE(o); i++) {
        Scalar s;
        good = to_scalar(PySequence_Fast_GET_ITEM(o, i), &s);
        p.lists().scalars.back().push_back(s);
      }
      if (!good) break;
      v = Value(std::span<const Scalar>(p.lists().scalars.back()));
      return true;
    }
    case ArgType::String:
      if (PyUnicode_Check(o)) {
        Py_ssize_t n;
        const char* chars = PyUnicode_AsUTF8AndSize(o, &n);
        if (!chars) throw PythonError();
        v = Value(std::string_view(chars, n));
        return true;
      }
      break;
    case ArgType::DType:
      if (convert_dtype(o, v)) return true;
      break;
    case ArgType::Layout:
      if (Py_TYPE(o) == layout_type) {
        v.tag = Tag::Layout;
        v.i = reinterpret_cast<NameObject*>(o)->code;
        return true;
      }
      break;
    case ArgType::Device:
      if (Py_TYPE(o) == device_type || PyUnicode_Check(o) || (PyLong_Check(o) && !PyBool_Check(o)))
        return v = Value(parse_device(o)), true;
      break;
    case ArgType::MemoryFormat:
      if (Py_TYPE(o) == memory_format_type)
        return v = Value(static_cast<MemoryFormat>(reinterpret_cast<NameObject*>(o)->code)), true;
      break;
    case ArgType::Generator:
      if (Generator* g = generator_of(o)) return v = Value(g), true;
      break;
    case ArgType::Any:
      v.tag = Tag::Object;
      v.object = o;
      return true;
  }
  if (!is_tensor(o) && has_torch_function(o)) {
    p.has_override = true;
    return true;
  }
  return false;
}

// NumPy's names for PyTorch's arguments.
const char* numpy_name(std::string_view name) {
  if (name == "axis") return "dim";
  if (name == "keepdims") return "keepdim";
  if (name == "x") return "input";
  if (name == "x2") return "other";
  if (name == "a") return "input";
  if (name == "self") return "input";
  return nullptr;
}

int find_argument(const Schema& s, PyObject* name) {
  for (size_t i = 0; i < s.args.size(); i++)
    if (s.args[i].interned == name) return static_cast<int>(i);
  for (size_t i = 0; i < s.args.size(); i++)
    if (PyUnicode_Compare(s.args[i].interned, name) == 0) return static_cast<int>(i);
  const char* text = PyUnicode_AsUTF8(name);
  if (!text) PyErr_Clear();
  const char* other = text ? numpy_name(text) : nullptr;
  int i = other ? s.argument(other) : -1;
  if (i < 0 && text && std::string_view(text) == "axis") i = s.argument("dims");
  return i;
}

std::string quoted(PyObject* name) { return "'" + text_of(name) + "'"; }

}  // namespace

bool has_torch_function(PyObject* o) {
  PyTypeObject* t = Py_TYPE(o);
  if (t == &PyLong_Type || t == &PyFloat_Type || t == &PyUnicode_Type || t == &PyTuple_Type || t == &PyList_Type ||
      t == &PyBool_Type || o == Py_None || t == &PyType_Type)
    return false;
  static PyObject* name = PyUnicode_InternFromString("__torch_function__");
  PyObject* found = _PyType_Lookup(t, name);
  return found && found != Py_None;
}

bool parse_arguments(const Entry& entry, const Arguments& args, bool allow_out, Parsed& p, std::string* why) {
  const Schema& s = entry.schema;
  size_t n = s.args.size();
  auto no = [&](auto... parts) {
    if (why) {
      std::ostringstream out;
      (out << ... << parts);
      *why = out.str();
    }
    return false;
  };
  for (size_t i = 0; i < n; i++) p.objects[i] = nullptr;
  for (int i = 0; i < p.int_lists_used; i++) p.int_lists[i].clear();
  p.int_lists_used = 0;
  Py_ssize_t given = args.positional;
  int first = args.is_method ? 1 : 0;
  // One list of ints may be spread over the positional arguments: view(2, 3).
  bool spread = false;
  if (s.positional == first + 1 && given > first && s.args[first].type == ArgType::IntList) {
    PyObject* x = args.items[first];
    int64_t ignored;
    if (given > first + 1 ||
        (!PyTuple_Check(x) && !PyList_Check(x) && s.args[first].repeat == 0 && to_int(x, &ignored)))
      spread = true;
  }
  if (spread) {
    auto& list = p.new_int_list();
    for (Py_ssize_t i = first; i < given; i++) {
      int64_t v;
      if (!to_int(args.items[i], &v))
        return no("argument ", s.args[first].name, " (position ", i - first + 1,
                  ") must be a tuple of ints, but found element of type ", describe(args.items[i]));
      list.push_back(v);
    }
    p.values[first] = Value(IntList(list));
    p.objects[first] = args.items[first];
    for (int i = 0; i < first; i++) {
      p.objects[i] = args.items[i];
      if (!convert(args.items[i], s.args[i], p, p.values[i]))
        return no("argument ", s.args[i].name, " must be ", type_name(s.args[i].type), ", not ",
                  describe(args.items[i]));
    }
  } else {
    if (given > s.positional)
      return no("takes ", s.positional - first, " positional arguments but ", given - first, " were given");
    for (Py_ssize_t i = 0; i < given; i++) {
      p.objects[i] = args.items[i];
      p.values[i] = Value();
      if (!convert(args.items[i], s.args[i], p, p.values[i]))
        return no("argument '", s.args[i].name, "' (position ", i - first + 1, ") must be ", type_name(s.args[i].type),
                  ", not ", describe(args.items[i]));
    }
  }
  if (args.names) {
    Py_ssize_t names = PyTuple_GET_SIZE(args.names);
    for (Py_ssize_t k = 0; k < names; k++) {
      PyObject* name = PyTuple_GET_ITEM(args.names, k);
      PyObject* value = args.items[given + k];
      int i = find_argument(s, name);
      if (i < 0) {
        if (allow_out && PyUnicode_CompareWithASCIIString(name, "out") == 0) {
          p.out = value == Py_None ? nullptr : value;
          continue;
        }
        return no("got an unexpected keyword argument ", quoted(name));
      }
      if (p.objects[i]) return no("got multiple values for argument ", quoted(name));
      p.objects[i] = value;
      p.values[i] = Value();
      if (!convert(value, s.args[i], p, p.values[i]))
        return no("argument '", s.args[i].name, "' must be ", type_name(s.args[i].type), ", not ", describe(value));
    }
  }
  for (size_t i = 0; i < n; i++) {
    if (p.objects[i]) continue;
    if (!s.args[i].has_default) return no("missing 1 required argument: '", s.args[i].name, "'");
    p.values[i] = s.args[i].default_value;
  }
  return true;
}

void refuse_call(const OpGroup& group, const char* shown_name, const Arguments& args, bool allow_out) {
  std::string given;
  int first = args.is_method ? 1 : 0;
  for (Py_ssize_t i = first; i < args.positional; i++) given += (i > first ? ", " : "") + describe(args.items[i]);
  if (args.names)
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(args.names); k++)
      given += (given.empty() ? "" : ", ") + text_of(PyTuple_GET_ITEM(args.names, k)) + "=" +
               describe(args.items[args.positional + k]);
  std::string message = std::string(shown_name) + "(): ";
  std::string tried;
  std::string only;
  for (Entry* e : group.overloads) {
    Parsed p;
    std::string why;
    try {
      parse_arguments(*e, args, allow_out, p, &why);
    } catch (const Error& error) {
      why = error.message();
    }
    only = why;
    std::string signature = e->schema.text.substr(e->schema.text.find('('));
    tried += "\n  * " + signature + ": " + why;
  }
  if (group.overloads.size() == 1)
    fail(ErrorKind::Type, message, only, ". Called with (", given, "); expected ",
         group.overloads[0]->schema.text.substr(group.overloads[0]->schema.text.find('(')));
  fail(ErrorKind::Type, message, "received an invalid combination of arguments - got (", given,
       "), but expected one of:", tried);
}

}  // namespace fl
