// The extension module `_C`.
#include <unistd.h>

#include "base/threads.h"
#include "blas/library.h"
#include "dispatch/dispatch.h"
#include "memory/allocator.h"
#include "python/array.h"
#include "python/autograd.h"
#include "python/callable.h"
#include "python/dlpack.h"
#include "python/generator.h"
#include "python/module_fast.h"
#include "python/objects.h"
#include "python/storage.h"
#include "python/tensor_type.h"
#include "tile/program.h"

namespace fl {
namespace {

std::string prefix_of(const std::string& name) {
  size_t dot = name.rfind('.');
  return dot == std::string::npos ? "" : name.substr(0, dot);
}
// Which of its forms an entry has, by the prefix of its name and its first argument.
bool has_method(const Entry& e) {
  std::string prefix = prefix_of(e.schema.name);
  if (e.no_method || e.schema.args.empty() || (!prefix.empty() && prefix != "Tensor")) return false;
  const Argument& a = e.schema.args[0];
  return prefix == "Tensor" || (a.type == ArgType::Tensor && !a.optional && (a.name == "input" || a.name == "self"));
}
bool has_function(const Entry& e) { return !e.no_function && prefix_of(e.schema.name) != "Tensor"; }

void put(PyObject* dict, const std::string& name, PyObject* o) {
  if (PyDict_SetItemString(dict, name.c_str(), o)) throw PythonError();
}

// Puts a group's methods on the Tensor type.
void attach_methods(OpGroup* g) {
  bool method = false, in_place = false;
  for (Entry* e : g->overloads) {
    method |= has_method(*e);
    in_place |= has_method(*e) && e->has_in_place;
  }
  PyObject* type = reinterpret_cast<PyObject*>(tensor_type);
  const std::string& name = g->overloads[0]->public_name;
  if (method && PyObject_SetAttrString(type, name.c_str(), op_callable(g, Form::Method))) throw PythonError();
  if (in_place && PyObject_SetAttrString(type, (name + "_").c_str(), op_callable(g, Form::InPlaceMethod)))
    throw PythonError();
}

void add_functions(OpGroup* g, PyObject* dict) {
  bool function = false, in_place = false;
  for (Entry* e : g->overloads) {
    function |= has_function(*e);
    in_place |= has_function(*e) && e->has_in_place;
  }
  const std::string& name = g->overloads[0]->public_name;
  if (function) put(dict, name, op_callable(g, Form::Function));
  if (in_place) put(dict, name + "_", op_callable(g, Form::InPlaceFunction));
}

// _namespace("nn"): the functions of a namespace by name; "" is the package itself.
PyObject* namespace_py(PyObject*, PyObject* prefix) {
  return guarded([&] {
    const char* text = PyUnicode_AsUTF8(prefix);
    if (!text) throw PythonError();
    PyRef dict = checked(PyDict_New());
    for (OpGroup* g : all_groups()) {
      std::string p = prefix_of(g->name);
      if (p == text || (*text == '\0' && p == "torch")) add_functions(g, dict.get());
    }
    return dict.detach();
  });
}

// _define(schema, function, inplace, out) -> the callable
PyObject* define_py(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char* schema;
    PyObject* function;
    int in_place, out;
    if (!PyArg_ParseTuple(args, "sOpp", &schema, &function, &in_place, &out)) return nullptr;
    Entry* e = define_python(schema, function, in_place, out);
    OpGroup* g = find_group(e->schema.name);
    attach_methods(g);
    bool method_only = prefix_of(g->name) == "Tensor";
    PyObject* o = op_callable(g, method_only ? Form::Method : Form::Function);
    Py_INCREF(o);
    return o;
  });
}

// The arguments of an entry: (name, type, default or None, keyword only), all as the schema writes them.
PyRef argument_rows(const Entry& e) {
  PyRef list = checked(PyList_New(0));
  for (const Argument& a : e.schema.args) {
    PyRef row =
        checked(Py_BuildValue("(sszO)", a.name.c_str(), a.type_text.c_str(),
                              a.has_default ? a.default_text.c_str() : nullptr, a.keyword_only ? Py_True : Py_False));
    if (PyList_Append(list.get(), row.get())) throw PythonError();
  }
  return list;
}

