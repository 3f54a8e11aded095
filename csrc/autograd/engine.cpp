#include "autograd/engine.h"

#include <deque>
#include <queue>

#include "autograd/record.h"
#include "dispatch/dispatch.h"
#include "python/errors.h"

namespace fl {

// A node's part in one run. Runs can nest (checkpointing runs a backward inside one) and share leaves, so the state of
// an outer run is kept and put back.
struct NodeState {
  Node* node;
  NodeState* outer;
  const void* run;
  int pending = 0;     // gradients still to come
  bool needed = true;  // leads to what was asked for
  bool captured = false;
  TensorArray buffer;
};

namespace {

thread_local int depth = 0;
thread_local int64_t current_run = -1;
int64_t next_run = 0;

PyObject* as_object(Node* n) { return reinterpret_cast<PyObject*>(n); }

PyObject* gradient_tuple(TensorArray& grads) {
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(grads.size()));
  for (size_t i = 0; i < grads.size(); i++) {
    PyObject* o = grads[i] ? grads[i].object() : Py_None;
    Py_INCREF(o);
    PyTuple_SET_ITEM(tuple, i, o);
  }
  return tuple;
}

// A hook's answer in place of gradients: a tuple, or one tensor where there is one gradient.
void take_gradients(PyObject* answer, TensorArray& grads, const char* what) {
  if (answer == Py_None) return;
  auto one = [&](PyObject* o, size_t i) {
    FL_CHECK(o == Py_None || is_tensor(o), ErrorKind::Type, what, ": expected a tensor or None, got ",
             Py_TYPE(o)->tp_name);
    grads[i] = o == Py_None ? Tensor() : Tensor::share(o);
  };
  if (!PyTuple_Check(answer)) {
    FL_CHECK(grads.size() == 1, what, ": must return a tuple of ", grads.size(), " gradients");
    return one(answer, 0);
  }
  FL_CHECK(static_cast<size_t>(PyTuple_GET_SIZE(answer)) == grads.size(), what, ": returned ", PyTuple_GET_SIZE(answer),
           " gradients, expected ", grads.size());
  for (size_t i = 0; i < grads.size(); i++) one(PyTuple_GET_ITEM(answer, i), i);
}

// Calls each hook of a dict; the dict may change meanwhile.
template <class F>
void for_each_hook(PyObject* dict, F f) {
  if (!dict) return;
  PyRef values = PyRef::take(PyMapping_Values(dict));
  if (!values) throw PythonError();
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(values.get()); i++) f(PyList_GET_ITEM(values.get(), i));
}

class Run {
 public:
  explicit Run(BackwardOptions options) : options_(options), grad_mode_(options.create_graph), outer_run_(current_run) {
    depth++;
    current_run = next_run++;
  }
  ~Run() {
    depth--;
    current_run = outer_run_;
    for (NodeState& s : states_) s.node->state = s.outer;
    for (NodeState& s : states_) {
      s.buffer.clear();
      Py_DECREF(as_object(s.node));
    }
  }

  std::vector<Tensor> execute(TensorList roots, TensorList seeds, std::span<const Edge> inputs) {
    std::vector<OwnedEdge> starts;
    for (const Tensor& r : roots) starts.push_back(gradient_edge(r));
    for (OwnedEdge& s : starts)
      if (s.edge.node && !mine(s.edge.node)) discover(s.edge.node);
    results_.resize(inputs.size());
    if (!inputs.empty()) {
      for (size_t i = 0; i < inputs.size(); i++) {
        if (!inputs[i].node || !mine(inputs[i].node)) continue;
        inputs[i].node->state->captured = true;
        captures_.push_back({inputs[i].node->state, inputs[i].slot, i});
      }
      mark_needed();
    }
    for (size_t i = 0; i < starts.size(); i++)
      if (starts[i].edge.node) add(*starts[i].edge.node->state, starts[i].edge.slot, seeds[i]);
    std::vector<NodeState*> first;
    for (OwnedEdge& s : starts) {
      NodeState* st = s.edge.node ? s.edge.node->state : nullptr;
      if (st && st->pending == 0 && std::find(first.begin(), first.end(), st) == first.end()) {
        first.push_back(st);
        ready_.push(st);
      }
    }
    while (!ready_.empty()) {
      NodeState* s = ready_.top();
      ready_.pop();
      step(*s);
    }
    return std::move(results_);
  }

