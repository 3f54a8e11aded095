// The tape. A node is what one recorded op left behind: where its gradients go, and how to compute them.
//
// Nodes are Python objects, as tensors are, so graphs that refer to themselves (create_graph) are found by the cycle
// collector. Freeing a long chain never recurses.
#pragma once
#include <vector>

#include "autograd/tensor_array.h"
#include "tensor/thread_state.h"

namespace fl {

struct Node;
struct NodeState;

struct Edge {
  Node* node = nullptr;  // counted by whoever owns the edge
  uint32_t slot = 0;     // which output of the op the gradient is for
};

// What the gradient for an output must look like.
struct OutputMeta {
  DType dtype = DType::Float;
  Dims sizes;
  Device device;
};

// How a node computes; one subclass for each kind of node.
struct NodeBody {
  virtual ~NodeBody() = default;
  // One gradient for each output in, one for each edge out; undefined means zero.
  virtual TensorArray apply(Node& node, TensorArray grads) = 0;
  virtual void release_saved() {}
  virtual int traverse(visitproc, void*) { return 0; }
  // `_saved_<name>` attributes; null without an exception when there is none.
  virtual PyObject* saved(Node&, std::string_view) { return nullptr; }
};

// The outputs of a node; nearly all have one.
class OutputList {
 public:
  size_t size() const { return size_; }
  OutputMeta& operator[](size_t i) { return i == 0 ? first_ : rest_[i - 1]; }
  const OutputMeta& operator[](size_t i) const { return i == 0 ? first_ : rest_[i - 1]; }
  void push_back(OutputMeta m) {
    if (size_++ == 0)
      first_ = std::move(m);
    else
      rest_.push_back(std::move(m));
  }

 private:
  size_t size_ = 0;
  OutputMeta first_;
  std::vector<OutputMeta> rest_;
};

struct NodeHooks {
  struct Retain {
    uint32_t slot;
    PyObject* tensor;  // weak reference
  };
  std::vector<std::pair<uint32_t, PyObject*>> tensor_hooks;  // slot, dict of hooks
  std::vector<Retain> retains;
  PyObject* before = nullptr;  // dicts of hooks
  PyObject* after = nullptr;
  ~NodeHooks();
};

struct Node {
  PyObject_HEAD PyObject* dict;
  PyObject* weakrefs;
  NodeBody* body;
  const char* name;
  uint64_t sequence;  // order of creation; later nodes run first
  NodeState* state;   // in the backward run under way
  NodeHooks* hooks;
  PyObject* code;  // where it was made: code object and instruction
  int instruction;
  bool is_accumulator;
  SmallVector<Edge, 3> edges;
  OutputList outputs;
};

struct AutogradMeta {
  Tensor grad;
  Node* grad_fn = nullptr;  // counted
  uint32_t slot = 0;
  Node* accumulator = nullptr;  // not counted: it clears this when it goes
  bool retains_grad = false;
  PyObject* hooks = nullptr;  // of a leaf
  PyObject* post_accumulate_hooks = nullptr;
  PyObject* name = nullptr;
  ~AutogradMeta();
};

extern PyTypeObject* node_type;                  // the base of all
PyTypeObject* make_node_type(const char* name);  // a subtype for one op, never freed

// Takes ownership of `body`. `type` null: the plain base type.
Node* new_node(PyTypeObject* type, const char* name, NodeBody* body);
void init_node(Node* node, const char* name, NodeBody* body);  // for objects that Python allocated
void add_edge(Node* node, Edge edge);                          // counts it
std::string node_origin(const Node& node);                     // "file.py:12 in forward", or ""
NodeHooks& hooks_of(Node& node);

AutogradMeta& autograd_meta(const Tensor& t);  // made on first use
bool is_leaf(const Tensor& t);
void set_requires_grad(const Tensor& t, bool on);
void set_history(const Tensor& t, Node* node, uint32_t slot);  // counts the node
void clear_history(const Tensor& t);                           // detach_
// Where a gradient of `t` flows; node null when it needs none. The reference is borrowed from `t` or, for a leaf,
// counted by `keep`.
struct OwnedEdge {
  Edge edge;
  OwnedEdge() = default;
  OwnedEdge(Node* node, uint32_t slot) : edge{node, slot} { Py_XINCREF(reinterpret_cast<PyObject*>(node)); }
  OwnedEdge(OwnedEdge&& o) noexcept : edge(std::exchange(o.edge, {})) {}
  OwnedEdge& operator=(OwnedEdge&& o) noexcept {
    std::swap(edge, o.edge);
    return *this;
  }
  ~OwnedEdge() { Py_XDECREF(reinterpret_cast<PyObject*>(edge.node)); }
};
OwnedEdge gradient_edge(const Tensor& t);
Node* grad_fn(const Tensor& t);  // borrowed; rebuilt for views whose base was written to

// The node that adds into a leaf's .grad.
struct AccumulateBody : NodeBody {
  Tensor variable;
  explicit AccumulateBody(Tensor v) : variable(std::move(v)) {}
  ~AccumulateBody() override;
  TensorArray apply(Node& node, TensorArray grads) override;
  int traverse(visitproc visit, void* arg) override;
};

}  // namespace fl
