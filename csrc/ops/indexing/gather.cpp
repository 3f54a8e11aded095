// gather, take and take_along_dim.
#include "ops/indexing/gather.h"

#include <atomic>

#include "autograd/record.h"
#include "ops/api.h"
#include "ops/indexing/kernels.h"
#include "ops/indexing/places.h"
#include "tile/program.h"

namespace fl {

Tensor element_index(const Tensor& index, const char* op) {
  FL_CHECK(index.dtype() == DType::Int64 || index.dtype() == DType::Int32 || index.numel() == 0, op,
           "(): Expected dtype int32/int64 for index, got ", info(index.dtype()).name);
  return index.dtype() == DType::Int64 ? index : to_dtype(index, DType::Int64);
}

namespace {

[[noreturn]] void out_of_bounds(const Tensor& index, int64_t size, int64_t dim) {
  checked_positions(index, size, dim, "", false, ErrorKind::Runtime);
  fail("index is out of bounds");
}

Tensor gather_op(const Tensor& input, int64_t dim, const Tensor& index, bool) {
  int64_t d = wrap_dim(dim, input.dim(), "gather");
  Tensor positions = element_index(index, "gather");
  Tensor out = empty(index.sizes(), input.dtype(), input.device());
  if (index.numel() == 0) return out;
  FL_CHECK(std::max<int64_t>(index.dim(), 1) == std::max<int64_t>(input.dim(), 1),
           "gather: index must have as many dimensions as input, got ", index.dim(), " and ", input.dim());
  for (int64_t k = 0; k < index.dim() && k < input.dim(); k++)
    FL_CHECK(k == d || index->sizes[k] <= input->sizes[k], "gather: size does not match at dimension ", k,
             ": expected index ", shape_text(index.sizes()), " to be no larger than input ", shape_text(input.sizes()),
             " apart from dimension ", d);
  if (out.is_meta()) return out;
  int64_t size = input.dim() ? input->sizes[d] : 1, along = input.dim() ? input->strides[d] : 1;
  Walk<3> walk = element_walk(index.sizes(), d, input, positions.strides(), out.strides());
  std::atomic<bool> bad = false;
  visit_size(input.item_size(), [&]<class T>() {
    const T* x = reinterpret_cast<const T*>(input.bytes());
    T* y = reinterpret_cast<T*>(out.bytes());
    const int64_t* p = positions.data<int64_t>();
    int64_t x_step = walk.step(0), p_step = walk.step(1), y_step = walk.step(2);
    walk.run_parallel([&](const Walk<3>::Offsets& at, int64_t n) {
      const T* from = x + at[0];
      const int64_t* which = p + at[1];
      T* to = y + at[2];
      if (p_step == 1 && y_step == 1) {
        constexpr int64_t kBlock = 512;
        for (int64_t i = 0; i < n; i += kBlock) {
          int64_t count = std::min(kBlock, n - i);
          if (!index_kernels.in_bounds(which + i, count, size)) return bad.store(true);
          index_kernels.gather[size_index(sizeof(T))](reinterpret_cast<const char*>(from + i * x_step), which + i,
                                                      along, x_step, reinterpret_cast<char*>(to + i), count);
        }
      } else if (p_step == 0 && x_step == 1 && y_step == 1) {
        if (static_cast<uint64_t>(*which) >= static_cast<uint64_t>(size)) return bad.store(true);
        std::memcpy(to, from + *which * along, n * sizeof(T));
      } else {
        for (int64_t i = 0; i < n; i++) {
          int64_t k = which[i * p_step];
          if (__builtin_expect(static_cast<uint64_t>(k) >= static_cast<uint64_t>(size), 0)) return bad.store(true);
          to[i * y_step] = from[k * along + i * x_step];
        }
      }
    });
  });
  if (bad) out_of_bounds(index, size, d);
  return out;
}

const Op scatter_add("scatter_add");

const Declare ops([] {
  Define("gather(Tensor input, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor")
      .kernel<gather_op>()
      .out()
      .vjp("index",
           [](Vjp& v) {
             if (!v.needs(0)) return;
             Tensor g = v.grad(), whole = zeros(v.sizes(0), g.dtype(), g.device());
             scatter_add.in_place(whole, v.integer(1), v.input(2), g);
             v.set(0, whole);
           })
      .doc(
          "Takes along dim, at each position of index, the element of input that index names there.\n"
          "Raises RuntimeError when an index is out of bounds.");
});

}  // namespace
}  // namespace fl