PyObject* table_py(PyObject*, PyObject*) {
  return guarded([&] {
    PyRef list = checked(PyList_New(0));
    auto yes = [](bool b) { return b ? Py_True : Py_False; };
    for (OpGroup* g : all_groups())
      for (Entry* e : g->overloads) {
        PyRef args = argument_rows(*e);
        PyRef row = checked(Py_BuildValue(
            "{s:s,s:s,s:s,s:s,s:O,s:O,s:O,s:O,s:O,s:O,s:O,s:O,s:O,s:O,s:O,s:s}", "id", e->id.c_str(), "name",
            g->name.c_str(), "schema", e->schema.text.c_str(), "returns", e->schema.returns.c_str(), "args", args.get(),
            "function", yes(has_function(*e)), "method", yes(has_method(*e)), "in_place", yes(e->has_in_place), "out",
            yes(e->has_out), "composite", yes(e->composite), "view", yes(e->view), "differentiable",
            yes(e->vjp || e->composite), "pointwise", yes(e->pointwise), "mutates", yes(e->mutates), "python",
            e->python ? e->python : Py_None, "doc", e->doc));
        if (PyList_Append(list.get(), row.get())) throw PythonError();
      }
    return list.detach();
  });
}

PyObject* set_default_dtype_py(PyObject*, PyObject* dtype) {
  return guarded([&]() -> PyObject* {
    FL_CHECK(is_dtype(dtype), ErrorKind::Type,
             "invalid dtype object: only floating-point types are supported as the default type, got ",
             Py_TYPE(dtype)->tp_name);
    FL_CHECK(is_floating(dtype_of_object(dtype)), ErrorKind::Type,
             "only floating-point types are supported as the default type, got ", info(dtype_of_object(dtype)).name);
    set_default_dtype(dtype_of_object(dtype));
    Py_RETURN_NONE;
  });
}
PyObject* get_default_dtype_py(PyObject*, PyObject*) {
  PyObject* o = dtype_object(default_dtype());
  Py_INCREF(o);
  return o;
}
PyObject* set_num_threads_py(PyObject*, PyObject* n) {
  return guarded([&]() -> PyObject* {
    int64_t v;
    FL_CHECK(to_int(n, &v), ErrorKind::Type, "set_num_threads expects an int, but got ", Py_TYPE(n)->tp_name);
    FL_CHECK(v > 0, "set_num_threads expects a positive integer, got ", v);
    set_num_threads(static_cast<int>(std::min<int64_t>(v, 1024)));
    Py_RETURN_NONE;
  });
}
PyObject* get_num_threads_py(PyObject*, PyObject*) { return PyLong_FromLong(max_threads()); }
PyObject* promote_types_py(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *a, *b;
    if (!PyArg_ParseTuple(args, "OO", &a, &b)) return nullptr;
    FL_CHECK(is_dtype(a) && is_dtype(b), ErrorKind::Type, "promote_types(): arguments must be torch.dtype, not ",
             Py_TYPE(is_dtype(a) ? b : a)->tp_name);
    PyObject* o = dtype_object(promote(dtype_of_object(a), dtype_of_object(b)));
    Py_INCREF(o);
    return o;
  });
}
PyObject* can_cast_py(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"from_", "to", nullptr};
  PyObject *a, *b;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO:can_cast", const_cast<char**>(names), &a, &b)) return nullptr;
  if (!is_dtype(a) || !is_dtype(b)) {
    PyErr_SetString(PyExc_TypeError, "can_cast(): arguments must be torch.dtype");
    return nullptr;
  }
  return PyBool_FromLong(can_cast(dtype_of_object(a), dtype_of_object(b)));
}
PyObject* memory_stats_py(PyObject*, PyObject*) {
  MemoryStats s = memory_stats();
  return Py_BuildValue("{s:L,s:L,s:L,s:L,s:L,s:L}", "allocated", (long long)s.allocated, "peak", (long long)s.peak,
                       "cached", (long long)s.cached, "limit", (long long)s.limit, "allocations",
                       (long long)s.allocations, "reused", (long long)s.reused);
}
PyObject* empty_cache_py(PyObject*, PyObject*) {
  empty_cache();
  Py_RETURN_NONE;
}
PyObject* reset_peak_py(PyObject*, PyObject*) {
  reset_peak_memory();
  Py_RETURN_NONE;
}
PyObject* set_memory_limit_py(PyObject*, PyObject* n) {
  return guarded([&]() -> PyObject* {
    int64_t v;
    FL_CHECK(to_int(n, &v) && v >= 0, ErrorKind::Type,
             "set_memory_limit: expected a number of bytes, 0 for the machine's");
    set_memory_limit(v);
    Py_RETURN_NONE;
  });
}
PyObject* isa_py(PyObject*, PyObject*) {
  static const char* names[] = {"DEFAULT", "AVX2", "AVX512"};
  return PyUnicode_FromString(names[static_cast<int>(machine_isa())]);
}

