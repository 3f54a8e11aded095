#include "python/autograd.h"

#include <structmember.h>

#include "autograd/engine.h"
#include "autograd/record.h"
#include "autograd/saved.h"
#include "python/tensor_type.h"

namespace fl {

void node_dealloc(PyObject* o);
int node_traverse(PyObject* o, visitproc visit, void* arg);
int node_clear(PyObject* o);

namespace {

const char* package_name = "flambeau";

Node* node_of(PyObject* o) { return reinterpret_cast<Node*>(o); }

PyObject* next_functions(PyObject* self, void*) {
  auto& edges = node_of(self)->edges;
  size_t n = edges.size();
  PyObject* tuple = PyTuple_New(n);
  for (size_t i = 0; i < n; i++) {
    Edge& e = edges[i];
    PyObject* node = e.node ? reinterpret_cast<PyObject*>(e.node) : Py_None;
    PyTuple_SET_ITEM(tuple, i, Py_BuildValue("(OI)", node, e.slot));
  }
  return tuple;
}
PyObject* node_name(PyObject* self, PyObject*) { return PyUnicode_FromString(node_of(self)->name); }
PyObject* node_variable(PyObject* self, void*) {
  auto* leaf = dynamic_cast<AccumulateBody*>(node_of(self)->body);
  if (!leaf) {
    PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute 'variable'", node_of(self)->name);
    return nullptr;
  }
  Py_INCREF(leaf->variable.object());
  return leaf->variable.object();
}
PyObject* node_metadata(PyObject* self, void*) {
  Node* n = node_of(self);
  if (!n->dict) n->dict = PyDict_New();
  PyObject* m = PyDict_GetItemString(n->dict, "metadata");
  if (!m) {
    m = PyDict_New();
    PyDict_SetItemString(n->dict, "metadata", m);
    Py_DECREF(m);
  }
  Py_INCREF(m);
  return m;
}
PyObject* node_sequence(PyObject* self, PyObject*) { return PyLong_FromUnsignedLongLong(node_of(self)->sequence); }
PyObject* node_origin_text(PyObject* self, void*) { return PyUnicode_FromString(node_origin(*node_of(self)).c_str()); }
PyObject* before_dict(PyObject* self, PyObject*) {
  NodeHooks& h = hooks_of(*node_of(self));
  if (!h.before) h.before = PyODict_New();  // the handle refers to it weakly, which a dict can't be
  Py_XINCREF(h.before);
  return h.before;
}
PyObject* after_dict(PyObject* self, PyObject*) {
  NodeHooks& h = hooks_of(*node_of(self));
  if (!h.after) h.after = PyODict_New();
  Py_XINCREF(h.after);
  return h.after;
}
PyObject* register_in(PyObject* (*dict)(PyObject*, PyObject*), PyObject* self, PyObject* hook) {
  return guarded([&]() -> PyObject* {
    PyRef d = checked(dict(self, nullptr));
    PyRef handle = checked(PyObject_CallOneArg(package_function("utils.hooks", "RemovableHandle"), d.get()));
    PyRef id = checked(PyObject_GetAttrString(handle.get(), "id"));
    if (PyObject_SetItem(d.get(), id.get(), hook)) throw PythonError();
    return handle.detach();
  });
}
PyObject* register_hook(PyObject* self, PyObject* hook) { return register_in(after_dict, self, hook); }
PyObject* register_prehook(PyObject* self, PyObject* hook) { return register_in(before_dict, self, hook); }
PyObject* node_call(PyObject* self, PyObject* args, PyObject*) {
  return guarded([&]() -> PyObject* {
    Node* n = node_of(self);
    FL_CHECK(n->body, "this node was freed");
    TensorArray grads(PyTuple_GET_SIZE(args));
    for (size_t i = 0; i < grads.size(); i++)
      if (is_tensor(PyTuple_GET_ITEM(args, i))) grads[i] = Tensor::share(PyTuple_GET_ITEM(args, i));
    TensorArray out = n->body->apply(*n, std::move(grads));
    if (out.size() == 1) {
      PyObject* o = out[0] ? out[0].object() : Py_None;
      Py_INCREF(o);
      return o;
    }
    PyObject* tuple = PyTuple_New(out.size());
    for (size_t i = 0; i < out.size(); i++) {
      PyObject* o = out[i] ? out[i].object() : Py_None;
      Py_INCREF(o);
      PyTuple_SET_ITEM(tuple, i, o);
    }
    return tuple;
  });
}
PyObject* node_getattr(PyObject* self, PyObject* name) {
  PyObject* found = PyObject_GenericGetAttr(self, name);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  const char* text = PyUnicode_AsUTF8(name);
  Node* n = node_of(self);
  if (!text || std::strncmp(text, "_saved_", 7) != 0 || !n->body) return nullptr;
  PyErr_Clear();
  return guarded([&]() -> PyObject* {
    PyObject* o = n->body->saved(*n, text + 7);
    if (!o && !PyErr_Occurred()) PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute '%s'", n->name, text);
    return o;
  });
}

PyObject* node_repr(PyObject* self) { return PyUnicode_FromFormat("<%s object at %p>", node_of(self)->name, self); }

PyMethodDef node_methods[] = {
    {"name", node_name, METH_NOARGS, "The name of the op that made the node, with Backward."},
    {"register_hook", register_hook, METH_O, "Calls hook(grad_inputs, grad_outputs) after the node ran."},
    {"register_prehook", register_prehook, METH_O, "Calls hook(grad_outputs) before the node runs."},
    {"_sequence_nr", node_sequence, METH_NOARGS, nullptr},
    {}};
PyGetSetDef node_getset[] = {
    {"next_functions", next_functions, nullptr, "Where gradients go: (node, index) pairs.", nullptr},
    {"variable", node_variable, nullptr, nullptr, nullptr},
    {"metadata", node_metadata, nullptr, nullptr, nullptr},
    {"_origin", node_origin_text, nullptr, "The Python line that made the node.", nullptr},
    {}};
PyMemberDef node_members[] = {{"__dictoffset__", T_PYSSIZET, offsetof(Node, dict), READONLY, nullptr},
                              {"__weaklistoffset__", T_PYSSIZET, offsetof(Node, weakrefs), READONLY, nullptr},
                              {}};
PyType_Slot node_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(node_dealloc)},
                            {Py_tp_traverse, reinterpret_cast<void*>(node_traverse)},
                            {Py_tp_clear, reinterpret_cast<void*>(node_clear)},
                            {Py_tp_methods, node_methods},
                            {Py_tp_getset, node_getset},
                            {Py_tp_members, node_members},
                            {Py_tp_repr, reinterpret_cast<void*>(node_repr)},
                            {Py_tp_call, reinterpret_cast<void*>(node_call)},
                            {Py_tp_getattro, reinterpret_cast<void*>(node_getattr)},
                            {Py_tp_free, reinterpret_cast<void*>(PyObject_GC_Del)},
                            {0, nullptr}};

