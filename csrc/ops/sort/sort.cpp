// sort, argsort, msort, topk.
#include "ops/reduction.h"
#include "ops/sort/keys.h"

namespace fl {
namespace {

using Pair = std::tuple<Tensor, Tensor>;

Pair sort_along(const Tensor& input, int64_t dim, bool descending) {
  int64_t d = wrap_dim(dim, input.dim(), "sort");
  FL_CHECK(!input.is_complex(), "sort: complex numbers have no order, got ", info(input.dtype()).name);
  Tensor values = empty_like(input), indices = empty(input.sizes(), DType::Int64, input.device());
  if (input.is_meta() || input.numel() == 0) return {values, indices};
  Tensor x = raw_contiguous(input), sorted = values.is_contiguous() ? values : empty(input.sizes(), input.dtype());
  Rows rows(x, d);
  visit_sortable(x, rows.n, [&]<class T, class Item>(uint64_t base) {
    rows.each([&](int64_t begin, int64_t end) {
      std::vector<Item> items(2 * rows.n);
      for (int64_t r = begin; r < end; r++) {
        int64_t at = rows.start(r, rows.n);
        const T* from = x.data<T>() + at;
        T* to = sorted.data<T>() + at;
        int64_t* index = indices.data<int64_t>() + at;
        load_items(from, rows.n, rows.inner, descending, base, items.data());
        sort_items(items.data(), items.data() + rows.n, rows.n);
        for (int64_t i = 0; i < rows.n; i++) {
          int64_t k = items[i].index();
          to[i * rows.inner] = from[k * rows.inner];
          index[i * rows.inner] = k;
        }
      }
    });
  });
  if (!sorted.is(values)) raw_copy(values, sorted);
  return {values, indices};
}
Pair sort_op(const Tensor& input, int64_t dim, bool descending) { return sort_along(input, dim, descending); }
Pair sort_stable(const Tensor& input, std::optional<bool>, int64_t dim, bool descending) {
  return sort_along(input, dim, descending);
}
Tensor argsort_op(const Tensor& input, int64_t dim, bool descending) {
  return std::get<1>(sort_along(input, dim, descending));
}
Tensor argsort_stable(const Tensor& input, bool, int64_t dim, bool descending) {
  return std::get<1>(sort_along(input, dim, descending));
}
Tensor msort_op(const Tensor& input) {
  static const Op sort("sort");
  return sort.list(input, int64_t(0), false)[0];
}
void picked_back(Vjp& v, int dim_argument) {
  if (v.needs(0)) v.set(0, pick_backward(v.grad(), v.output(1), v.sizes(0), v.integer(dim_argument), true));
}

// The k first items in front. By key alone and by the algorithms PyTorch uses, so that among equals the same ones are
// picked.
template <class Item>
void pick_first(Item* items, int64_t n, int64_t k, bool sorted) {
  auto before = [](const Item& a, const Item& b) { return a.key() < b.key(); };
  if (k * 64 <= n) {
    std::partial_sort(items, items + k, items + n, before);
    return;
  }
  std::nth_element(items, items + k - 1, items + n, before);
  if (sorted) std::sort(items, items + k - 1, before);
}

Pair topk_op(const Tensor& input, int64_t k, int64_t dim, bool largest, bool sorted) {
  int64_t d = wrap_dim(dim, input.dim(), "topk");
  int64_t n = input.dim() ? input->sizes[d] : 1;
  FL_CHECK(k >= 0 && k <= n, "topk: selected index k out of range: k is ", k, ", the dimension's size ", n);
  FL_CHECK(!input.is_complex() && input.dtype() != DType::Bool, "topk: not supported for ", info(input.dtype()).name);
  Dims sizes(input.sizes());
  if (input.dim()) sizes[d] = k;
  Tensor values = empty(sizes, input.dtype(), input.device()), indices = empty(sizes, DType::Int64, input.device());
  if (input.is_meta() || values.numel() == 0) return {values, indices};
  Tensor x = raw_contiguous(input);
  Rows rows(x, d);
  visit_sortable(x, n, [&]<class T, class Item>(uint64_t base) {
    rows.each([&](int64_t begin, int64_t end) {
      std::vector<Item> items(n);
      for (int64_t r = begin; r < end; r++) {
        const T* from = x.data<T>() + rows.start(r, n);
        int64_t to = rows.start(r, k);
        load_items(from, n, rows.inner, largest, base, items.data());
        pick_first(items.data(), n, k, sorted);
        for (int64_t i = 0; i < k; i++) {
          values.data<T>()[to + i * rows.inner] = from[items[i].index() * rows.inner];
          indices.data<int64_t>()[to + i * rows.inner] = items[i].index();
        }
      }
    });
  });
  return {values, indices};
}

const Declare ops([] {
  Define("sort(Tensor input, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)")
      .kernel<sort_op>()
      .out()
      .constant_outputs(2)
      .vjp("result1", [](Vjp& v) { picked_back(v, 1); })
      .node("SortBackward0")
      .doc(
          "The elements in rising or falling order along dim, and where they were. Equal ones stay in order; NaN is "
          "the largest.");
  Define(
      "sort.stable(Tensor input, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor "
      "indices)")
      .kernel<sort_stable>()
      .out()
      .constant_outputs(2)
      .vjp("result1", [](Vjp& v) { picked_back(v, 2); })
      .node("SortBackward0");
  Define("argsort(Tensor input, int dim=-1, bool descending=False) -> Tensor")
      .kernel<argsort_op>()
      .constant_outputs(~0u)
      .doc("The indices that sort the tensor along dim.");
  Define("argsort.stable(Tensor input, *, bool stable, int dim=-1, bool descending=False) -> Tensor")
      .kernel<argsort_stable>()
      .constant_outputs(~0u);
  Define("msort(Tensor input) -> Tensor")
      .composite<msort_op>()
      .out()
      .doc("The tensor sorted along its first dimension.");
  Define(
      "topk(Tensor input, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)")
      .kernel<topk_op>()
      .out()
      .constant_outputs(2)
      .vjp("result1", [](Vjp& v) { picked_back(v, 2); })
      .doc("The k largest or smallest elements along dim, and where they are.");
});

}  // namespace
}  // namespace fl
