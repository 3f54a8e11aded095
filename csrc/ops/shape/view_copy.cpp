// The views, with memory of their own for the result.
#include "ops/api.h"

namespace fl {
namespace {

Tensor dense(const Tensor& view) {
  static const Op clone_of("clone");
  return clone_of(view, MemoryFormat::Contiguous);
}

const Op alias_of("alias"), as_strided_of("as_strided"), diagonal_of("diagonal"), slice_of("slice"),
    squeeze_all("squeeze"), squeeze_dims("squeeze.dims"), t_of("t"), unfold_of("unfold"), view_dtype("view.dtype"),
    detach_of("detach"), as_real("view_as_real"), as_complex("view_as_complex");

Tensor alias_copy(const Tensor& x) { return dense(alias_of(x)); }
Tensor as_strided_copy(const Tensor& x, IntList size, IntList stride, std::optional<int64_t> offset) {
  return dense(as_strided_of(x, size, stride, offset));
}
Tensor detach_copy(const Tensor& x) { return dense(detach_of(x)); }
Tensor diagonal_copy(const Tensor& x, int64_t offset, int64_t dim1, int64_t dim2) {
  return dense(diagonal_of(x, offset, dim1, dim2));
}
Tensor expand_copy(const Tensor& x, IntList size, bool) { return dense(expand(x, size)); }
Tensor narrow_copy(const Tensor& x, int64_t dim, int64_t start, int64_t length) {
  FL_CHECK(dim < x.dim(), "narrow_copy: dimension ", dim, " is out of range for ", x.dim(), " dimensions");
  return dense(narrow(x, dim, start, length));
}
Tensor permute_copy(const Tensor& x, IntList dims) { return dense(permute(x, dims)); }
Tensor select_copy(const Tensor& x, int64_t dim, int64_t index) { return dense(select(x, dim, index)); }
Tensor slice_copy(const Tensor& x, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end,
                  int64_t step) {
  return dense(slice_of(x, dim, start, end, step));
}
Tensor squeeze_copy(const Tensor& x) { return dense(squeeze_all(x)); }
Tensor squeeze_copy_dim(const Tensor& x, int64_t dim) { return dense(squeeze(x, dim)); }
Tensor squeeze_copy_dims(const Tensor& x, IntList dims) { return dense(squeeze_dims(x, dims)); }
Tensor t_copy(const Tensor& x) { return dense(t_of(x)); }
Tensor transpose_copy(const Tensor& x, int64_t dim0, int64_t dim1) { return dense(transpose(x, dim0, dim1)); }
Tensor unfold_copy(const Tensor& x, int64_t dimension, int64_t size, int64_t step) {
  return dense(unfold_of(x, dimension, size, step));
}
Tensor unsqueeze_copy(const Tensor& x, int64_t dim) { return dense(unsqueeze(x, dim)); }
Tensor view_copy(const Tensor& x, IntList size) { return dense(reshape(x, size)); }
Tensor view_copy_dtype(const Tensor& x, DType dtype) { return dense(view_dtype(x, dtype)); }
Tensor view_as_real_copy(const Tensor& x) { return dense(as_real(x)); }
Tensor view_as_complex_copy(const Tensor& x) { return dense(as_complex(x)); }

const Declare ops([] {
  const char* doc = "The view of the same name without _copy, with memory of its own.";
  Define("torch.alias_copy(Tensor input) -> Tensor").composite<alias_copy>().out().doc(doc);
  Define("torch.as_strided_copy(Tensor input, int[] size, int[] stride, int? storage_offset=None) -> Tensor")
      .composite<as_strided_copy>()
      .out()
      .doc(doc);
  Define("torch.detach_copy(Tensor input) -> Tensor").composite<detach_copy>().out().doc(doc);
  Define("torch.diagonal_copy(Tensor input, int offset=0, int dim1=0, int dim2=1) -> Tensor")
      .composite<diagonal_copy>()
      .out()
      .doc(doc);
  Define("torch.expand_copy(Tensor input, int[] size, *, bool implicit=False) -> Tensor")
      .composite<expand_copy>()
      .out()
      .doc(doc);
  Define("narrow_copy(Tensor input, int dim, int start, int length) -> Tensor").composite<narrow_copy>().out().doc(doc);
  Define("torch.permute_copy(Tensor input, int[] dims) -> Tensor").composite<permute_copy>().out().doc(doc);
  Define("torch.select_copy(Tensor input, int dim, int index) -> Tensor").composite<select_copy>().out().doc(doc);
  Define("torch.slice_copy(Tensor input, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor")
      .composite<slice_copy>()
      .out()
      .doc(doc);
  Define("torch.squeeze_copy(Tensor input) -> Tensor").composite<squeeze_copy>().out().doc(doc);
  Define("torch.squeeze_copy.dim(Tensor input, int dim) -> Tensor").composite<squeeze_copy_dim>().out();
  Define("torch.squeeze_copy.dims(Tensor input, int[] dim) -> Tensor").composite<squeeze_copy_dims>().out();
  Define("torch.t_copy(Tensor input) -> Tensor").composite<t_copy>().out().doc(doc);
  Define("torch.transpose_copy(Tensor input, int dim0, int dim1) -> Tensor").composite<transpose_copy>().out().doc(doc);
  Define("torch.unfold_copy(Tensor input, int dimension, int size, int step) -> Tensor")
      .composite<unfold_copy>()
      .out()
      .doc(doc);
  Define("torch.unsqueeze_copy(Tensor input, int dim) -> Tensor").composite<unsqueeze_copy>().out().doc(doc);
  Define("torch.view_copy(Tensor input, int[] size) -> Tensor").composite<view_copy>().out().doc(doc);
  Define("torch.view_copy.dtype(Tensor input, dtype dtype) -> Tensor").composite<view_copy_dtype>().out();
  Define("torch.view_as_real_copy(Tensor input) -> Tensor").composite<view_as_real_copy>().out().doc(doc);
  Define("torch.view_as_complex_copy(Tensor input) -> Tensor").composite<view_as_complex_copy>().out().doc(doc);
});

}  // namespace
}  // namespace fl