std::vector<Tensor> tensors_of(PyObject* o, const char* what) {
  std::vector<Tensor> list;
  FL_CHECK(PyTuple_Check(o) || PyList_Check(o), ErrorKind::Type, what, ": expected a tuple of tensors, got ",
           Py_TYPE(o)->tp_name);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); i++) {
    PyObject* x = PySequence_Fast_GET_ITEM(o, i);
    FL_CHECK(x == Py_None || is_tensor(x), ErrorKind::Type, what, ": expected tensors, got ", Py_TYPE(x)->tp_name,
             " at position ", i);
    list.push_back(x == Py_None ? Tensor() : Tensor::share(x));
  }
  return list;
}

// _engine_run_backward(tensors, grads, retain_graph, create_graph, inputs, allow_unreachable, accumulate)
PyObject* run_backward_py(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *tensors, *grads, *inputs;
    int retain, create, unreachable, accumulate;
    if (!PyArg_ParseTuple(args, "OOppOpp", &tensors, &grads, &retain, &create, &inputs, &unreachable, &accumulate))
      return nullptr;
    std::vector<Tensor> roots = tensors_of(tensors, "backward"), seeds = tensors_of(grads, "backward");
    FL_CHECK(roots.size() == seeds.size(), "backward: got ", roots.size(), " tensors and ", seeds.size(), " gradients");
    for (size_t i = 0; i < roots.size(); i++) {
      FL_CHECK(roots[i] && roots[i].requires_grad(), "element ", i,
               " of tensors does not require grad and does not have a grad_fn");
      if (!seeds[i]) {
        FL_CHECK(roots[i].numel() == 1, "grad can be implicitly created only for scalar outputs; got sizes ",
                 shape_text(roots[i].sizes()));
        seeds[i] = empty(roots[i].sizes(), roots[i].dtype(), roots[i].device());
        raw_fill(seeds[i], Scalar(1));
      }
    }
    std::vector<OwnedEdge> owned;
    std::vector<Edge> edges;
    bool given = inputs != Py_None && PyObject_IsTrue(inputs) == 1;
    if (given) {
      PyRef list = checked(PySequence_Fast(inputs, "backward: inputs must be tensors"));
      FL_CHECK(PySequence_Fast_GET_SIZE(list.get()) > 0, "backward: 'inputs' argument cannot be empty");
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); i++) {
        PyObject* x = PySequence_Fast_GET_ITEM(list.get(), i);
        if (PyTuple_Check(x)) {  // a GradientEdge
          FL_CHECK(PyTuple_GET_SIZE(x) == 2 && PyObject_TypeCheck(PyTuple_GET_ITEM(x, 0), node_type) &&
                       PyLong_Check(PyTuple_GET_ITEM(x, 1)),
                   ErrorKind::Type, "backward: inputs must be tensors or pairs of a node and an index");
          owned.emplace_back(node_of(PyTuple_GET_ITEM(x, 0)),
                             static_cast<uint32_t>(PyLong_AsLong(PyTuple_GET_ITEM(x, 1))));
        } else {
          FL_CHECK(is_tensor(x), ErrorKind::Type, "backward: inputs must be tensors, got ", Py_TYPE(x)->tp_name);
          const Tensor& t = as_tensor(x);
          FL_CHECK(t.requires_grad(), "One of the differentiated Tensors does not require grad");
          if (accumulate && !is_leaf(t)) {
            // backward(inputs=[non-leaf]) accumulates there as if retain_grad had been called.
            PyRef done = checked(PyObject_CallMethod(x, "retain_grad", nullptr));
          }
          owned.push_back(gradient_edge(t));
        }
        edges.push_back(owned.back().edge);
      }
    }
    BackwardOptions options{retain != 0, create != 0, accumulate != 0, unreachable != 0};
    std::vector<Tensor> result = run_backward(roots, seeds, edges, options);
    if (accumulate || !given) Py_RETURN_NONE;
    PyObject* tuple = PyTuple_New(result.size());
    for (size_t i = 0; i < result.size(); i++) {
      if (!result[i] && !unreachable) {
        Py_DECREF(tuple);
        fail(
            "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if "
            "this is the desired behavior (it is number ",
            i, ")");
      }
      PyObject* o = result[i] ? result[i].object() : Py_None;
      Py_INCREF(o);
      PyTuple_SET_ITEM(tuple, i, o);
    }
    return tuple;
  });
}

