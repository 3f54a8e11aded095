// scatter, scatter_add and scatter_reduce.
#include "autograd/record.h"
#include "ops/api.h"
#include "ops/indexing/gather.h"
#include "ops/indexing/kernels.h"
#include "ops/indexing/places.h"
#include "tile/program.h"

namespace fl {
namespace {

void check_scatter(const Tensor& self, int64_t d, const Tensor& index, const Tensor* source, const char* op) {
  if (source)
    FL_CHECK(self.dtype() == source->dtype(), op, "(): expected self.dtype to be equal to src.dtype, got ",
             info(self.dtype()).name, " and ", info(source->dtype()).name);
  if (index.numel() == 0) return;
  auto dims = [](const Tensor& t) { return std::max<int64_t>(t.dim(), 1); };
  FL_CHECK(dims(self) == dims(index), op, ": index must have as many dimensions as self, got ", index.dim(), " and ",
           self.dim());
  FL_CHECK(!source || dims(self) == dims(*source), op, ": index must have as many dimensions as src, got ", index.dim(),
           " and ", source ? source->dim() : 0);
  for (int64_t k = 0; k < dims(self); k++) {
    auto size = [&](const Tensor& t) { return t.dim() ? t->sizes[k] : 1; };
    FL_CHECK((k == d || size(index) <= size(self)) && (!source || size(index) <= size(*source)), op,
             ": expected index ", shape_text(index.sizes()), " to be no larger than self ", shape_text(self.sizes()),
             " apart from dimension ", d, source ? " and to be no larger than src " : "",
             source ? shape_text(source->sizes()) : "");
  }
}

// Source strides of zero spread one value.
void scatter_into(const Tensor& self, int64_t d, const Tensor& index, const char* source, IntList source_strides,
                  Combine how) {
  int64_t along = self.dim() ? self->strides[d] : 1, bytes = self.item_size();
  int type = static_cast<int>(self.dtype());
  auto scatter = how == Combine::Assign ? index_kernels.scatter[size_index(bytes)]
                                        : index_kernels.scatter_combine[static_cast<int>(how)][type];
  // Elements that may meet at one place differ only along dim: chunks are cut along the largest other dimension.
  int64_t cut = -1;
  for (int64_t k = 0; k < index.dim(); k++)
    if (k != d && (cut < 0 || index->sizes[k] > index->sizes[cut])) cut = k;
  int64_t size = cut < 0 ? 1 : index->sizes[cut];
  parallel_for(0, size, std::max<int64_t>(1, 32768 * size / index.numel()), [&](int64_t a, int64_t b) {
    Walk<3> walk;
    for (int64_t k = 0; k < index.dim(); k++)
      walk.add(k == cut ? b - a : index->sizes[k],
               {k == d || !self.dim() ? 0 : self->strides[k], index->strides[k], source_strides[k]});
    char* x = self.bytes() + (cut < 0 ? 0 : a * self->strides[cut] * bytes);
    const int64_t* p = index.data<int64_t>() + (cut < 0 ? 0 : a * index->strides[cut]);
    const char* s = source + (cut < 0 ? 0 : a * source_strides[cut] * bytes);
    walk.run(0, walk.lines(), [&](const Walk<3>::Offsets& at) {
      scatter(x + at[0] * bytes, p + at[1], along, walk.step(0), s + at[2] * bytes, walk.step(2), walk.line());
    });
  });
}

}  // namespace

Tensor scatter_tensor(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, Combine how,
                      const char* op) {
  int64_t d = wrap_dim(dim, self.dim(), op);
  Tensor positions = element_index(index, op);
  check_scatter(self, d, index, &source, op);
  if (index.numel() == 0 || self.is_meta()) return self;
  positions = checked_positions(positions, self.dim() ? self->sizes[d] : 1, d, "", false, ErrorKind::Runtime);
  if (overlap(self, positions) != Overlap::None) positions = raw_clone(positions);
  Tensor values = overlap(self, source) == Overlap::None ? source : raw_clone(source);
  Dims strides(values.sizes().size() ? values.strides() : IntList(Dims{1}));
  scatter_into(self, d, positions, values.bytes(), strides, how);
  return self;
}

Tensor scatter_value(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value, Combine how,
                     const char* op) {
  int64_t d = wrap_dim(dim, self.dim(), op);
  Tensor positions = element_index(index, op);
  check_scatter(self, d, index, nullptr, op);
  Tensor one = scalar_tensor(value, self.dtype());
  if (index.numel() == 0 || self.is_meta()) return self;
  positions = checked_positions(positions, self.dim() ? self->sizes[d] : 1, d, "", false, ErrorKind::Runtime);
  if (overlap(self, positions) != Overlap::None) positions = raw_clone(positions);
  Dims strides(std::max<int64_t>(index.dim(), 1), 0);
  scatter_into(self, d, positions, one.bytes(), strides, how);
  return self;
}

namespace {

Combine old_reduce(std::string_view reduce) {
  FL_CHECK(reduce == "add" || reduce == "multiply", "scatter(): reduce must be 'add' or 'multiply', got '", reduce,
           "'");
  return reduce == "add" ? Combine::Add : Combine::Mul;
}

Tensor scatter_src(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  return scatter_tensor(self, dim, index, src, Combine::Assign, "scatter");
}
Tensor scatter_scalar(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  return scatter_value(self, dim, index, value, Combine::Assign, "scatter");
}
Tensor scatter_src_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                          std::string_view reduce) {
  return scatter_tensor(self, dim, index, src, old_reduce(reduce), "scatter");
}
Tensor scatter_scalar_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
                             std::string_view reduce) {
  return scatter_value(self, dim, index, value, old_reduce(reduce), "scatter");
}
Tensor scatter_add_op(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  return scatter_tensor(self, dim, index, src, Combine::Add, "scatter_add");
}

