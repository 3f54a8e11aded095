// Joining tensors: cat, stack and their kin.
#include "autograd/record.h"
#include "base/threads.h"
#include "ops/api.h"
#include "tensor/view.h"

namespace fl {
namespace {

const Op cat_of("cat");

// A tensor of sizes (0,) may stand in any list to be joined; it counts for the type only.
bool is_skipped(const Tensor& t) { return t.dim() == 1 && t->sizes[0] == 0; }

void copy_parts(const Tensor& out, TensorList tensors, int64_t dim) {
  int64_t outer = 1, inner = out.item_size();
  for (int64_t d = 0; d < dim; d++) outer *= out->sizes[d];
  for (int64_t d = dim + 1; d < out.dim(); d++) inner *= out->sizes[d];
  int64_t row = out->sizes[dim] * inner, at = 0;
  for (const Tensor& t : tensors) {
    if (t.numel() == 0) continue;
    int64_t bytes = t->sizes[dim] * inner;
    if (t.is_contiguous() && out.is_contiguous() && t.dtype() == out.dtype() && (bytes >= 64 || outer <= 4)) {
      const char* from = t.bytes();
      char* to = out.bytes() + at;
      if (outer == 1 && bytes > 262144) {
        parallel_for(0, bytes, 131072, [&](int64_t a, int64_t b) { std::memcpy(to + a, from + a, b - a); });
      } else {
        parallel_for(0, outer, std::max<int64_t>(1, 131072 / bytes), [&](int64_t a, int64_t b) {
          for (int64_t i = a; i < b; i++) std::memcpy(to + i * row, from + i * bytes, bytes);
        });
      }
    } else {
      raw_copy(alias(out, t.sizes(), out.strides(), out.offset() + at / inner * out->strides[dim]), t);
    }
    at += bytes;
  }
}

Tensor cat_op(TensorList tensors, int64_t dim) {
  FL_CHECK(!tensors.empty(), ErrorKind::Value, "torch.cat(): expected a non-empty list of Tensors");
  const Tensor* like = nullptr;
  DType dtype = tensors[0].dtype();
  bool same_dtype = true, channels_last = true;
  for (size_t i = 0; i < tensors.size(); i++) {
    const Tensor& t = tensors[i];
    FL_CHECK(t.dim() > 0, "cat: zero-dimensional tensor (at position ", i, ") cannot be concatenated");
    same_dtype &= t.dtype() == dtype;
    if (!is_skipped(t)) {
      if (!like) like = &t;
      channels_last &= t.dim() == 4 && !t.is_contiguous() && t.is_contiguous(MemoryFormat::ChannelsLast);
    }
  }
  if (!same_dtype) {
    TypePromoter types;
    for (const Tensor& t : tensors) types.add(t);
    dtype = types.result();
  }
  if (!like) {
    wrap_dim(dim, 1, "cat");
    return empty(Dims{0}, dtype, tensors[0].device());
  }
  int64_t d = wrap_dim(dim, like->dim(), "cat");
  Dims sizes(like->sizes());
  sizes[d] = 0;
  for (size_t i = 0; i < tensors.size(); i++) {
    const Tensor& t = tensors[i];
    if (is_skipped(t)) continue;
    FL_CHECK(t.dim() == like->dim(), "cat: tensors must have the same number of dimensions: got ", like->dim(), " and ",
             t.dim());
    for (int64_t k = 0; k < t.dim(); k++)
      FL_CHECK(k == d || t->sizes[k] == sizes[k], "cat: sizes of tensors must match except in dimension ", d,
               ": expected size ", sizes[k], " but got size ", t->sizes[k], " for tensor number ", i, " in the list");
    sizes[d] += t->sizes[d];
  }
  Tensor out = channels_last ? empty(sizes, dtype, like->device(), MemoryFormat::ChannelsLast)
                             : empty(sizes, dtype, like->device());
  if (!out.is_meta()) {
    if (channels_last) {
      int64_t at = 0;
      for (const Tensor& t : tensors) {
        if (is_skipped(t)) continue;
        raw_copy(alias(out, t.sizes(), out.strides(), at * out->strides[d]), t);
        at += t->sizes[d];
      }
    } else {
      copy_parts(out, tensors, d);
    }
  }
  return out;
}

void cat_back(Vjp& v) {
  Tensor g = v.grad();
  int64_t d = wrap_dim(v.integer(1), g.dim()), at = 0;
  for (int k = 0; k < v.list_size(0); k++) {
    IntList sizes = v.sizes(0, k);
    if (sizes.size() == 1 && sizes[0] == 0) {
      if (v.needs(0, k)) v.set(0, k, zeros(Dims{0}, g.dtype(), g.device()));
      continue;
    }
    if (v.needs(0, k)) v.set(0, k, narrow(g, d, at, sizes[d]));
    at += sizes[d];
  }
}

Tensor stack_op(TensorList tensors, int64_t dim) {
  FL_CHECK(!tensors.empty(), "stack: expected a non-empty list of Tensors");
  Dims sizes(tensors[0].sizes());
  int64_t d = wrap_dim(dim, tensors[0].dim() + 1, "stack");
  TypePromoter types;
  bool same_dtype = true;
  for (size_t i = 0; i < tensors.size(); i++) {
    FL_CHECK(equal(tensors[i].sizes(), sizes), "stack: expects each tensor to be of equal size, but got ",
             shape_text(sizes), " at entry 0 and ", shape_text(tensors[i].sizes()), " at entry ", i);
    same_dtype &= tensors[i].dtype() == tensors[0].dtype();
  }
  if (!same_dtype)
    for (const Tensor& t : tensors) types.add(t);
  sizes.insert(d, static_cast<int64_t>(tensors.size()));
  Tensor out = empty(sizes, same_dtype ? tensors[0].dtype() : types.result(), tensors[0].device());
  if (out.is_meta()) return out;
  std::vector<Tensor> parts;
  parts.reserve(tensors.size());
  for (const Tensor& t : tensors) {
    Dims part(t.sizes()), strides(t.strides());
    part.insert(d, 1);
    strides.insert(d, d < t.dim() ? t->sizes[d] * t->strides[d] : 1);
    parts.push_back(alias(t, part, strides, t.offset()));
  }
  copy_parts(out, parts, d);
  return out;
}

std::vector<Tensor> at_least(TensorList tensors, int64_t dims) {
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) {
    Tensor x = t;
    if (dims == 1 && x.dim() == 0) x = reshape(x, Dims{1});
    if (dims >= 2 && x.dim() == 0) x = reshape(x, Dims{1, 1});
    if (dims >= 2 && x.dim() == 1) x = unsqueeze(x, 0);
    if (dims == 3 && x.dim() == 2) x = unsqueeze(x, -1);
    out.push_back(std::move(x));
  }
  return out;
}
Tensor hstack_op(TensorList tensors) {
  FL_CHECK(!tensors.empty(), "hstack expects a non-empty TensorList");
  std::vector<Tensor> parts = at_least(tensors, 1);
  return cat_of(parts, int64_t(parts[0].dim() == 1 ? 0 : 1));
}
Tensor vstack_op(TensorList tensors) {
  FL_CHECK(!tensors.empty(), "vstack expects a non-empty TensorList");
  return cat_of(at_least(tensors, 2), int64_t(0));
}
Tensor dstack_op(TensorList tensors) {
  FL_CHECK(!tensors.empty(), "dstack expects a non-empty TensorList");
  return cat_of(at_least(tensors, 3), int64_t(2));
}
Tensor column_stack_op(TensorList tensors) {
  FL_CHECK(!tensors.empty(), "column_stack expects a non-empty TensorList");
  std::vector<Tensor> parts;
  for (const Tensor& t : tensors) parts.push_back(t.dim() <= 1 ? reshape(t, Dims{t.numel(), 1}) : t);
  return cat_of(parts, int64_t(1));
}
Tensor cat_again(TensorList tensors, int64_t dim) { return cat_of(tensors, dim); }

const Declare ops([] {
  Define("torch.cat(Tensor[] tensors, int dim=0) -> Tensor")
      .kernel<cat_op>()
      .out_apart()
      .vjp("", cat_back)
      .doc(
          "The tensors behind each other along dim; their other sizes must match. Types promote; tensors of sizes (0,) "
          "are skipped.");
  Define("torch.concat(Tensor[] tensors, int dim=0) -> Tensor").composite<cat_again>().out().doc("The same as cat.");
  Define("torch.concatenate(Tensor[] tensors, int dim=0) -> Tensor")
      .composite<cat_again>()
      .out()
      .doc("The same as cat.");
  Define("torch.stack(Tensor[] tensors, int dim=0) -> Tensor")
      .kernel<stack_op>()
      .out()
      .vjp("",
           [](Vjp& v) {
             Tensor g = v.grad();
             int64_t d = wrap_dim(v.integer(1), g.dim());
             for (int k = 0; k < v.list_size(0); k++)
               if (v.needs(0, k)) v.set(0, k, select(g, d, k));
           })
      .doc("The tensors, all of one size, along a new dimension dim.");
  Define("torch.hstack(Tensor[] tensors) -> Tensor")
      .composite<hstack_op>()
      .out()
      .doc("Joins along the second dimension, or the only one.");
  Define("torch.vstack(Tensor[] tensors) -> Tensor")
      .composite<vstack_op>()
      .out()
      .doc("Joins along the first dimension; vectors become rows.");
  Define("torch.row_stack(Tensor[] tensors) -> Tensor").composite<vstack_op>().out().doc("The same as vstack.");
  Define("torch.dstack(Tensor[] tensors) -> Tensor")
      .composite<dstack_op>()
      .out()
      .doc("Joins along the third dimension, which is added where it is missing.");
  Define("torch.column_stack(Tensor[] tensors) -> Tensor")
      .composite<column_stack_op>()
      .out()
      .doc("Joins along the second dimension; vectors become columns.");
});

}  // namespace
}  // namespace fl