PyObject* py_bool(bool b) { return PyBool_FromLong(b); }
PyObject* set_grad_enabled_py(PyObject*, PyObject* on) {
  if (!PyBool_Check(on)) {
    PyErr_Format(PyExc_TypeError, "set_grad_enabled(): argument 'mode' must be bool, not %s", Py_TYPE(on)->tp_name);
    return nullptr;
  }
  set_grad_enabled(on == Py_True);
  Py_RETURN_NONE;
}
PyObject* is_grad_enabled_py(PyObject*, PyObject*) { return py_bool(grad_enabled()); }
PyObject* set_inference_mode_py(PyObject*, PyObject* on) {
  thread_state.inference = PyObject_IsTrue(on);
  thread_state.new_tensor_flags = thread_state.inference ? kInference : 0;
  Py_RETURN_NONE;
}
PyObject* is_inference_mode_py(PyObject*, PyObject*) { return py_bool(thread_state.inference); }
PyObject* set_anomaly_py(PyObject*, PyObject* args) {
  int on, check = 1;
  if (!PyArg_ParseTuple(args, "p|p", &on, &check)) return nullptr;
  thread_state.anomaly = on;
  thread_state.anomaly_check_nan = check;
  Py_RETURN_NONE;
}
PyObject* is_anomaly_py(PyObject*, PyObject*) { return py_bool(thread_state.anomaly); }
PyObject* is_anomaly_check_py(PyObject*, PyObject*) { return py_bool(thread_state.anomaly_check_nan); }
PyObject* set_multithreading_py(PyObject*, PyObject* on) {
  thread_state.multithreading = PyObject_IsTrue(on);
  Py_RETURN_NONE;
}
PyObject* is_multithreading_py(PyObject*, PyObject*) { return py_bool(thread_state.multithreading); }
PyObject* in_backward_py(PyObject*, PyObject*) { return py_bool(in_backward()); }
PyObject* push_hooks_py(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *pack, *unpack;
    if (!PyArg_ParseTuple(args, "OO", &pack, &unpack)) return nullptr;
    push_saved_hooks(pack, unpack);
    Py_RETURN_NONE;
  });
}
PyObject* pop_hooks_py(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    pop_saved_hooks();
    Py_RETURN_NONE;
  });
}
PyObject* disable_hooks_py(PyObject*, PyObject* message) {
  return guarded([&]() -> PyObject* {
    FL_CHECK(message == Py_None || PyUnicode_Check(message), ErrorKind::Type,
             "saved tensor hooks: the message must be str, got ", Py_TYPE(message)->tp_name);
    set_saved_hooks_disabled(message == Py_None ? nullptr : text_of(message).c_str());
    Py_RETURN_NONE;
  });
}
PyObject* disabled_message_py(PyObject*, PyObject*) {
  const std::string& message = saved_hooks_disabled_message();
  if (message.empty()) Py_RETURN_NONE;
  return PyUnicode_FromString(message.c_str());
}
PyObject* task_id_py(PyObject*, PyObject*) { return PyLong_FromLongLong(backward_run_id()); }
PyObject* will_execute_py(PyObject*, PyObject* node) {
  return guarded([&]() -> PyObject* {
    FL_CHECK(PyObject_TypeCheck(node, node_type), ErrorKind::Type, "expected a graph node, got ",
             Py_TYPE(node)->tp_name);
    FL_CHECK(in_backward(), "asked which nodes run outside of a backward pass");
    return PyBool_FromLong(will_run(*node_of(node)));
  });
}
PyObject* gradient_edge_py(PyObject*, PyObject* t) {
  return guarded([&]() -> PyObject* {
    FL_CHECK(is_tensor(t), ErrorKind::Type, "get_gradient_edge: expected a tensor, got ", Py_TYPE(t)->tp_name);
    FL_CHECK(as_tensor(t).requires_grad(),
             "It is not possible to get the gradient edge for a Tensor that does not require gradients");
    OwnedEdge e = gradient_edge(as_tensor(t));
    return Py_BuildValue("(OI)", e.edge.node, e.edge.slot);
  });
}
PyObject* increment_version_py(PyObject*, PyObject* t) {
  return guarded([&]() -> PyObject* {
    FL_CHECK(is_tensor(t), ErrorKind::Type, "increment_version: expected a tensor, got ", Py_TYPE(t)->tp_name);
    bump_version(as_tensor(t));
    Py_RETURN_NONE;
  });
}

