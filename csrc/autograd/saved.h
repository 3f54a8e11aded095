// A tensor kept for backward: knows when it was written to meanwhile, and never keeps its own node alive.
#pragma once
#include "autograd/node.h"

namespace fl {

class SavedTensor {
 public:
  SavedTensor() = default;
  SavedTensor(const SavedTensor&) = delete;
  SavedTensor(SavedTensor&& o) noexcept { *this = std::move(o); }
  SavedTensor& operator=(SavedTensor&& o) noexcept {
    std::swap(tensor_, o.tensor_);
    std::swap(packed_, o.packed_);
    std::swap(unpack_hook_, o.unpack_hook_);
    std::swap(version_, o.version_);
    std::swap(slot_, o.slot_);
    std::swap(is_output_, o.is_output_);
    std::swap(freed_, o.freed_);
    std::swap(saved_, o.saved_);
    return *this;
  }
  ~SavedTensor() { release(); }

  void save(const Tensor& t);
  // Before an in-place op: the version that counts is the one before the write.
  void save_output(const Tensor& t, uint32_t slot);
  bool is_saved() const { return saved_; }
  // `owner` is the node that saved it. Throws when it was freed or written to in place.
  Tensor get(Node& owner) const;
  void release();
  int traverse(visitproc visit, void* arg) const;

 private:
  void pack();
  Tensor tensor_;
  PyObject* packed_ = nullptr;
  PyObject* unpack_hook_ = nullptr;
  uint32_t version_ = 0, slot_ = 0;
  bool is_output_ = false, freed_ = false, saved_ = false;
};

// The stack of torch.autograd.graph.saved_tensors_hooks.
void push_saved_hooks(PyObject* pack, PyObject* unpack);
void pop_saved_hooks();
void set_saved_hooks_disabled(const char* message);  // null: enabled
const std::string& saved_hooks_disabled_message();   // empty: enabled

}  // namespace fl
