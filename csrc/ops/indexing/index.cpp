// Indexing with tensors: index, index_put and what selects by masks.
#include "autograd/record.h"
#include "ops/api.h"
#include "ops/indexing/masks.h"
#include "ops/indexing/places.h"
#include "tensor/view.h"

namespace fl {
namespace {

struct Indexing {
  Places places;
  Dims shape;      // of what is read or written
  Tensor offsets;  // what places.offsets points to
};

bool is_mask(const Tensor& t) { return t.dtype() == DType::Bool || t.dtype() == DType::UInt8; }

Dims broadcast_indices(const std::vector<Tensor>& parts) {
  Dims shape;
  for (const Tensor& t : parts) {
    size_t n = std::max(shape.size(), t.sizes().size());
    Dims next(n, 1);
    for (size_t i = 0; i < n; i++) {
      int64_t a = i < shape.size() ? shape[shape.size() - 1 - i] : 1,
              b = i < t.sizes().size() ? t.sizes()[t.sizes().size() - 1 - i] : 1;
      if (a != b && a != 1 && b != 1) {
        std::string shapes;
        for (const Tensor& x : parts) shapes += (shapes.empty() ? "" : ", ") + shape_text(x.sizes());
        fail(ErrorKind::Index, "shape mismatch: indexing tensors could not be broadcast together with shapes ", shapes);
      }
      next[n - 1 - i] = a == 1 ? b : a;
    }
    shape = next;
  }
  return shape;
}

// How far each index lies behind the tensor's first element, in elements, along dimension `dim`.
Tensor offsets_along(const Tensor& index, const Tensor& self, int64_t dim) {
  int64_t size = self->sizes[dim], stride = self->strides[dim];
  Tensor values = index;
  if (index.dtype() != DType::Int64 || !index.is_contiguous()) {
    values = empty(index.sizes(), DType::Int64, index.device());
    raw_copy(values, index);
  }
  Tensor out = empty(index.sizes(), DType::Int64, index.device());
  if (out.is_meta() || self.is_meta()) return out;
  const int64_t* p = values.data<int64_t>();
  int64_t* q = out.data<int64_t>();
  int64_t n = out.numel();
  bool bad = false;
  for (int64_t i = 0; i < n; i++) {
    int64_t v = p[i] + ((p[i] >> 63) & size);
    bad |= static_cast<uint64_t>(v) >= static_cast<uint64_t>(size);
    q[i] = static_cast<int64_t>(static_cast<uint64_t>(v) * static_cast<uint64_t>(stride));
  }
  if (__builtin_expect(bad, 0))
    for (int64_t i = 0; i < n; i++)
      FL_CHECK(p[i] >= -size && p[i] < size, ErrorKind::Index, "index ", p[i], " is out of bounds for dimension ", dim,
               " with size ", size);
  return out;
}

Tensor offsets_of_mask(const Tensor& mask, const Tensor& self, int64_t dim) {
  FL_CHECK(dim + mask.dim() <= self.dim(), ErrorKind::Index, "too many indices for tensor of dimension ", self.dim());
  Walk<2> walk;
  for (int64_t d = 0; d < mask.dim(); d++) {
    FL_CHECK(mask->sizes[d] == self->sizes[dim + d], ErrorKind::Index, "The shape of the mask ",
             shape_text(mask.sizes()), " at index ", d, " does not match the shape of the indexed tensor ",
             shape_text(self.sizes()), " at index ", dim + d);
    walk.add(mask->sizes[d], {mask->strides[d], self->strides[dim + d]});
  }
  FL_CHECK(!mask.is_meta(), ErrorKind::NotImplemented,
           "a mask on the meta device has no values: the size of the result isn't known");
  int64_t count = count_true(mask);
  Tensor out = empty(Dims{count}, DType::Int64);
  int64_t* q = out.data<int64_t>();
  int64_t n = walk.line(), mask_step = walk.step(0), step = walk.step(1), at = 0;
  if (mask.numel() == 0) return out;
  walk.run(0, walk.lines(), [&](const Walk<2>::Offsets& line) {
    const uint8_t* m = mask.data<uint8_t>() + line[0];
    // Writes go on while there is room; the last true element ends them.
    for (int64_t i = 0; i < n && at < count; i++) {
      q[at] = line[1] + i * step;
      at += m[i * mask_step] != 0;
    }
  });
  return out;
}

Indexing prepare(const Tensor& self, TensorList indices) {
  Indexing r;
  std::vector<Tensor> parts;
  Dims dims;  // the dimension each part indexes; -1 for a mask
  uint64_t indexed = 0;
  int64_t dim = 0;
  for (const Tensor& t : indices) {
    if (!t.defined()) {
      dim++;
      continue;
    }
    FL_CHECK(is_mask(t) || t.dtype() == DType::Int64 || t.dtype() == DType::Int32, ErrorKind::Index,
             "tensors used as indices must be long, int, byte or bool tensors, got ", info(t.dtype()).name);
    int64_t covered = is_mask(t) ? t.dim() : 1;
    FL_CHECK(dim + covered <= self.dim(), ErrorKind::Index, "too many indices for tensor of dimension ", self.dim());
    parts.push_back(is_mask(t) ? offsets_of_mask(t, self, dim) : t);
    dims.push_back(is_mask(t) ? -1 : dim);
    for (int64_t d = 0; d < covered; d++) indexed |= uint64_t(1) << (dim + d);
    dim += covered;
  }
  FL_CHECK(dim <= self.dim(), ErrorKind::Index, "too many indices for tensor of dimension ", self.dim());
  Dims together = broadcast_indices(parts);
  // Positions count, and are checked, only where there is something to read.
  bool any = checked_numel(together) > 0;
  for (size_t k = 0; k < parts.size(); k++) {
    if (dims[k] < 0) continue;
    FL_CHECK(!any || self->sizes[dims[k]] > 0, ErrorKind::Index, "index is out of bounds for dimension ", dims[k],
             " with size 0");
    parts[k] = any && self.numel() ? offsets_along(parts[k], self, dims[k])
                                   : zeros(parts[k].sizes(), DType::Int64, self.device());
  }
  if (parts.size() == 1) {
    r.offsets = parts[0];
  } else {
    r.offsets = zeros(together, DType::Int64, self.device());
    int64_t* sum = r.offsets.data<int64_t>();
    for (const Tensor& part : parts) {
      Tensor full = part;
      if (!equal(part.sizes(), together)) {
        full = empty(together, DType::Int64, self.device());
        raw_copy(full, part);
      }
      if (self.is_meta()) continue;
      const int64_t* p = full.data<int64_t>();
      for (int64_t i = 0; i < full.numel(); i++) sum[i] += p[i];
    }
  }
  // The indexed dimensions go where they were when they are neighbours, else to the front.
  int64_t first = indexed ? __builtin_ctzll(indexed) : 0, last = indexed ? 64 - __builtin_clzll(indexed) : 0;
  bool neighbours =
      !indexed || (indexed >> first) == (last - first == 64 ? ~uint64_t(0) : (uint64_t(1) << (last - first)) - 1);
  int64_t begin = neighbours ? first : 0;
  for (int64_t d = 0; d < begin; d++) {
    r.shape.push_back(self->sizes[d]);
    r.places.add_before(self, d);
  }
  for (int64_t s : together) r.shape.push_back(s);
  for (int64_t d = begin; d < self.dim(); d++) {
    if (indexed >> d & 1) continue;
    r.shape.push_back(self->sizes[d]);
    r.places.add_after(self, d);
  }
  r.places.data = self.bytes();
  r.places.dtype = self.dtype();
  r.places.offsets = r.offsets.data<int64_t>();
  r.places.count = r.offsets.numel();
  return r;
}

Tensor index_op(const Tensor& self, TensorList indices) {
  if (indices.size() == 1 && indices[0] && indices[0].dtype() == DType::Bool && !self.is_meta() &&
      !indices[0].is_meta() && self.is_contiguous() && indices[0].is_contiguous() &&
      equal(self.sizes(), indices[0].sizes()))
    return compress(self, indices[0]);
  Indexing r = prepare(self, indices);
  Tensor out = empty(r.shape, self.dtype(), self.device());
  if (!out.is_meta()) read_places(r.places, out.bytes());
  return out;
}

Tensor index_put_op(const Tensor& self, TensorList indices, const Tensor& values, bool accumulate) {
  FL_CHECK(self.dtype() == values.dtype(), "index_put_: the destination is ", info(self.dtype()).name, ", the source ",
           info(values.dtype()).name, "; their dtypes must match");
  Indexing r = prepare(self, indices);
  bool single = values.numel() == 1 && values.dim() <= static_cast<int64_t>(r.shape.size());
  Tensor source = values;
  if (!single &&
      !(equal(values.sizes(), r.shape) && values.is_contiguous() && overlap(self, values) == Overlap::None)) {
    int64_t lead = static_cast<int64_t>(r.shape.size()) - values.dim();
    bool fits = lead >= 0;
    for (int64_t d = 0; fits && d < values.dim(); d++)
      fits = values->sizes[d] == 1 || values->sizes[d] == r.shape[d + lead];
    FL_CHECK(fits, "shape mismatch: value tensor of shape ", shape_text(values.sizes()),
             " cannot be broadcast to indexing result of shape ", shape_text(r.shape));
    source = empty(r.shape, values.dtype(), values.device());
    raw_copy(source, values);
  } else {
    FL_CHECK(single || values.numel() == checked_numel(r.shape), "shape mismatch: value tensor of shape ",
             shape_text(values.sizes()), " cannot be broadcast to indexing result of shape ", shape_text(r.shape));
  }
  if (self.is_meta()) return self;
  alignas(16) char one[16];
  if (single) std::memcpy(one, values.bytes(), values.item_size());
  write_places(r.places, single ? one : source.bytes(), single, accumulate ? Combine::Add : Combine::Assign);
  return self;
}

std::vector<Tensor> saved_indices(Vjp& v) {
  std::vector<Tensor> indices(v.list_size(1));
  for (int k = 0; k < v.list_size(1); k++) indices[k] = v.input(1, k);
  return indices;
}

const Op index_of("_C.index"), put("index_put");

const Declare ops([] {
  Define("_C.index(Tensor input, Tensor?[] indices) -> Tensor").kernel<index_op>().vjp("indices", [](Vjp& v) {
    if (!v.needs(0)) return;
    Tensor g = v.grad(), whole = zeros(v.sizes(0), g.dtype(), g.device());
    put.in_place(whole, saved_indices(v), g, true);
    v.set(0, whole);
  });
  Define("index_put(Tensor input, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor")
      .in_place_kernel<index_put_op>()
      .vjp("indices",
           [](Vjp& v) {
             Tensor g = v.grad();
             std::vector<Tensor> indices = saved_indices(v);
             if (v.needs(0))
               v.set(0, v.flag(3) ? g : put(g, indices, full(Dims(), Scalar(0), g.dtype(), g.device()), false));
             if (v.needs(2)) v.set(2, sum_to_size(index_of(g, indices), v.sizes(2)));
           })
      .doc(
          "Writes values at the positions that the index tensors name, like input[indices] = values; with accumulate "
          "it adds them,\n"
          "also where a position occurs several times. Raises IndexError before anything is written when an index is "
          "out of bounds.");
});

}  // namespace
}  // namespace fl
