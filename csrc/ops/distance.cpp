// cdist: the distances between all pairs of vectors of two sets.
#include "tile/distance.h"

#include <limits>

#include "base/threads.h"
#include "ops/reduction.h"

namespace fl {

DistanceLoops distance_loops[5];

namespace {

Metric metric_of(double p) {
  if (p == 0) return Metric::Hamming;
  if (p == 1) return Metric::Manhattan;
  if (p == 2) return Metric::Euclidean;
  return p == std::numeric_limits<double>::infinity() ? Metric::Chebyshev : Metric::Minkowski;
}

Tensor cdist_op(const Tensor& x1, const Tensor& x2, double p, std::optional<std::string_view> mode) {
  FL_CHECK(x1.dim() >= 2 && x2.dim() >= 2, "cdist: X1 and X2 need at least 2 dimensions, got ", x1.dim(), " and ",
           x2.dim());
  int64_t m = x1.size(-1), rows = x1.size(-2), columns = x2.size(-2);
  FL_CHECK(m == x2.size(-1), "cdist: X1 and X2 must have the same number of columns. X1: ", m, " X2: ", x2.size(-1));
  FL_CHECK(is_floating(x1.dtype()) && is_floating(x2.dtype()), "cdist: only supports floating-point dtypes, got ",
           info(x1.dtype()).name, " and ", info(x2.dtype()).name);
  FL_CHECK(x1.dtype() == x2.dtype(), "cdist: X1 and X2 must have one type, got ", info(x1.dtype()).name, " and ",
           info(x2.dtype()).name);
  FL_CHECK(p >= 0, "cdist: only supports non-negative p values, got ", p);
  FL_CHECK(!mode || *mode == "use_mm_for_euclid_dist_if_necessary" || *mode == "use_mm_for_euclid_dist" ||
               *mode == "donot_use_mm_for_euclid_dist",
           ErrorKind::Value, "cdist: '", *mode, "' is not a valid value for compute_mode");
  Dims batch = broadcast(IntList(x1->sizes, x1.dim() - 2), IntList(x2->sizes, x2.dim() - 2), "cdist"), sizes(batch);
  sizes.push_back(rows);
  sizes.push_back(columns);
  if (x1.is_meta()) return empty(sizes, x1.dtype(), x1.device());
  DType computed = x1.dtype() == DType::Double ? DType::Double : DType::Float;
  NoGrad guard;
  Dims left(batch), right(batch), turned(batch);
  int64_t stride = (columns + kDistanceStride - 1) / kDistanceStride * kDistanceStride;
  left.push_back(rows), left.push_back(m);
  right.push_back(columns), right.push_back(m);
  turned.push_back(m), turned.push_back(stride);
  Tensor a = raw_contiguous(expand(raw_cast(x1, computed), left)), y = empty(sizes, computed);
  if (y.numel()) {
    // Vectors of the second set as columns, so that many distances are summed side by side.
    Tensor b = zeros(turned, computed);
    raw_copy(narrow(b, -1, 0, columns), transpose(expand(x2, right), -1, -2));
    const DistanceLoops& loops = distance_loops[static_cast<int>(metric_of(p))];
    int64_t lines = y.numel() / columns;
    parallel_for(0, lines, std::max<int64_t>(16384 / (columns * (m + 1)), 1), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) {
        int64_t from = i * m, with = i / rows * m * stride, to = i * columns;
        if (computed == DType::Float)
          loops.of_float(a.data<float>() + from, b.data<float>() + with, columns, stride, m, p, y.data<float>() + to);
        else
          loops.of_double(a.data<double>() + from, b.data<double>() + with, columns, stride, m, p,
                          y.data<double>() + to);
      }
    });
  }
  return raw_cast(y, x1.dtype());
}
void cdist_back(Vjp& v) {
  Tensor a = v.input(0), b = v.input(1);
  Tensor difference = unsqueeze(a, -2) - unsqueeze(b, -3);
  uint64_t last = uint64_t(1) << (difference.dim() - 1);
  Tensor each = norm_gradient(unsqueeze(v.grad(), -1), difference, unsqueeze(v.output(), -1), v.number(2), last);
  int64_t other[1] = {-2}, own[1] = {-3};
  if (v.needs(0)) v.set(0, sum_to_size(sum(each, other), v.sizes(0)));
  if (v.needs(1)) v.set(1, sum_to_size(-sum(each, own), v.sizes(1)));
}

const Declare ops([] {
  Define(
      "torch.cdist(Tensor x1, Tensor x2, float p=2.0, str? compute_mode='use_mm_for_euclid_dist_if_necessary') -> "
      "Tensor")
      .kernel<cdist_op>()
      .vjp("x1 x2 result", cdist_back)
      .doc(
          "The p-norm distances between all pairs of rows of x1 (..., P, M) and x2 (..., R, M). Always computed from "
          "the differences, so that close points keep theirs; compute_mode is accepted for compatibility.");
});

}  // namespace
}  // namespace fl
