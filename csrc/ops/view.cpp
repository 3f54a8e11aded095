// Views: other sizes and strides over the same memory.
#include "tensor/view.h"

#include "autograd/record.h"
#include "ops/api.h"

namespace fl {

bool view_strides(IntList sizes, IntList strides, IntList new_sizes, Dims* out) {
  out->resize(new_sizes.size());
  int64_t numel = 1;
  for (int64_t s : sizes) numel *= s;
  if (numel == 0) {
    *out = contiguous_strides(new_sizes);
    return true;
  }
  // Match runs of old dimensions that lie densely behind each other with products of new ones.
  int64_t d = static_cast<int64_t>(new_sizes.size()) - 1;
  int64_t chunk_stride = strides.empty() ? 1 : strides.back(), old_run = 1, new_run = 1;
  for (int64_t o = static_cast<int64_t>(sizes.size()) - 1; o >= 0; o--) {
    old_run *= sizes[o];
    bool run_ends = o == 0 || (sizes[o - 1] != 1 && strides[o - 1] != old_run * chunk_stride);
    if (!run_ends) continue;
    while (d >= 0 && (new_run < old_run || new_sizes[d] == 1)) {
      (*out)[d] = new_run * chunk_stride;
      new_run *= new_sizes[d];
      d--;
    }
    if (new_run != old_run) return false;
    if (o > 0) {
      chunk_stride = strides[o - 1];
      old_run = new_run = 1;
    }
  }
  for (; d >= 0; d--) (*out)[d] = new_run * chunk_stride;
  return true;
}

Dims infer_sizes(IntList sizes, int64_t numel, const char* op) {
  Dims out(sizes);
  int64_t known = 1, unknown = -1;
  for (size_t i = 0; i < sizes.size(); i++) {
    if (sizes[i] == -1) {
      FL_CHECK(unknown < 0, op, ": only one dimension can be inferred (-1), got shape ", shape_text(sizes));
      unknown = static_cast<int64_t>(i);
    } else {
      FL_CHECK(sizes[i] >= 0, op, ": invalid shape dimension ", sizes[i], " in ", shape_text(sizes));
      FL_CHECK(!__builtin_mul_overflow(known, sizes[i], &known), op, ": shape ", shape_text(sizes), " is too large");
    }
  }
  if (unknown >= 0) {
    FL_CHECK(known != 0, op, ": cannot reshape tensor of ", numel, " elements into shape ", shape_text(sizes),
             " because the unspecified dimension size -1 can be any value and is ambiguous");
    FL_CHECK(numel % known == 0, op, ": shape ", shape_text(sizes), " is invalid for input of size ", numel);
    out[unknown] = numel / known;
  } else {
    FL_CHECK(known == numel, op, ": shape ", shape_text(sizes), " is invalid for input of size ", numel);
  }
  return out;
}

namespace {

Tensor view_sizes(const Tensor& input, IntList size) {
  Dims sizes = infer_sizes(size, input.numel(), "view"), strides;
  FL_CHECK(view_strides(input.sizes(), input.strides(), sizes, &strides),
           "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
           "contiguous subspaces): ",
           "sizes ", shape_text(input.sizes()), ", strides ", shape_text(input.strides()), " can't be seen as ",
           shape_text(sizes), ". Use .reshape(...) instead");
  return make_view(input, sizes, strides, input.offset());
}
void back_to_input_sizes(Vjp& v) {
  if (v.needs(0)) v.set(0, reshape(v.grad(), v.sizes(0)));
}

Tensor view_dtype(const Tensor& input, DType dtype) {
  int64_t from = input.item_size(), to = item_size(dtype);
  Dims sizes(input.sizes()), strides(input.strides());
  int64_t offset = input.offset();
  if (from != to) {
    FL_CHECK(input.dim() > 0, "view: self.dim() cannot be 0 to view ", info(input.dtype()).name, " as ",
             info(dtype).name, " (different element sizes)");
    FL_CHECK(strides.back() == 1, "view: self.stride(-1) must be 1 to view ", info(input.dtype()).name, " as ",
             info(dtype).name, " (different element sizes), but got ", strides.back());
    if (from > to) {
      int64_t k = from / to;
      for (size_t d = 0; d + 1 < strides.size(); d++) strides[d] *= k;
      sizes.back() *= k;
      offset *= k;
    } else {
      int64_t k = to / from;
      FL_CHECK(sizes.back() % k == 0, "view: self.size(-1) must be divisible by ", k, " to view ",
               info(input.dtype()).name, " as ", info(dtype).name, " (different element sizes), but got ",
               sizes.back());
      FL_CHECK(offset % k == 0, "view: self.storage_offset() must be divisible by ", k, " to view ",
               info(input.dtype()).name, " as ", info(dtype).name, " (different element sizes), but got ", offset);
      for (size_t d = 0; d + 1 < strides.size(); d++) {
        FL_CHECK(strides[d] % k == 0, "view: self.stride(", d, ") must be divisible by ", k, " to view ",
                 info(input.dtype()).name, " as ", info(dtype).name, " (different element sizes), but got ",
                 strides[d]);
        strides[d] /= k;
      }
      sizes.back() /= k;
      offset /= k;
    }
  }
  Storage* s = input.storage();
  Tensor r = from_storage(StorageRef::share(s), sizes, strides, offset, dtype);
  r->base = input->base ? input->base : input.get();
  Py_INCREF(reinterpret_cast<PyObject*>(r->base));
  r->view_version = s->version;
  r->flags |= kNoGradView;  // bits have no gradient
  return r;
}

Tensor reshape_op(const Tensor& input, IntList shape) {
  static const Op clone_of("clone"), view_of("view");
  Dims sizes = infer_sizes(shape, input.numel(), "reshape"), strides;
  if (view_strides(input.sizes(), input.strides(), sizes, &strides)) return view_of(input, sizes);
  return view_of(clone_of(input, MemoryFormat::Contiguous), sizes);
}

Tensor as_strided_op(const Tensor& input, IntList size, IntList stride, std::optional<int64_t> storage_offset) {
  int64_t offset = storage_offset.value_or(input.offset());
  FL_CHECK(size.size() == stride.size(), "as_strided: mismatch in length of strides and shape: ", shape_text(size),
           " and ", shape_text(stride));
  checked_numel(size);
  for (int64_t s : stride)
    FL_CHECK(s >= 0, "as_strided: negative strides are not supported at the moment, got strides: ", shape_text(stride));
  FL_CHECK(offset >= 0, "as_strided: invalid storage offset ", offset, ": it must not be negative");
  int64_t needed = storage_bytes_needed(size, stride, offset, input.item_size());
  FL_CHECK(needed <= input.storage()->bytes, "as_strided: setStorage: sizes ", shape_text(size), ", strides ",
           shape_text(stride), ", storage offset ", offset, ", and itemsize ", input.item_size(),
           " requiring a storage size of ", needed, " are out of bounds for storage of size ", input.storage()->bytes);
  return make_view(input, size, stride, offset);
}

Tensor transpose_op(const Tensor& input, int64_t dim0, int64_t dim1) {
  int64_t a = wrap_dim(dim0, input.dim(), "transpose"), b = wrap_dim(dim1, input.dim(), "transpose");
  Dims sizes(input.sizes()), strides(input.strides());
  if (input.dim()) {
    std::swap(sizes[a], sizes[b]);
    std::swap(strides[a], strides[b]);
  }
  return make_view(input, sizes, strides, input.offset());
}
Tensor t_op(const Tensor& input) {
  FL_CHECK(input.dim() <= 2, "t() expects a tensor with <= 2 dimensions, but self is ", input.dim(), "D");
  return input.dim() < 2 ? make_view(input, input.sizes(), input.strides(), input.offset()) : transpose_op(input, 0, 1);
}
Tensor permute_op(const Tensor& input, IntList dims) {
  FL_CHECK(static_cast<int64_t>(dims.size()) == input.dim(),
           "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
           "ordering of dimensions i.e. input.dim() = ",
           input.dim(), " is not equal to len(dims) = ", dims.size());
  Dims order = wrap_dims(dims, input.dim(), "permute"), sizes, strides;
  for (int64_t d : order) {
    sizes.push_back(input->sizes[d]);
    strides.push_back(input->strides[d]);
  }
  return make_view(input, sizes, strides, input.offset());
}

Tensor expand_op(const Tensor& input, IntList size, bool) {
  int64_t n = static_cast<int64_t>(size.size()), lead = n - input.dim();
  FL_CHECK(lead >= 0, "expand: the number of sizes provided (", n,
           ") must be greater or equal to the number of dimensions in the tensor (", input.dim(), ")");
  Dims sizes(n), strides(n);
  for (int64_t d = n - 1; d >= 0; d--) {
    int64_t have = d < lead ? 1 : input->sizes[d - lead];
    int64_t want = size[d];
    if (want == -1) {
      FL_CHECK(d >= lead,
               "expand: the expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension ", d);
      want = have;
    }
    FL_CHECK(want >= 0, "expand: sizes must not be negative, got ", shape_text(size));
    FL_CHECK(have == want || have == 1, "The expanded size of the tensor (", want, ") must match the existing size (",
             have, ") at non-singleton dimension ", d, ". Target sizes: ", shape_text(size),
             ". Tensor sizes: ", shape_text(input.sizes()));
    sizes[d] = want;
    strides[d] = d < lead       ? (want == 1 && d + 1 < n ? sizes[d + 1] * strides[d + 1] : 0)
                 : have == want ? input->strides[d - lead]
                                : 0;
  }
  checked_numel(sizes);
  return make_view(input, sizes, strides, input.offset());
}

Tensor unsqueeze_op(const Tensor& input, int64_t dim) {
  int64_t d = wrap_dim(dim, input.dim() + 1, "unsqueeze");
  Dims sizes(input.sizes()), strides(input.strides());
  strides.insert(d, d < input.dim() ? sizes[d] * strides[d] : 1);
  sizes.insert(d, 1);
  return make_view(input, sizes, strides, input.offset());
}
Tensor squeeze_where(const Tensor& input, uint64_t mask) {
  Dims sizes, strides;
  for (int64_t d = 0; d < input.dim(); d++) {
    if ((mask >> d & 1) && input->sizes[d] == 1) continue;
    sizes.push_back(input->sizes[d]);
    strides.push_back(input->strides[d]);
  }
  return make_view(input, sizes, strides, input.offset());
}
Tensor squeeze_all(const Tensor& input) { return squeeze_where(input, ~uint64_t(0)); }
Tensor squeeze_dim(const Tensor& input, int64_t dim) {
  return squeeze_where(input, uint64_t(1) << wrap_dim(dim, input.dim(), "squeeze"));
}
Tensor squeeze_dims(const Tensor& input, IntList dim) {
  uint64_t mask = 0;
  for (int64_t d : wrap_dims(dim, input.dim(), "squeeze")) mask |= uint64_t(1) << d;
  return squeeze_where(input, mask);
}

Tensor select_op(const Tensor& input, int64_t dim, int64_t index) {
  FL_CHECK(input.dim() > 0, ErrorKind::Index, "select() cannot be applied to a 0-dim tensor.");
  int64_t d = wrap_dim(dim, input.dim(), "select"), size = input->sizes[d];
  FL_CHECK(index >= -size && index < size, ErrorKind::Index, "select(): index ", index,
           " out of range for tensor of size ", shape_text(input.sizes()), " at dimension ", d);
  if (index < 0) index += size;
  Dims sizes(input.sizes()), strides(input.strides());
  int64_t offset = input.offset() + index * strides[d];
  sizes.erase(d);
  strides.erase(d);
  return make_view(input, sizes, strides, offset);
}
Tensor slice_op(const Tensor& input, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end,
                int64_t step) {
  FL_CHECK(input.dim() > 0, "slice() cannot be applied to a 0-dim tensor.");
  FL_CHECK(step > 0, "slice step must be positive, got ", step);
  int64_t d = wrap_dim(dim, input.dim(), "slice"), size = input->sizes[d];
  int64_t a = start.value_or(0), b = end.value_or(INT64_MAX);
  if (a < 0) a = std::max<int64_t>(a + size, 0);
  if (b < 0) b = std::max<int64_t>(b + size, 0);
  a = std::min(a, size);
  b = std::max(std::min(b, size), a);
  Dims sizes(input.sizes()), strides(input.strides());
  int64_t offset = input.offset() + a * strides[d];
  sizes[d] = (b - a + step - 1) / step;
  strides[d] *= step;
  return make_view(input, sizes, strides, offset);
}
Tensor narrow_op(const Tensor& input, int64_t dim, int64_t start, int64_t length) {
  FL_CHECK(input.dim() > 0, "narrow() cannot be applied to a 0-dim tensor.");
  FL_CHECK(length >= 0, "narrow(): length must be non-negative, got ", length);
  int64_t size = input.size(dim);
  FL_CHECK(start >= -size && start <= size, ErrorKind::Index,
           "narrow: start out of range (expected to be in range of [", -size, ", ", size, "], but got ", start, ")");
  if (start < 0) start += size;
  FL_CHECK(start <= size - length, "narrow: start (", start, ") + length (", length, ") exceeds dimension size (", size,
           ").");
  static const Op slice("slice");
  return slice(input, dim, start, start + length, int64_t(1));
}
Tensor narrow_tensor(const Tensor& input, int64_t dim, const Tensor& start, int64_t length) {
  FL_CHECK(start.dim() == 0 && is_integral(start.dtype(), false), "narrow: start must be a 0-dim integral Tensor, got ",
           start.dim(), " dimensions of ", info(start.dtype()).name);
  FL_CHECK(!start.is_meta(), ErrorKind::NotImplemented, "narrow: a start on the meta device has no value");
  Tensor first = empty(Dims(), DType::Int64);
  raw_copy(first, start);
  return narrow_op(input, dim, *first.data<int64_t>(), length);
}
Tensor alias_op(const Tensor& input) { return make_view(input, input.sizes(), input.strides(), input.offset()); }
Tensor detach_op(const Tensor& input) {
  Tensor r = alias(input);
  r->flags |= input->flags & (kOwnVersion | kInference);
  return r;
}
Tensor contiguous_op(const Tensor& input, MemoryFormat format) {
  FL_CHECK(format != MemoryFormat::Preserve, "preserve memory format is unsupported by the contiguous operator");
  if (input.is_contiguous(format)) return input;
  static const Op clone_of("clone");
  return clone_of(input, format);
}
Tensor diagonal_op(const Tensor& input, int64_t offset, int64_t dim1, int64_t dim2) {
  int64_t a = wrap_dim(dim1, input.dim(), "diagonal"), b = wrap_dim(dim2, input.dim(), "diagonal");
  FL_CHECK(a != b, "diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  int64_t n = offset >= 0 ? std::min(input->sizes[a], input->sizes[b] - offset)
                          : std::min(input->sizes[a] + offset, input->sizes[b]);
  n = std::max<int64_t>(n, 0);
  int64_t start = input.offset() + (n == 0        ? 0
                                    : offset >= 0 ? offset * input->strides[b]
                                                  : -offset * input->strides[a]);
  Dims sizes(input.sizes()), strides(input.strides());
  int64_t step = strides[a] + strides[b];
  for (int64_t d : {std::max(a, b), std::min(a, b)}) {
    sizes.erase(d);
    strides.erase(d);
  }
  sizes.push_back(n);
  strides.push_back(step);
  return make_view(input, sizes, strides, start);
}
Tensor unfold_op(const Tensor& input, int64_t dimension, int64_t size, int64_t step) {
  int64_t d = wrap_dim(dimension, input.dim(), "unfold"), have = input.dim() ? input->sizes[d] : 1;
  FL_CHECK(size >= 0 && size <= have, "unfold: maximum size for tensor at dimension ", d, " is ", have, " but size is ",
           size);
  FL_CHECK(step > 0, "unfold: step is ", step, " but must be > 0");
  Dims sizes(input.sizes()), strides(input.strides());
  int64_t stride = input.dim() ? strides[d] : 1;
  if (input.dim()) {
    sizes[d] = (have - size) / step + 1;
    strides[d] = stride * step;
  }
  sizes.push_back(size);
  strides.push_back(stride);
  return make_view(input, sizes, strides, input.offset());
}

// The gradient of a part: zeros with the part written into them.
template <class F>
void back_into_zeros(Vjp& v, F part) {
  if (!v.needs(0)) return;
  static const Op copy("copy_");
  Tensor g = v.grad(), whole = zeros(v.sizes(0), g.dtype(), g.device());
  copy.run(part(whole), g);
  v.set(0, whole);
}

// Elements that an as_strided view shows several times add up.
void as_strided_back(Vjp& v) {
  if (!v.needs(0)) return;
  static const Op index_add("index_add"), view_as("view");
  Tensor g = v.grad();
  IntList sizes = v.ints(1), strides = v.ints(2);
  int64_t offset = v.value(3).is_none() ? 0 : v.integer(3);
  Dims base_sizes(v.sizes(0));
  // Positions relative to the input's own memory, which autograd takes to be contiguous from its offset.
  Tensor positions = empty(sizes, DType::Int64, g.device());
  if (!positions.is_meta()) {
    int64_t* p = positions.data<int64_t>();
    Dims index(sizes.size());
    for (int64_t i = 0; i < positions.numel(); i++) {
      int64_t at = offset;
      for (size_t d = 0; d < sizes.size(); d++) at += index[d] * strides[d];
      p[i] = at;
      for (size_t d = sizes.size(); d-- > 0;) {
        if (++index[d] < sizes[d]) break;
        index[d] = 0;
      }
    }
  }
  int64_t numel = checked_numel(base_sizes);
  int64_t top = numel;
  if (!positions.is_meta())
    for (int64_t i = 0; i < positions.numel(); i++) top = std::max(top, positions.data<int64_t>()[i] + 1);
  Tensor flat = zeros({&top, 1}, g.dtype(), g.device());
  int64_t count = positions.numel();
  Tensor r = index_add(flat, int64_t(0), reshape(positions, {&count, 1}), reshape(g, {&count, 1}));
  v.set(0, view_as(top == numel ? r : narrow(r, 0, 0, numel), base_sizes));
}

const Declare ops([] {
  Define("Tensor.view(Tensor input, int[] size) -> Tensor")
      .kernel<view_sizes>()
      .view()
      .vjp("", back_to_input_sizes)
      .doc(
          "The same elements in other sizes, without copying; one size may be -1. Raises RuntimeError when strides "
          "don't allow it.");
  Define("Tensor.view.dtype(Tensor input, dtype dtype) -> Tensor")
      .kernel<view_dtype>()
      .view()
      .constant_outputs(~0u)
      .doc("The same bytes read as another type.");
  Define("reshape(Tensor input, int[] shape) -> Tensor")
      .composite<reshape_op>()
      .doc("The same elements in other sizes; a view where strides allow it, else a copy.");
  Define("as_strided(Tensor input, int[] size, int[] stride, int? storage_offset=None) -> Tensor")
      .kernel<as_strided_op>()
      .view()
      .vjp("", as_strided_back)
      .doc(
          "A view with given sizes, strides and offset, in elements. Raises RuntimeError when it would leave the "
          "storage.");
  Define("transpose(Tensor input, int dim0, int dim1) -> Tensor")
      .kernel<transpose_op>()
      .view()
      .vjp("",
           [](Vjp& v) {
             if (v.needs(0)) v.set(0, transpose(v.grad(), v.integer(1), v.integer(2)));
           })
      .doc("A view with two dimensions swapped.");
  Define("t(Tensor input) -> Tensor")
      .kernel<t_op>()
      .view()
      .node("TBackward0")
      .vjp("",
           [](Vjp& v) {
             if (v.needs(0)) v.set(0, v.sizes(0).size() < 2 ? v.grad() : transpose(v.grad(), 0, 1));
           })
      .doc("The transpose of a matrix; vectors and scalars stay as they are.");
  Define("permute(Tensor input, int[] dims) -> Tensor")
      .kernel<permute_op>()
      .view()
      .vjp("",
           [](Vjp& v) {
             if (!v.needs(0)) return;
             Dims inverse(v.ints(1).size());
             for (size_t i = 0; i < inverse.size(); i++)
               inverse[wrap_dim(v.ints(1)[i], static_cast<int64_t>(inverse.size()))] = static_cast<int64_t>(i);
             v.set(0, permute(v.grad(), inverse));
           })
      .doc("A view with the dimensions in another order.");
  Define("Tensor.expand(Tensor input, int[] size, *, bool implicit=False) -> Tensor")
      .kernel<expand_op>()
      .view()
      .vjp("",
           [](Vjp& v) {
             if (v.needs(0)) v.set(0, sum_to_size(v.grad(), v.sizes(0)));
           })
      .doc("A view with dimensions of size one repeated without copying; -1 keeps a size.");
  Define("unsqueeze(Tensor input, int dim) -> Tensor")
      .kernel<unsqueeze_op>()
      .view()
      .vjp("",
           [](Vjp& v) {
             if (v.needs(0)) v.set(0, squeeze(v.grad(), v.integer(1)));
           })
      .doc("A view with a dimension of size one put in at dim.");
  Define("squeeze(Tensor input) -> Tensor")
      .kernel<squeeze_all>()
      .view()
      .vjp("", back_to_input_sizes)
      .doc("A view without its dimensions of size one.");
  Define("squeeze.dim(Tensor input, int dim) -> Tensor")
      .kernel<squeeze_dim>()
      .view()
      .node("SqueezeBackward1")
      .vjp("", back_to_input_sizes);
  Define("squeeze.dims(Tensor input, int[] dim) -> Tensor")
      .kernel<squeeze_dims>()
      .view()
      .node("SqueezeBackward2")
      .vjp("", back_to_input_sizes);
  Define("select(Tensor input, int dim, int index) -> Tensor")
      .kernel<select_op>()
      .view()
      .vjp("",
           [](Vjp& v) { back_into_zeros(v, [&](const Tensor& z) { return select(z, v.integer(1), v.integer(2)); }); })
      .doc("A view of one index along dim.");
  Define("_C.slice(Tensor input, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor")
      .kernel<slice_op>()
      .view()
      .vjp("", [](Vjp& v) {
        back_into_zeros(v, [&](const Tensor& z) {
          static const Op slice("slice");
          return slice(z, v.value(1), v.value(2), v.value(3), v.value(4));
        });
      });
  Define("narrow(Tensor input, int dim, int start, int length) -> Tensor")
      .composite<narrow_op>()
      .doc("A view of length entries along dim, from start on.");
  Define("narrow.Tensor(Tensor input, int dim, Tensor start, int length) -> Tensor").composite<narrow_tensor>();
  Define("_C.alias(Tensor input) -> Tensor").kernel<alias_op>().view().vjp("", [](Vjp& v) {
    if (v.needs(0)) v.set(0, v.grad());
  });
  Define("detach(Tensor input) -> Tensor")
      .kernel<detach_op>()
      .constant_outputs(~0u)
      .doc("The same memory without history.");
  Define("Tensor.contiguous(Tensor input, *, memory_format memory_format=contiguous_format) -> Tensor")
      .composite<contiguous_op>()
      .doc("The tensor itself when it is laid out that way, else a copy that is.");
  Define("diagonal(Tensor input, int offset=0, int dim1=0, int dim2=1) -> Tensor")
      .kernel<diagonal_op>()
      .view()
      .vjp("",
           [](Vjp& v) {
             back_into_zeros(v, [&](const Tensor& z) {
               static const Op diagonal("diagonal");
               return diagonal(z, v.integer(1), v.integer(2), v.integer(3));
             });
           })
      .doc("A view of the diagonal of two dimensions, as the last one.");
  Define("Tensor.unfold(Tensor input, int dimension, int size, int step) -> Tensor")
      .kernel<unfold_op>()
      .view()
      .vjp("",
           [](Vjp& v) {
             if (!v.needs(0)) return;
             static const Op back("unfold_backward");
             v.set(0, back(v.grad(), v.sizes(0), v.value(1), v.value(2), v.value(3)));
           })
      .doc("A view of all windows of a size along a dimension, step apart, as a new last dimension.");
});

}  // namespace
}  // namespace fl
