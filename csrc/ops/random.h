// What the random ops share.
#pragma once
#include <algorithm>

#include "autograd/record.h"
#include "python/generator.h"
#include "random/generator.h"

namespace fl {

inline Generator& generator_or_default(Generator* g) { return g ? *g : *default_generator(); }

// Samples don't depend on what they were drawn with as far as derivatives go.
inline void zero_gradients(Vjp& v) {
  for (int i = 0; i < static_cast<int>(v.entry().schema.args.size()); i++)
    if (v.is_tensor(i) && v.needs(i)) v.set(i, zeros(v.sizes(i), v.dtype(i), v.grad().device()));
}

// The dimensions of `t` from the outermost in memory to the innermost.
inline SmallVector<int, 8> memory_order(const Tensor& t) {
  SmallVector<int, 8> order(t.dim());
  for (int64_t d = 0; d < t.dim(); d++) order[d] = static_cast<int>(d);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return t->strides[a] > t->strides[b]; });
  return order;
}
inline Tensor reordered(const Tensor& t, const SmallVector<int, 8>& order) {
  Dims sizes, strides;
  for (int d : order) {
    sizes.push_back(t->sizes[d]);
    strides.push_back(t->strides[d]);
  }
  return alias(t, sizes, strides, t.offset());
}

// Calls fill(pointer, count) so that the elements of `t` get its numbers in the order they lie in memory.
template <class F>
void fill_in_memory_order(const Tensor& t, F fill) {
  if (t.is_meta() || t.numel() == 0) return;
  if (t.is_contiguous()) return fill(t.bytes(), t.numel());
  Tensor ordered = reordered(t, memory_order(t));
  if (ordered.is_contiguous()) return fill(ordered.bytes(), ordered.numel());
  Tensor dense = empty(ordered.sizes(), t.dtype());
  fill(dense.bytes(), dense.numel());
  raw_copy(ordered, dense);
}

// In place, with the checks of the op.
void uniform_fill(const Tensor& t, double from, double to, Generator* generator);
void normal_fill(const Tensor& t, double mean, double std, Generator* generator);
void bernoulli_fill(const Tensor& t, double p, Generator* generator);
void bernoulli_fill(const Tensor& t, const Tensor& p, Generator* generator);

}  // namespace fl
