// Calling ops: the way from a boxed call through the layers to the kernel.
#pragma once
#include "dispatch/entry.h"
#include "tensor/thread_state.h"

namespace fl {

inline uint16_t layers_of(const Value* args, size_t count) {
  uint16_t keys = 0;
  for (size_t i = 0; i < count; i++) {
    if (args[i].tag == Tag::Tensor) {
      keys |= layer_flags(args[i].tensor);
    } else if (args[i].tag == Tag::TensorList) {
      for (uint32_t k = 0; k < args[i].length; k++)
        if (args[i].tensors[k]) keys |= layer_flags(args[i].tensors[k]);
    }
  }
  return keys;
}

Result call_recorded(const Entry& entry, const Value* args);  // autograd/record.cpp
// Refuses tensors of the meta device among others, where the op's body would read memory that isn't there.
void check_devices(const Entry& entry, const Value* args);

// The functional form. `args` has one value for each argument of the schema.
inline Result call(const Entry& entry, const Value* args) {
  uint16_t layers = layers_of(args, entry.schema.args.size()), keys = layers & thread_state.enabled & kRequiresGrad;
  if (__builtin_expect(layers & kMeta, 0)) check_devices(entry, args);
  if (__builtin_expect(!keys && !entry.mutates, 1)) return entry.kernel(entry, args, nullptr);
  return call_recorded(entry, args);
}
// `x.op_()`: writes the result into args[0].
void call_in_place(const Entry& entry, const Value* args);
// `op(out=)`: writes results into `outs`, resizing them where PyTorch does.
void call_out(const Entry& entry, const Value* args, std::span<const Tensor> outs);

// A copy of the values that doesn't record; dense, in the order of dimensions of `t`.
Tensor raw_clone(const Tensor& t);
// Copies values with conversion and broadcasting; doesn't record.
void raw_copy(const Tensor& to, const Tensor& from);
void raw_fill(const Tensor& t, const Scalar& value);
// The tensor itself when it is contiguous, else a contiguous copy.
inline Tensor raw_contiguous(const Tensor& t) {
  if (t.is_contiguous()) return t;
  Tensor r = empty(t.sizes(), t.dtype(), t.device());
  raw_copy(r, t);
  return r;
}
// Checks that `t` may be written to in place and says why not otherwise. Doesn't look at autograd.
void check_writable(const Tensor& t, const char* op);
// Says why `out` can't take the result, if it can't.
void check_out(const Tensor& result, const Tensor& out, const char* op);
void bump_version(const Tensor& t);
void resize_tensor(const Tensor& t, IntList sizes);

// A reference to an entry by id, looked up once:  static const Op exp("exp");  exp(x)
class Op {
 public:
  explicit constexpr Op(const char* id) : id_(id) {}
  const Entry& entry() const {
    if (!entry_) entry_ = lookup();
    return *entry_;
  }
  // Arguments in the order of the schema; those left out take their defaults.
  template <class... A>
  Result run(const A&... a) const {
    const Entry& e = entry();
    Value args[32] = {Value(a)...};
    for (size_t i = sizeof...(A); i < e.schema.args.size(); i++) args[i] = e.schema.args[i].default_value;
    return call(e, args);
  }
  template <class... A>
  Tensor operator()(const A&... a) const {
    return std::move(run(a...).tensor);
  }
  template <class... A>
  std::vector<Tensor> list(const A&... a) const {
    return std::move(run(a...).tensors);
  }
  template <class... A>
  void in_place(const A&... a) const {
    const Entry& e = entry();
    Value args[32] = {Value(a)...};
    for (size_t i = sizeof...(A); i < e.schema.args.size(); i++) args[i] = e.schema.args[i].default_value;
    call_in_place(e, args);
  }

 private:
  const Entry* lookup() const;
  const char* id_;
  mutable const Entry* entry_ = nullptr;
};

}  // namespace fl
