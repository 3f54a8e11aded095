#include "autograd/node.h"

#include <dlfcn.h>
#include <structmember.h>

#include <algorithm>

#include "autograd/record.h"
#include "dispatch/dispatch.h"

namespace fl {

PyTypeObject* node_type = nullptr;

namespace {

uint64_t next_sequence = 1;
constexpr int kPoolSize = 4096;
Node* pool[kPoolSize];
int pooled = 0;

// Where a function's source is ours: a user wants to know the line that called us.
bool is_own_code(PyCodeObject* code) {
  static const std::string folder = [] {
    Dl_info info;
    if (!dladdr(reinterpret_cast<const void*>(&is_own_code), &info) || !info.dli_fname) return std::string();
    std::string path = info.dli_fname;
    return path.substr(0, path.rfind('/') + 1);
  }();
  Py_ssize_t n;
  const char* file = PyUnicode_AsUTF8AndSize(code->co_filename, &n);
  return file && static_cast<size_t>(n) > folder.size() && std::memcmp(file, folder.data(), folder.size()) == 0;
}

void record_origin(Node* node) {
  node->code = nullptr;
  node->instruction = -1;
#if PY_VERSION_HEX >= 0x030B0000
  PyFrameObject* frame = PyEval_GetFrame();
  if (!frame) return;
  Py_INCREF(frame);
  for (int level = 0; frame && level < 8; level++) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    if (!is_own_code(code)) {
      node->code = reinterpret_cast<PyObject*>(code);
      node->instruction = PyFrame_GetLasti(frame);
      break;
    }
    Py_DECREF(code);
    PyFrameObject* outer = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = outer;
  }
  Py_XDECREF(frame);
#endif
}

PyObject* as_object(Node* n) { return reinterpret_cast<PyObject*>(n); }

// Drops what a dead node holds. What dies with it waits in `doomed` instead of recursing.
std::vector<Node*>* doomed = nullptr;

void take_apart(Node* n) {
  if (n->weakrefs) PyObject_ClearWeakRefs(as_object(n));
  delete std::exchange(n->body, nullptr);
  for (Edge& e : n->edges) Py_XDECREF(as_object(e.node));
  n->edges.~SmallVector();
  n->outputs.~OutputList();
  delete std::exchange(n->hooks, nullptr);
  Py_CLEAR(n->code);
  Py_CLEAR(n->dict);
}

void free_node(Node* n) {
  PyTypeObject* type = Py_TYPE(as_object(n));
  if (type->tp_basicsize == sizeof(Node) && pooled < kPoolSize && !(type->tp_flags & Py_TPFLAGS_BASETYPE)) {
    pool[pooled++] = n;  // types of ops live for ever: nothing to count
    return;
  }
  type->tp_free(as_object(n));
  Py_DECREF(type);
}

}  // namespace

void node_dealloc(PyObject* o) {
  PyObject_GC_UnTrack(o);
  Node* n = reinterpret_cast<Node*>(o);
  if (doomed) {
    doomed->push_back(n);
    return;
  }
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  std::vector<Node*> list{n};
  doomed = &list;
  while (!list.empty()) {
    Node* next = list.back();
    list.pop_back();
    take_apart(next);
    free_node(next);
  }
  doomed = nullptr;
  PyErr_Restore(type, value, trace);
}

int node_traverse(PyObject* o, visitproc visit, void* arg) {
  Node* n = reinterpret_cast<Node*>(o);
  Py_VISIT(n->dict);
  if (Py_TYPE(o)->tp_flags & Py_TPFLAGS_BASETYPE) Py_VISIT(Py_TYPE(o));
  for (Edge& e : n->edges) Py_VISIT(as_object(e.node));
  if (n->hooks) {
    for (auto& [slot, hooks] : n->hooks->tensor_hooks) Py_VISIT(hooks);
    Py_VISIT(n->hooks->before);
    Py_VISIT(n->hooks->after);
  }
  return n->body ? n->body->traverse(visit, arg) : 0;
}

int node_clear(PyObject* o) {
  Node* n = reinterpret_cast<Node*>(o);
  Py_CLEAR(n->dict);
  if (n->body) n->body->release_saved();
  for (Edge& e : n->edges) {
    Node* to = std::exchange(e.node, nullptr);
    Py_XDECREF(as_object(to));
  }
  delete std::exchange(n->hooks, nullptr);
  delete std::exchange(n->body, nullptr);
  return 0;
}

NodeHooks::~NodeHooks() {
  for (auto& [slot, hooks] : tensor_hooks) Py_XDECREF(hooks);
  for (Retain& r : retains) Py_XDECREF(r.tensor);
  Py_XDECREF(before);
  Py_XDECREF(after);
}

