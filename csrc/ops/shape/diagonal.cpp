// Triangles and diagonals of matrices.
#include "autograd/record.h"
#include "base/threads.h"
#include "ops/api.h"
#include "ops/indexing/walk.h"
#include "tensor/view.h"

namespace fl {
namespace {

// Zeroes what lies on the other side of a diagonal, in place.
template <bool upper>
void keep_triangle(const Tensor& t, int64_t diagonal) {
  if (t.is_meta() || t.numel() == 0) return;
  int64_t rows = t->sizes[t.dim() - 2], columns = t->sizes[t.dim() - 1], row_stride = t->strides[t.dim() - 2],
          step = t->strides[t.dim() - 1];
  Walk<1> matrices;
  matrices.add(1, {0});
  for (int64_t d = 0; d < t.dim() - 2; d++) matrices.add(t->sizes[d], {t->strides[d]});
  // The innermost dimension of the walk must not be a line of matrices: it is one place each.
  int64_t count = matrices.numel(), line = matrices.line(), line_step = matrices.step(0);
  diagonal = std::clamp(diagonal, -rows, columns);
  visit_size(t.item_size(), [&]<class T>() {
    T* data = reinterpret_cast<T*>(t.bytes());
    parallel_for(0, count, std::max<int64_t>(1, 32768 / (rows * columns)), [&](int64_t a, int64_t b) {
      for (int64_t m = a; m < b; m++) {
        T* matrix = nullptr;
        matrices.run(m / line, m / line + 1,
                     [&](const Walk<1>::Offsets& at) { matrix = data + at[0] + m % line * line_step; });
        for (int64_t i = 0; i < rows; i++) {
          int64_t edge = std::clamp<int64_t>(i + diagonal + (upper ? 0 : 1), 0, columns);
          int64_t first = upper ? 0 : edge, last = upper ? edge : columns;
          T* row = matrix + i * row_stride;
          if (step == 1) {
            if (last > first) std::memset(row + first, 0, (last - first) * sizeof(T));
          } else {
            for (int64_t j = first; j < last; j++) row[j * step] = T{};
          }
        }
      }
    });
  });
}

template <bool upper>
Tensor triangle_op(const Tensor& self, int64_t diagonal) {
  FL_CHECK(self.dim() >= 2, upper ? "triu" : "tril", ": input tensor must have at least 2 dimensions, got ",
           self.dim());
  keep_triangle<upper>(self, diagonal);
  return self;
}

int64_t distinct_dims(int64_t& dim1, int64_t& dim2, int64_t ndim) {
  int64_t given1 = dim1, given2 = dim2;
  dim1 = wrap_dim(dim1, ndim, "diag_embed");
  dim2 = wrap_dim(dim2, ndim, "diag_embed");
  FL_CHECK(dim1 != dim2, "diag_embed: diagonal dimensions cannot be identical ", given1, ", ", given2);
  return ndim;
}
Tensor diag_embed_op(const Tensor& input, int64_t offset, int64_t dim1, int64_t dim2) {
  int64_t n = distinct_dims(dim1, dim2, input.dim() + 1);
  FL_CHECK(input.dim() > 0, ErrorKind::Index, "diag_embed: the input must have a dimension");
  int64_t length = input->sizes[input.dim() - 1], side = length + std::abs(offset);
  Dims sizes;
  int64_t next = 0;
  for (int64_t d = 0; d < n; d++) sizes.push_back(d == dim1 || d == dim2 ? side : input->sizes[next++]);
  Tensor out = zeros(sizes, input.dtype(), input.device());
  static const Op diagonal("diagonal");
  raw_copy(diagonal(out, offset, dim1, dim2), input);
  return out;
}

const Op embed("diag_embed"), diagonal_of("diagonal"), clone_of("clone"), tril_of("tril"), triu_of("triu");

Tensor diag_op(const Tensor& input, int64_t diagonal) {
  FL_CHECK(input.dim() == 1 || input.dim() == 2, "diag(): supports 1D or 2D tensors. Got ", input.dim(), "D");
  return input.dim() == 1 ? embed(input, diagonal) : clone_of(diagonal_of(input, diagonal), MemoryFormat::Contiguous);
}
Tensor diagflat_op(const Tensor& input, int64_t offset) { return embed(reshape(input, Dims{-1}), offset); }
Tensor trace_op(const Tensor& input) {
  FL_CHECK(input.dim() == 2, "trace: expected a matrix, but got tensor with dim ", input.dim());
  return sum(diagonal_of(input));
}
Tensor kron_op(const Tensor& input, const Tensor& other) {
  int64_t n = std::max(input.dim(), other.dim());
  Dims a, b, sizes;
  for (int64_t d = 0; d < n; d++) {
    int64_t i = d - (n - input.dim()), j = d - (n - other.dim());
    int64_t p = i < 0 ? 1 : input->sizes[i], q = j < 0 ? 1 : other->sizes[j];
    a.push_back(p);
    a.push_back(1);
    b.push_back(1);
    b.push_back(q);
    sizes.push_back(p * q);
  }
  return reshape(reshape(input, a) * reshape(other, b), sizes);
}

const Declare ops([] {
  Define("tril(Tensor input, int diagonal=0) -> Tensor")
      .in_place_kernel<triangle_op<false>>()
      .out()
      .vjp("",
           [](Vjp& v) {
             if (v.needs(0)) v.set(0, tril_of(v.grad(), v.integer(1)));
           })
      .doc("Matrices with zeros above a diagonal: 0 is the main one, positive ones lie above it.");
  Define("triu(Tensor input, int diagonal=0) -> Tensor")
      .in_place_kernel<triangle_op<true>>()
      .out()
      .vjp("",
           [](Vjp& v) {
             if (v.needs(0)) v.set(0, triu_of(v.grad(), v.integer(1)));
           })
      .doc("Matrices with zeros below a diagonal: 0 is the main one, positive ones lie above it.");
  Define("diag_embed(Tensor input, int offset=0, int dim1=-2, int dim2=-1) -> Tensor")
      .kernel<diag_embed_op>()
      .vjp("",
           [](Vjp& v) {
             if (v.needs(0)) v.set(0, diagonal_of(v.grad(), v.integer(1), v.integer(2), v.integer(3)));
           })
      .doc("Matrices with the last dimension of input on a diagonal and zeros elsewhere.");
  Define("diag(Tensor input, int diagonal=0) -> Tensor")
      .composite<diag_op>()
      .out()
      .doc("A matrix with a vector on its diagonal, or the diagonal of a matrix.");
  Define("diagflat(Tensor input, int offset=0) -> Tensor")
      .composite<diagflat_op>()
      .doc("A matrix with all elements of input on its diagonal.");
  Define("trace(Tensor input) -> Tensor").composite<trace_op>().doc("The sum of the diagonal of a matrix.");
  Define("kron(Tensor input, Tensor other) -> Tensor")
      .composite<kron_op>()
      .out()
      .doc("The Kronecker product: every element of input times all of other.");
});

}  // namespace
}  // namespace fl
