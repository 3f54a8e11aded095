// searchsorted, bucketize and isin.
#include "ops/reduction.h"
#include "ops/sort/keys.h"

namespace fl {
namespace {

// The first position in rising keys that is not below `key` (or, from the right, the first above it), without a branch.
template <class Key>
int64_t position(const Key* keys, int64_t n, Key key, bool right) {
  int64_t low = 0;
  while (n > 0) {
    int64_t half = n / 2;
    bool beyond = right ? keys[low + half] <= key : keys[low + half] < key;
    low = beyond ? low + half + 1 : low;
    n = beyond ? n - half - 1 : half;
  }
  return low;
}

bool from_right(bool right, const std::optional<std::string_view>& side) {
  if (!side) return right;
  FL_CHECK(*side == "left" || *side == "right", "searchsorted: side can only be 'left' or 'right' but got '", *side,
           "'");
  FL_CHECK(!(right && *side == "left"),
           "searchsorted: side and right can't be set to opposites, got side of left while right was True");
  return *side == "right";
}

Tensor search(const Tensor& sorted, const Tensor& input, bool out_int32, bool right, const Tensor& sorter,
              const char* op) {
  FL_CHECK(sorted.dim() > 0, op, ": the boundaries must have at least one dimension");
  bool shared = sorted.dim() == 1;
  if (!shared) {
    bool match = sorted.dim() == input.dim();
    for (int64_t d = 0; match && d + 1 < sorted.dim(); d++) match = sorted->sizes[d] == input->sizes[d];
    FL_CHECK(match, op,
             ": boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input "
             "value tensor must match, but we got boundaries tensor ",
             shape_text(sorted.sizes()), " and input value tensor ", shape_text(input.sizes()));
  }
  FL_CHECK(!sorted.is_complex() && !input.is_complex(), ErrorKind::NotImplemented, op,
           ": complex numbers have no order");
  if (sorter) {
    FL_CHECK(equal(sorter.sizes(), sorted.sizes()), op,
             ": boundary and sorter must have the same size, but got boundary tensor ", shape_text(sorted.sizes()),
             " and got sorter tensor ", shape_text(sorter.sizes()));
    FL_CHECK(sorter.dtype() == DType::Int64, op, ": sorter must be a tensor of long dtype but got dtype ",
             info(sorter.dtype()).name);
  }
  Tensor out = empty(input.sizes(), out_int32 ? DType::Int32 : DType::Int64,
                     sorted.is_meta() ? sorted.device() : input.device());
  if (out.is_meta() || out.numel() == 0) return out;
  FL_CHECK(!(sorter && sorter.is_meta()), op, ": the sorter has no values: it is on the meta device");
  DType t = input.dtype() == sorted.dtype() ? input.dtype() : promote(input.dtype(), sorted.dtype());
  Tensor b = raw_contiguous(raw_cast(sorted, t)), x = raw_contiguous(raw_cast(input, t)),
         order = sorter ? raw_contiguous(sorter) : Tensor();
  int64_t n = b->sizes[b.dim() - 1], per_row = shared ? x.numel() : x->sizes[x.dim() - 1];
  const int64_t* permutation = order ? order.data<int64_t>() : nullptr;
  if (permutation) {
    for (int64_t i = 0; i < order.numel(); i++)
      FL_CHECK(permutation[i] >= 0 && permutation[i] < n, op, ": sorter index ", permutation[i],
               " is out of range for size ", n);
  }
  visit_dtype(t, [&]<class T>() {
    if constexpr (is_sortable<T>) {
      // NaN is above every number, as when sorting.
      const T *values = x.data<T>(), *edges = b.data<T>();
      std::vector<decltype(order_key(T()))> keys(b.numel());
      for (int64_t i = 0; i < b.numel(); i++) keys[i] = order_key(edges[permutation ? i / n * n + permutation[i] : i]);
      parallel_for(0, x.numel(), 2048, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) {
          int64_t at = position(keys.data() + (shared ? 0 : i / per_row * n), n, order_key(values[i]), right);
          if (out_int32)
            out.data<int32_t>()[i] = static_cast<int32_t>(at);
          else
            out.data<int64_t>()[i] = at;
        }
      });
    }
  });
  return out;
}

