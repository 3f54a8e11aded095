// The autograd layer: runs an op and leaves a node behind. One generic function for every op of the table.
#pragma once
#include <memory>

#include "autograd/saved.h"
#include "dispatch/dispatch.h"

namespace fl {

Result call_recorded(const Entry& entry, const Value* args);
// Runs `write`, which writes into args[0], and moves args[0] onto a new node.
void record_in_place(const Entry& entry, const Value* args, void (*write)(const Entry&, const Value*));

// The arguments of a recorded op, owned.
struct SavedArgument {
  Value value;                       // of what is no tensor; lists point into `ints` or `text`
  std::vector<int64_t> ints;
  std::string text;
  std::complex<double> complex;
  SavedTensor tensor;
  struct Item {
    SavedTensor tensor;
    Dims sizes;
    DType dtype = DType::Float;
  };
  std::vector<Item> items;           // of a tensor list
  Dims sizes;
  DType dtype = DType::Float;
  bool is_tensor = false, is_list = false;
  uint32_t edge = 0;                 // of the first tensor it holds
};

struct OpBody : NodeBody {
  const Entry* entry;
  std::unique_ptr<SavedArgument[]> args;
  SavedTensor outputs[4];
  explicit OpBody(const Entry& e) : entry(&e) {}
  TensorArray apply(Node& node, TensorArray grads) override;
  void release_saved() override;
  int traverse(visitproc visit, void* arg) override;
  PyObject* saved(Node& node, std::string_view name) override;
};

// What a derivative sees: incoming gradients, saved values, and where to put results.
class Vjp {
 public:
  Vjp(Node& node, OpBody& body, TensorArray& grads, TensorArray& results) : node_(node), body_(body), grads_(grads), results_(results) {}
  const Entry& entry() const { return *body_.entry; }
  // The gradient for output i; zeros when none arrived.
  Tensor grad(int i = 0);
  bool has_grad(int i = 0) { return static_cast<size_t>(i) < grads_.size() && grads_[i].defined(); }
  Tensor input(int arg) { return body_.args[arg].tensor.get(node_); }
  Tensor input(int arg, int k) { return body_.args[arg].items[k].tensor.get(node_); }
  Tensor output(int i = 0) { return body_.outputs[i].get(node_); }
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
  IntList sizes(int arg, int k) const { return body_.args[arg].items[k].sizes; }
  DType dtype(int arg) const { return body_.args[arg].dtype; }
  int list_size(int arg) const { return static_cast<int>(body_.args[arg].items.size()); }
  const OutputMeta& output_meta(int i) const { return (*node_.outputs)[i]; }
  bool needs(int arg, int k = 0) const {
    const SavedArgument& a = body_.args[arg];
    if (!a.is_tensor && (!a.is_list || k >= static_cast<int>(a.items.size()))) return false;
    return (*node_.edges)[a.edge + k].node != nullptr;
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
