// Other shapes of the same elements, made of the basic views.
#include "autograd/record.h"
#include "ops/api.h"
#include "tensor/view.h"

namespace fl {
namespace {

const Op alias_of("alias");

Tensor flatten_op(const Tensor& input, int64_t start_dim, int64_t end_dim) {
  int64_t a = wrap_dim(start_dim, input.dim(), "flatten"), b = wrap_dim(end_dim, input.dim(), "flatten");
  FL_CHECK(a <= b, "flatten() has invalid args: start_dim (", start_dim, ") cannot come after end_dim (", end_dim, ")");
  if (input.dim() == 0) return reshape(input, Dims{1});
  if (a == b) return input;
  Dims sizes;
  int64_t flat = 1;
  for (int64_t d = a; d <= b; d++) flat *= input->sizes[d];
  for (int64_t d = 0; d < a; d++) sizes.push_back(input->sizes[d]);
  sizes.push_back(flat);
  for (int64_t d = b + 1; d < input.dim(); d++) sizes.push_back(input->sizes[d]);
  return reshape(input, sizes);
}
Tensor ravel_op(const Tensor& input) { return reshape(contiguous(input), Dims{-1}); }
Tensor unflatten_op(const Tensor& input, int64_t dim, IntList sizes) {
  int64_t d = wrap_dim(dim, input.dim(), "unflatten");
  FL_CHECK(!sizes.empty(), "unflatten: sizes must be non-empty");
  FL_CHECK(input.dim() > 0, ErrorKind::Index, "unflatten: dimension ", dim, " of a tensor that has no dimensions");
  Dims parts = infer_sizes(sizes, input->sizes[d], "unflatten"), shape;
  for (int64_t k = 0; k < d; k++) shape.push_back(input->sizes[k]);
  for (int64_t s : parts) shape.push_back(s);
  for (int64_t k = d + 1; k < input.dim(); k++) shape.push_back(input->sizes[k]);
  return view(input, shape);
}
Tensor view_as_op(const Tensor& input, const Tensor& other) { return view(input, other.sizes()); }
Tensor reshape_as_op(const Tensor& input, const Tensor& other) { return reshape(input, other.sizes()); }
Tensor expand_as_op(const Tensor& input, const Tensor& other) { return expand(input, other.sizes()); }
Tensor broadcast_to_op(const Tensor& input, IntList size) { return expand(input, size); }

Tensor movedim_list(const Tensor& input, IntList source, IntList destination) {
  FL_CHECK(source.size() == destination.size(), "movedim: Invalid source or destination dims: source (",
           shape_text(source), ") should contain the same number of dims as destination (", shape_text(destination),
           ")");
  Dims from = wrap_dims(source, input.dim(), "movedim"), to = wrap_dims(destination, input.dim(), "movedim");
  if (input.dim() == 0) return alias_of(input);
  Dims order(input.dim(), -1);
  uint64_t moved = 0;
  for (size_t i = 0; i < from.size(); i++) {
    order[to[i]] = from[i];
    moved |= uint64_t(1) << from[i];
  }
  int64_t next = 0;
  for (int64_t& d : order) {
    if (d >= 0) continue;
    while (moved >> next & 1) next++;
    d = next++;
  }
  return permute(input, order);
}
Tensor movedim_int(const Tensor& input, int64_t source, int64_t destination) {
  return movedim_list(input, IntList(&source, 1), IntList(&destination, 1));
}
Tensor swap_op(const Tensor& input, int64_t a, int64_t b) { return transpose(input, a, b); }
Tensor adjoint_op(const Tensor& input) {
  if (input.dim() == 0) return conj(input);
  FL_CHECK(input.dim() != 1, "tensor.adjoint() is only supported on matrices or batches of matrices, got ", input.dim(),
           " dimensions");
  return conj(transpose(input, -2, -1));
}
Tensor sum_to_size_op(const Tensor& input, IntList size) {
  bool fits = static_cast<int64_t>(size.size()) <= input.dim();
  for (size_t d = 0; fits && d < size.size(); d++) {
    int64_t have = input->sizes[input.dim() - static_cast<int64_t>(size.size()) + static_cast<int64_t>(d)];
    fits = size[d] == 1 || size[d] == have;
  }
  FL_CHECK(fits, "sum_to_size: size ", shape_text(size), " is not expandable to size ", shape_text(input.sizes()));
  return size.empty() ? sum(input) : sum_to_size(input, size);
}
Tensor unfold_backward_op(const Tensor& grad, IntList sizes, int64_t dim, int64_t size, int64_t step) {
  int64_t d = wrap_dim(dim, static_cast<int64_t>(sizes.size()), "unfold_backward");
  Tensor whole = zeros(sizes, grad.dtype(), grad.device());
  // One pass for each position in a window: within a pass no two windows meet.
  for (int64_t k = 0; k < size; k++) {
    Dims part(sizes), strides(whole.strides());
    if (!sizes.empty()) {
      part[d] = grad->sizes[d];
      strides[d] *= step;
    }
    Tensor to = make_view(whole, part, strides, sizes.empty() ? 0 : k * whole->strides[d]);
    static const Op add("add");
    add.in_place(to, select(grad, -1, k));
  }
  return whole;
}

const Declare ops([] {
  Define("flatten(Tensor input, int start_dim=0, int end_dim=-1) -> Tensor")
      .composite<flatten_op>()
      .doc("The dimensions from start_dim to end_dim as one; a view where strides allow it, else a copy.");
  Define("ravel(Tensor input) -> Tensor")
      .composite<ravel_op>()
      .doc("All elements as one dimension; a view where strides allow it.");
  Define("unflatten(Tensor input, int dim, int[] sizes) -> Tensor")
      .composite<unflatten_op>()
      .doc("One dimension as several, whose sizes multiply to its size; one of them may be -1.");
  Define("Tensor.view_as(Tensor input, Tensor other) -> Tensor")
      .composite<view_as_op>()
      .doc("view with the sizes of other.");
  Define("Tensor.reshape_as(Tensor input, Tensor other) -> Tensor")
      .composite<reshape_as_op>()
      .doc("reshape to the sizes of other.");
  Define("Tensor.expand_as(Tensor input, Tensor other) -> Tensor")
      .composite<expand_as_op>()
      .doc("expand to the sizes of other.");
  Define("broadcast_to(Tensor input, int[] size) -> Tensor")
      .composite<broadcast_to_op>()
      .doc("A view with dimensions of size one repeated, without copying.");
  Define("movedim.int(Tensor input, int source, int destination) -> Tensor")
      .composite<movedim_int>()
      .doc("A view with dimensions moved to other places; the rest keep their order.");
  Define("movedim(Tensor input, int[] source, int[] destination) -> Tensor").composite<movedim_list>();
  Define("moveaxis.int(Tensor input, int source, int destination) -> Tensor")
      .composite<movedim_int>()
      .doc("The same as movedim.");
  Define("moveaxis(Tensor input, int[] source, int[] destination) -> Tensor").composite<movedim_list>();
  Define("swapaxes(Tensor input, int axis0, int axis1) -> Tensor").composite<swap_op>().doc("The same as transpose.");
  Define("swapdims(Tensor input, int dim0, int dim1) -> Tensor").composite<swap_op>().doc("The same as transpose.");
  Define("adjoint(Tensor input) -> Tensor")
      .composite<adjoint_op>()
      .doc("The last two dimensions swapped and conjugated.");
  Define("Tensor.sum_to_size(Tensor input, int[] size) -> Tensor")
      .composite<sum_to_size_op>()
      .doc("Sums the dimensions that size has as one or lacks: the reverse of broadcasting.");
  Define("_C.unfold_backward(Tensor grad, int[] input_sizes, int dim, int size, int step) -> Tensor")
      .kernel<unfold_backward_op>()
      .vjp("", [](Vjp& v) {
        static const Op unfold("unfold");
        if (v.needs(0)) v.set(0, unfold(v.grad(), v.value(2), v.value(3), v.value(4)));
      });
});

}  // namespace
}  // namespace fl
