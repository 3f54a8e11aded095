// The autograd layer: runs an op and leaves a node behind. One generic function for every op of the table.
#pragma once
#include <memory>

#include "autograd/saved.h"
#include "dispatch/dispatch.h"

namespace fl {

Result call_recorded(const Entry& entry, const Value* args);
// Runs `write`, which writes into args[0], and moves args[0] onto a new node.
void record_in_place(const Entry& entry, const Value* args, void (*write)(const Entry&, const Value*));

// An argument of a recorded op, owned.
struct SavedArgument {
  struct Item {
    SavedTensor tensor;
    Dims sizes;
    DType dtype = DType::Float;
  };
  // What few arguments have.
  struct More {
    std::vector<int64_t> ints;
    std::string text;
    std::complex<double> complex;
    std::vector<Item> items;  // of a tensor list
  };
  Value value;  // of what is no tensor; lists point into `more`
  SavedTensor tensor;
  Dims sizes;
  std::unique_ptr<More> more;
  DType dtype = DType::Float;
  bool is_tensor = false, is_list = false;
  uint32_t edge = 0;  // of the first tensor it holds
  std::vector<Item>& items() { return more->items; }
};

struct OpBody : NodeBody {
  const Entry* entry;
  size_t count;
  SavedTensor first_output;
  std::unique_ptr<SavedTensor[]> more_outputs;
  SavedArgument* args;  // behind this object, in the same block
  static OpBody* make(const Entry& entry);
  ~OpBody() override;
  void operator delete(void* p) { PyObject_Free(p); }
  static constexpr size_t kOutputs = 8;
  SavedTensor& output(size_t i) {
    if (i == 0) return first_output;
    if (!more_outputs) more_outputs = std::make_unique<SavedTensor[]>(kOutputs - 1);
    return more_outputs[i - 1];
  }
  TensorArray apply(Node& node, TensorArray grads) override;
  void release_saved() override;
  int traverse(visitproc visit, void* arg) override;
  PyObject* saved(Node& node, std::string_view name) override;

 private:
  explicit OpBody(const Entry& e) : entry(&e) {}
  template <class F>
  void for_each_saved(F f) {
    for (size_t i = 0; i < count; i++) {
      f(args[i].tensor);
      if (args[i].more)
        for (auto& item : args[i].more->items) f(item.tensor);
    }
    f(first_output);
    if (more_outputs)
      for (size_t i = 0; i + 1 < kOutputs; i++) f(more_outputs[i]);
  }
};

// What a derivative sees: incoming gradients, saved values, and where to put results.
class Vjp {
 public:
  Vjp(Node& node, OpBody& body, TensorArray& grads, TensorArray& results)
      : node_(node), body_(body), grads_(grads), results_(results) {}
  const Entry& entry() const { return *body_.entry; }
  // The gradient for output i; zeros when none arrived.
  Tensor grad(int i = 0);
  bool has_grad(int i = 0) { return static_cast<size_t>(i) < grads_.size() && grads_[i].defined(); }
  Tensor input(int arg) { return body_.args[arg].tensor.get(node_); }
  Tensor input(int arg, int k) { return body_.args[arg].items()[k].tensor.get(node_); }
  Tensor output(int i = 0) { return body_.output(i).get(node_); }
  const Value& value(int arg) const { return body_.args[arg].value; }
  Scalar scalar(int arg) const { return value(arg).scalar(); }
  int64_t integer(int arg) const { return value(arg).i; }
  double number(int arg) const { return value(arg).to_double(); }
  bool flag(int arg) const { return value(arg).i != 0; }
  IntList ints(int arg) const { return value(arg).int_list(); }
  std::string_view string(int arg) const { return value(arg).string(); }
  bool is_none(int arg) const { return !body_.args[arg].is_tensor && !body_.args[arg].is_list && value(arg).is_none(); }
  bool is_tensor(int arg) const { return body_.args[arg].is_tensor; }
  IntList sizes(int arg) const { return body_.args[arg].sizes; }
  IntList sizes(int arg, int k) const { return body_.args[arg].items()[k].sizes; }
  DType dtype(int arg) const { return body_.args[arg].dtype; }
  int list_size(int arg) const { return static_cast<int>(body_.args[arg].items().size()); }
  const OutputMeta& output_meta(int i) const { return node_.outputs[i]; }
  bool needs(int arg, int k = 0) const {
    const SavedArgument& a = body_.args[arg];
    if (!a.is_tensor && (!a.is_list || k >= static_cast<int>(a.more->items.size()))) return false;
    return node_.edges[a.edge + k].node != nullptr;
  }
  void set(int arg, Tensor g) { set(arg, 0, std::move(g)); }
  void set(int arg, int k, Tensor g) { results_[body_.args[arg].edge + k] = std::move(g); }

 private:
  Node& node_;
  OpBody& body_;
  TensorArray& grads_;
  TensorArray& results_;
};

// Reduces a gradient that was broadcast over `sizes` back to them.
Tensor sum_to_size(const Tensor& g, IntList sizes);

}  // namespace fl
