// Whole slices along one dimension: index_select, index_add, index_copy, index_fill and index_reduce.
#include <algorithm>

#include "autograd/record.h"
#include "ops/api.h"
#include "ops/indexing/places.h"

namespace fl {
namespace {

const Op select_of("index_select"), add_of("index_add"), fill_of("index_fill.int_Scalar");

// The slices that `index` names along `dim`, and the tensor that keeps their offsets.
Places slices(const Tensor& self, int64_t dim, const Tensor& positions, Tensor* offsets) {
  Places p;
  for (int64_t d = 0; d < dim; d++) p.add_before(self, d);
  for (int64_t d = dim + 1; d < self.dim(); d++) p.add_after(self, d);
  int64_t stride = self.dim() ? self->strides[dim] : 1;
  *offsets = positions;
  if (stride != 1) {
    *offsets = empty(positions.sizes(), DType::Int64);
    const int64_t* from = positions.data<int64_t>();
    int64_t* to = offsets->data<int64_t>();
    for (int64_t i = 0; i < positions.numel(); i++) to[i] = from[i] * stride;
  }
  p.data = self.bytes();
  p.dtype = self.dtype();
  p.offsets = offsets->data<int64_t>();
  p.count = positions.numel();
  return p;
}

Tensor index_select_op(const Tensor& input, int64_t dim, const Tensor& index) {
  FL_CHECK(index.dim() <= 1, ErrorKind::Index, "index_select(): index is supposed to be a vector, got sizes ",
           shape_text(index.sizes()));
  FL_CHECK(index.dtype() == DType::Int64 || index.dtype() == DType::Int32,
           "index_select(): expected dtype int32 or int64 for index, got ", info(index.dtype()).name);
  int64_t d = wrap_dim(dim, input.dim(), "index_select");
  FL_CHECK(input.dim() > 0 || index.numel() == 1, "index_select(): index to a 0-dim tensor can have only 1 value, got ",
           index.numel());
  Dims sizes(input.sizes());
  if (input.dim()) sizes[d] = index.numel();
  Tensor positions =
      checked_positions(index, input.dim() ? input->sizes[d] : 1, d, "index_select: ", false, ErrorKind::Index);
  Tensor out = empty(sizes, input.dtype(), input.device()), offsets;
  if (out.is_meta()) return out;
  read_places(slices(input, d, positions, &offsets), out.bytes());
  return out;
}

// What index_add, index_copy and index_reduce ask of their arguments; returns the wrapped dim.
int64_t check_source(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const char* op,
                     bool copy) {
  FL_CHECK(index.dim() <= 1, ErrorKind::Index, op, ": index should have dimension 1 or 0 (got ", index.dim(), ")");
  FL_CHECK(index.dtype() == DType::Int64 || (index.dtype() == DType::Int32 && !copy), op,
           ": expected dtype int64 for index, got ", info(index.dtype()).name);
  FL_CHECK(self.dtype() == source.dtype(), op, ": self (", info(self.dtype()).name, ") and source (",
           info(source.dtype()).name, ") must have the same dtype");
  int64_t d = wrap_dim(dim, self.dim(), op);
  ErrorKind kind = copy ? ErrorKind::Index : ErrorKind::Runtime;
  if (copy && source.dim() == 0)
    FL_CHECK(index.numel() == 1, kind, op, ": when source is a scalar, index should have one element, got ",
             index.numel());
  if (copy && source.dim() && self.dim())
    FL_CHECK(source.dim() == self.dim(), kind, op,
             ": when source and destination are not scalars, their dimensionality must match: source has ",
             source.dim(), ", destination ", self.dim());
  int64_t given = source.dim() ? source->sizes[wrap_dim(dim, source.dim(), op)] : 1;
  bool same = source.dim() == self.dim() || (self.dim() <= 1 && source.dim() <= 1);
  for (int64_t k = 0; same && k < self.dim() && k < source.dim(); k++)
    same = k == d || self->sizes[k] == source->sizes[k];
  FL_CHECK(same || (copy && source.numel() == 1 && source.dim() == 0), op, ": the sizes of source ",
           shape_text(source.sizes()), " must be those of the destination ", shape_text(self.sizes()),
           " apart from dimension ", d);
  FL_CHECK(index.numel() == given, kind, op, ": number of indices (", index.numel(),
           ") should be equal to the size of source in dimension ", d, " (", given, ")");
  return d;
}

void write_slices(const Tensor& self, int64_t dim, const Tensor& positions, const Tensor& source, Combine how) {
  if (self.is_meta() || self.numel() == 0) return;
  Tensor dense = source;
  if (!source.is_contiguous() || overlap(self, source) != Overlap::None) {
    dense = empty(source.sizes(), source.dtype());
    raw_copy(dense, source);
  }
  Tensor offsets;
  bool single = source.dim() == 0 && source.numel() == 1;
  alignas(16) char one[16];
  if (single) std::memcpy(one, dense.bytes(), dense.item_size());
  write_places(slices(self, dim, positions, &offsets), single ? one : dense.bytes(), single, how);
}

int64_t extent(const Tensor& self, int64_t dim) { return self.dim() ? self->sizes[dim] : 1; }

Tensor index_add_op(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha) {
  int64_t d = check_source(self, dim, index, source, "index_add_", false);
  Tensor positions = checked_positions(index, extent(self, d), d, "index_add_: ", false, ErrorKind::Runtime);
  write_slices(self, d, positions, alpha.equals(1) ? source : source * alpha, Combine::Add);
  return self;
}

Tensor index_copy_op(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  int64_t d = check_source(self, dim, index, source, "index_copy_", true);
  Tensor positions = checked_positions(index, extent(self, d), d, "index_copy_: ", false, ErrorKind::Index);
  write_slices(self, d, positions, source, Combine::Assign);
  return self;
}

Tensor fill_slices(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value) {
  FL_CHECK(index.dtype() == DType::Int64, ErrorKind::Index, "index_fill_: expected dtype int64 for index, got ",
           info(index.dtype()).name);
  FL_CHECK(index.dim() <= 1, ErrorKind::Index, "index_fill_: index should have dimension 1 or 0 (got ", index.dim(),
           ")");
  int64_t d = wrap_dim(dim, self.dim(), "index_fill_");
  Tensor positions = checked_positions(index, extent(self, d), d, "index_fill_: ", true, ErrorKind::Index);
  write_slices(self, d, positions, value, Combine::Assign);
  return self;
}
Tensor index_fill_scalar(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  FL_CHECK(!value.is_complex() || self.is_complex(), "index_fill_: converting a complex value to the real type ",
           info(self.dtype()).name, " is not supported");
  return fill_slices(self, dim, index, scalar_tensor(value, self.dtype()));
}
Tensor index_fill_tensor(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value) {
  FL_CHECK(value.dim() == 0, "index_fill_: only supports a 0-dimensional value tensor, but got tensor with ",
           value.dim(), " dimension(s).");
  FL_CHECK(!value.is_complex() || self.is_complex(), "index_fill_: converting a complex value to the real type ",
           info(self.dtype()).name, " is not supported");
  Tensor same = empty(Dims(), self.dtype(), self.device());
  raw_copy(same, value);
  return fill_slices(self, dim, index, same);
}

// The positions in index, each once.
Tensor distinct(const Tensor& index, int64_t size) {
  Tensor positions = checked_positions(index, size, 0, "", true, ErrorKind::Index);
  if (positions.is_meta()) return positions;
  const int64_t* p = positions.data<int64_t>();
  std::vector<int64_t> sorted(p, p + positions.numel());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  Tensor out = empty(Dims{static_cast<int64_t>(sorted.size())}, DType::Int64);
  std::copy(sorted.begin(), sorted.end(), out.data<int64_t>());
  return out;
}

Tensor zeros_of(const Tensor& g, IntList sizes) { return zeros(sizes, g.dtype(), g.device()); }

const Declare ops([] {
  Define("index_select(Tensor input, int dim, Tensor index) -> Tensor")
      .kernel<index_select_op>()
      .out()
      .vjp("index",
           [](Vjp& v) {
             if (!v.needs(0)) return;
             Tensor whole = zeros_of(v.grad(), v.sizes(0));
             add_of.in_place(whole, v.integer(1), v.input(2), v.grad());
             v.set(0, whole);
           })
      .doc("The slices of input along dim at the positions in index. Raises IndexError for positions outside.");
  Define("index_add(Tensor input, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor")
      .in_place_kernel<index_add_op>()
      .out()
      .vjp("index",
           [](Vjp& v) {
             Tensor g = v.grad();
             if (v.needs(0)) v.set(0, g);
             if (v.needs(3)) {
               Tensor taken = select_of(g, v.integer(1), v.input(2));
               if (!v.scalar(4).equals(1)) taken = taken * v.scalar(4);
               v.set(3, equal(taken.sizes(), v.sizes(3)) ? taken : reshape(taken, v.sizes(3)));
             }
           })
      .doc(
          "Adds alpha times the slices of source to the slices of input that index names along dim, also where a "
          "position repeats.");
  Define("index_copy(Tensor input, int dim, Tensor index, Tensor source) -> Tensor")
      .in_place_kernel<index_copy_op>()
      .out()
      .vjp("index",
           [](Vjp& v) {
             Tensor g = v.grad();
             if (v.needs(0)) v.set(0, fill_of(g, v.integer(1), v.input(2), Scalar(0)));
             if (v.needs(3)) {
               Tensor taken = select_of(g, v.integer(1), v.input(2));
               v.set(3, equal(taken.sizes(), v.sizes(3)) ? taken : reshape(taken, v.sizes(3)));
             }
           })
      .doc("Copies the slices of source to the positions along dim that index names.");
  Define("index_fill.int_Tensor(Tensor input, int dim, Tensor index, Tensor value) -> Tensor")
      .in_place_kernel<index_fill_tensor>()
      .vjp("index",
           [](Vjp& v) {
             Tensor g = v.grad();
             if (v.needs(0)) v.set(0, fill_of(g, v.integer(1), v.input(2), Scalar(0)));
             if (v.needs(3))
               v.set(3, sum(select_of(g, v.integer(1), distinct(v.input(2), g.dim() ? g.size(v.integer(1)) : 1))));
           })
      .doc("Fills the slices along dim that index names with a value.");
  Define("index_fill.int_Scalar(Tensor input, int dim, Tensor index, Scalar value) -> Tensor")
      .in_place_kernel<index_fill_scalar>()
      .vjp("index", [](Vjp& v) {
        if (v.needs(0)) v.set(0, fill_of(v.grad(), v.integer(1), v.input(2), Scalar(0)));
      });
});

}  // namespace
}  // namespace fl