Tensor searchsorted_tensor(const Tensor& sorted, const Tensor& input, bool out_int32, bool right,
                           std::optional<std::string_view> side, const Tensor& sorter) {
  return search(sorted, input, out_int32, from_right(right, side), sorter, "searchsorted");
}
Tensor as_tensor(const Scalar& s) { return scalar_tensor(s, s.is_integral() ? DType::Int64 : default_dtype()); }
Tensor searchsorted_scalar(const Tensor& sorted, Scalar input, bool out_int32, bool right,
                           std::optional<std::string_view> side, const Tensor& sorter) {
  FL_CHECK(sorted.dim() <= 1,
           "searchsorted: input value can be a scalar only when boundaries tensor dimension is 1, but we got "
           "boundaries tensor dim(",
           sorted.dim(), ")");
  return search(sorted, as_tensor(input), out_int32, from_right(right, side), sorter, "searchsorted");
}
Tensor bucketize_tensor(const Tensor& input, const Tensor& boundaries, bool out_int32, bool right) {
  FL_CHECK(boundaries.dim() == 1, "bucketize: boundaries tensor must be 1 dimension, but got dim(", boundaries.dim(),
           ")");
  return search(boundaries, input, out_int32, right, Tensor(), "bucketize");
}
Tensor bucketize_scalar(Scalar input, const Tensor& boundaries, bool out_int32, bool right) {
  return bucketize_tensor(as_tensor(input), boundaries, out_int32, right);
}

// ---- isin

Tensor isin_op(const Tensor& elements, const Tensor& tests, bool, bool invert) {
  FL_CHECK(!elements.is_complex() && !tests.is_complex(), "isin: unsupported input type ", info(elements.dtype()).name);
  Tensor out = empty(elements.sizes(), DType::Bool, tests.is_meta() ? tests.device() : elements.device());
  if (out.is_meta() || out.numel() == 0) return out;
  TypePromoter types;
  types.add(elements);
  types.add(tests);
  DType t = types.result();
  Tensor x = raw_contiguous(raw_cast(elements, t)), y = raw_contiguous(raw_cast(tests, t));
  visit_dtype(t, [&]<class T>() {
    if constexpr (is_sortable<T>) {
      using Key = decltype(order_key(T()));
      std::vector<Key> keys;
      for (int64_t i = 0; i < y.numel(); i++) {
        T v = y.data<T>()[i];
        if (v == v) keys.push_back(order_key(v));
      }
      std::sort(keys.begin(), keys.end());
      parallel_for(0, x.numel(), 4096, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) {
          T v = x.data<T>()[i];
          bool found = v == v && std::binary_search(keys.begin(), keys.end(), order_key(v));
          out.data<Bool>()[i] = Bool(found != invert);
        }
      });
    }
  });
  return out;
}
Tensor isin_scalar(const Tensor& elements, Scalar test, bool unique, bool invert) {
  Tensor t = scalar_tensor(test, test.natural_dtype(), true);
  return isin_op(elements, t, unique, invert);
}
Tensor isin_in(Scalar element, const Tensor& tests, bool unique, bool invert) {
  return isin_op(scalar_tensor(element, element.natural_dtype(), true), tests, unique, invert);
}

const Declare ops([] {
  Define(
      "torch.searchsorted(Tensor sorted_sequence, Tensor input, *, bool out_int32=False, bool right=False, str? "
      "side=None, Tensor? sorter=None) -> Tensor")
      .kernel<searchsorted_tensor>()
      .out()
      .constant_outputs(~0u)
      .doc(
          "Where in the innermost dimension of sorted_sequence the values of input would be inserted to keep it "
          "sorted.");
  Define(
      "torch.searchsorted.Scalar(Tensor sorted_sequence, Scalar input, *, bool out_int32=False, bool right=False, str? "
      "side=None, Tensor? sorter=None) -> Tensor")
      .kernel<searchsorted_scalar>()
      .out()
      .constant_outputs(~0u);
  Define("torch.bucketize(Tensor input, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor")
      .kernel<bucketize_tensor>()
      .out()
      .constant_outputs(~0u)
      .doc("The index of the bucket, between sorted boundaries, of each element.");
  Define("torch.bucketize.Scalar(Scalar input, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor")
      .kernel<bucketize_scalar>()
      .out()
      .constant_outputs(~0u);
  Define("torch.isin(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor")
      .kernel<isin_op>()
      .out()
      .constant_outputs(~0u)
      .doc("Whether each element is among test_elements.");
  Define(
      "torch.isin.Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False) -> "
      "Tensor")
      .kernel<isin_scalar>()
      .out()
      .constant_outputs(~0u);
  Define(
      "torch.isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, bool invert=False) "
      "-> Tensor")
      .kernel<isin_in>()
      .out()
      .constant_outputs(~0u);
});

}  // namespace
}  // namespace fl
