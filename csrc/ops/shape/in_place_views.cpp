// Views that change the tensor itself: unsqueeze_, transpose_ and their kin.
#include "autograd/record.h"
#include "ops/api.h"

namespace fl {
namespace {

// Gives `self` the geometry, and where autograd records the history, of a view of it.
Tensor become(const Tensor& self, const Tensor& view, const char* op) {
  bool recorded = grad_enabled() && view.requires_grad();
  FL_CHECK(!recorded || !is_leaf(self), op,
           ": a leaf Variable that requires grad is being used in an in-place operation");
  if (recorded) set_history(self, autograd_meta(view).grad_fn, autograd_meta(view).slot);
  set_geometry(self, view.sizes(), view.strides(), view.offset());
  bump_version(self);
  if (self->base) self->view_version = self.storage()->version;
  return self;
}

const Op squeeze_all("squeeze"), squeeze_dims("squeeze.dims"), t_of("t"), as_strided("as_strided");

Tensor unsqueeze_(const Tensor& self, int64_t dim) { return become(self, unsqueeze(self, dim), "unsqueeze_"); }
Tensor squeeze_all_(const Tensor& self) { return become(self, squeeze_all(self), "squeeze_"); }
Tensor squeeze_dim_(const Tensor& self, int64_t dim) { return become(self, squeeze(self, dim), "squeeze_"); }
Tensor squeeze_dims_(const Tensor& self, IntList dims) { return become(self, squeeze_dims(self, dims), "squeeze_"); }
Tensor transpose_(const Tensor& self, int64_t dim0, int64_t dim1) {
  return become(self, transpose(self, dim0, dim1), "transpose_");
}
Tensor t_(const Tensor& self) { return become(self, t_of(self), "t_"); }
Tensor as_strided_(const Tensor& self, IntList size, IntList stride, std::optional<int64_t> offset) {
  return become(self, as_strided(self, size, stride, offset), "as_strided_");
}

const Declare ops([] {
  Define("Tensor.unsqueeze_(Tensor input, int dim) -> Tensor")
      .composite<unsqueeze_>()
      .doc("Puts a dimension of size one in at dim.");
  Define("Tensor.squeeze_(Tensor input) -> Tensor")
      .composite<squeeze_all_>()
      .doc("Drops the dimensions of size one, or those of them that are named.");
  Define("Tensor.squeeze_.dim(Tensor input, int dim) -> Tensor").composite<squeeze_dim_>();
  Define("Tensor.squeeze_.dims(Tensor input, int[] dim) -> Tensor").composite<squeeze_dims_>();
  Define("Tensor.transpose_(Tensor input, int dim0, int dim1) -> Tensor")
      .composite<transpose_>()
      .doc("Swaps two dimensions.");
  Define("Tensor.swapdims_(Tensor input, int dim0, int dim1) -> Tensor")
      .composite<transpose_>()
      .doc("The same as transpose_.");
  Define("Tensor.swapaxes_(Tensor input, int axis0, int axis1) -> Tensor")
      .composite<transpose_>()
      .doc("The same as transpose_.");
  Define("Tensor.t_(Tensor input) -> Tensor")
      .composite<t_>()
      .doc("Transposes a matrix; vectors and scalars stay as they are.");
  Define("as_strided_(Tensor input, int[] size, int[] stride, int? storage_offset=None) -> Tensor")
      .composite<as_strided_>()
      .doc("Shows the memory with other sizes, strides and offset.");
});

}  // namespace
}  // namespace fl
