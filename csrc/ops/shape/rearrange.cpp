// The elements in another order or several times: flip, roll, rot90, repeat, tile and repeat_interleave.
#include "autograd/record.h"
#include "ops/api.h"
#include "ops/indexing/kernels.h"
#include "ops/indexing/walk.h"
#include "tensor/view.h"
#include "tile/program.h"

namespace fl {
namespace {

Tensor flip_op(const Tensor& input, IntList dims) {
  Dims flipped = wrap_dims(dims, input.dim(), "flip");
  uint64_t mask = 0;
  for (int64_t d : flipped) mask |= uint64_t(1) << d;
  Tensor out = empty_like(input);
  if (out.is_meta() || out.numel() == 0) return out;
  Walk<2> walk;
  int64_t start = 0;
  for (int64_t d = 0; d < input.dim(); d++) {
    bool back = mask >> d & 1;
    int64_t stride = input->strides[d];
    if (back) start += (input->sizes[d] - 1) * stride;
    walk.add(input->sizes[d], {out->strides[d], back ? -stride : stride});
  }
  visit_size(input.item_size(), [&]<class T>() {
    T* to = reinterpret_cast<T*>(out.bytes());
    const T* from = reinterpret_cast<const T*>(input.bytes()) + start;
    int64_t to_step = walk.step(0), step = walk.step(1);
    walk.run_parallel([&](const Walk<2>::Offsets& at, int64_t n) {
      T* y = to + at[0];
      const T* x = from + at[1];
      if (to_step == 1 && step == 1) {
        std::memcpy(y, x, n * sizeof(T));
      } else if (to_step == 1 && step == -1) {
        index_kernels.reverse[size_index(sizeof(T))](reinterpret_cast<const char*>(x), reinterpret_cast<char*>(y), n);
      } else {
        for (int64_t i = 0; i < n; i++) y[i * to_step] = x[i * step];
      }
    });
  });
  return out;
}

// Copies a box that begins at `from` in input to `to` in out.
void copy_box(const Tensor& out, const Tensor& input, const Dims& to, const Dims& from, const Dims& sizes) {
  int64_t a = out.offset(), b = input.offset();
  for (size_t d = 0; d < sizes.size(); d++) {
    a += to[d] * out->strides[d];
    b += from[d] * input->strides[d];
  }
  raw_copy(alias(out, sizes, out.strides(), a), alias(input, sizes, input.strides(), b));
}

Tensor roll_op(const Tensor& input, IntList shifts, IntList dims) {
  FL_CHECK(!shifts.empty(), "roll: `shifts` required");
  if (dims.empty()) {
    FL_CHECK(shifts.size() == 1, "roll: shifts and dimensions must align. shifts: ", shifts.size(), ", dims: 0");
    Tensor out = empty(input.sizes(), input.dtype(), input.device());
    if (out.is_meta() || out.numel() == 0) return out;
    int64_t n = input.numel(), shift = ((shifts[0] % n) + n) % n;
    Tensor flat = raw_contiguous(input), from = alias(flat, Dims{n}, Dims{1}, flat.offset()),
           to = alias(out, Dims{n}, Dims{1}, 0);
    copy_box(to, from, Dims{shift}, Dims{0}, Dims{n - shift});
    copy_box(to, from, Dims{0}, Dims{n - shift}, Dims{shift});
    return out;
  }
  FL_CHECK(shifts.size() == dims.size(), "roll: shifts and dimensions must align. shifts: ", shifts.size(),
           ", dims: ", dims.size());
  Dims by(input.dim());
  for (size_t i = 0; i < dims.size(); i++) {
    FL_CHECK(input.dim() > 0, ErrorKind::Index, "roll: dimension ", dims[i], " of a tensor that has no dimensions");
    int64_t d = wrap_dim(dims[i], input.dim(), "roll"), n = std::max<int64_t>(input->sizes[d], 1);
    by[d] = (((by[d] + shifts[i]) % n) + n) % n;
  }
  Tensor out = empty_like(input);
  if (out.is_meta() || out.numel() == 0) return out;
  Dims rolled;
  for (int64_t d = 0; d < input.dim(); d++)
    if (by[d]) rolled.push_back(d);
  FL_CHECK(rolled.size() < 20, "roll: too many dimensions at once: ", rolled.size());
  // Along each rolled dimension a box either stays in order or wraps around.
  for (uint32_t corner = 0; corner < 1u << rolled.size(); corner++) {
    Dims to(input.dim()), from(input.dim()), sizes(input.sizes());
    for (size_t k = 0; k < rolled.size(); k++) {
      int64_t d = rolled[k], n = input->sizes[d];
      bool wraps = corner >> k & 1;
      to[d] = wraps ? 0 : by[d];
      from[d] = wraps ? n - by[d] : 0;
      sizes[d] = wraps ? by[d] : n - by[d];
    }
    copy_box(out, input, to, from, sizes);
  }
  return out;
}

// Each slice along dim `repeats` times, behind each other.
Tensor repeat_each_op(const Tensor& input, int64_t dim, int64_t repeats) {
  Dims sizes(input.sizes());
  sizes[dim] *= repeats;
  Tensor out = empty(sizes, input.dtype(), input.device());
  if (out.is_meta() || out.numel() == 0) return out;
  Tensor x = raw_contiguous(input);
  int64_t inner = 1;
  for (int64_t d = dim + 1; d < input.dim(); d++) inner *= sizes[d];
  visit_size(input.item_size(), [&]<class T>() {
    const T* from = reinterpret_cast<const T*>(x.bytes());
    T* to = reinterpret_cast<T*>(out.bytes());
    int64_t rows = x.numel() / inner;
    parallel_for(0, rows, std::max<int64_t>(1, 32768 / (inner * repeats)), [&](int64_t a, int64_t b) {
      T* y = to + a * inner * repeats;
      for (int64_t i = a; i < b; i++) {
        for (int64_t k = 0; k < repeats; k++, y += inner) {
          if (inner == 1)
            *y = from[i];
          else
            std::memcpy(y, from + i * inner, inner * sizeof(T));
        }
      }
    });
  });
  return out;
}

const Op repeat_each("_C.repeat_each"), flip_of("flip"), roll_of("roll"), rot90_of("rot90"), repeat_of("repeat"),
    index_select("index_select"), clone_of("clone");

Tensor rot90_op(const Tensor& input, int64_t k, IntList dims) {
  FL_CHECK(dims.size() == 2, "rot90: expected total rotation dims == 2, but got dims = ", dims.size());
  FL_CHECK(input.dim() >= 2, "rot90: expected total dims >= 2, but got total dims = ", input.dim());
  FL_CHECK(dims[0] != dims[1] && std::abs(dims[0] - dims[1]) != input.dim(),
           "rot90: expected rotation dims to be different, but got dim0 = ", dims[0], " and dim1 = ", dims[1]);
  for (int64_t d : dims)
    FL_CHECK(d >= -input.dim() && d < input.dim(), "rot90: rotation dim ", d, " is out of range for ", input.dim(),
             " dimensions");
  switch (((k % 4) + 4) % 4) {
    case 1:
      return transpose(flip_of(input, IntList(&dims[1], 1)), dims[0], dims[1]);
    case 2:
      return flip_of(input, dims);
    case 3:
      return transpose(flip_of(input, IntList(&dims[0], 1)), dims[0], dims[1]);
    default:
      return clone_of(input, MemoryFormat::Contiguous);
  }
}
Tensor fliplr_op(const Tensor& input) {
  FL_CHECK(input.dim() >= 2, "fliplr: input must be >= 2-d.");
  return flip_of(input, Dims{1});
}
Tensor flipud_op(const Tensor& input) {
  FL_CHECK(input.dim() >= 1, "flipud: input must be >= 1-d.");
  return flip_of(input, Dims{0});
}

// Sizes with a repeat in front of each dimension, and how the input lies in them.
Dims paired(IntList sizes, IntList repeats) {
  Dims pairs;
  size_t lead = repeats.size() - sizes.size();
  for (size_t d = 0; d < repeats.size(); d++) {
    pairs.push_back(repeats[d]);
    if (d >= lead) pairs.push_back(sizes[d - lead]);
  }
  return pairs;
}
Tensor repeat_op(const Tensor& input, IntList repeats) {
  int64_t n = static_cast<int64_t>(repeats.size()), lead = n - input.dim();
  FL_CHECK(lead >= 0, "repeat: the number of repeats ", n,
           " must not be smaller than the number of dimensions of the tensor, ", input.dim());
  Dims sizes(n);
  for (int64_t d = 0; d < n; d++) {
    FL_CHECK(repeats[d] >= 0, "repeat: trying to create tensor with negative dimension: repeats ", shape_text(repeats));
    FL_CHECK(!__builtin_mul_overflow(repeats[d], d < lead ? 1 : input->sizes[d - lead], &sizes[d]), "repeat: repeats ",
             shape_text(repeats), " make a size too large");
  }
  Tensor out = empty(sizes, input.dtype(), input.device());
  if (out.is_meta() || out.numel() == 0) return out;
  Dims shape, to, from;
  for (int64_t d = 0; d < n; d++) {
    int64_t size = d < lead ? 1 : input->sizes[d - lead];
    if (repeats[d] != 1) {
      shape.push_back(repeats[d]);
      to.push_back(size * out->strides[d]);
      from.push_back(0);
    }
    if (size != 1) {
      shape.push_back(size);
      to.push_back(out->strides[d]);
      from.push_back(input->strides[d - lead]);
    }
  }
  raw_copy(alias(out, shape, to, 0), alias(input, shape, from, input.offset()));
  return out;
}
Tensor tile_op(const Tensor& input, IntList dims) {
  Dims repeats(dims);
  while (static_cast<int64_t>(repeats.size()) < input.dim()) repeats.insert(0, 1);
  return repeat_of(input, repeats);
}

// Positions in which i comes repeats[i] times.
Tensor interleave_positions(const Tensor& repeats, std::optional<int64_t> output_size) {
  FL_CHECK(repeats.dim() == 1, "repeat_interleave only accept 1D vector as repeat, got ", repeats.dim(), " dimensions");
  FL_CHECK(repeats.dtype() == DType::Int64 || repeats.dtype() == DType::Int32,
           "repeats has to be Long or Int tensor, got ", info(repeats.dtype()).name);
  FL_CHECK(!repeats.is_meta() || output_size, ErrorKind::NotImplemented,
           "repeat_interleave: repeats on the meta device have no values, and output_size isn't given");
  if (repeats.is_meta()) return empty(Dims{*output_size}, DType::Int64, repeats.device());
  Tensor dense = raw_contiguous(to_dtype(repeats, DType::Int64));
  const int64_t* r = dense.data<int64_t>();
  int64_t total = 0;
  for (int64_t i = 0; i < dense.numel(); i++) {
    FL_CHECK(r[i] >= 0, "repeat_interleave: repeats can not be negative, got ", r[i]);
    FL_CHECK(!__builtin_add_overflow(total, r[i], &total), "repeat_interleave: the repeats add up to too much");
  }
  FL_CHECK(!output_size || *output_size == total,
           "repeat_interleave: allocated size does not match required size: output_size is ", output_size.value_or(0),
           ", the repeats add up to ", total);
  Tensor out = empty(Dims{total}, DType::Int64);
  int64_t* p = out.data<int64_t>();
  for (int64_t i = 0; i < dense.numel(); i++) {
    for (int64_t k = 0; k < r[i]; k++) *p++ = i;
  }
  return out;
}
Tensor repeat_interleave_positions(const Tensor& repeats, std::optional<int64_t> output_size) {
  Tensor r = interleave_positions(repeats, output_size);
  return to_dtype(r, repeats.dtype());
}
Tensor repeat_interleave_tensor(const Tensor& input, const Tensor& repeats, std::optional<int64_t> dim,
                                std::optional<int64_t> output_size) {
  Tensor x = dim ? input : reshape(input, Dims{-1});
  if (x.dim() == 0) x = reshape(x, Dims{1});
  int64_t d = wrap_dim(dim.value_or(0), x.dim(), "repeat_interleave");
  Tensor counts = repeats;
  if (counts.dim() == 0 || (counts.dim() == 1 && counts.numel() == 1))
    counts = expand(reshape(counts, Dims{1}), Dims{x->sizes[d]});
  else
    FL_CHECK(counts.dim() != 1 || counts.numel() == x->sizes[d],
             "repeat_interleave: repeats must have the same size as input along dim ", d, ", but got ", counts.numel(),
             " and ", x->sizes[d]);
  return index_select(x, d, interleave_positions(counts, output_size));
}
Tensor repeat_interleave_int(const Tensor& input, int64_t repeats, std::optional<int64_t> dim,
                             std::optional<int64_t> output_size) {
  FL_CHECK(repeats >= 0, "repeat_interleave: repeats can not be negative, got ", repeats);
  Tensor x = dim ? input : reshape(input, Dims{-1});
  if (x.dim() == 0) x = reshape(x, Dims{1});
  int64_t d = wrap_dim(dim.value_or(0), x.dim(), "repeat_interleave");
  Dims sizes(x.sizes());
  FL_CHECK(!__builtin_mul_overflow(sizes[d], repeats, &sizes[d]), "repeat_interleave: ", repeats,
           " repeats make a size too large");
  FL_CHECK(!output_size || *output_size == sizes[d],
           "repeat_interleave: allocated size does not match required size: output_size is ", output_size.value_or(0),
           ", the repeats add up to ", sizes[d]);
  return repeat_each(x, d, repeats);
}

const Declare ops([] {
  Define("flip(Tensor input, int[] dims) -> Tensor")
      .kernel<flip_op>()
      .vjp("",
           [](Vjp& v) {
             if (v.needs(0)) v.set(0, flip_of(v.grad(), v.value(1)));
           })
      .doc("A copy with the order along the dimensions reversed.");
  Define("fliplr(Tensor input) -> Tensor").composite<fliplr_op>().doc("A copy with the second dimension reversed.");
  Define("flipud(Tensor input) -> Tensor").composite<flipud_op>().doc("A copy with the first dimension reversed.");
  Define("roll(Tensor input, int[1] shifts, int[1] dims=[]) -> Tensor")
      .kernel<roll_op>()
      .vjp("",
           [](Vjp& v) {
             if (!v.needs(0)) return;
             Dims back(v.ints(1));
             for (int64_t& s : back) s = -s;
             v.set(0, roll_of(v.grad(), back, v.value(2)));
           })
      .doc(
          "A copy with the elements moved along dims; those that leave at one end come in at the other. Without dims "
          "it rolls the flattened tensor.");
  Define("rot90(Tensor input, int k=1, int[] dims=[0, 1]) -> Tensor")
      .kernel<rot90_op>()
      .vjp("",
           [](Vjp& v) {
             if (v.needs(0)) v.set(0, rot90_of(v.grad(), -v.integer(1), v.value(2)));
           })
      .doc("A copy turned k times by 90 degrees in the plane of two dimensions.");
  Define("Tensor.repeat(Tensor input, int[] repeats) -> Tensor")
      .kernel<repeat_op>()
      .vjp("",
           [](Vjp& v) {
             if (!v.needs(0)) return;
             Tensor g = v.grad();
             IntList sizes = v.sizes(0), repeats = v.ints(1);
             if (g.numel() == 0) return v.set(0, zeros(sizes, g.dtype(), g.device()));
             Dims dims, pairs = paired(sizes, repeats);
             int64_t at = 0;
             for (size_t d = 0; d < repeats.size(); d++) {
               dims.push_back(at);
               at += d >= repeats.size() - sizes.size() ? 2 : 1;
             }
             v.set(0, dims.empty() ? g : sum(reshape(g, pairs), dims));
           })
      .doc("A copy in which each dimension is repeated; repeats may have more dimensions in front.");
  Define("tile(Tensor input, int[] dims) -> Tensor")
      .composite<tile_op>()
      .doc("repeat, with ones for the leading repeats that are missing.");
  Define("_C.repeat_each(Tensor input, int dim, int repeats) -> Tensor")
      .kernel<repeat_each_op>()
      .node("RepeatInterleaveBackward0")
      .vjp("", [](Vjp& v) {
        if (!v.needs(0)) return;
        Dims pairs(v.sizes(0));
        int64_t d = v.integer(1) + 1;
        pairs.insert(d, v.integer(2));
        v.set(0, sum(reshape(v.grad(), pairs), IntList(&d, 1)));
      });
  Define(
      "repeat_interleave.self_Tensor(Tensor input, Tensor repeats, int? dim=None, *, int? output_size=None) -> Tensor")
      .composite<repeat_interleave_tensor>()
      .doc(
          "Each element, or slice along dim, as many times as repeats says, behind each other. Without dim the input "
          "is flattened.");
  Define("repeat_interleave.self_int(Tensor input, int repeats, int? dim=None, *, int? output_size=None) -> Tensor")
      .composite<repeat_interleave_int>();
  Define("repeat_interleave.Tensor(Tensor repeats, *, int? output_size=None) -> Tensor")
      .composite<repeat_interleave_positions>()
      .function_only();
});

}  // namespace
}  // namespace fl
