// kthvalue, median, nanmedian and mode.
#include <limits>

#include "ops/reduction.h"
#include "ops/sort/keys.h"

namespace fl {
namespace {

using Pair = std::tuple<Tensor, Tensor>;

// For each row, choose(items, n) gives the index of the element that is the result.
template <class Choose>
Pair choose_along(const Tensor& input, int64_t d, bool keepdim, Choose choose) {
  uint64_t mask = input.dim() ? uint64_t(1) << d : 0;
  Dims sizes = kept_sizes(input, mask, keepdim);
  Tensor values = empty(sizes, input.dtype(), input.device()), indices = empty(sizes, DType::Int64, input.device());
  if (input.is_meta() || values.numel() == 0) return {values, indices};
  Tensor x = raw_contiguous(input);
  Rows rows(x, d);
  visit_sortable(x, rows.n, [&]<class T, class Item>(uint64_t base) {
    rows.each([&](int64_t begin, int64_t end) {
      std::vector<Item> items(rows.n);
      for (int64_t r = begin; r < end; r++) {
        const T* from = x.data<T>() + rows.start(r, rows.n);
        load_items(from, rows.n, rows.inner, false, base, items.data());
        int64_t k = choose(items.data(), rows.n);
        values.data<T>()[r] = from[k * rows.inner];
        indices.data<int64_t>()[r] = k;
      }
    });
  });
  return {values, indices};
}

template <class Item>
int64_t nth(Item* items, int64_t n, int64_t k) {
  std::nth_element(items, items + k, items + n);
  return items[k].index();
}
// The lower of the two in the middle; NaN when there is one, or only of the others.
template <bool ignore_nan>
struct Middle {
  DType dtype;
  template <class Item>
  int64_t operator()(Item* items, int64_t n) const {
    using Key = decltype(items->key());
    bool floating = is_floating(dtype);
    auto is_nan = [&](const Item& i) { return floating && i.key() == Key(~Key(0)); };
    int64_t nans = 0, first = -1;
    for (int64_t i = 0; i < n; i++) {
      if (!is_nan(items[i])) continue;
      if (first < 0) first = i;
      nans++;
    }
    if (nans && (!ignore_nan || nans == n)) return first;
    return nth(items, n, (n - nans - 1) / 2);
  }
};

Pair kthvalue_op(const Tensor& input, int64_t k, int64_t dim, bool keepdim) {
  int64_t d = wrap_dim(dim, input.dim(), "kthvalue");
  int64_t n = input.dim() ? input->sizes[d] : 1;
  check_not_empty(input, d, "kthvalue");
  FL_CHECK(k >= 1 && k <= n, "kthvalue(): selected number k out of range for dimension ", d, ": k is ", k,
           ", the size ", n);
  FL_CHECK(!input.is_complex() && input.dtype() != DType::Bool, ErrorKind::NotImplemented,
           "kthvalue: not implemented for ", info(input.dtype()).name);
  return choose_along(input, d, keepdim, [k](auto* items, int64_t count) { return nth(items, count, k - 1); });
}

template <bool ignore_nan>
constexpr const char* kMedian = ignore_nan ? "nanmedian" : "median";
void check_median(const Tensor& x, const char* op) {
  FL_CHECK(!x.is_complex() && x.dtype() != DType::Bool, ErrorKind::NotImplemented, op, ": not implemented for ",
           info(x.dtype()).name);
}
template <bool ignore_nan>
Pair median_dim(const Tensor& input, int64_t dim, bool keepdim) {
  const char* op = kMedian<ignore_nan>;
  int64_t d = wrap_dim(dim, input.dim(), op);
  check_not_empty(input, d, op);
  check_median(input, op);
  return choose_along(input, d, keepdim, Middle<ignore_nan>{input.dtype()});
}
template <bool ignore_nan>
Tensor median_all(const Tensor& input) {
  check_median(input, kMedian<ignore_nan>);
  if (input.numel() == 0) {
    // NaN, or of integers the smallest, as a cast of NaN gives.
    if (is_floating(input.dtype()))
      return full({}, Scalar(std::numeric_limits<double>::quiet_NaN()), input.dtype(), input.device());
    Tensor y = empty({}, input.dtype(), input.device());
    if (!y.is_meta()) raw_copy(y, scalar_tensor(Scalar(std::numeric_limits<double>::quiet_NaN()), DType::Double));
    return y;
  }
  if (input.is_meta()) return empty({}, input.dtype(), input.device());
  Tensor flat = raw_contiguous(input);
  int64_t sizes[1] = {input.numel()}, strides[1] = {1};
  return std::get<0>(
      choose_along(alias(flat, sizes, strides, flat.offset()), 0, false, Middle<ignore_nan>{input.dtype()}));
}
void median_all_back(Vjp& v) {
  if (!v.needs(0)) return;
  Tensor x = v.input(0), y = v.output();
  Tensor ties = (x == y) | (isnan(x) & isnan(y));
  v.set(0, to_dtype(ties, v.grad().dtype()) * (v.grad() / to_dtype(sum(ties), v.grad().dtype())));
}

Pair mode_op(const Tensor& input, int64_t dim, bool keepdim) {
  int64_t d = wrap_dim(dim, input.dim(), "mode");
  FL_CHECK(!input.is_complex(), ErrorKind::NotImplemented, "mode: not implemented for ", info(input.dtype()).name);
  check_not_empty(input, d, "mode");
  return choose_along(input, d, keepdim, []<class Item>(Item* items, int64_t n) {
    std::sort(items, items + n);
    int64_t best = 0, longest = 0;
    for (int64_t i = 0; i < n;) {
      int64_t end = i;
      while (end < n && items[end].key() == items[i].key()) end++;
      if (end - i > longest) {
        longest = end - i;
        best = items[end - 1].index();
      }
      i = end;
    }
    return best;
  });
}

void chosen_back(Vjp& v, int dim, int keepdim) {
  if (v.needs(0)) v.set(0, pick_backward(v.grad(), v.output(1), v.sizes(0), v.integer(dim), v.flag(keepdim)));
}

const Declare ops([] {
  Define("kthvalue(Tensor input, int k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)")
      .kernel<kthvalue_op>()
      .out()
      .constant_outputs(2)
      .vjp("result1", [](Vjp& v) { chosen_back(v, 2, 3); })
      .doc("The k-th smallest element along dim (from 1), and where it is.");
  Define("median(Tensor input) -> Tensor")
      .kernel<median_all<false>>()
      .out()
      .vjp("input result", median_all_back)
      .node("MedianBackward0")
      .doc("The element in the middle, the lower of two; NaN if there is one.");
  Define("median.dim(Tensor input, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)")
      .kernel<median_dim<false>>()
      .out()
      .constant_outputs(2)
      .vjp("result1", [](Vjp& v) { chosen_back(v, 1, 2); })
      .node("MedianBackward1");
  Define("nanmedian(Tensor input) -> Tensor")
      .kernel<median_all<true>>()
      .out()
      .vjp("input result", median_all_back)
      .node("NanmedianBackward0")
      .doc("The element in the middle of those that aren't NaN, the lower of two.");
  Define("nanmedian.dim(Tensor input, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)")
      .kernel<median_dim<true>>()
      .out()
      .constant_outputs(2)
      .vjp("result1", [](Vjp& v) { chosen_back(v, 1, 2); })
      .node("NanmedianBackward1");
  Define("mode(Tensor input, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)")
      .kernel<mode_op>()
      .out()
      .constant_outputs(2)
      .vjp("result1", [](Vjp& v) { chosen_back(v, 1, 2); })
      .doc("The most frequent element along dim, the smallest of equally frequent ones.");
});

}  // namespace
}  // namespace fl
