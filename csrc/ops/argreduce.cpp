// Where extremes are: argmax, argmin, max and min along a dimension.
#include "tile/argreduce.h"

#include "base/threads.h"
#include "ops/reduction.h"

namespace fl {

ArgLoops arg_loops[2][kNumDTypes];

namespace {

constexpr int64_t kGrain = 32768, kPiece = 131072;

// The extremes of `x`, contiguous and of a type with loops, along its middle dimension [outer, n, inner].
void arg_reduce(const ArgLoops& loops, const Tensor& x, int64_t outer, int64_t n, int64_t inner, char* values,
                int64_t* indices) {
  int64_t item = x.item_size();
  if (inner > 1) {
    parallel_for(0, outer, std::max<int64_t>(kGrain / (n * inner), 1), [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; o++)
        loops.rows(x.bytes() + o * n * inner * item, n, inner, values + o * inner * item, indices + o * inner);
    });
    return;
  }
  if (n <= 2 * kPiece || outer > 8) {
    parallel_for(0, outer, std::max<int64_t>(kGrain / n, 1), [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; o++) loops.run(x.bytes() + o * n * item, n, values + o * item, indices + o);
    });
    return;
  }
  // Few long runs: pieces first, then the extreme of the pieces' extremes.
  int64_t pieces = (n + kPiece - 1) / kPiece;
  std::vector<int64_t> best(pieces);
  std::vector<char> extremes(pieces * item);
  for (int64_t o = 0; o < outer; o++) {
    const char* run = x.bytes() + o * n * item;
    parallel_for(0, pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; p++)
        loops.run(run + p * kPiece * item, std::min(kPiece, n - p * kPiece), extremes.data() + p * item, &best[p]);
    });
    int64_t piece;
    loops.run(extremes.data(), pieces, values + o * item, &piece);
    indices[o] = piece * kPiece + best[piece];
  }
}

std::tuple<Tensor, Tensor> extreme_along(const Tensor& input, int64_t dim, bool keepdim, bool smallest,
                                         bool want_values) {
  uint64_t mask = input.dim() ? uint64_t(1) << dim : 0;
  Dims sizes = kept_sizes(input, mask, keepdim);
  Tensor indices = empty(sizes, DType::Int64, input.device());
  Tensor values = want_values ? empty(sizes, input.dtype(), input.device()) : Tensor();
  if (indices.is_meta() || indices.numel() == 0) return {values, indices};
  DType t = reduction_type(Reduction::Max, input.dtype());
  Tensor x = raw_cast(raw_contiguous(input), t);
  int64_t outer = 1, n = input.dim() ? input->sizes[dim] : 1, inner = 1;
  for (int64_t d = 0; d < input.dim(); d++) (d < dim ? outer : inner) *= d == dim ? 1 : input->sizes[d];
  Tensor computed = want_values && t == input.dtype() ? values : empty(sizes, t);
  arg_reduce(arg_loops[smallest][static_cast<int>(t)], x, outer, n, inner, computed.bytes(), indices.data<int64_t>());
  if (want_values && !computed.is(values)) raw_copy(values, computed);
  return {values, indices};
}

template <bool smallest>
Tensor arg_extreme(const Tensor& input, std::optional<int64_t> dim, bool keepdim) {
  const char* op = smallest ? "argmin" : "argmax";
  FL_CHECK(!input.is_complex() && input.dtype() != DType::Bool, op, ": not implemented for ", info(input.dtype()).name);
  if (!dim) {
    FL_CHECK(input.numel() > 0, ErrorKind::Index, op,
             "(): expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
             "'dim' argument.");
    int64_t n = input.numel();
    Tensor indices =
        keepdim ? empty(Dims(input.dim(), 1), DType::Int64, input.device()) : empty({}, DType::Int64, input.device());
    if (indices.is_meta()) return indices;
    Tensor x = raw_cast(raw_contiguous(input), reduction_type(Reduction::Max, input.dtype()));
    alignas(16) char value[16];
    arg_reduce(arg_loops[smallest][static_cast<int>(x.dtype())], x, 1, n, 1, value, indices.data<int64_t>());
    return indices;
  }
  int64_t d = wrap_dim(*dim, input.dim(), op);
  check_not_empty(input, d, op);
  return std::get<1>(extreme_along(input, d, keepdim, smallest, false));
}
template <bool smallest>
std::tuple<Tensor, Tensor> extreme_dim(const Tensor& input, int64_t dim, bool keepdim) {
  const char* op = smallest ? "min" : "max";
  FL_CHECK(!input.is_complex(), op, ": not implemented for ", info(input.dtype()).name,
           ": complex numbers have no order");
  int64_t d = wrap_dim(dim, input.dim(), op);
  check_not_empty(input, d, op);
  return extreme_along(input, d, keepdim, smallest, true);
}
void extreme_dim_back(Vjp& v) {
  if (v.needs(0)) v.set(0, pick_backward(v.grad(), v.output(1), v.sizes(0), v.integer(1), v.flag(2)));
}
Tensor max_other(const Tensor& input, const Tensor& other) { return maximum(input, other); }
Tensor min_other(const Tensor& input, const Tensor& other) { return minimum(input, other); }

const Declare ops([] {
  Define("argmax(Tensor input, int? dim=None, bool keepdim=False) -> Tensor")
      .kernel<arg_extreme<false>>()
      .out()
      .constant_outputs(~0u)
      .doc("Where the largest element is, the first of equals: in the flattened tensor, or along dim.");
  Define("argmin(Tensor input, int? dim=None, bool keepdim=False) -> Tensor")
      .kernel<arg_extreme<true>>()
      .out()
      .constant_outputs(~0u)
      .doc("Where the smallest element is, the first of equals: in the flattened tensor, or along dim.");
  // Before the forms with a dim, which an integer tensor without dimensions would also fit.
  Define("max.other(Tensor input, Tensor other) -> Tensor").composite<max_other>().out();
  Define("min.other(Tensor input, Tensor other) -> Tensor").composite<min_other>().out();
  Define("max.dim(Tensor input, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)")
      .kernel<extreme_dim<false>>()
      .out()
      .constant_outputs(2)
      .vjp("result1", extreme_dim_back)
      .node("MaxBackward0");
  Define("min.dim(Tensor input, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)")
      .kernel<extreme_dim<true>>()
      .out()
      .constant_outputs(2)
      .vjp("result1", extreme_dim_back)
      .node("MinBackward0");
});

}  // namespace
}  // namespace fl
