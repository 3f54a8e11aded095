#include "dispatch/dispatch.h"

#include "autograd/record.h"

namespace fl {

thread_local ThreadState thread_state __attribute__((tls_model("initial-exec")));

const Entry* Op::lookup() const {
  const Entry* e = find_entry(id_);
  for (const char* prefix : {"Tensor.", "_C.", "torch."})
    if (!e) e = find_entry(std::string(prefix) + id_);
  FL_CHECK(e, "no op is called ", id_);
  return e;
}

void check_writable(const Tensor& t, const char* op) {
  FL_CHECK(!may_overlap_itself(t), op, ": can't write in place into a tensor whose elements share memory (sizes ",
           shape_text(t.sizes()), ", strides ", shape_text(t.strides()), ", as expand() makes it); clone() it first");
  FL_CHECK(!t.storage()->read_only, op,
           ": can't write in place into read-only memory of another library; clone() it first");
  FL_CHECK(!(t->flags & kInference) || thread_state.inference, op,
           ": can't update an inference tensor in place outside inference mode; clone() it first");
}

void check_devices(const Entry& entry, const Value* args) {
  if (entry.composite || entry.any_device) return;  // a composite's ops check for themselves
  size_t n = entry.schema.args.size();
  const Argument* on_meta = nullptr;
  const Argument* elsewhere = nullptr;
  auto note = [&](const TensorObject* t, const Argument& a) {
    if (t->flags & kMeta)
      on_meta = &a;
    else if (t->ndim || !entry.pointwise)
      elsewhere = &a;  // pointwise ops take a number from anywhere
  };
  for (size_t i = 0; i < n; i++) {
    if (args[i].is_tensor()) note(args[i].tensor, entry.schema.args[i]);
    if (args[i].tag == Tag::TensorList)
      for (uint32_t k = 0; k < args[i].length; k++)
        if (args[i].tensors[k]) note(args[i].tensors[k], entry.schema.args[i]);
  }
  FL_CHECK(!on_meta || !elsewhere, entry.public_name, ": expected all tensors to be on the same device, but argument '",
           on_meta->name, "' is on meta and '", elsewhere->name, "' isn't");
}

void bump_version(const Tensor& t) {
  t->storage->writes++;
  if (!(t->flags & kOwnVersion)) t->storage->version++;
}

void check_out(const Tensor& result, const Tensor& out, const char* op) {
  FL_CHECK(result, op, ": out= can't take a result that this call doesn't have");
  FL_CHECK(result.is_meta() == out.is_meta(), op, ": expected out to be on ", device_text(result.device()),
           " like the result, got ", device_text(out.device()));
  FL_CHECK(can_cast(result.dtype(), out.dtype()), op, ": the result type ", info(result.dtype()).name,
           " can't be cast to the type of out, ", info(out.dtype()).name);
}

void resize_tensor(const Tensor& t, IntList sizes) {
  if (equal(t.sizes(), sizes)) return;
  Dims strides = contiguous_strides(sizes);
  int64_t needed = storage_bytes_needed(sizes, strides, t.offset(), t.item_size());
  checked_numel(sizes);
  if (needed > t->storage->bytes) resize_storage(t->storage, needed);
  set_geometry(t, sizes, strides, t.offset());
}

namespace {

// Runs the kernel so that its result ends in args[0].
void run_in_place(const Entry& entry, const Value* args) {
  const Tensor& self = borrow(args[0].tensor);
  if (entry.in_place) {
    entry.in_place(entry, args);
  } else if (entry.mutates) {
    entry.kernel(entry, args, nullptr);
  } else if (entry.pointwise) {
    Destination out{self, false};
    entry.kernel(entry, args, &out);
  } else {
    Result r = entry.kernel(entry, args, nullptr);
    FL_CHECK(equal(r.tensor.sizes(), self.sizes()), entry.public_name, "_: the result has sizes ",
             shape_text(r.tensor.sizes()), ", which don't match those of the tensor written to, ",
             shape_text(self.sizes()));
    FL_CHECK(can_cast(r.tensor.dtype(), self.dtype()), entry.public_name, "_: the result type ",
             info(r.tensor.dtype()).name, " can't be cast to the type of the tensor written to, ",
             info(self.dtype()).name);
    raw_copy(self, r.tensor);
  }
  bump_version(self);
}

// A factory function with out= makes what out holds. True when `changed` is now the arguments with that type.
bool takes_type_of_out(const Entry& entry, const Value* args, const Tensor& out, Value* changed) {
  size_t n = entry.schema.args.size();
  int dtype = -1, device = -1;
  for (size_t i = 0; i < n; i++) {
    const Argument& a = entry.schema.args[i];
    if (a.type == ArgType::Tensor || a.type == ArgType::TensorList) return false;
    if (a.name == "dtype") dtype = static_cast<int>(i);
    if (a.name == "device") device = static_cast<int>(i);
  }
  if (dtype < 0) return false;
  std::copy(args, args + n, changed);
  if (args[dtype].is_none())
    changed[dtype] = Value(out.dtype());
  else
    FL_CHECK(static_cast<DType>(args[dtype].i) == out.dtype(), entry.public_name, ": dtype ",
             info(static_cast<DType>(args[dtype].i)).name, " does not match the dtype of out, ",
             info(out.dtype()).name);
  if (device >= 0 && args[device].is_none()) changed[device] = Value(out.device());
  return true;
}

void refuse_overlap(const Entry& entry, const Value* args, const Tensor& out) {
  auto check = [&](const Tensor& t) {
    FL_CHECK(!t.defined() || overlap(out, t) == Overlap::None, entry.public_name,
             ": out= shares memory with an argument; clone() one of them first");
  };
  for (size_t i = 0; i < entry.schema.args.size(); i++) {
    if (args[i].is_tensor())
      check(borrow(args[i].tensor));
    else if (args[i].tag == Tag::TensorList)
      for (const Tensor& t : args[i].tensor_list()) check(t);
  }
}

}  // namespace

void call_in_place(const Entry& entry, const Value* args) {
  if (entry.forward) return call_in_place(*entry.forward, args);
  const Tensor& self = borrow(args[0].tensor);
  check_writable(self, entry.public_name.c_str());
  uint16_t layers = layers_of(args, entry.schema.args.size()), keys = layers & thread_state.enabled & kRequiresGrad;
  if (layers & kMeta) check_devices(entry, args);
  if (!keys) {
    run_in_place(entry, args);
    return;
  }
  if (entry.composite) {
    // Its result is recorded by the ops it is made of; writing it back is a recorded copy.
    Result r = entry.kernel(entry, args, nullptr);
    static const Op copy("copy_");
    copy.run(self, r.tensor);
    return;
  }
  record_in_place(entry, args, run_in_place);
}

void call_out(const Entry& entry, const Value* args, std::span<const Tensor> outs) {
  uint16_t layers = layers_of(args, entry.schema.args.size());
  bool recording = grad_enabled() && (layers & kRequiresGrad);
  if (layers & kMeta) check_devices(entry, args);
  for (const Tensor& o : outs) {
    FL_CHECK(!(grad_enabled() && o.requires_grad()), entry.public_name,
             ": functions with out= don't support automatic differentiation, but one of the outputs requires grad");
    check_writable(o, entry.public_name.c_str());
    if (entry.out_apart) refuse_overlap(entry, args, o);
  }
  FL_CHECK(!recording || !entry.vjp, entry.public_name,
           ": functions with out= don't support automatic differentiation, but one of the arguments requires grad");
  NoGrad guard;
  Value typed[32];
  if (outs.size() == 1 && takes_type_of_out(entry, args, outs[0], typed)) args = typed;
  if (entry.pointwise && outs.size() == 1) {
    Destination out{outs[0], true};
    entry.kernel(entry, args, &out);
    bump_version(outs[0]);
    return;
  }
  Result r = entry.kernel(entry, args, nullptr);
  auto results = r.outputs();
  FL_CHECK(results.size() == outs.size(), ErrorKind::Type, entry.public_name, ": out= needs ", results.size(),
           " tensors, got ", outs.size());
  for (size_t i = 0; i < outs.size(); i++) check_out(results[i], outs[i], entry.public_name.c_str());
  for (size_t i = 0; i < outs.size(); i++) {
    resize_tensor(outs[i], results[i].sizes());
    raw_copy(outs[i], results[i]);
    bump_version(outs[i]);
  }
}

}  // namespace fl