 private:
  struct Later {
    bool operator()(const NodeState* a, const NodeState* b) const { return a->node->sequence < b->node->sequence; }
  };
  struct Capture {
    NodeState* state;
    uint32_t slot;
    size_t result;
  };

  bool mine(const Node* n) const { return n->state && n->state->run == this; }

  NodeState* enter(Node* n) {
    Py_INCREF(as_object(n));
    states_.emplace_back();
    NodeState& s = states_.back();
    s.node = n;
    s.outer = n->state;
    s.run = this;
    return n->state = &states_.back();
  }

  // Depth first; a node is listed after all it leads to.
  void discover(Node* root) {
    struct Visit {
      NodeState* state;
      size_t next;
    };
    std::vector<Visit> stack{{enter(root), 0}};
    while (!stack.empty()) {
      Visit& v = stack.back();
      auto& edges = v.state->node->edges;
      if (v.next == edges.size()) {
        order_.push_back(v.state);
        stack.pop_back();
        continue;
      }
      Node* child = edges[v.next++].node;
      if (!child) continue;
      if (mine(child)) {
        child->state->pending++;
        continue;
      }
      NodeState* s = enter(child);
      s->pending = 1;
      stack.push_back({s, 0});
    }
  }

  void mark_needed() {
    for (NodeState* s : order_) {
      bool leads = false;
      for (Edge& e : s->node->edges) leads |= e.node && e.node->state->needed;
      s->needed = leads || s->captured;
    }
  }

  bool runs(const NodeState& s) const {
    if (captures_.empty() && results_.empty()) return true;
    for (Edge& e : s.node->edges)
      if (e.node && e.node->state->needed) return true;
    return s.captured && options_.accumulate;  // a leaf given as inputs= of backward()
  }

  // Sums gradients that arrive at one place; the sum is made in place once it is ours alone.
  void add(NodeState& s, uint32_t slot, Tensor g) {
    if (s.buffer.size() == 0) s.buffer.resize(std::max<size_t>(s.node->outputs.size(), slot + 1));
    if (!g) return;
    Tensor& b = s.buffer[slot];
    if (!b) {
      b = std::move(g);
      return;
    }
    // Each may still be of the shape it was broadcast to.
    fit(*s.node, slot, b);
    fit(*s.node, slot, g);
    static const Op add("add");
    if (!options_.create_graph && Py_REFCNT(b.object()) == 1 && b->storage->references == 1 && !b->base &&
        b.dtype() == g.dtype() && equal(b.sizes(), g.sizes()) && !may_overlap_itself(b)) {
      add.in_place(b, g);
    } else {
      b = add(b, g);
    }
  }

  // Brings a gradient to the shape and type of what it is the gradient of.
  static void fit(Node& n, size_t slot, Tensor& g) {
    if (!g.defined() || slot >= n.outputs.size()) return;
    const OutputMeta& m = n.outputs[slot];
    if (!equal(g.sizes(), m.sizes)) {
      bool expandable = m.sizes.size() <= g.sizes().size();
      for (size_t d = 0; expandable && d < m.sizes.size(); d++) {
        int64_t have = g.sizes()[g.sizes().size() - 1 - d], want = m.sizes[m.sizes.size() - 1 - d];
        expandable = want == have || want == 1;
      }
      FL_CHECK(expandable, "a gradient of sizes ", shape_text(g.sizes()), " arrived at ", n.name,
               ", whose result has sizes ", shape_text(m.sizes));
      g = sum_to_size(g, m.sizes);
    }
    if (g.dtype() != m.dtype && is_differentiable(m.dtype)) {
      static const Op to("_C._to_dtype"), real("real");
      if (g.is_complex() && !fl::is_complex(m.dtype)) g = real(g);
      if (g.dtype() != m.dtype) g = to(g, m.dtype);
    }
  }

