#include "ops/reduction.h"

namespace fl {

uint64_t dims_mask(const Tensor& x, std::optional<IntList> dims, const char* op) {
  if (!dims || dims->empty()) return all_dims(x);
  uint64_t mask = 0;
  for (int64_t d : *dims) {
    uint64_t bit = uint64_t(1) << wrap_dim(d, x.dim(), op);
    FL_CHECK(!(mask & bit), op, ": dim ", d, " appears multiple times in the list of dims");
    mask |= bit;
  }
  return x.dim() ? mask : 0;
}

Dims kept_sizes(const Tensor& x, uint64_t mask, bool keepdim) {
  Dims sizes;
  for (int64_t d = 0; d < x.dim(); d++) {
    if (!(mask >> d & 1))
      sizes.push_back(x->sizes[d]);
    else if (keepdim)
      sizes.push_back(1);
  }
  return sizes;
}

DType reduction_type(Reduction kind, DType t) {
  bool whole = is_integral(t, true);
  switch (kind) {
    case Reduction::Any:
    case Reduction::All:
    case Reduction::CountNonzero:
      return DType::Bool;
    case Reduction::Max:
    case Reduction::Min:
      if (t == DType::UInt64) return t;
      return whole ? DType::Int64 : t == DType::Double ? t : DType::Float;
    case Reduction::Prod:
      return whole ? DType::Int64 : is_complex(t) ? DType::ComplexDouble : DType::Double;
    default:
      return whole ? DType::Int64 : is_complex(t) || t == DType::Double ? t : DType::Float;
  }
}

Tensor reduce(Reduction kind, const Tensor& x, uint64_t mask, bool keepdim, DType result, ReduceParams params) {
  bool whole = mask == all_dims(x);
  Tensor out =
      whole && !keepdim ? empty({}, result, x.device()) : empty(kept_sizes(x, mask, keepdim), result, x.device());
  if (out.is_meta()) return out;
  DType computed = reduction_type(kind, x.dtype());
  const ReduceLoops* loops = reduce_loops[static_cast<int>(kind)][static_cast<int>(computed)];
  FL_CHECK(loops, "a reduction has no loop for ", info(x.dtype()).name);
  run_reduction(*loops, x, mask, out, params);
  return out;
}

Tensor with_dims(const Tensor& y, int64_t ndim, uint64_t mask, bool keepdim) {
  if (keepdim || ndim == 0) return y;
  Tensor r = y;
  for (int64_t d = 0; d < ndim; d++)
    if (mask >> d & 1) r = unsqueeze(r, d);
  return r;
}

Tensor expand_reduced(const Tensor& y, IntList sizes, uint64_t mask, bool keepdim) {
  int64_t n = static_cast<int64_t>(sizes.size());
  bool whole = n < 64 && mask == (uint64_t(1) << n) - 1;
  return expand(whole && !keepdim ? y : with_dims(y, n, mask, keepdim), sizes);
}

uint64_t mask_of(Vjp& v, int argument) {
  int64_t n = static_cast<int64_t>(v.sizes(0).size());
  uint64_t all = (uint64_t(1) << n) - 1, mask = 0;
  const Value& dims = v.value(argument);
  if (dims.is_none()) return all;
  if (dims.tag == Tag::Int) return n ? uint64_t(1) << wrap_dim(dims.i, n) : 0;
  if (dims.length == 0) return all;
  for (int64_t d : dims.int_list()) mask |= uint64_t(1) << wrap_dim(d, n);
  return n ? mask : 0;
}

int64_t reduced_count(IntList sizes, uint64_t mask) {
  int64_t n = 1;
  for (size_t d = 0; d < sizes.size(); d++)
    if (mask >> d & 1) n *= sizes[d];
  return n;
}

void check_not_empty(const Tensor& x, int64_t dim, const char* op) {
  FL_CHECK(x.dim() == 0 || x->sizes[dim] != 0, ErrorKind::Index, op, ": expected reduction dim ", dim,
           " to have non-zero size, got sizes ", shape_text(x.sizes()));
}

DType sum_type(const Tensor& x, std::optional<DType> dtype) {
  if (dtype) return *dtype;
  return is_integral(x.dtype(), true) ? DType::Int64 : x.dtype();
}

Tensor raw_cast(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  Tensor r = empty_like(x, dtype);
  raw_copy(r, x);
  return r;
}

Tensor pick_backward(const Tensor& g, const Tensor& indices, IntList sizes, int64_t dim, bool keepdim) {
  static const Op scatter("scatter.src");
  if (sizes.empty()) return g;
  dim = wrap_dim(dim, static_cast<int64_t>(sizes.size()));
  Tensor at = keepdim ? indices : unsqueeze(indices, dim), values = keepdim ? g : unsqueeze(g, dim);
  return scatter(zeros(sizes, g.dtype(), g.device()), dim, at, values);
}

}  // namespace fl
