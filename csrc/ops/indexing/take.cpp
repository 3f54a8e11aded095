// take and put: positions in the flattened tensor.
#include "autograd/record.h"
#include "ops/api.h"
#include "ops/indexing/places.h"

namespace fl {
namespace {

// Positions in the flattened tensor as offsets in its memory.
Tensor flat_offsets(const Tensor& self, const Tensor& index, const char* op) {
  FL_CHECK(index.dtype() == DType::Int64, op, "(): Expected a long tensor for index, but got ",
           info(index.dtype()).name);
  FL_CHECK(self.numel() > 0 || index.numel() == 0, ErrorKind::Index, op, "(): tried to ", op,
           " elements of an empty tensor");
  Tensor dense = raw_contiguous(index);
  if (index.is_meta()) return dense;
  Tensor out = empty(index.sizes(), DType::Int64);
  const int64_t* p = dense.data<int64_t>();
  int64_t* q = out.data<int64_t>();
  int64_t n = self.numel();
  for (int64_t i = 0; i < index.numel(); i++) {
    FL_CHECK(p[i] >= -n && p[i] < n, ErrorKind::Index, "out of range: tried to access index ", p[i], " on a tensor of ",
             n, " elements");
    q[i] = p[i] < 0 ? p[i] + n : p[i];
  }
  if (self.is_contiguous()) return out;
  for (int64_t i = 0; i < index.numel(); i++) {
    int64_t rest = q[i], at = 0;
    for (int64_t d = self.dim(); d-- > 0;) {
      at += rest % self->sizes[d] * self->strides[d];
      rest /= self->sizes[d];
    }
    q[i] = at;
  }
  return out;
}

Places flat_places(const Tensor& self, const Tensor& offsets) {
  Places p;
  p.data = self.bytes();
  p.dtype = self.dtype();
  p.offsets = offsets.data<int64_t>();
  p.count = offsets.numel();
  return p;
}

Tensor take_op(const Tensor& input, const Tensor& index) {
  Tensor offsets = flat_offsets(input, index, "take");
  Tensor out = empty(index.sizes(), input.dtype(), input.device());
  if (!out.is_meta()) read_places(flat_places(input, offsets), out.bytes());
  return out;
}

Tensor put_op(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
  FL_CHECK(self.dtype() == source.dtype(),
           "put_(): self and source expected to have the same dtype, but got self.dtype = ", info(self.dtype()).name,
           " and source.dtype = ", info(source.dtype()).name);
  FL_CHECK(index.dtype() == DType::Int64, "put_(): Expected a long tensor for index, but got ",
           info(index.dtype()).name);
  FL_CHECK(source.numel() == index.numel(),
           "put_(): Expected source and index to have the same number of elements, but got source.numel() = ",
           source.numel(), ", index.numel() = ", index.numel());
  Tensor offsets = flat_offsets(self, index, "put_");
  if (self.is_meta() || index.numel() == 0) return self;
  Tensor values = overlap(self, source) == Overlap::None ? raw_contiguous(source) : raw_clone(raw_contiguous(source));
  write_places(flat_places(self, offsets), values.bytes(), false, accumulate ? Combine::Add : Combine::Assign);
  return self;
}

const Op take_of("take"), put_of("put"), gather("gather");

// Negative positions counted from the end; bounds are left to the op that uses them.
Tensor from_the_end(const Tensor& index, int64_t size) {
  if (index.is_meta()) return index;
  Tensor dense = raw_contiguous(index);
  const int64_t* p = dense.data<int64_t>();
  int64_t low = 0;
  for (int64_t i = 0; i < dense.numel(); i++) low = std::min(low, p[i]);
  if (low >= 0) return index;
  Tensor out = empty(index.sizes(), DType::Int64);
  for (int64_t i = 0; i < dense.numel(); i++) out.data<int64_t>()[i] = p[i] < 0 ? p[i] + size : p[i];
  return out;
}

Tensor take_along_dim_op(const Tensor& input, const Tensor& indices, std::optional<int64_t> dim) {
  FL_CHECK(indices.dtype() == DType::Int64, "take_along_dim(): dtype of indices should be Long but got ",
           info(indices.dtype()).name);
  if (!dim)
    return gather(reshape(input, Dims{-1}), int64_t(0), from_the_end(reshape(indices, Dims{-1}), input.numel()));
  FL_CHECK(input.dim() == indices.dim(),
           "take_along_dim(): input and indices should have the same number of dimensions, but got ", input.dim(),
           " dimensions for input, and ", indices.dim(), " dimensions for indices");
  int64_t d = wrap_dim(*dim, input.dim(), "take_along_dim");
  Dims a(input.sizes()), b(indices.sizes());
  Tensor positions = from_the_end(indices, input.dim() ? input->sizes[d] : 1);
  if (input.dim() == 0) return gather(input, d, positions);
  int64_t size = a[d], count = b[d];
  a[d] = b[d] = 1;
  Dims together = broadcast(a, b, "take_along_dim");
  a = b = together;
  a[d] = size;
  b[d] = count;
  return gather(expand(input, a), d, expand(positions, b));
}

const Declare ops([] {
  Define("take(Tensor input, Tensor index) -> Tensor")
      .kernel<take_op>()
      .out_apart()
      .vjp("index",
           [](Vjp& v) {
             if (!v.needs(0)) return;
             Tensor g = v.grad(), whole = zeros(v.sizes(0), g.dtype(), g.device());
             put_of.in_place(whole, v.input(1), g, true);
             v.set(0, whole);
           })
      .doc(
          "The elements at positions in the flattened input, in the shape of index. Raises IndexError for positions "
          "outside.");
  Define("put(Tensor input, Tensor index, Tensor source, bool accumulate=False) -> Tensor")
      .in_place_kernel<put_op>()
      .vjp("index",
           [](Vjp& v) {
             Tensor g = v.grad(), index = v.input(1);
             if (v.needs(0))
               v.set(0, v.flag(3) ? g : put_of(g, index, zeros(index.sizes(), g.dtype(), g.device()), false));
             if (v.needs(2)) v.set(2, reshape(take_of(g, index), v.sizes(2)));
           })
      .doc("Writes source to positions in the flattened input; with accumulate it adds.");
  Define("take_along_dim(Tensor input, Tensor indices, int? dim=None) -> Tensor")
      .composite<take_along_dim_op>()
      .out()
      .doc("Takes along dim at indices; input and indices broadcast. Without dim both are flattened.");
});

}  // namespace
}  // namespace fl
