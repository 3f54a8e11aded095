#include "autograd/record.h"

#include "autograd/copy_slices.h"

namespace fl {
namespace {

void save_value(SavedArgument& a, const Value& v) {
  a.value = v;
  switch (v.tag) {
    case Tag::IntList:
      a.more = std::make_unique<SavedArgument::More>();
      a.more->ints.assign(v.ints, v.ints + v.length);
      a.value.ints = a.more->ints.data();
      break;
    case Tag::String:
      a.more = std::make_unique<SavedArgument::More>();
      a.more->text.assign(v.chars, v.length);
      a.value.chars = a.more->text.data();
      break;
    case Tag::Complex:
      a.more = std::make_unique<SavedArgument::More>();
      a.more->complex = *v.c;
      a.value.c = &a.more->complex;
      break;
    case Tag::Object:
    case Tag::Generator:
    case Tag::FloatList:
    case Tag::ScalarList:
      a.value = Value();
      break;
    default:
      break;
  }
}

// A node for the op with everything but its outputs.
Node* make_node(const Entry& entry, const Value* args) {
  OpBody* body = OpBody::make(entry);
  size_t n = body->count;
  Entry& mutable_entry = const_cast<Entry&>(entry);
  if (!entry.node_type) mutable_entry.node_type = make_node_type(entry.node_name.c_str());
  Node* node = new_node(entry.node_type, entry.node_name.c_str(), body);
  for (size_t i = 0; i < n; i++) {
    SavedArgument& a = body->args[i];
    const Value& v = args[i];
    bool save = entry.saves_args >> i & 1;
    if (v.tag == Tag::Tensor) {
      const Tensor& t = borrow(v.tensor);
      a.is_tensor = true;
      a.sizes = Dims(t.sizes());
      a.dtype = t.dtype();
      a.edge = static_cast<uint32_t>(node->edges.size());
      OwnedEdge e = gradient_edge(t);
      add_edge(node, e.edge);
      if (save) a.tensor.save(t);
    } else if (v.tag == Tag::TensorList) {
      a.is_list = true;
      a.edge = static_cast<uint32_t>(node->edges.size());
      a.more = std::make_unique<SavedArgument::More>();
      a.more->items = std::vector<SavedArgument::Item>(v.length);
      for (uint32_t k = 0; k < v.length; k++) {
        const Tensor& t = borrow(v.tensors[k]);
        if (!t) {
          add_edge(node, {});
          continue;
        }
        a.more->items[k].sizes = Dims(t.sizes());
        a.more->items[k].dtype = t.dtype();
        OwnedEdge e = gradient_edge(t);
        add_edge(node, e.edge);
        if (save) a.more->items[k].tensor.save(t);
      }
    } else {
      save_value(a, v);
    }
  }
  return node;
}

// Hangs the outputs onto the node.
void attach_outputs(const Entry& entry, Node* node, std::span<Tensor> outputs) {
  auto* body = static_cast<OpBody*>(node->body);
  for (size_t i = 0; i < outputs.size(); i++) {
    Tensor& o = outputs[i];
    if (!o) {
      node->outputs.push_back({DType::Float, Dims(), {}});
      continue;
    }
    node->outputs.push_back({o.dtype(), Dims(o.sizes()), o.device()});
    bool constant = (entry.constant_outputs >> i & 1) || !is_differentiable(o.dtype());
    if (!constant) set_history(o, node, static_cast<uint32_t>(i));
    if (i < OpBody::kOutputs && (entry.saves_outputs >> i & 1))
      body->output(i).save_output(o, static_cast<uint32_t>(i));
  }
}

struct NodeRef {
  Node* node;
  ~NodeRef() { Py_XDECREF(reinterpret_cast<PyObject*>(node)); }
};

void refuse_leaf(const Tensor& self, const char* op) {
  FL_CHECK(!(self.requires_grad() && is_leaf(self)), op,
           "_: a leaf Variable that requires grad is being used in an in-place operation; wrap it in torch.no_grad() "
           "or use the out-of-place form");
  FL_CHECK(!(self->base && self.requires_grad() && is_leaf(borrow(self->base))), op,
           "_: a view of a leaf Variable that requires grad is being used in an in-place operation");
}

}  // namespace

Result call_recorded(const Entry& entry, const Value* args) {
  if (entry.mutates) {
    call_in_place(entry, args);
    return Result(Tensor::share(args[0].tensor));
  }
  if (entry.composite || (!entry.vjp && entry.constant_outputs == 0 && entry.python))
    return entry.kernel(entry, args, nullptr);
  bool all_constant = entry.constant_outputs == ~0u;
  if (all_constant) {
    NoGrad guard;
    return entry.kernel(entry, args, nullptr);
  }
  NodeRef ref{entry.vjp ? make_node(entry, args) : nullptr};
  Result r;
  {
    NoGrad guard;
    r = entry.kernel(entry, args, nullptr);
  }
  auto outputs = r.outputs();
  if (entry.view)
    for (Tensor& o : outputs) o->flags &= ~kNoGradView;
  if (!entry.vjp) {
    bool differentiable = false;
    for (Tensor& o : outputs) differentiable |= o && is_differentiable(o.dtype());
    FL_CHECK(!differentiable || outputs.empty(), ErrorKind::NotImplemented, "derivative for ", entry.public_name,
             " is not defined");
    return r;
  }
  if (entry.returns_self_ok && outputs.size() == 1 && args[0].is_tensor() && outputs[0].get() == args[0].tensor)
    return r;
  attach_outputs(entry, ref.node, outputs);
  return r;
}

void record_in_place(const Entry& entry, const Value* args, void (*write)(const Entry&, const Value*)) {
  const Tensor self = Tensor::share(args[0].tensor);
  const char* op = entry.public_name.c_str();
  refuse_leaf(self, op);
  FL_CHECK(!(self->flags & kNoGradView && self->base && self.requires_grad()), op,
           "_: a view made in no_grad mode is being modified in place with grad mode on");
  if (!is_differentiable(self.dtype())) {
    NoGrad guard;
    write(entry, args);
    return;
  }
  FL_CHECK(entry.vjp || entry.constant_outputs, ErrorKind::NotImplemented, "derivative for ", op, "_ is not defined");
  NodeRef ref{make_node(entry, args)};
  Node* node = ref.node;
  if (entry.saves_args & 1) {
    // The derivative reads what is about to be overwritten.
    static const Op clone("clone");
    static_cast<OpBody*>(node->body)->args[0].tensor.save(clone(self));
  }
  {
    NoGrad guard;
    write(entry, args);
  }
  node->outputs.push_back({self.dtype(), Dims(self.sizes()), self.device()});
  if (self->base) {
    rebase_view(self, node);
  } else {
    set_history(self, node, 0);
  }
  if (entry.saves_outputs & 1) {
    auto* body = static_cast<OpBody*>(node->body);
    body->output(0).save_output(self, 0);
  }
}

TensorArray OpBody::apply(Node& node, TensorArray grads) {
  TensorArray results(node.edges.size());
  bool any = false;
  for (Tensor& g : grads) any |= g.defined();
  if (!any) return results;
  if (!entry->vjp) fail(ErrorKind::NotImplemented, "derivative for ", entry->public_name, " is not defined");
  Vjp context(node, *this, grads, results);
  entry->vjp(context);
  return results;
}

OpBody* OpBody::make(const Entry& entry) {
  size_t n = entry.schema.args.size();
  static_assert(sizeof(OpBody) % alignof(SavedArgument) == 0);
  void* room = PyObject_Malloc(sizeof(OpBody) + n * sizeof(SavedArgument));
  if (!room) throw std::bad_alloc();
  OpBody* body = new (room) OpBody(entry);
  body->count = n;
  body->args = reinterpret_cast<SavedArgument*>(static_cast<char*>(room) + sizeof(OpBody));
  for (size_t i = 0; i < n; i++) new (body->args + i) SavedArgument;
  return body;
}

OpBody::~OpBody() {
  for (size_t i = 0; i < count; i++) args[i].~SavedArgument();
}

void OpBody::release_saved() {
  for_each_saved([](SavedTensor& s) { s.release(); });
}

int OpBody::traverse(visitproc visit, void* arg) {
  int result = 0;
  for_each_saved([&](SavedTensor& s) {
    if (!result) result = s.traverse(visit, arg);
  });
  return result;
}

PyObject* OpBody::saved(Node& node, std::string_view name) {
  auto hand_out = [](const Tensor& t) -> PyObject* {
    if (!t) Py_RETURN_NONE;
    Py_INCREF(t.object());
    return t.object();
  };
  if (name.substr(0, 6) == "result") {
    size_t i = name.size() > 6 ? name[6] - '0' : 0;
    return i < kOutputs && output(i).is_saved() ? hand_out(output(i).get(node)) : nullptr;
  }
  int i = entry->schema.argument(name == "self" ? "input" : name);
  if (i < 0) return nullptr;
  SavedArgument& a = args[i];
  if (a.is_tensor) return a.tensor.is_saved() ? hand_out(a.tensor.get(node)) : nullptr;
  switch (a.value.tag) {
    case Tag::Int:
      return PyLong_FromLongLong(a.value.i);
    case Tag::Bool:
      return PyBool_FromLong(a.value.i != 0);
    case Tag::Float:
      return PyFloat_FromDouble(a.value.d);
    case Tag::IntList: {
      PyObject* tuple = PyTuple_New(a.value.length);
      for (uint32_t k = 0; k < a.value.length; k++) PyTuple_SET_ITEM(tuple, k, PyLong_FromLongLong(a.value.ints[k]));
      return tuple;
    }
    case Tag::None:
      Py_RETURN_NONE;
    default:
      return nullptr;
  }
}

Tensor Vjp::grad(int i) {
  if (grads_[i].defined()) return grads_[i];
  const OutputMeta& m = node_.outputs[i];
  Tensor zeros = empty(m.sizes, m.dtype, m.device);
  raw_fill(zeros, Scalar(0));
  return zeros;
}

Tensor sum_to_size(const Tensor& g, IntList sizes) {
  if (equal(g.sizes(), sizes)) return g;
  static const Op sum("sum.dim"), view("view");
  size_t lead = g.sizes().size() - sizes.size();
  Dims dims;
  for (size_t d = 0; d < g.sizes().size(); d++)
    if (d < lead || (sizes[d - lead] == 1 && g.sizes()[d] != 1)) dims.push_back(static_cast<int64_t>(d));
  Tensor r = dims.empty() ? g : sum(g, dims, true);
  return lead ? view(r, sizes) : r;
}

}  // namespace fl