PyMethodDef functions[] = {
    {"_namespace", namespace_py, METH_O, "The op functions of a namespace, by name."},
    {"_define", define_py, METH_VARARGS, "Declares a composite op."},
    {"_table", table_py, METH_NOARGS, "All entries of the op table."},
    {"_set_default_dtype", set_default_dtype_py, METH_O, nullptr},
    {"get_default_dtype", get_default_dtype_py, METH_NOARGS, "The floating type that Python floats become."},
    {"set_num_threads", set_num_threads_py, METH_O, "How many threads ops may use."},
    {"get_num_threads", get_num_threads_py, METH_NOARGS, "How many threads ops may use."},
    {"promote_types", promote_types_py, METH_VARARGS, "The smallest type that holds both."},
    {"can_cast", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(can_cast_py)), METH_VARARGS | METH_KEYWORDS,
     "Whether a type may be cast to another by promotion's rules."},
    {"_memory_stats", memory_stats_py, METH_NOARGS, nullptr},
    {"_empty_cache", empty_cache_py, METH_NOARGS, nullptr},
    {"_reset_peak_memory", reset_peak_py, METH_NOARGS, nullptr},
    {"_set_memory_limit", set_memory_limit_py, METH_O, nullptr},
    {"_cpu_capability", isa_py, METH_NOARGS, nullptr},
    {}};

// OpenBLAS comes with a package of its own, which may lie anywhere on the module path.
void find_openblas() {
  PyObject* path = PySys_GetObject("path");
  if (!path || !PyList_Check(path)) return;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(path); i++) {
    PyObject* folder = PyList_GET_ITEM(path, i);
    const char* text = PyUnicode_Check(folder) ? PyUnicode_AsUTF8(folder) : nullptr;
    std::string file = std::string(text ? text : "") + "/scipy_openblas32/lib/libscipy_openblas.so";
    if (text && access(file.c_str(), R_OK) == 0) return blas::set_library_path(file.c_str());
  }
  PyErr_Clear();
}

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_C", "The core of the framework.", -1, functions, nullptr, nullptr, nullptr, nullptr};

}  // namespace
}  // namespace fl

PyMODINIT_FUNC PyInit__C() {
  using namespace fl;
  return guarded([]() -> PyObject* {
    PyRef module = checked(PyModule_Create(&definition));
    // The package may be loaded under another name; types say the name they are found by.
    static std::string package = PyModule_GetName(module.get());
    package = package.substr(0, package.find('.'));
    if (package == "_C") package = "flambeau";
    const char* name = package.c_str();
    PyObject* m = module.get();
    PyRef oom = checked(PyErr_NewException((package + ".OutOfMemoryError").c_str(), PyExc_RuntimeError, nullptr));
    out_of_memory_error = oom.get();
    PyModule_AddObject(m, "OutOfMemoryError", oom.detach());
    PyRef linalg = checked(PyErr_NewException((package + "._C._LinAlgError").c_str(), PyExc_RuntimeError, nullptr));
    linalg_error = linalg.get();
    PyModule_AddObject(m, "_LinAlgError", linalg.detach());
    init_objects(m, name);
    init_torch_function(m);
    init_tensor_type(m, name);
    init_storage(m, name);
    init_generator(m, name);
    init_autograd(m, name);
    init_custom_function(m, name);
    init_callables(m, name);
    init_array(m);
    find_openblas();
    init_dlpack(m);
    init_module_fast(m);
    connect_entries();
    for (OpGroup* g : all_groups()) attach_methods(g);
    return module.detach();
  });
}
