// Copies of a tensor with a part replaced: select_scatter, slice_scatter, diagonal_scatter and as_strided_scatter.
#include "autograd/record.h"
#include "ops/api.h"
#include "tensor/view.h"

namespace fl {
namespace {

const Op slice_of("slice"), diagonal_of("diagonal"), as_strided_of("as_strided");

// A dense copy of `input` in which `part(copy)` is overwritten.
template <class F>
Tensor with_part(const Tensor& input, const Tensor& src, const char* op, F part) {
  Tensor out = empty_like(input);
  raw_copy(out, input);
  Tensor to = part(out);
  FL_CHECK(equal(to.sizes(), src.sizes()), op, ": expected src to have a size equal to that of the part it replaces, ",
           shape_text(to.sizes()), ", but got ", shape_text(src.sizes()));
  raw_copy(to, src);
  return out;
}
template <class F>
void parts_back(Vjp& v, F part) {
  static const Op copy("copy_");
  Tensor g = v.grad();
  if (v.needs(0)) {
    Tensor rest = clone(g);
    copy.run(part(rest), zeros(Dims(), g.dtype(), g.device()));
    v.set(0, rest);
  }
  if (v.needs(1)) v.set(1, part(g));
}

Tensor select_scatter_op(const Tensor& input, const Tensor& src, int64_t dim, int64_t index) {
  return with_part(input, src, "select_scatter", [&](const Tensor& t) { return select(t, dim, index); });
}
Tensor slice_scatter_op(const Tensor& input, const Tensor& src, int64_t dim, std::optional<int64_t> start,
                        std::optional<int64_t> end, int64_t step) {
  return with_part(input, src, "slice_scatter", [&](const Tensor& t) { return slice_of(t, dim, start, end, step); });
}
Tensor diagonal_scatter_op(const Tensor& input, const Tensor& src, int64_t offset, int64_t dim1, int64_t dim2) {
  return with_part(input, src, "diagonal_scatter", [&](const Tensor& t) { return diagonal_of(t, offset, dim1, dim2); });
}
Tensor as_strided_scatter_op(const Tensor& input, const Tensor& src, IntList size, IntList stride,
                             std::optional<int64_t> offset) {
  // Strides and offset speak of the input's memory, so the copy keeps its geometry.
  FL_CHECK(equal(size, src.sizes()),
           "as_strided_scatter: expected src to have a size equal to that of the part it replaces, ", shape_text(size),
           ", but got ", shape_text(src.sizes()));
  Tensor in = input.offset() == 0 && is_dense(input) ? input : raw_contiguous(input);
  Tensor out = empty_strided(in.sizes(), in.strides(), in.dtype(), in.device());
  raw_copy(out, in);
  Tensor to = as_strided_of(out, size, stride, offset.value_or(0));
  check_writable(to, "as_strided_scatter");
  raw_copy(to, src);
  return out;
}

const Declare ops([] {
  Define("select_scatter(Tensor input, Tensor src, int dim, int index) -> Tensor")
      .kernel<select_scatter_op>()
      .out()
      .vjp("", [](Vjp& v) { parts_back(v, [&](const Tensor& t) { return select(t, v.integer(2), v.integer(3)); }); })
      .doc("A copy of input with src in the place of one index along dim.");
  Define("slice_scatter(Tensor input, Tensor src, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor")
      .kernel<slice_scatter_op>()
      .out()
      .vjp("",
           [](Vjp& v) {
             parts_back(v,
                        [&](const Tensor& t) { return slice_of(t, v.value(2), v.value(3), v.value(4), v.value(5)); });
           })
      .doc("A copy of input with src in the place of a slice along dim.");
  Define("diagonal_scatter(Tensor input, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor")
      .kernel<diagonal_scatter_op>()
      .out()
      .vjp("",
           [](Vjp& v) {
             parts_back(v, [&](const Tensor& t) { return diagonal_of(t, v.value(2), v.value(3), v.value(4)); });
           })
      .doc("A copy of input with src on a diagonal of two dimensions.");
  Define("as_strided_scatter(Tensor input, Tensor src, int[] size, int[] stride, int? storage_offset=None) -> Tensor")
      .kernel<as_strided_scatter_op>()
      .out()
      .vjp("",
           [](Vjp& v) {
             // The gradient's memory need not be laid out as the input's was.
             Tensor g = contiguous(v.grad());
             static const Op copy("copy_");
             if (v.needs(0)) {
               Tensor rest = clone(g);
               copy.run(as_strided_of(rest, v.value(2), v.value(3), v.is_none(4) ? int64_t(0) : v.integer(4)),
                        zeros(Dims(), g.dtype(), g.device()));
               v.set(0, rest);
             }
             if (v.needs(1))
               v.set(1, as_strided_of(g, v.value(2), v.value(3), v.is_none(4) ? int64_t(0) : v.integer(4)));
           })
      .doc("A copy of input with src in the place of a strided part of its memory.");
});

}  // namespace
}  // namespace fl