  void run_tensor_hooks(NodeState& s) {
    NodeHooks* h = s.node->hooks;
    if (!h) return;
    for (size_t k = 0; k < h->tensor_hooks.size(); k++) {
      auto [slot, dict] = h->tensor_hooks[k];
      if (slot >= s.buffer.size() || !s.buffer[slot]) continue;
      run_hooks_on(dict, s.buffer[slot]);
    }
    for (auto& r : h->retains) {
      if (r.slot >= s.buffer.size() || !s.buffer[r.slot]) continue;
      PyObject* o = PyWeakref_GetObject(r.tensor);
      if (o == Py_None) continue;
      AutogradMeta& m = autograd_meta(Tensor::share(o));
      static const Op add("add");
      m.grad = m.grad ? add(m.grad, s.buffer[r.slot]) : s.buffer[r.slot];
    }
  }

  static void run_hooks_on(PyObject* dict, Tensor& g) {
    for_each_hook(dict, [&](PyObject* hook) {
      PyRef answer = PyRef::take(PyObject_CallOneArg(hook, g.object()));
      if (!answer) throw PythonError();
      if (answer.get() == Py_None) return;
      FL_CHECK(is_tensor(answer.get()), ErrorKind::Type, "a tensor hook must return a tensor or None, got ",
               Py_TYPE(answer.get())->tp_name);
      Tensor t = Tensor::share(answer.get());
      FL_CHECK(equal(t.sizes(), g.sizes()), "a tensor hook changed the sizes of the gradient from ",
               shape_text(g.sizes()), " to ", shape_text(t.sizes()));
      g = t;
    });
  }

  void step(NodeState& s) {
    Node& n = *s.node;
    if (s.buffer.size() < n.outputs.size()) s.buffer.resize(n.outputs.size());
    for (size_t i = 0; i < s.buffer.size(); i++) fit(n, i, s.buffer[i]);
    auto* leaf = n.is_accumulator ? static_cast<AccumulateBody*>(n.body) : nullptr;
    if (leaf && leaf->variable->autograd && leaf->variable->autograd->hooks && s.buffer[0])
      run_hooks_on(leaf->variable->autograd->hooks, s.buffer[0]);
    run_tensor_hooks(s);
    if (n.hooks && n.hooks->before) {
      for_each_hook(n.hooks->before, [&](PyObject* hook) {
        PyRef grads = PyRef::take(gradient_tuple(s.buffer));
        PyRef answer = PyRef::take(PyObject_CallOneArg(hook, grads.get()));
        if (!answer) throw PythonError();
        take_gradients(answer.get(), s.buffer, "a node pre-hook");
      });
    }
    if (s.captured)
      for (Capture& c : captures_)
        if (c.state == &s && c.slot < s.buffer.size()) results_[c.result] = s.buffer[c.slot];
    if (!runs(s)) return finish_edges(n);
    TensorArray incoming;
    if (n.hooks && n.hooks->after) {
      incoming.resize(s.buffer.size());
      for (size_t i = 0; i < s.buffer.size(); i++) incoming[i] = s.buffer[i];
    }
    FL_CHECK(n.body, "Trying to backward through the graph a second time: ", n.name, " was freed");
    TensorArray out;
    try {
      out = n.body->apply(n, std::move(s.buffer));
    } catch (const Error& e) {
      std::string where = node_origin(n);
      if (where.empty() || e.message().find(where) != std::string::npos) throw;
      throw Error(e.kind(), e.message() + " (in the backward of " + n.name + ", made at " + where + ")");
    }
    s.buffer.resize(0);
    FL_CHECK(out.size() <= n.edges.size() || leaf, n.name, " returned ", out.size(), " gradients for ", n.edges.size(),
             " inputs");
    out.resize(n.edges.size());
    if (n.hooks && n.hooks->after) {
      for_each_hook(n.hooks->after, [&](PyObject* hook) {
        PyRef produced = PyRef::take(gradient_tuple(out)), received = PyRef::take(gradient_tuple(incoming));
        PyRef answer = PyRef::take(PyObject_CallFunctionObjArgs(hook, produced.get(), received.get(), nullptr));
        if (!answer) throw PythonError();
        take_gradients(answer.get(), out, "a node hook");
      });
    }
    if (thread_state.anomaly && thread_state.anomaly_check_nan) check_nan(n, out);
    for (size_t i = 0; i < out.size(); i++) {
      Edge& e = n.edges[i];
      if (!e.node || !e.node->state) continue;
      NodeState& to = *e.node->state;
      if (to.needed) add(to, e.slot, std::move(out[i]));
      if (--to.pending == 0 && to.needed) ready_.push(&to);
    }
    if (!options_.retain_graph) n.body->release_saved();
  }

