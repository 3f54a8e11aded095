// Masks: masked_select and masked_scatter.
#include "ops/indexing/masks.h"

#include "autograd/record.h"
#include "ops/api.h"
#include "ops/indexing/walk.h"
#include "tensor/view.h"

namespace fl {

int64_t count_true(const Tensor& mask) {
  if (mask.numel() == 0) return 0;
  Walk<1> walk;
  for (int64_t d = 0; d < mask.dim(); d++) walk.add(mask->sizes[d], {mask->strides[d]});
  int64_t n = walk.line(), step = walk.step(0), count = 0;
  walk.run(0, walk.lines(), [&](const Walk<1>::Offsets& at) {
    const uint8_t* m = mask.data<uint8_t>() + at[0];
    if (step == 1) {
      // Bytes add up in bytes for as long as those can't overflow.
      for (int64_t i = 0; i < n;) {
        int64_t end = std::min(n, i + 255 * 16);
        uint8_t lanes[16] = {};
        for (; i + 16 <= end; i += 16)
          for (int k = 0; k < 16; k++) lanes[k] += m[i + k] != 0;
        for (int k = 0; k < 16; k++) count += lanes[k];
        for (; i < end; i++) count += m[i] != 0;
      }
    } else {
      for (int64_t i = 0; i < n; i++) count += m[i * step] != 0;
    }
  });
  return count;
}

Tensor compress(const Tensor& values, const Tensor& mask) {
  int64_t count = count_true(mask), n = values.numel();
  Tensor out = empty(Dims{count}, values.dtype());
  visit_size(values.item_size(), [&]<class T>() {
    const T* x = reinterpret_cast<const T*>(values.bytes());
    T* y = reinterpret_cast<T*>(out.bytes());
    const uint8_t* m = mask.data<uint8_t>();
    int64_t at = 0, i = 0;
    for (; i + 8 <= n && at + 8 <= count; i += 8) {
      uint64_t eight;
      std::memcpy(&eight, m + i, 8);
      if (eight == 0) continue;
      for (int k = 0; k < 8; k++) {
        y[at] = x[i + k];
        at += m[i + k] != 0;
      }
    }
    for (; i < n && at < count; i++) {
      y[at] = x[i];
      at += m[i] != 0;
    }
  });
  return out;
}

namespace {

Tensor expanded(const Tensor& t, IntList sizes) {
  if (equal(t.sizes(), sizes) && t.is_contiguous()) return t;
  Tensor r = empty(sizes, t.dtype(), t.device());
  raw_copy(r, t);
  return r;
}

Tensor masked_select_op(const Tensor& input, const Tensor& mask) {
  FL_CHECK(mask.dtype() == DType::Bool, "masked_select: expected BoolTensor for mask, got ", info(mask.dtype()).name);
  Dims sizes = broadcast(mask.sizes(), input.sizes(), "masked_select");
  FL_CHECK(!input.is_meta(), ErrorKind::NotImplemented,
           "masked_select: a mask on the meta device has no values: the size of the result isn't known");
  return compress(expanded(input, sizes), expanded(mask, sizes));
}

Tensor masked_scatter_op(const Tensor& self, const Tensor& mask, const Tensor& source) {
  FL_CHECK(mask.dtype() == DType::Bool, "masked_scatter_ only supports boolean masks, but got mask with dtype ",
           info(mask.dtype()).name);
  FL_CHECK(self.dtype() == source.dtype(), "masked_scatter_: expected self and source to have same dtypes but got ",
           info(self.dtype()).name, " and ", info(source.dtype()).name);
  Dims sizes = broadcast(self.sizes(), mask.sizes(), "masked_scatter_");
  FL_CHECK(equal(sizes, self.sizes()), "masked_scatter_: a mask of sizes ", shape_text(mask.sizes()),
           " can't be broadcast to ", shape_text(self.sizes()));
  if (self.is_meta()) return self;
  Tensor m = expanded(mask, sizes);
  int64_t count = count_true(m);
  FL_CHECK(count <= source.numel(), "masked_scatter: the mask has ", count, " true elements, but source only ",
           source.numel(), " elements");
  if (!count) return self;
  Tensor values = overlap(self, source) == Overlap::None ? expanded(source, source.sizes())
                                                         : raw_clone(expanded(source, source.sizes()));
  Walk<2> walk;
  Dims dense = contiguous_strides(sizes);
  for (int64_t d = 0; d < self.dim(); d++) walk.add(self->sizes[d], {self->strides[d], dense[d]});
  visit_size(self.item_size(), [&]<class T>() {
    const T *next = reinterpret_cast<const T*>(values.bytes()), *end = next + count;
    walk.run(0, walk.lines(), [&](const Walk<2>::Offsets& at) {
      T* to = reinterpret_cast<T*>(self.bytes()) + at[0];
      const uint8_t* b = m.data<uint8_t>() + at[1];
      for (int64_t i = 0, n = walk.line(), step = walk.step(0); i < n && next < end; i++) {
        T& place = to[i * step];
        place = b[i] ? *next : place;
        next += b[i] != 0;
      }
    });
  });
  return self;
}

Tensor masked_scatter_new(const Tensor& input, const Tensor& mask, const Tensor& source) {
  Dims sizes = broadcast(input.sizes(), mask.sizes(), "masked_scatter");
  Tensor out = empty(sizes, input.dtype(), input.device());
  raw_copy(out, input);
  return masked_scatter_op(out, mask, source);
}

const Op select("masked_select"), scatter("masked_scatter");

Tensor zeros_of(const Tensor& g, IntList sizes) { return zeros(sizes, g.dtype(), g.device()); }

const Declare ops([] {
  Define("masked_select(Tensor input, Tensor mask) -> Tensor")
      .kernel<masked_select_op>()
      .out_apart()
      .vjp("mask",
           [](Vjp& v) {
             if (!v.needs(0)) return;
             Dims sizes = broadcast(v.sizes(0), v.sizes(1), "masked_select");
             Tensor g = v.grad();
             v.set(0, sum_to_size(scatter(zeros_of(g, sizes), v.input(1), g), v.sizes(0)));
           })
      .doc("The elements where mask is true, in order, as one dimension; input and mask broadcast.");
  Define("masked_scatter(Tensor input, Tensor mask, Tensor source) -> Tensor")
      .kernel<masked_scatter_new>()
      .in_place_kernel<masked_scatter_op>()
      .vjp("mask",
           [](Vjp& v) {
             Tensor g = v.grad(), mask = v.input(1);
             if (v.needs(0)) v.set(0, sum_to_size(where(mask, 0.0, g), v.sizes(0)));
             if (v.needs(2)) {
               Tensor taken = select(g, mask);
               int64_t numel = checked_numel(v.sizes(2)), missing = numel - taken.numel();
               if (missing) taken = cat({taken, zeros_of(g, Dims{missing})}, 0);
               v.set(2, view(taken, v.sizes(2)));
             }
           })
      .doc("Writes the elements of source, in order, where mask is true. Raises RuntimeError when there are too few.");
});

}  // namespace
}  // namespace fl
