// Sizes, strides, overlap and dimension arithmetic.
#include <algorithm>

#include "tensor/tensor.h"

namespace fl {

std::string shape_text(IntList sizes) {
  std::string s = "[";
  for (size_t i = 0; i < sizes.size(); i++) s += (i ? ", " : "") + std::to_string(sizes[i]);
  return s + "]";
}

int64_t checked_numel(IntList sizes) {
  int64_t n = 1;
  bool zero = false;
  for (int64_t s : sizes) {
    FL_CHECK(s >= 0, "sizes must not be negative, got ", shape_text(sizes));
    zero |= s == 0;
  }
  if (zero) return 0;
  for (int64_t s : sizes)
    FL_CHECK(!__builtin_mul_overflow(n, s, &n), "sizes ", shape_text(sizes),
             " are too large: the number of elements overflows int64");
  return n;
}

int64_t storage_bytes_needed(IntList sizes, IntList strides, int64_t offset, int64_t item) {
  int64_t last = offset;
  for (size_t d = 0; d < sizes.size(); d++) {
    if (sizes[d] == 0) return 0;
    int64_t span;
    FL_CHECK(!__builtin_mul_overflow(sizes[d] - 1, strides[d], &span) && !__builtin_add_overflow(last, span, &last),
             "sizes ", shape_text(sizes), " with strides ", shape_text(strides), " overflow int64");
  }
  int64_t bytes;
  FL_CHECK(!__builtin_mul_overflow(last + 1, item, &bytes), "sizes ", shape_text(sizes), " with strides ",
           shape_text(strides), " overflow int64");
  return bytes;
}

Dims contiguous_strides(IntList sizes) {
  Dims strides(sizes.size());
  int64_t step = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = step;
    step *= std::max<int64_t>(sizes[d], 1);
  }
  return strides;
}

Dims strides_for(IntList sizes, MemoryFormat format) {
  if (format == MemoryFormat::Contiguous || format == MemoryFormat::Preserve) return contiguous_strides(sizes);
  size_t want = format == MemoryFormat::ChannelsLast ? 4 : 5;
  FL_CHECK(sizes.size() == want, "memory format channels_last", want == 5 ? "_3d" : "", " needs a tensor of ", want,
           " dimensions, got sizes ", shape_text(sizes));
  Dims strides(want);
  int64_t step = 1;
  for (size_t i = 0; i < want; i++) {
    size_t d = i == 0 ? 1 : i == want - 1 ? 0 : want - i;
    strides[d] = step;
    step *= std::max<int64_t>(sizes[d], 1);
  }
  return strides;
}

bool is_dense(const Tensor& t) {
  if (t.is_contiguous()) return true;
  SmallVector<int, 8> order;
  for (int d = 0; d < t.dim(); d++)
    if (t->sizes[d] != 1) order.push_back(d);
  std::sort(order.begin(), order.end(), [&](int a, int b) { return t->strides[a] < t->strides[b]; });
  int64_t expected = 1;
  for (int d : order) {
    if (t->strides[d] != expected) return false;
    expected *= t->sizes[d];
  }
  return true;
}

bool may_overlap_itself(const Tensor& t) {
  if (t.is_contiguous() || t.numel() <= 1) return false;
  SmallVector<int, 8> order;
  for (int d = 0; d < t.dim(); d++) {
    if (t->sizes[d] == 1) continue;
    if (t->strides[d] == 0) return true;
    order.push_back(d);
  }
  std::sort(order.begin(), order.end(), [&](int a, int b) { return t->strides[a] < t->strides[b]; });
  int64_t reach = 0;  // the furthest element of the inner dimensions
  for (int d : order) {
    if (t->strides[d] <= reach) return true;
    reach += (t->sizes[d] - 1) * t->strides[d];
  }
  return false;
}

Overlap overlap(const Tensor& a, const Tensor& b) {
  if (a.is(b)) return Overlap::Same;
  if (a.numel() == 0 || b.numel() == 0 || !a.bytes() || !b.bytes()) return Overlap::None;
  if (a.storage() != b.storage() && a.storage()->resizable && b.storage()->resizable) return Overlap::None;
  auto end = [](const Tensor& t) {
    int64_t last = 0;
    for (int d = 0; d < t.dim(); d++) last += (t->sizes[d] - 1) * t->strides[d];
    return t.bytes() + (last + 1) * t.item_size();
  };
  if (a.bytes() >= end(b) || b.bytes() >= end(a)) return Overlap::None;
  if (a.bytes() == b.bytes() && a.dtype() == b.dtype() && equal(a.sizes(), b.sizes()) &&
      equal(a.strides(), b.strides()))
    return Overlap::Same;
  return Overlap::Partial;
}

int64_t wrap_dim(int64_t dim, int64_t ndim, const char* op) {
  int64_t n = std::max<int64_t>(ndim, 1);
  FL_CHECK(dim >= -n && dim < n, ErrorKind::Index, op ? op : "", op ? ": " : "",
           "dimension out of range: expected a dim in [", -n, ", ", n - 1, "], got ", dim);
  return dim < 0 ? dim + n : dim;
}

Dims wrap_dims(IntList dims, int64_t ndim, const char* op) {
  Dims out;
  uint64_t seen = 0;
  for (int64_t d : dims) {
    int64_t w = wrap_dim(d, ndim, op);
    FL_CHECK(!(seen >> w & 1), op, ": dim ", w, " appears multiple times in the list of dims ", shape_text(dims));
    seen |= uint64_t(1) << w;
    out.push_back(w);
  }
  return out;
}

MemoryFormat suggest_memory_format(const Tensor& t) {
  if (t.is_contiguous()) return MemoryFormat::Contiguous;
  if (t.is_contiguous(MemoryFormat::ChannelsLast)) return MemoryFormat::ChannelsLast;
  if (t.is_contiguous(MemoryFormat::ChannelsLast3d)) return MemoryFormat::ChannelsLast3d;
  return MemoryFormat::Contiguous;
}

Dims broadcast(IntList a, IntList b, const char* op) {
  size_t n = std::max(a.size(), b.size());
  Dims out(n);
  for (size_t i = 0; i < n; i++) {
    int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    FL_CHECK(x == y || x == 1 || y == 1, op, ": the size of tensor a (", x, ") must match the size of tensor b (", y,
             ") at non-singleton dimension ", n - 1 - i, ": sizes ", shape_text(a), " and ", shape_text(b),
             " can't be broadcast together");
    out[n - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

}  // namespace fl
