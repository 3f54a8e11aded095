// Taking tensors apart into views: split, chunk, unbind and their kin.
#include "autograd/record.h"
#include "ops/api.h"
#include "tensor/view.h"

namespace fl {
namespace {

Tensor part_of(const Tensor& t, int64_t dim, int64_t start, int64_t length) {
  Dims sizes(t.sizes());
  sizes[dim] = length;
  return make_view(t, sizes, t.strides(), t.offset() + start * t->strides[dim]);
}

Dims even_sizes(const Tensor& input, int64_t size, int64_t dim, const char* op) {
  FL_CHECK(input.dim() > 0, op, " expects at least a 1-dimensional tensor");
  int64_t have = input->sizes[wrap_dim(dim, input.dim(), op)];
  FL_CHECK(size >= 0, op, ": split_size must not be negative, but got ", size);
  FL_CHECK(size > 0 || have == 0, op, ": split_size can only be 0 if dimension size is 0, but got dimension size of ",
           have);
  int64_t count = size == 0 ? 1 : std::max<int64_t>((have + size - 1) / size, 1);
  Dims sizes(count, size);
  sizes.back() = have - (count - 1) * size;
  return sizes;
}

std::vector<Tensor> split_into(const Tensor& input, IntList sizes, int64_t dim) {
  std::vector<Tensor> parts;
  parts.reserve(sizes.size());
  int64_t at = 0;
  for (int64_t s : sizes) {
    parts.push_back(part_of(input, dim, at, s));
    at += s;
  }
  return parts;
}

std::vector<Tensor> split_even(const Tensor& input, int64_t size, int64_t dim) {
  Dims sizes = even_sizes(input, size, dim, "split");
  return split_into(input, sizes, wrap_dim(dim, input.dim()));
}
std::vector<Tensor> split_sizes(const Tensor& input, IntList sizes, int64_t dim) {
  FL_CHECK(input.dim() > 0, "split expects at least a 1-dimensional tensor");
  int64_t d = wrap_dim(dim, input.dim(), "split_with_sizes"), total = 0;
  for (int64_t s : sizes) {
    FL_CHECK(s >= 0, "split_with_sizes: split_sizes must not be negative, but got ", shape_text(sizes));
    total += s;
  }
  FL_CHECK(total == input->sizes[d], "split_with_sizes: split_sizes must sum exactly to ", input->sizes[d],
           " (the size at dimension ", d, "), but got ", shape_text(sizes));
  return split_into(input, sizes, d);
}

// Gradients of the parts, joined; zeros where none arrived.
void join_back(Vjp& v, int count, int64_t dim) {
  if (!v.needs(0)) return;
  std::vector<Tensor> parts(count);
  for (int k = 0; k < count; k++) parts[k] = v.grad(k);
  v.set(0, count ? cat(parts, dim) : zeros(v.sizes(0), v.dtype(0)));
}

std::vector<Tensor> unbind_op(const Tensor& input, int64_t dim) {
  FL_CHECK(input.dim() > 0, ErrorKind::Index, "unbind: dimension ", dim, " of a tensor that has no dimensions");
  int64_t d = wrap_dim(dim, input.dim(), "unbind");
  Dims sizes(input.sizes()), strides(input.strides());
  sizes.erase(d);
  strides.erase(d);
  std::vector<Tensor> parts;
  parts.reserve(input->sizes[d]);
  for (int64_t i = 0; i < input->sizes[d]; i++)
    parts.push_back(make_view(input, sizes, strides, input.offset() + i * input->strides[d]));
  return parts;
}

const Op split_of("Tensor.split"), with_sizes("split_with_sizes"), slice("slice");

std::vector<Tensor> split_again(const Tensor& input, int64_t size, int64_t dim) {
  return split_of.list(input, size, dim);
}
std::vector<Tensor> split_sizes_again(const Tensor& input, IntList sizes, int64_t dim) {
  return with_sizes.list(input, sizes, dim);
}

constexpr int64_t kMostParts = int64_t(1) << 28;  // a tensor takes some 200 bytes

int64_t chunk_size(const Tensor& input, int64_t chunks, int64_t dim, const char* op) {
  FL_CHECK(input.dim() > 0, op, " expects at least a 1-dimensional tensor");
  FL_CHECK(chunks > 0, op, " expects `chunks` to be greater than 0, got: ", chunks);
  int64_t size = input.size(dim);
  return size / chunks + (size % chunks != 0);
}
std::vector<Tensor> chunk_op(const Tensor& input, int64_t chunks, int64_t dim) {
  int64_t size = chunk_size(input, chunks, dim, "chunk");
  // An empty dimension still gives as many chunks as were asked for.
  FL_CHECK(size || chunks <= kMostParts, ErrorKind::OutOfMemory, "chunk: ", chunks,
           " chunks are more tensors than fit into memory");
  if (size == 0 && input.size(dim) == 0) return with_sizes.list(input, Dims(chunks, 0), dim);
  return split_of.list(input, size, dim);
}

std::vector<Tensor> cut_at(const Tensor& input, IntList ends, int64_t dim) {
  std::vector<Tensor> parts;
  int64_t start = 0;
  for (int64_t end : ends) {
    parts.push_back(slice(input, dim, start, end, int64_t(1)));
    start = end;
  }
  parts.push_back(slice(input, dim, start, input.size(dim), int64_t(1)));
  return parts;
}
std::vector<Tensor> cut_evenly(const Tensor& input, int64_t sections, int64_t dim) {
  FL_CHECK(sections > 0, "tensor_split: number of sections must be larger than 0, got ", sections);
  FL_CHECK(sections <= kMostParts, ErrorKind::OutOfMemory, "tensor_split: ", sections,
           " sections are more tensors than fit into memory");
  int64_t size = input.size(dim), small = size / sections, larger = size % sections, start = 0;
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < sections; i++) {
    int64_t length = small + (i < larger ? 1 : 0);
    parts.push_back(slice(input, dim, start, start + length, int64_t(1)));
    start += length;
  }
  return parts;
}
std::vector<Tensor> tensor_split_sections(const Tensor& input, int64_t sections, int64_t dim) {
  FL_CHECK(input.dim() > 0, "tensor_split: expected at least a 1-dimensional tensor, but got a tensor with 0 dims");
  return cut_evenly(input, sections, wrap_dim(dim, input.dim(), "tensor_split"));
}
std::vector<Tensor> tensor_split_indices(const Tensor& input, IntList indices, int64_t dim) {
  FL_CHECK(input.dim() > 0, "tensor_split: expected at least a 1-dimensional tensor, but got a tensor with 0 dims");
  return cut_at(input, indices, wrap_dim(dim, input.dim(), "tensor_split"));
}
std::vector<Tensor> tensor_split_tensor(const Tensor& input, const Tensor& where_to, int64_t dim) {
  FL_CHECK(where_to.dtype() == DType::Int64,
           "tensor_split: expected tensor_indices_or_sections to have dtype of long, but got ",
           info(where_to.dtype()).name);
  FL_CHECK(where_to.dim() <= 1,
           "tensor_split: expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, but "
           "got one with ",
           where_to.dim(), " dims");
  FL_CHECK(!where_to.is_meta(), ErrorKind::NotImplemented,
           "tensor_split: a tensor of indices on the meta device has no values");
  Tensor dense = raw_clone(where_to);
  const int64_t* p = dense.data<int64_t>();
  if (where_to.dim() == 0) return tensor_split_sections(input, *p, dim);
  return tensor_split_indices(input, IntList(p, dense.numel()), dim);
}

// The dimension that hsplit, vsplit and dsplit cut.
int64_t split_dim(const Tensor& input, int64_t at_least, int64_t dim, const char* op) {
  FL_CHECK(input.dim() >= at_least, "torch.", op, " requires a tensor with at least ", at_least,
           " dimension but got a tensor with ", input.dim(), " dimensions");
  return op[0] == 'h' && input.dim() == 1 ? 0 : dim;
}
std::vector<Tensor> split_sections(const Tensor& input, int64_t sections, int64_t at_least, int64_t dim,
                                   const char* op) {
  int64_t d = split_dim(input, at_least, dim, op);
  FL_CHECK(sections != 0 && input->sizes[d] % sections == 0, "torch.", op, " attempted to split along dimension ", d,
           ", but the size of the dimension ", input->sizes[d], " is not divisible by the split_size ", sections);
  return cut_evenly(input, sections, d);
}
std::vector<Tensor> hsplit_int(const Tensor& input, int64_t n) { return split_sections(input, n, 1, 1, "hsplit"); }
std::vector<Tensor> vsplit_int(const Tensor& input, int64_t n) { return split_sections(input, n, 2, 0, "vsplit"); }
std::vector<Tensor> dsplit_int(const Tensor& input, int64_t n) { return split_sections(input, n, 3, 2, "dsplit"); }
std::vector<Tensor> hsplit_at(const Tensor& input, IntList at) {
  return cut_at(input, at, split_dim(input, 1, 1, "hsplit"));
}
std::vector<Tensor> vsplit_at(const Tensor& input, IntList at) {
  return cut_at(input, at, split_dim(input, 2, 0, "vsplit"));
}
std::vector<Tensor> dsplit_at(const Tensor& input, IntList at) {
  return cut_at(input, at, split_dim(input, 3, 2, "dsplit"));
}

// Parts with memory of their own.
std::vector<Tensor> copies(std::vector<Tensor> parts) {
  for (Tensor& t : parts) {
    Tensor dense = empty(t.sizes(), t.dtype(), t.device());
    raw_copy(dense, t);
    t = std::move(dense);
  }
  return parts;
}
std::vector<Tensor> split_copy(const Tensor& input, int64_t size, int64_t dim) {
  return copies(split_even(input, size, dim));
}
std::vector<Tensor> split_with_sizes_copy(const Tensor& input, IntList sizes, int64_t dim) {
  return copies(split_sizes(input, sizes, dim));
}
std::vector<Tensor> unbind_copy(const Tensor& input, int64_t dim) { return copies(unbind_op(input, dim)); }

// Views that autograd takes for tensors of their own, so that each may be written to.
std::vector<Tensor> unrelated(std::vector<Tensor> parts) {
  for (Tensor& t : parts) t = alias(t);
  return parts;
}
std::vector<Tensor> unsafe_split(const Tensor& input, int64_t size, int64_t dim) {
  return unrelated(split_even(input, size, dim));
}
std::vector<Tensor> unsafe_split_with_sizes(const Tensor& input, IntList sizes, int64_t dim) {
  return unrelated(split_sizes(input, sizes, dim));
}
std::vector<Tensor> unsafe_chunk(const Tensor& input, int64_t chunks, int64_t dim) {
  int64_t size = chunk_size(input, chunks, dim, "unsafe_chunk");
  static const Op split("unsafe_split"), sizes("unsafe_split_with_sizes");
  return size == 0 ? sizes.list(input, Dims(chunks, 0), dim) : split.list(input, size, dim);
}

void split_back(Vjp& v) {
  Dims sizes(v.sizes(0));
  int64_t d = wrap_dim(v.integer(2), static_cast<int64_t>(sizes.size())), size = v.integer(1);
  join_back(v, static_cast<int>(size == 0 ? 1 : std::max<int64_t>((sizes[d] + size - 1) / size, 1)), d);
}
void split_sizes_back(Vjp& v) {
  join_back(v, static_cast<int>(v.ints(1).size()), wrap_dim(v.integer(2), static_cast<int64_t>(v.sizes(0).size())));
}
void unbind_back(Vjp& v) {
  if (!v.needs(0)) return;
  int64_t d = wrap_dim(v.integer(1), static_cast<int64_t>(v.sizes(0).size()));
  std::vector<Tensor> parts(v.sizes(0)[d]);
  for (size_t k = 0; k < parts.size(); k++) parts[k] = v.grad(static_cast<int>(k));
  static const Op stack("stack");
  v.set(0, parts.empty() ? zeros(v.sizes(0), v.dtype(0)) : stack(parts, d));
}

const Declare ops([] {
  Define("Tensor.split(Tensor input, int split_size, int dim=0) -> Tensor[]")
      .kernel<split_even>()
      .view()
      .vjp("", split_back)
      .doc(
          "Views of input of split_size entries along dim; the last may be smaller. A list of sizes gives parts of "
          "those sizes.");
  Define("Tensor.split.sizes(Tensor input, int[] split_size, int dim=0) -> Tensor[]").composite<split_sizes_again>();
  Define("torch.split(Tensor tensor, int split_size_or_sections, int dim=0) -> Tensor[]")
      .composite<split_again>()
      .doc(
          "Views of a tensor of split_size_or_sections entries along dim; the last may be smaller. A list of sizes "
          "gives parts of those sizes.");
  Define("torch.split.sizes(Tensor tensor, int[] split_size_or_sections, int dim=0) -> Tensor[]")
      .composite<split_sizes_again>();
  Define("split_with_sizes(Tensor input, int[] split_sizes, int dim=0) -> Tensor[]")
      .kernel<split_sizes>()
      .view()
      .vjp("", split_sizes_back)
      .doc("Views of input of given sizes along dim, which must add up to the size of dim.");
  Define("chunk(Tensor input, int chunks, int dim=0) -> Tensor[]")
      .composite<chunk_op>()
      .doc("At most that many views of input of equal sizes along dim; the last may be smaller.");
  Define("unbind(Tensor input, int dim=0) -> Tensor[]")
      .kernel<unbind_op>()
      .view()
      .vjp("", unbind_back)
      .doc("Views of input at each position along dim, which goes away.");
  Define("tensor_split(Tensor input, int sections, int dim=0) -> Tensor[]")
      .composite<tensor_split_sections>()
      .doc("Views of input: that many sections along dim, as even as possible, or cut at given indices.");
  Define("tensor_split.indices(Tensor input, int[] indices, int dim=0) -> Tensor[]").composite<tensor_split_indices>();
  Define("tensor_split.tensor(Tensor input, Tensor tensor_indices_or_sections, int dim=0) -> Tensor[]")
      .composite<tensor_split_tensor>();
  Define("hsplit(Tensor input, int sections) -> Tensor[]")
      .composite<hsplit_int>()
      .doc("Views of input cut along its second dimension, or its only one.");
  Define("hsplit.indices(Tensor input, int[] indices) -> Tensor[]").composite<hsplit_at>();
  Define("vsplit(Tensor input, int sections) -> Tensor[]")
      .composite<vsplit_int>()
      .doc("Views of input cut along its first dimension.");
  Define("vsplit.indices(Tensor input, int[] indices) -> Tensor[]").composite<vsplit_at>();
  Define("dsplit(Tensor input, int sections) -> Tensor[]")
      .composite<dsplit_int>()
      .doc("Views of input cut along its third dimension.");
  Define("dsplit.indices(Tensor input, int[] indices) -> Tensor[]").composite<dsplit_at>();
  Define("torch.split_copy(Tensor input, int split_size, int dim=0) -> Tensor[]")
      .kernel<split_copy>()
      .out()
      .node("SplitBackward0_copy")
      .vjp("", split_back)
      .doc("Like split, with memory of their own for the parts.");
  Define("torch.split_with_sizes_copy(Tensor input, int[] split_sizes, int dim=0) -> Tensor[]")
      .kernel<split_with_sizes_copy>()
      .out()
      .node("SplitWithSizesBackward0_copy")
      .vjp("", split_sizes_back)
      .doc("Like split_with_sizes, with memory of their own for the parts.");
  Define("torch.unbind_copy(Tensor input, int dim=0) -> Tensor[]")
      .kernel<unbind_copy>()
      .out()
      .node("UnbindBackward0_copy")
      .vjp("", unbind_back)
      .doc("Like unbind, with memory of their own for the parts.");
  Define("unsafe_split(Tensor input, int split_size, int dim=0) -> Tensor[]")
      .kernel<unsafe_split>()
      .vjp("", split_back)
      .doc("Like split, but autograd takes the parts for tensors of their own.");
  Define("unsafe_split_with_sizes(Tensor input, int[] split_sizes, int dim=0) -> Tensor[]")
      .kernel<unsafe_split_with_sizes>()
      .vjp("", split_sizes_back)
      .doc("Like split_with_sizes, but autograd takes the parts for tensors of their own.");
  Define("unsafe_chunk(Tensor input, int chunks, int dim=0) -> Tensor[]")
      .composite<unsafe_chunk>()
      .doc("Like chunk, but autograd takes the parts for tensors of their own.");
});

}  // namespace
}  // namespace fl
