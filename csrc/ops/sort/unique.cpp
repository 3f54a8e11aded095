// unique and unique_consecutive.
#include <numeric>

#include "ops/reduction.h"
#include "ops/sort/keys.h"

namespace fl {
namespace {

// What is found of n things, the values apart: which thing stands for each value, each thing's value, each value's
// count.
struct Groups {
  std::vector<int64_t> first, group_of, counts;
};

void check_kind(const Tensor& x, const char* op) {
  FL_CHECK(!x.is_complex(), ErrorKind::NotImplemented, op, ": not implemented for ", info(x.dtype()).name);
  FL_CHECK(!x.is_meta(), ErrorKind::NotImplemented, op,
           ": the size of the result depends on values, which meta tensors don't have");
}

// Walks things in an order where equal ones are neighbours.
template <class Index, class Same>
Groups group(int64_t n, Index index, Same same) {
  Groups g;
  g.group_of.resize(n);
  for (int64_t i = 0; i < n; i++) {
    int64_t k = index(i);
    if (i == 0 || !same(index(i - 1), k)) {
      g.first.push_back(k);
      g.counts.push_back(0);
    }
    g.group_of[k] = static_cast<int64_t>(g.first.size()) - 1;
    g.counts.back()++;
  }
  return g;
}

template <class T>
bool same_value(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return float(a) == float(b);
  else
    return a == b;
}

Groups group_elements(const Tensor& x, bool consecutive) {
  Groups g;
  int64_t n = x.numel();
  visit_sortable(x, n, [&]<class T, class Item>(uint64_t base) {
    const T* v = x.data<T>();
    auto same = [&](int64_t a, int64_t b) { return same_value(v[a], v[b]); };
    if (consecutive) {
      g = group(
          n, [](int64_t i) { return i; }, same);
      return;
    }
    std::vector<Item> items(2 * n);
    load_items(v, n, 1, false, base, items.data());
    sort_items(items.data(), items.data() + n, n);
    g = group(
        n, [&](int64_t i) { return items[i].index(); }, same);
  });
  return g;
}

// The same of the rows of a contiguous matrix, in lexicographic order.
Groups group_rows(const Tensor& x, int64_t n, bool consecutive) {
  Groups g;
  int64_t m = n ? x.numel() / n : 0;
  visit_dtype(x.dtype(), [&]<class T>() {
    if constexpr (is_sortable<T>) {
      const T* v = x.data<T>();
      auto same = [&](int64_t a, int64_t b) {
        return std::equal(v + a * m, v + (a + 1) * m, v + b * m,
                          [](const T& p, const T& q) { return same_value(p, q); });
      };
      std::vector<int64_t> order(n);
      std::iota(order.begin(), order.end(), 0);
      if (!consecutive) {
        std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
          return std::lexicographical_compare(v + a * m, v + (a + 1) * m, v + b * m, v + (b + 1) * m,
                                              [](const T& p, const T& q) { return order_key(p) < order_key(q); });
        });
      }
      g = group(
          n, [&](int64_t i) { return order[i]; }, same);
    }
  });
  return g;
}

Tensor index_tensor(const std::vector<int64_t>& v, IntList sizes) {
  Tensor t = empty(sizes, DType::Int64);
  std::copy(v.begin(), v.end(), t.data<int64_t>());
  return t;
}

Result find(const Tensor& input, std::optional<int64_t> dim, bool consecutive, bool inverse, bool counts) {
  const char* op = consecutive ? "unique_consecutive" : "unique";
  check_kind(input, op);
  NoGrad guard;
  static const Op index_select("index_select"), movedim("movedim.int");
  Groups g;
  Dims inverse_sizes(input.sizes());
  int64_t d = 0;
  Tensor source;
  if (dim) {
    d = wrap_dim(*dim, input.dim(), op);
    int64_t n = input.dim() ? input->sizes[d] : 1;
    if (input.numel() == 0) {
      int64_t empty_dims = std::count(input.sizes().begin(), input.sizes().end(), 0);
      FL_CHECK(n == 0 && empty_dims == 1, op, ": there are ", empty_dims, " zero sized dimensions in sizes ",
               shape_text(input.sizes()), ": unique along another one is not defined");
    }
    source = input;
    g = group_rows(raw_contiguous(input.dim() ? movedim(input, d, int64_t(0)) : input), n, consecutive);
    inverse_sizes = Dims(1, n);
  } else {
    int64_t flat[1] = {input.numel()}, stride[1] = {1};
    Tensor x = raw_contiguous(input);
    source = alias(x, flat, stride, x.offset());
    g = group_elements(source, consecutive);
  }
  int64_t found[1] = {static_cast<int64_t>(g.first.size())};
  Tensor values = index_select(source, d, index_tensor(g.first, found));
  if (!inverse && !counts) return Result(values);
  std::vector<Tensor> results{values};
  if (inverse) results.push_back(index_tensor(g.group_of, inverse_sizes));
  if (counts) results.push_back(index_tensor(g.counts, found));
  return Result(Result::Kind::Tuple, std::move(results));
}
std::optional<int64_t> dim_of(const Value& v) { return v.is_none() ? std::nullopt : std::optional<int64_t>(v.i); }
Result unique_op(const Entry&, const Value* a, const Destination*) {
  return find(borrow(a[0].tensor), dim_of(a[4]), false, a[2].i, a[3].i);
}
Result consecutive_op(const Entry&, const Value* a, const Destination*) {
  return find(borrow(a[0].tensor), dim_of(a[3]), true, a[1].i, a[2].i);
}

const Declare ops([] {
  Define(
      "unique(Tensor input, bool sorted=True, bool return_inverse=False, bool return_counts=False, int? dim=None) -> "
      "any")
      .raw_kernel(unique_op)
      .constant_outputs(~0u)
      .doc(
          "The different elements in rising order, or slices along dim; on request each element's place among them, "
          "and how often each occurs.");
  Define("unique_consecutive(Tensor input, bool return_inverse=False, bool return_counts=False, int? dim=None) -> any")
      .raw_kernel(consecutive_op)
      .constant_outputs(~0u)
      .doc("The elements without those that equal the one before; on request places and counts as of unique.");
});

}  // namespace
}  // namespace fl
