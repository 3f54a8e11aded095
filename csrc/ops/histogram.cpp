// bincount, histc, histogram, count_nonzero.
#include <cmath>

#include "ops/reduction.h"

namespace fl {
namespace {

Tensor bincount_op(const Tensor& input, const Tensor& weights, int64_t minlength) {
  FL_CHECK(!input.is_meta(), ErrorKind::NotImplemented,
           "bincount: the size of the result depends on values, which meta tensors don't have");
  FL_CHECK(minlength >= 0, "bincount: minlength should be >= 0, got ", minlength);
  FL_CHECK(input.dim() == 1, "bincount: only supports 1-d non-negative integral inputs, got ", input.dim(),
           " dimensions");
  FL_CHECK(is_integral(input.dtype(), false), ErrorKind::NotImplemented, "bincount: not implemented for ",
           info(input.dtype()).name);
  FL_CHECK(!weights.defined() || (weights.dim() == 1 && weights.numel() == input.numel()),
           "bincount: weights should be 1-d and have the same length as input");
  Tensor x = raw_contiguous(raw_cast(input, DType::Int64));
  const int64_t* v = x.data<int64_t>();
  int64_t n = x.numel(), size = minlength;
  if (n) {
    int64_t least = *reduce(Reduction::Min, x, 1, false, DType::Int64).data<int64_t>();
    FL_CHECK(least >= 0, "bincount: only supports 1-d non-negative integral inputs, got ", least);
    size = std::max(size, *reduce(Reduction::Max, x, 1, false, DType::Int64).data<int64_t>() + 1);
  }
  int64_t sizes[1] = {size};
  if (!weights.defined()) {
    Tensor out = zeros(sizes, DType::Int64);
    int64_t* counts = out.data<int64_t>();
    for (int64_t i = 0; i < n; i++) counts[v[i]]++;
    return out;
  }
  DType t = weights.dtype() == DType::Float ? DType::Float : DType::Double;
  Tensor w = raw_contiguous(raw_cast(weights, t)), out = zeros(sizes, t);
  for (int64_t i = 0; i < n; i++) {
    if (t == DType::Float)
      out.data<float>()[v[i]] += w.data<float>()[i];
    else
      out.data<double>()[v[i]] += w.data<double>()[i];
  }
  return out;
}

// The range of a histogram: as given, or of the values `x`; one of no width is widened.
template <class T>
void settle_range(const Tensor& x, double margin, double* low, double* high, const char* op) {
  if (x && *low == *high && x.numel()) {
    const T* v = x.data<T>();
    T least = v[0], most = v[0];
    bool finite = true;
    for (int64_t i = 0; i < x.numel(); i++) {
      finite &= std::isfinite(v[i]);
      least = std::min(least, v[i]);
      most = std::max(most, v[i]);
    }
    FL_CHECK(finite, op, ": range of the values is not finite");
    *low = least;
    *high = most;
  }
  if (*low == *high) {
    *low -= margin;
    *high += margin;
  }
  FL_CHECK(std::isfinite(*low) && std::isfinite(*high), op, ": range of [", *low, ", ", *high, "] is not finite");
  FL_CHECK(*low < *high, op, ": max must be larger than min, got ", *low, " and ", *high);
}

template <class T>
void count_even(const Tensor& x, const Tensor& weights, double low, double high, int64_t bins, T* counts) {
  const T* v = x.data<T>();
  const T* w = weights ? weights.data<T>() : nullptr;
  T least = T(low), most = T(high), width = most - least;
  // The edge as the histogram states it decides, so a value's bin is the one whose edges enclose it.
  auto edge = [&](int64_t i) { return i == bins ? most : T(least + T(i) * (width / T(bins))); };
  for (int64_t i = 0; i < x.numel(); i++) {
    if (!(v[i] >= least && v[i] <= most)) continue;
    int64_t k = std::min(static_cast<int64_t>((v[i] - least) / width * T(bins)), bins - 1);
    if (k > 0 && v[i] < edge(k))
      k--;
    else if (k + 1 < bins && v[i] >= edge(k + 1))
      k++;
    counts[k] += w ? w[i] : T(1);
  }
}

void check_floats(const Tensor& x, const char* op) {
  FL_CHECK(!x.is_meta(), ErrorKind::NotImplemented, op, ": can't count the values of a meta tensor");
  FL_CHECK(x.dtype() == DType::Float || x.dtype() == DType::Double, ErrorKind::NotImplemented, op,
           ": not implemented for ", info(x.dtype()).name);
}

Tensor histc_op(const Tensor& input, int64_t bins, Scalar min, Scalar max) {
  FL_CHECK(bins > 0, "histc: bins must be > 0, got ", bins);
  int64_t sizes[1] = {bins};
  bool narrow_type = input.dtype() == DType::Half || input.dtype() == DType::BFloat16;
  Tensor x = raw_contiguous(narrow_type ? raw_cast(input, DType::Float) : input), out = zeros(sizes, x.dtype());
  check_floats(x, "histc");
  double low = min.to_double(), high = max.to_double();
  FL_CHECK(low <= high, "histc: max must be larger than min, got ", low, " and ", high);
  auto run = [&]<class T>() {
    settle_range<T>(x, 1, &low, &high, "histc");
    count_even<T>(x, Tensor(), low, high, bins, out.data<T>());
  };
  if (x.dtype() == DType::Float)
    run.template operator()<float>();
  else
    run.template operator()<double>();
  return raw_cast(out, input.dtype());
}

Tensor counted_weights(const Tensor& input, const Tensor& weight) {
  if (!weight.defined()) return weight;
  FL_CHECK(equal(weight.sizes(), input.sizes()), "histogram: weight tensor has sizes ", shape_text(weight.sizes()),
           ", the input ", shape_text(input.sizes()));
  FL_CHECK(weight.dtype() == input.dtype(), "histogram: weight and input must have the same type, got ",
           info(weight.dtype()).name, " and ", info(input.dtype()).name);
  return raw_contiguous(weight);
}
// Counts to densities: over their sum and the bins' widths.
template <class T>
void to_density(T* counts, const T* edges, int64_t bins) {
  T total = 0;
  for (int64_t i = 0; i < bins; i++) total += counts[i];
  for (int64_t i = 0; i < bins; i++) counts[i] /= (edges[i + 1] - edges[i]) * total;
}

std::tuple<Tensor, Tensor> histogram_even(const Tensor& input, int64_t bins,
                                          std::optional<std::span<const double>> range, const Tensor& weight,
                                          bool density) {
  FL_CHECK(bins > 0, "histogram: bins must be > 0, got ", bins);
  check_floats(input, "histogram");
  FL_CHECK(!range || range->size() == 2, "histogram: range should have 2 elements, got ", range ? range->size() : 0);
  Tensor w = counted_weights(input, weight), x = raw_contiguous(input);
  int64_t sizes[1] = {bins}, edge_sizes[1] = {bins + 1};
  Tensor counts = zeros(sizes, x.dtype()), edges = empty(edge_sizes, x.dtype());
  auto run = [&]<class T>() {
    double low = range ? (*range)[0] : 0, high = range ? (*range)[1] : 0;
    FL_CHECK(!range || low <= high, "histogram: min should not exceed max, got ", low, " and ", high);
    if (!range && x.numel() == 0) high = 1;
    settle_range<T>(range ? Tensor() : x, 0.5, &low, &high, "histogram");
    static const Op linspace("linspace");
    raw_copy(edges, linspace(Scalar(low), Scalar(high), bins + 1, x.dtype()));
    count_even<T>(x, w, low, high, bins, counts.data<T>());
    if (density) to_density(counts.data<T>(), edges.data<T>(), bins);
  };
  if (x.dtype() == DType::Float)
    run.template operator()<float>();
  else
    run.template operator()<double>();
  return {counts, edges};
}
std::tuple<Tensor, Tensor> histogram_edges(const Tensor& input, const Tensor& bins, const Tensor& weight,
                                           bool density) {
  check_floats(input, "histogram");
  FL_CHECK(bins.dim() == 1 && bins.numel() > 0,
           "histogram: bins tensor should have one dimension and at least one element, got sizes ",
           shape_text(bins.sizes()));
  FL_CHECK(bins.dtype() == input.dtype(), "histogram: bins and input must have the same type, got ",
           info(bins.dtype()).name, " and ", info(input.dtype()).name);
  Tensor w = counted_weights(input, weight), x = raw_contiguous(input), edges = raw_contiguous(bins);
  int64_t n = edges.numel() - 1, sizes[1] = {n};
  Tensor counts = zeros(sizes, x.dtype());
  auto run = [&]<class T>() {
    const T *v = x.data<T>(), *e = edges.data<T>();
    for (int64_t i = 0; i < x.numel() && n > 0; i++) {
      if (!(v[i] >= e[0] && v[i] <= e[n])) continue;
      int64_t k = std::min<int64_t>(std::upper_bound(e, e + n + 1, v[i]) - e - 1, n - 1);
      counts.data<T>()[k] += w ? w.data<T>()[i] : T(1);
    }
    if (density) to_density(counts.data<T>(), e, n);
  };
  if (x.dtype() == DType::Float)
    run.template operator()<float>();
  else
    run.template operator()<double>();
  return {counts, raw_clone(edges)};
}

Tensor count_nonzero_dims(const Tensor& input, IntList dim) {
  uint64_t mask = dim.empty() ? all_dims(input) : dims_mask(input, dim, "count_nonzero");
  return reduce(Reduction::CountNonzero, input, mask, false, DType::Int64);
}
Tensor count_nonzero_dim(const Tensor& input, std::optional<int64_t> dim) {
  uint64_t mask = all_dims(input);
  if (dim) {
    int64_t d = wrap_dim(*dim, input.dim(), "count_nonzero");
    mask = input.dim() ? uint64_t(1) << d : 0;
  }
  return reduce(Reduction::CountNonzero, input, mask, false, DType::Int64);
}

const Declare ops([] {
  Define("bincount(Tensor input, Tensor? weights=None, int minlength=0) -> Tensor")
      .kernel<bincount_op>()
      .constant_outputs(~0u)
      .doc("How often each number from 0 occurs, or the sum of the weights where it does.");
  Define("histc(Tensor input, int bins=100, Scalar min=0, Scalar max=0) -> Tensor")
      .kernel<histc_op>()
      .out()
      .constant_outputs(~0u)
      .doc("Counts of the values in bins of equal width between min and max, by default of the values.");
  Define(
      "histogram(Tensor input, int bins, *, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor "
      "hist, Tensor bin_edges)")
      .kernel<histogram_even>()
      .out()
      .constant_outputs(~0u)
      .doc(
          "Counts, weights or densities of the values in bins: so many of equal width, or between the edges in a "
          "tensor.");
  Define(
      "histogram.bins_tensor(Tensor input, Tensor bins, *, Tensor? weight=None, bool density=False) -> (Tensor hist, "
      "Tensor bin_edges)")
      .kernel<histogram_edges>()
      .out()
      .constant_outputs(~0u);
  Define("count_nonzero(Tensor input, int? dim=None) -> Tensor")
      .kernel<count_nonzero_dim>()
      .constant_outputs(~0u)
      .doc("How many elements are not zero, in all of the tensor or along dim.");
  Define("count_nonzero.dim_IntList(Tensor input, int[] dim) -> Tensor")
      .kernel<count_nonzero_dims>()
      .constant_outputs(~0u);
});

}  // namespace
}  // namespace fl
