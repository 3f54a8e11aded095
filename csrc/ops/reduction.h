// What the ops that reduce share: which dimensions go, what is left, and how gradients come back.
#pragma once
#include "autograd/record.h"
#include "ops/api.h"
#include "tile/reduce.h"

namespace fl {

inline uint64_t all_dims(const Tensor& x) { return x.dim() >= 64 ? ~uint64_t(0) : (uint64_t(1) << x.dim()) - 1; }
// The dimensions as bits; none given (or an empty list) means all. Throws IndexError, and RuntimeError for repeats.
uint64_t dims_mask(const Tensor& x, std::optional<IntList> dims, const char* op);
Dims kept_sizes(const Tensor& x, uint64_t mask, bool keepdim);

// The type a reduction computes `dtype` in, of those that have loops.
DType reduction_type(Reduction kind, DType dtype);
Tensor reduce(Reduction kind, const Tensor& x, uint64_t mask, bool keepdim, DType result, ReduceParams params = {});

// The result of a reduction with its reduced dimensions put back as ones; and expanded to `sizes`.
Tensor with_dims(const Tensor& y, int64_t ndim, uint64_t mask, bool keepdim);
Tensor expand_reduced(const Tensor& y, IntList sizes, uint64_t mask, bool keepdim);
uint64_t mask_of(Vjp& v, int dims_argument);  // the same mask again, from the sizes of argument 0
int64_t reduced_count(IntList sizes, uint64_t mask);

// Raises IndexError where a reduction without an identity meets an empty dimension.
void check_not_empty(const Tensor& x, int64_t dim, const char* op);
// Type of a sum: `dtype` when given, int64 for integers.
DType sum_type(const Tensor& x, std::optional<DType> dtype);
inline Tensor cast(const Tensor& x, DType dtype) { return to_dtype(x, dtype); }
// Without recording.
Tensor raw_cast(const Tensor& x, DType dtype);

// The gradient of what picked elements at `indices` along a dimension.
Tensor pick_backward(const Tensor& g, const Tensor& indices, IntList sizes, int64_t dim, bool keepdim);

// The gradient of the p-norm y of x over the dimensions in mask; y and the incoming g have x's dimensions. Where y is 0
// so is the gradient: the subgradient of least norm.
Tensor norm_gradient(const Tensor& g, const Tensor& x, const Tensor& y, double p, uint64_t mask);

}  // namespace fl
