#include "autograd/saved.h"

namespace fl {
namespace {

struct Hooks {
  PyObject *pack, *unpack;
};
std::vector<Hooks>& hook_stack() {
  static auto* stack = new std::vector<Hooks>;
  return *stack;
}
std::string& disabled_message() {
  static auto* message = new std::string;
  return *message;
}

}  // namespace

void push_saved_hooks(PyObject* pack, PyObject* unpack) {
  FL_CHECK(disabled_message().empty(), disabled_message());
  Py_INCREF(pack);
  Py_INCREF(unpack);
  hook_stack().push_back({pack, unpack});
}
void pop_saved_hooks() {
  FL_CHECK(!hook_stack().empty(), "saved tensor hooks: nothing to pop");
  Hooks h = hook_stack().back();
  hook_stack().pop_back();
  Py_DECREF(h.pack);
  Py_DECREF(h.unpack);
}
void set_saved_hooks_disabled(const char* message) {
  FL_CHECK(!message || hook_stack().empty(), message ? message : "");
  disabled_message() = message ? message : "";
}

const std::string& saved_hooks_disabled_message() { return disabled_message(); }

void SavedTensor::save(const Tensor& t) {
  if (!t) return;
  saved_ = true;
  version_ = t.storage()->version;
  tensor_ = t;
  if (!hook_stack().empty()) pack();
}

void SavedTensor::save_output(const Tensor& t, uint32_t slot) {
  saved_ = true;
  is_output_ = true;
  slot_ = slot;
  version_ = t.storage()->version;
  tensor_ = alias(t);  // holding the output itself would be a cycle: it holds its node
  if (!hook_stack().empty()) pack();
}

void SavedTensor::pack() {
  Hooks h = hook_stack().back();
  Tensor plain = is_output_ ? tensor_ : alias(tensor_);
  if (!is_output_ && tensor_->autograd) plain = tensor_;
  NoGrad guard;
  packed_ = PyObject_CallOneArg(h.pack, plain.object());
  if (!packed_) throw PythonError();
  Py_INCREF(h.unpack);
  unpack_hook_ = h.unpack;
  // The history stays with an input; only its data goes through the hooks.
  if (is_output_ || !tensor_->autograd)
    tensor_ = Tensor();
  else if (!is_leaf(tensor_)) {
    Tensor shell = alias(tensor_, {}, {}, 0);
    set_history(shell, grad_fn(tensor_), tensor_->autograd->slot);
    tensor_ = std::move(shell);
  }
}

Tensor SavedTensor::get(Node& owner) const {
  FL_CHECK(!freed_,
           "Trying to backward through the graph a second time (or to directly access saved tensors after they have "
           "been freed): ",
           "the values saved by ", owner.name, node_origin(owner).empty() ? "" : " (made at ", node_origin(owner),
           node_origin(owner).empty() ? "" : ")",
           " were freed by an earlier backward() or autograd.grad(). Pass retain_graph=True to that call if you need a "
           "second one");
  if (!saved_) return {};
  Tensor value;
  if (packed_) {
    PyObject* o = PyObject_CallOneArg(unpack_hook_, packed_);
    if (!o) throw PythonError();
    if (!is_tensor(o)) {
      std::string given = Py_TYPE(o)->tp_name;
      Py_DECREF(o);
      fail(ErrorKind::Type, "saved tensor hooks: the unpack hook must return a tensor, got ", given);
    }
    value = Tensor::take(reinterpret_cast<TensorObject*>(o));
    if (!tensor_ && !is_output_) return value;
    if (tensor_ && is_leaf(tensor_)) return value.is(tensor_) ? value : tensor_;
    Tensor joined = alias(value);
    if (is_output_)
      set_history(joined, &owner, slot_);
    else if (tensor_->autograd && tensor_->autograd->grad_fn)
      set_history(joined, tensor_->autograd->grad_fn, tensor_->autograd->slot);
    return joined;
  }
  uint32_t now = tensor_.storage()->version;
  FL_CHECK(now == version_ || (tensor_->flags & kOwnVersion),
           "one of the variables needed for gradient computation has been modified by an inplace operation: ",
           owner.name, node_origin(owner).empty() ? "" : " (made at ", node_origin(owner),
           node_origin(owner).empty() ? "" : ")", " saved a ", info(tensor_.dtype()).name, " tensor of sizes ",
           shape_text(tensor_.sizes()), is_output_ ? ", its own result," : "", " at version ", version_,
           "; it is now at version ", now, ". Use an out-of-place op, or clone() before writing");
  if (!is_output_) return tensor_;
  value = alias(tensor_);
  if (is_differentiable(value.dtype())) set_history(value, &owner, slot_);
  return value;
}

void SavedTensor::release() {
  if (saved_) freed_ = true;
  tensor_ = Tensor();
  Py_CLEAR(packed_);
  Py_CLEAR(unpack_hook_);
}

int SavedTensor::traverse(visitproc visit, void* arg) const {
  Py_VISIT(tensor_.object());
  Py_VISIT(packed_);
  Py_VISIT(unpack_hook_);
  return 0;
}

}  // namespace fl