  // A node that isn't run still counts as having delivered.
  void finish_edges(Node& n) {
    for (Edge& e : n.edges)
      if (e.node && --e.node->state->pending == 0 && e.node->state->needed) ready_.push(e.node->state);
  }

  static void check_nan(Node& n, TensorArray& out) {
    static const Op isnan("isnan"), any("any");
    NoGrad guard;
    for (size_t i = 0; i < out.size(); i++) {
      if (!out[i] || out[i].is_meta() || out[i].numel() == 0) continue;
      Tensor bad = any(isnan(out[i]));
      FL_CHECK(!*bad.data<bool>(), "Function '", n.name, "' returned nan values in its ", i, "th output",
               node_origin(n).empty() ? "" : ". It was made at ", node_origin(n));
    }
  }

  BackwardOptions options_;
  GradMode grad_mode_;
  int64_t outer_run_;
  std::deque<NodeState> states_;
  std::vector<NodeState*> order_;
  std::vector<Capture> captures_;
  std::priority_queue<NodeState*, std::vector<NodeState*>, Later> ready_;
  std::vector<Tensor> results_;
};

}  // namespace

bool in_backward() { return depth > 0; }
int64_t backward_run_id() { return current_run; }
bool will_run(const Node& node) { return node.state && node.state->needed; }

std::vector<Tensor> run_backward(TensorList roots, TensorList seeds, std::span<const Edge> inputs,
                                 BackwardOptions options) {
  FL_CHECK(depth < 200, "backward: nested more than 200 deep");
  Run run(options);
  return run.execute(roots, seeds, inputs);
}

AccumulateBody::~AccumulateBody() {
  if (variable->autograd) variable->autograd->accumulator = nullptr;
}

TensorArray AccumulateBody::apply(Node&, TensorArray grads) {
  Tensor& g = grads[0];
  if (!g) return TensorArray();
  AutogradMeta& m = autograd_meta(variable);
  if (!m.grad) {
    // Keep what arrives when nobody else has it; a gradient recorded for higher orders is kept as it is.
    bool ours = Py_REFCNT(g.object()) == 1 && g->storage->references == 1 && !g->base && is_dense(g) &&
                equal(g.strides(), variable.strides());
    if (grad_enabled()) {
      static const Op clone("clone");
      m.grad = ours ? g : clone(g);
    } else {
      m.grad = ours ? g : raw_clone(g);
      if (m.grad.requires_grad()) m.grad = alias(m.grad);
    }
  } else {
    static const Op add("add");
    if (grad_enabled())
      m.grad = add(m.grad, g);
    else
      add.in_place(m.grad, g);
  }
  if (PyObject* hooks = m.post_accumulate_hooks) {
    NoGrad guard;
    Tensor v = variable;
    for_each_hook(hooks, [&](PyObject* hook) {
      PyRef answer = PyRef::take(PyObject_CallOneArg(hook, v.object()));
      if (!answer) throw PythonError();
      FL_CHECK(answer.get() == Py_None, "a post accumulate grad hook must return None");
    });
  }
  return TensorArray();
}

int AccumulateBody::traverse(visitproc visit, void* arg) {
  Py_VISIT(variable.object());
  return 0;
}

}  // namespace fl