PyMethodDef functions[] = {{"_engine_run_backward", run_backward_py, METH_VARARGS, nullptr},
                           {"_set_grad_enabled", set_grad_enabled_py, METH_O, nullptr},
                           {"_is_grad_enabled", is_grad_enabled_py, METH_NOARGS, nullptr},
                           {"_set_inference_mode", set_inference_mode_py, METH_O, nullptr},
                           {"_is_inference_mode", is_inference_mode_py, METH_NOARGS, nullptr},
                           {"_set_anomaly_enabled", set_anomaly_py, METH_VARARGS, nullptr},
                           {"_is_anomaly_enabled", is_anomaly_py, METH_NOARGS, nullptr},
                           {"_is_anomaly_check_nan_enabled", is_anomaly_check_py, METH_NOARGS, nullptr},
                           {"_set_multithreading_enabled", set_multithreading_py, METH_O, nullptr},
                           {"_is_multithreading_enabled", is_multithreading_py, METH_NOARGS, nullptr},
                           {"_in_backward", in_backward_py, METH_NOARGS, nullptr},
                           {"_push_saved_tensors_hooks", push_hooks_py, METH_VARARGS, nullptr},
                           {"_pop_saved_tensors_hooks", pop_hooks_py, METH_NOARGS, nullptr},
                           {"_disable_saved_tensors_hooks", disable_hooks_py, METH_O, nullptr},
                           {"_saved_tensors_hooks_disabled_message", disabled_message_py, METH_NOARGS, nullptr},
                           {"_current_graph_task_id", task_id_py, METH_NOARGS, nullptr},
                           {"_will_engine_execute_node", will_execute_py, METH_O, nullptr},
                           {"_gradient_edge", gradient_edge_py, METH_O, nullptr},
                           {"_increment_version", increment_version_py, METH_O, nullptr},
                           {}};

}  // namespace

