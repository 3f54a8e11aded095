// The loop shared by gather and scatter: each element of `index` names a position along one dimension.
#pragma once
#include "ops/indexing/combine.h"
#include "ops/indexing/walk.h"

namespace fl {

// Operand 0 is the tensor indexed (at position 0 along dim), 1 the index, 2 the other side. Sizes are those of the
// index.
inline Walk<3> element_walk(IntList sizes, int64_t dim, const Tensor& indexed, IntList index_strides,
                            IntList other_strides) {
  Walk<3> w;
  for (int64_t d = 0; d < static_cast<int64_t>(sizes.size()); d++)
    w.add(sizes[d], {d == dim ? 0 : indexed->strides[d], index_strides[d], other_strides[d]});
  return w;
}

// Index values as int64; throws for other types.
Tensor element_index(const Tensor& index, const char* op);

// Writes src, or one value, into `self` at the positions along dim that index names; checks everything first.
Tensor scatter_tensor(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, Combine how,
                      const char* op);
Tensor scatter_value(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value, Combine how,
                     const char* op);

}  // namespace fl
