// Where the elements are that are not zero: nonzero, argwhere, nonzero_static.
#include "autograd/record.h"
#include "ops/api.h"
#include "ops/indexing/masks.h"
#include "ops/indexing/walk.h"
#include "tensor/view.h"

namespace fl {
namespace {

Tensor truth(const Tensor& t) {
  if (t.dtype() == DType::Bool) return raw_contiguous(t);
  Tensor mask = empty(t.sizes(), DType::Bool, t.device());
  raw_copy(mask, t);
  return mask;
}

// One row for each dimension.
Tensor positions(const Tensor& input) {
  FL_CHECK(!input.is_meta(), ErrorKind::NotImplemented,
           "nonzero: a tensor on the meta device has no values: the size of the result isn't known");
  Tensor mask = truth(input);
  int64_t count = count_true(mask), dims = input.dim();
  Tensor out = empty(Dims{dims, count}, DType::Int64);
  if (count == 0 || dims == 0) return out;
  int64_t line = input->sizes[dims - 1], lines = input.numel() / line, at = 0;
  int64_t* p = out.data<int64_t>();
  const uint8_t* m = mask.data<uint8_t>();
  Dims outer(dims);
  for (int64_t i = 0; i < lines && at < count; i++, m += line) {
    int64_t first = at;
    int64_t* last = p + (dims - 1) * count;
    int64_t j = 0;
    for (; j + 8 <= line && at + 8 <= count; j += 8) {
      uint64_t eight;
      std::memcpy(&eight, m + j, 8);
      if (eight == 0) continue;
      for (int k = 0; k < 8; k++) {
        last[at] = j + k;
        at += m[j + k] != 0;
      }
    }
    for (; j < line && at < count; j++) {
      last[at] = j;
      at += m[j] != 0;
    }
    for (int64_t d = 0; d < dims - 1; d++) std::fill(p + d * count + first, p + d * count + at, outer[d]);
    for (int64_t d = dims - 1; d-- > 0;) {
      if (++outer[d] < input->sizes[d]) break;
      outer[d] = 0;
    }
  }
  return out;
}

Tensor as_matrix(const Tensor& rows) {
  return alias(rows, Dims{rows->sizes[1], rows->sizes[0]}, Dims{1, std::max<int64_t>(rows->sizes[1], 1)}, 0);
}

std::vector<Tensor> nonzero_tuple(const Tensor& input) {
  Tensor rows = positions(input.dim() ? input : alias(input, Dims{1}, Dims{1}, input.offset()));
  std::vector<Tensor> parts;
  for (int64_t d = 0; d < rows->sizes[0]; d++)
    parts.push_back(alias(rows, Dims{rows->sizes[1]}, Dims{1}, d * rows->sizes[1]));
  return parts;
}

Result nonzero_op(const Entry&, const Value* args, const Destination*) {
  const Tensor& input = borrow(args[0].tensor);
  if (args[1].i) return Result(Result::Kind::List, nonzero_tuple(input));
  return Result(as_matrix(positions(input)));
}
Tensor argwhere_op(const Tensor& input) { return as_matrix(positions(input)); }

Tensor nonzero_static_op(const Tensor& input, int64_t size, int64_t fill_value) {
  FL_CHECK(size >= 0, "nonzero_static: 'size' must be a non-negative integer, got ", size);
  Tensor found = as_matrix(positions(input)), out = full(Dims{size, input.dim()}, Scalar(fill_value), DType::Int64);
  int64_t rows = std::min(size, found->sizes[0]);
  Dims part{rows, input.dim()};
  raw_copy(alias(out, part, out.strides(), 0), alias(found, part, found.strides(), 0));
  return out;
}

const Declare ops([] {
  Define("nonzero(Tensor input) -> Tensor")
      .kernel<argwhere_op>()
      .constant_outputs(~0u)
      .out()
      .doc(
          "The positions of the elements that are not zero: a row for each, or with as_tuple a tensor for each "
          "dimension.");
  Define("nonzero.tuple(Tensor input, *, bool as_tuple) -> any").raw_kernel(nonzero_op).constant_outputs(~0u);
  Define("_C.nonzero_tuple(Tensor input) -> Tensor[]").kernel<nonzero_tuple>().constant_outputs(~0u);
  Define("argwhere(Tensor input) -> Tensor")
      .kernel<argwhere_op>()
      .constant_outputs(~0u)
      .doc("The positions of the elements that are not zero, a row for each.");
  Define("nonzero_static(Tensor input, *, int size, int fill_value=-1) -> Tensor")
      .kernel<nonzero_static_op>()
      .constant_outputs(~0u)
      .out()
      .doc("The first `size` positions of elements that are not zero; rows of fill_value where there are fewer.");
});

}  // namespace
}  // namespace fl