AutogradMeta::~AutogradMeta() {
  Py_XDECREF(reinterpret_cast<PyObject*>(grad_fn));
  Py_XDECREF(hooks);
  Py_XDECREF(post_accumulate_hooks);
  Py_XDECREF(name);
}

void init_node(Node* n, const char* name, NodeBody* body) {
  n->body = body;
  n->name = name;
  n->sequence = next_sequence++;
  n->state = nullptr;
  n->is_accumulator = false;
  new (&n->edges) SmallVector<Edge, 3>;
  new (&n->outputs) OutputList;
  n->hooks = nullptr;
  record_origin(n);
}

Node* new_node(PyTypeObject* type, const char* name, NodeBody* body) {
  Node* n;
  if (pooled) {
    n = pool[--pooled];
    Py_SET_TYPE(as_object(n), type);
    Py_SET_REFCNT(as_object(n), 1);
  } else {
    n = PyObject_GC_New(Node, type);
    if (!n) throw PythonError();
  }
  n->dict = n->weakrefs = nullptr;
  init_node(n, name, body);
  PyObject_GC_Track(as_object(n));
  return n;
}

void add_edge(Node* node, Edge edge) {
  Py_XINCREF(as_object(edge.node));
  node->edges.push_back(edge);
}

std::string node_origin(const Node& node) {
  if (!node.code) return "";
  PyCodeObject* code = reinterpret_cast<PyCodeObject*>(node.code);
  int line = node.instruction >= 0 ? PyCode_Addr2Line(code, node.instruction) : code->co_firstlineno;
  const char* file = PyUnicode_AsUTF8(code->co_filename);
  const char* function = PyUnicode_AsUTF8(code->co_name);
  if (!file || !function) {
    PyErr_Clear();
    return "";
  }
  return std::string(file) + ":" + std::to_string(line) + " in " + function;
}

NodeHooks& hooks_of(Node& node) {
  if (!node.hooks) node.hooks = new NodeHooks;
  return *node.hooks;
}

// ---- a tensor's place in the graph

AutogradMeta& autograd_meta(const Tensor& t) {
  if (!t->autograd) {
    t->autograd = new AutogradMeta;
    // From now on it can be part of a cycle.
    if (!PyObject_GC_IsTracked(t.object())) PyObject_GC_Track(t.object());
  }
  return *t->autograd;
}

bool Tensor::requires_grad() const { return layer_flags(p_) & kRequiresGrad; }

bool is_leaf(const Tensor& t) { return !t.requires_grad() || !grad_fn(t); }

void set_requires_grad(const Tensor& t, bool on) {
  if (on) {
    autograd_meta(t);
    t->flags |= kRequiresGrad;
  } else {
    t->flags &= ~kRequiresGrad;
  }
}

void set_history(const Tensor& t, Node* node, uint32_t slot) {
  AutogradMeta& m = autograd_meta(t);
  Py_INCREF(as_object(node));
  Node* old = m.grad_fn;
  m.grad_fn = node;
  m.slot = slot;
  Py_XDECREF(as_object(old));
  t->flags |= kRequiresGrad;
}

void clear_history(const Tensor& t) {
  if (t->autograd) Py_CLEAR(t->autograd->grad_fn);
  t->flags &= ~kRequiresGrad;
}

Node* grad_fn(const Tensor& t) {
  if (t->base && t->view_version != t.storage()->version && !(t->flags & kNoGradView) &&
      (t->base->flags & kRequiresGrad)) {
    // The base was written to: the view's values now come from the base's newer history.
    static const Op as_strided("as_strided");
    const Tensor& base = borrow(t->base);
    GradMode on(true);
    Tensor fresh = as_strided(base, t.sizes(), t.strides(), t.offset());
    if (fresh->autograd && fresh->autograd->grad_fn) {
      t->view_version = t.storage()->version;
      set_history(t, fresh->autograd->grad_fn, 0);
    }
  }
  return t->autograd ? t->autograd->grad_fn : nullptr;
}

OwnedEdge gradient_edge(const Tensor& t) {
  if (!t.requires_grad()) return {};
  if (Node* f = grad_fn(t)) return {f, t->autograd->slot};
  AutogradMeta& m = autograd_meta(t);
  if (m.accumulator) return {m.accumulator, 0};
  static PyTypeObject* type = make_node_type("AccumulateGrad");
  Node* n = new_node(type, "AccumulateGrad", new AccumulateBody(t));
  n->is_accumulator = true;
  n->sequence = UINT64_MAX;  // as early as its gradient is complete
  n->outputs.push_back({t.dtype(), Dims(t.sizes()), t.device()});
  m.accumulator = n;
  OwnedEdge e(n, 0);
  Py_DECREF(as_object(n));
  return e;
}

}  // namespace fl
