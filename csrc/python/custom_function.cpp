// torch.autograd.Function: a node whose backward is written in Python.
#include "autograd/copy_slices.h"
#include "autograd/record.h"
#include "autograd/saved.h"
#include "python/autograd.h"
#include "python/tensor_type.h"

namespace fl {

void node_dealloc(PyObject* o);
int node_traverse(PyObject* o, visitproc visit, void* arg);
int node_clear(PyObject* o);

namespace {

// The node object itself is the `ctx` of forward and backward.
struct FunctionBody : NodeBody {
  std::vector<SavedTensor> saved;
  bool consumed = false, materialize = true, saved_any = false;
  std::vector<OutputMeta> shapes;     // of each output, for zeros
  std::vector<bool> is_tensor_input;  // by argument of forward
  PyObject *to_save = nullptr, *dirty = nullptr, *constant = nullptr, *needs = nullptr;
  ~FunctionBody() override {
    Py_XDECREF(to_save);
    Py_XDECREF(dirty);
    Py_XDECREF(constant);
    Py_XDECREF(needs);
  }

  TensorArray apply(Node& node, TensorArray grads) override {
    PyObject* self = reinterpret_cast<PyObject*>(&node);
    PyRef args = checked(PyTuple_New(grads.size()));
    for (size_t i = 0; i < grads.size(); i++) {
      Tensor g = grads[i];
      if (!g && materialize && i < shapes.size() && is_differentiable(shapes[i].dtype)) {
        g = empty(shapes[i].sizes, shapes[i].dtype, shapes[i].device);
        raw_fill(g, Scalar(0));
      }
      PyObject* o = g ? g.object() : Py_None;
      Py_INCREF(o);
      PyTuple_SET_ITEM(args.get(), i, o);
    }
    PyRef method = checked(PyObject_GetAttrString(self, "apply"));
    PyRef r = checked(PyObject_Call(method.get(), args.get(), nullptr));
    if (!PyTuple_Check(r.get())) r = checked(PyTuple_Pack(1, r.get()));
    size_t given = PyTuple_GET_SIZE(r.get()), inputs = is_tensor_input.size();
    // Too many are fine as long as the rest is None.
    while (given > inputs && PyTuple_GET_ITEM(r.get(), given - 1) == Py_None) given--;
    FL_CHECK(given == inputs, "function ", node.name, " returned an incorrect number of gradients (expected ", inputs,
             ", got ", given, ")");
    TensorArray out(node.edges.size());
    size_t edge = 0;
    for (size_t i = 0; i < inputs; i++) {
      PyObject* o = PyTuple_GET_ITEM(r.get(), i);
      if (!is_tensor_input[i]) {
        FL_CHECK(o == Py_None, "function ", node.name, " returned a gradient different from None at position ", i + 1,
                 ", but the corresponding forward input was not a Variable");
        continue;
      }
      FL_CHECK(o == Py_None || is_tensor(o), ErrorKind::Type, "function ", node.name,
               ": expected a Variable or None at position ", i + 1, ", got ", Py_TYPE(o)->tp_name);
      if (o != Py_None) out[edge] = Tensor::share(o);
      edge++;
    }
    return out;
  }
  void release_saved() override {
    for (SavedTensor& s : saved) s.release();
    consumed = true;
  }
  int traverse(visitproc visit, void* arg) override {
    Py_VISIT(to_save);
    Py_VISIT(dirty);
    Py_VISIT(constant);
    for (SavedTensor& s : saved)
      if (int r = s.traverse(visit, arg)) return r;
    return 0;
  }
};

FunctionBody* body_of(PyObject* o) { return static_cast<FunctionBody*>(reinterpret_cast<Node*>(o)->body); }

PyObject* function_new(PyTypeObject* type, PyObject*, PyObject*) {
  return guarded([&] {
    PyObject* o = type->tp_alloc(type, 0);
    if (!o) throw PythonError();
    auto* name = new std::string(type->tp_name);  // types of custom functions live about as long as the program
    size_t dot = name->rfind('.');
    init_node(reinterpret_cast<Node*>(o), dot == std::string::npos ? name->c_str() : name->c_str() + dot + 1,
              new FunctionBody);
    return o;
  });
}

PyObject* or_none(PyObject* o) {
  o = o ? o : Py_None;
  Py_INCREF(o);
  return o;
}
#define FIELD(field)                                                                                      \
  PyObject* get_##field(PyObject* o, void*) { return or_none(body_of(o) ? body_of(o)->field : nullptr); } \
  int set_##field(PyObject* o, PyObject* v, void*) {                                                      \
    if (!body_of(o)) return 0;                                                                            \
    Py_XINCREF(v);                                                                                        \
    Py_XSETREF(body_of(o)->field, v);                                                                     \
    return 0;                                                                                             \
  }
FIELD(to_save)
FIELD(dirty)
FIELD(constant)
FIELD(needs)
#undef FIELD
PyObject* get_materialize(PyObject* o, void*) { return PyBool_FromLong(body_of(o) && body_of(o)->materialize); }
int set_materialize(PyObject* o, PyObject* v, void*) {
  if (body_of(o)) body_of(o)->materialize = v && PyObject_IsTrue(v);
  return 0;
}
PyObject* get_saved(PyObject* o, void*) {
  return guarded([&]() -> PyObject* {
    FunctionBody* b = body_of(o);
    FL_CHECK(b, "saved_tensors: this context was freed");
    if (b->saved.empty() && b->to_save && PyTuple_Check(b->to_save)) return or_none(b->to_save);
    PyObject* tuple = PyTuple_New(b->saved.size());
    for (size_t i = 0; i < b->saved.size(); i++) {
      Tensor t;
      try {
        t = b->saved[i].get(*reinterpret_cast<Node*>(o));
      } catch (...) {
        Py_DECREF(tuple);
        throw;
      }
      PyTuple_SET_ITEM(tuple, i, or_none(t.object()));
    }
    return tuple;
  });
}

PyGetSetDef getset[] = {{"to_save", get_to_save, set_to_save, nullptr, nullptr},
                        {"dirty_tensors", get_dirty, set_dirty, nullptr, nullptr},
                        {"non_differentiable", get_constant, set_constant, nullptr, nullptr},
                        {"needs_input_grad", get_needs, set_needs, nullptr, nullptr},
                        {"materialize_grads", get_materialize, set_materialize, nullptr, nullptr},
                        {"saved_tensors", get_saved, nullptr, nullptr, nullptr},
                        {"saved_variables", get_saved, nullptr, nullptr, nullptr},
                        {}};
PyType_Slot slots[] = {{Py_tp_base, nullptr},
                       {Py_tp_new, reinterpret_cast<void*>(function_new)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(node_dealloc)},
                       {Py_tp_traverse, reinterpret_cast<void*>(node_traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(node_clear)},
                       {Py_tp_getset, getset},
                       {0, nullptr}};

bool holds(PyObject* tuple, PyObject* x) {
  if (!tuple || !PyTuple_Check(tuple)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++)
    if (PyTuple_GET_ITEM(tuple, i) == x) return true;
  return false;
}

// Makes output i of the context part of the graph; returns what to hand to the caller.
PyRef wire_output(Node* node, FunctionBody* body, PyObject* o, uint32_t i, PyObject* args, bool recording) {
  if (!is_tensor(o)) {
    body->shapes.push_back({DType::Bool, Dims(), {}});
    node->outputs.push_back({DType::Bool, Dims(), {}});
    return PyRef::share(o);
  }
  Tensor t = Tensor::share(o);
  bool is_input = false;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(args); k++) is_input |= PyTuple_GET_ITEM(args, k) == o;
  bool dirty = holds(body->dirty, o);
  // An input handed back unchanged becomes a tensor of its own: it now has another history.
  if (is_input && !dirty) {
    t = alias(t);
  }
  body->shapes.push_back({t.dtype(), Dims(t.sizes()), t.device()});
  node->outputs.push_back({t.dtype(), Dims(t.sizes()), t.device()});
  if (!recording || holds(body->constant, o) || !is_differentiable(t.dtype())) {
    if (recording && holds(body->constant, o) && t.requires_grad()) {
      t = alias(t);
    }
    return PyRef::share(t.object());
  }
  if (dirty) {
    FL_CHECK(!(t.requires_grad() && is_leaf(t)),
             "a leaf Variable that requires grad is being used in an in-place operation (", node->name, ")");
    bump_version(t);
    if (t->base) {
      rebase_view(t, node);
      return PyRef::share(t.object());
    }
  } else if (t->base) {
    // A view made inside forward: outside it is just an output.
    t = alias(t);
  }
  set_history(t, node, i);
  return PyRef::share(t.object());
}

PyObject* function_apply(PyObject*, PyObject* call_args) {
  return guarded([&]() -> PyObject* {
    PyObject *cls, *args;
    if (!PyArg_ParseTuple(call_args, "OO!", &cls, &PyTuple_Type, &args)) return nullptr;
    PyRef ctx_type = checked(PyObject_GetAttrString(cls, "_backward_cls"));
    PyRef ctx = checked(PyObject_CallNoArgs(ctx_type.get()));
    Node* node = reinterpret_cast<Node*>(ctx.get());
    FunctionBody* body = static_cast<FunctionBody*>(node->body);
    Py_ssize_t n = PyTuple_GET_SIZE(args);
    bool recording = false;
    PyRef needs = checked(PyTuple_New(n));
    for (Py_ssize_t i = 0; i < n; i++) {
      PyObject* a = PyTuple_GET_ITEM(args, i);
      bool tensor = is_tensor(a), wants = tensor && as_tensor(a).requires_grad();
      body->is_tensor_input.push_back(tensor);
      recording |= wants;
      PyTuple_SET_ITEM(needs.get(), i, PyBool_FromLong(wants));
      if (tensor) {
        OwnedEdge e = grad_enabled() ? gradient_edge(as_tensor(a)) : OwnedEdge();
        add_edge(node, e.edge);
      }
    }
    recording &= grad_enabled();
    body->needs = needs.detach();
    PyRef flag = PyRef::take(PyObject_GetAttrString(cls, "_has_setup_context"));
    bool setup = flag && PyObject_IsTrue(flag.get()) == 1;
    PyErr_Clear();
    PyRef result;
    {
      NoGrad guard;
      PyRef forward = checked(PyObject_GetAttrString(cls, "forward"));
      if (setup) {
        result = checked(PyObject_Call(forward.get(), args, nullptr));
        PyRef hook = checked(PyObject_GetAttrString(cls, "setup_context"));
        PyRef done = checked(PyObject_CallFunctionObjArgs(hook.get(), ctx.get(), args, result.get(), nullptr));
      } else {
        PyRef all = checked(PyTuple_New(n + 1));
        PyTuple_SET_ITEM(all.get(), 0, or_none(ctx.get()));
        for (Py_ssize_t i = 0; i < n; i++) PyTuple_SET_ITEM(all.get(), i + 1, or_none(PyTuple_GET_ITEM(args, i)));
        result = checked(PyObject_Call(forward.get(), all.get(), nullptr));
      }
    }
    bool single = !PyTuple_Check(result.get());
    PyRef outputs = single ? checked(PyTuple_Pack(1, result.get())) : result;
    PyRef wired = checked(PyTuple_New(PyTuple_GET_SIZE(outputs.get())));
    if (body->dirty && PyTuple_Check(body->dirty))
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(body->dirty); i++)
        FL_CHECK(holds(outputs.get(), PyTuple_GET_ITEM(body->dirty, i)), node->name,
                 ": some elements marked as dirty during the forward method were not returned as output. The inputs "
                 "that are modified inplace must all be outputs of the Function");
    std::vector<PyObject*> originals;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(outputs.get()); i++) {
      PyObject* o = PyTuple_GET_ITEM(outputs.get(), i);
      originals.push_back(o);
      PyTuple_SET_ITEM(wired.get(), i, wire_output(node, body, o, static_cast<uint32_t>(i), args, recording).detach());
    }
    if (body->to_save && recording) {
      PyRef list = checked(PySequence_Fast(body->to_save, "save_for_backward: expected tensors"));
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); i++) {
        PyObject* o = PySequence_Fast_GET_ITEM(list.get(), i);
        body->saved.emplace_back();
        if (o == Py_None) continue;
        FL_CHECK(is_tensor(o), ErrorKind::Type, "save_for_backward can only save variables, but argument ", i,
                 " is of type ", Py_TYPE(o)->tp_name);
        int output = -1;
        for (size_t k = 0; k < originals.size(); k++)
          if (originals[k] == o) output = static_cast<int>(k);
        bool input = false;
        for (Py_ssize_t k = 0; k < n; k++) input |= PyTuple_GET_ITEM(args, k) == o;
        if (output >= 0 && (!input || holds(body->dirty, o)))
          body->saved.back().save_output(as_tensor(o), static_cast<uint32_t>(output));
        else
          body->saved.back().save(as_tensor(o));
      }
      Py_CLEAR(body->to_save);
    }
    if (single) {
      PyObject* o = PyTuple_GET_ITEM(wired.get(), 0);
      Py_INCREF(o);
      return o;
    }
    return wired.detach();
  });
}

PyMethodDef functions[] = {{"_function_apply", function_apply, METH_VARARGS, nullptr}, {}};

}  // namespace

void init_custom_function(PyObject* module, const char* package) {
  slots[0].pfunc = node_type;
  static std::string name = std::string(package) + "._C._FunctionNode";
  PyType_Spec spec{name.c_str(), sizeof(Node), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE, slots};
  PyObject* type = PyType_FromSpec(&spec);
  if (!type) throw PythonError();
  PyModule_AddObject(module, "_FunctionNode", type);
  if (PyModule_AddFunctions(module, functions)) throw PythonError();
}

}  // namespace fl