PyTypeObject* make_node_type(const char* name) {
  auto* full = new std::string(std::string("builtins.") + name);
  PyType_Slot slots[] = {{Py_tp_base, node_type},
                         {Py_tp_dealloc, reinterpret_cast<void*>(node_dealloc)},
                         {Py_tp_traverse, reinterpret_cast<void*>(node_traverse)},
                         {Py_tp_clear, reinterpret_cast<void*>(node_clear)},
                         {0, nullptr}};
  PyType_Spec spec{full->c_str(), sizeof(Node), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  PyObject* type = PyType_FromSpec(&spec);
  if (!type) throw PythonError();
  return reinterpret_cast<PyTypeObject*>(type);
}

void change_requires_grad(const Tensor& t, bool on) {
  if (on) {
    FL_CHECK(is_differentiable(t.dtype()), "only Tensors of floating point dtype can require gradients, got ",
             info(t.dtype()).name);
    FL_CHECK(!(t->flags & kInference) || thread_state.inference,
             "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed");
    set_requires_grad(t, true);
  } else if (t.requires_grad()) {
    FL_CHECK(!grad_fn(t),
             "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a ",
             "subgraph that doesn't require differentiation use var_no_grad = var.detach()");
    set_requires_grad(t, false);
  }
}

void init_autograd(PyObject* module, const char* package) {
  package_name = package;
  static std::string name = std::string(package) + ".autograd.graph.Node";
  PyType_Spec spec{name.c_str(), sizeof(Node), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                   node_slots};
  PyObject* type = PyType_FromSpec(&spec);
  if (!type) throw PythonError();
  node_type = reinterpret_cast<PyTypeObject*>(type);
  Py_INCREF(type);
  PyModule_AddObject(module, "_Node", type);
  if (PyModule_AddFunctions(module, functions)) throw PythonError();
}

}  // namespace fl
