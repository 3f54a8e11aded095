// Making views.
#pragma once
#include "tensor/tensor.h"
#include "tensor/thread_state.h"

namespace fl {

// A view of `t`: shares its memory and remembers whose it is, so that autograd sees writes through either.
inline Tensor make_view(const Tensor& t, IntList sizes, IntList strides, int64_t offset) {
  Tensor v = alias(t, sizes, strides, offset);
  v->base = t->base ? t->base : t.get();
  Py_INCREF(reinterpret_cast<PyObject*>(v->base));
  v->view_version = t.storage()->version;
  v->flags |= (t->flags & (kOwnVersion | kInference)) | (grad_enabled() ? 0 : kNoGradView);
  return v;
}

// Strides that show the elements of a tensor as `sizes` without copying; false when there are none.
bool view_strides(IntList sizes, IntList strides, IntList new_sizes, Dims* out);
// Replaces a -1 by what fits; throws when nothing does.
Dims infer_sizes(IntList sizes, int64_t numel, const char* op);

}  // namespace fl