const Op gather("gather"), scatter("scatter.value");

void assigned_back(Vjp& v) {
  Tensor g = v.grad();
  if (v.needs(0)) v.set(0, scatter(g, v.integer(1), v.input(2), Scalar(0)));
  if (v.needs(3)) v.set(3, gather(g, v.integer(1), v.input(2)));
}

void old_reduce_back(Vjp& v) {
  FL_CHECK(v.string(4) == "add", ErrorKind::NotImplemented, "the derivative for scatter with reduce='", v.string(4),
           "' is not defined; scatter_reduce has one");
  if (v.needs(0)) v.set(0, v.grad());
  if (v.needs(3)) v.set(3, gather(v.grad(), v.integer(1), v.input(2)));
}

const Declare ops([] {
  Define("scatter.src(Tensor input, int dim, Tensor index, Tensor src) -> Tensor")
      .in_place_kernel<scatter_src>()
      .out()
      .vjp("index", assigned_back)
      .doc(
          "Writes each element of src to the position along dim that index names there. Raises RuntimeError, before "
          "anything is\n"
          "written, when an index is out of bounds.");
  Define("scatter.value(Tensor input, int dim, Tensor index, Scalar value) -> Tensor")
      .in_place_kernel<scatter_scalar>()
      .out()
      .vjp("index", [](Vjp& v) {
        if (v.needs(0)) v.set(0, scatter(v.grad(), v.integer(1), v.input(2), Scalar(0)));
      });
  Define("scatter.reduce(Tensor input, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor")
      .in_place_kernel<scatter_src_reduce>()
      .out()
      .node("ScatterBackward2")
      .vjp("index", old_reduce_back);
  Define("scatter.value_reduce(Tensor input, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor")
      .in_place_kernel<scatter_scalar_reduce>()
      .out()
      .node("ScatterBackward3")
      .vjp("index", old_reduce_back);
  Define("scatter_add(Tensor input, int dim, Tensor index, Tensor src) -> Tensor")
      .in_place_kernel<scatter_add_op>()
      .out()
      .vjp("index",
           [](Vjp& v) {
             if (v.needs(0)) v.set(0, v.grad());
             if (v.needs(3)) v.set(3, gather(v.grad(), v.integer(1), v.input(2)));
           })
      .doc("Adds each element of src to the element along dim that index names there, in order.");
});

}  // namespace
}  // namespace fl
