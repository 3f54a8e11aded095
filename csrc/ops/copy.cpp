// Copying, filling and converting.
#include <algorithm>
#include <cstring>

#include "autograd/record.h"
#include "base/threads.h"
#include "ops/api.h"
#include "ops/factory.h"
#include "tile/program.h"

namespace fl {

void raw_copy(const Tensor& to, const Tensor& from) {
  FL_CHECK(!to.storage()->read_only, "copy_: the destination is read-only memory");
  if (to.is_meta() || from.is_meta() || to.numel() == 0) return;
  // Overlapping memory is read as a whole before it is written.
  if (overlap(to, from) == Overlap::Partial) return raw_copy(to, raw_clone(from));
  int n = static_cast<int>(to.dim());
  int64_t strides[2][kMaxDims];
  int lead = n - static_cast<int>(from.dim());
  for (int d = 0; d < n; d++) {
    strides[0][d] = to->strides[d] * to.item_size();
    strides[1][d] = d < lead || from->sizes[d - lead] == 1 ? 0 : from->strides[d - lead] * from.item_size();
  }
  TileProgram p;
  p.steps = nullptr;
  p.step_count = 0;
  p.operands[0] = {to.bytes(), to.dtype(), from.dtype(), strides[0]};
  p.operands[1] = {from.bytes(), from.dtype(), from.dtype(), strides[1]};
  p.operand_count = 2;
  p.sizes = to->sizes;
  p.ndim = n;
  run_program(p);
}

Tensor raw_clone(const Tensor& t) {
  Tensor r = empty_like(t);
  if (t.numel() && t.is_contiguous() && !t.is_meta() && t.numel() * t.item_size() <= 65536)
    std::memcpy(r.bytes(), t.bytes(), t.numel() * t.item_size());
  else
    raw_copy(r, t);
  return r;
}

constexpr int64_t kFillChunk = 1 << 18;

void raw_fill(const Tensor& t, const Scalar& value) {
  if (t.is_meta() || t.numel() == 0) return;
  alignas(16) char v[16];
  visit_dtype(t.dtype(), [&]<class T>() { *reinterpret_cast<T*>(v) = value.to<T>(); });
  if (t.is_contiguous()) {
    auto fill = tile_kernels.fill[size_index(t.item_size())];
    int64_t size = t.item_size();
    char* data = t.bytes();
    if (t.numel() <= 4096) return fill(v, data, t.numel());
    bool zero = std::all_of(v, v + size, [](char byte) { return byte == 0; });
    parallel_for(0, t.numel(), kFillChunk, [&](int64_t begin, int64_t end) {
      if (zero)
        std::memset(data + begin * size, 0, (end - begin) * size);
      else
        fill(v, data + begin * size, end - begin);
    });
    return;
  }
  int64_t strides[2][kMaxDims];
  for (int64_t d = 0; d < t.dim(); d++) {
    strides[0][d] = t->strides[d] * t.item_size();
    strides[1][d] = 0;
  }
  TileProgram p;
  p.steps = nullptr;
  p.step_count = 0;
  p.operands[0] = {t.bytes(), t.dtype(), t.dtype(), strides[0]};
  p.operands[1] = {v, t.dtype(), t.dtype(), strides[1]};
  p.operand_count = 2;
  p.sizes = t->sizes;
  p.ndim = static_cast<int>(t.dim());
  run_program(p);
}

void check_fits(const Scalar& value, DType dtype, const char* op) {
  FL_CHECK(!value.is_complex() || is_complex(dtype) || value.c[1] == 0, op, ": value ", value,
           " cannot be converted to type ", info(dtype).name, " without overflow");
  if (!is_integral(dtype, false)) return;
  double v = value.to_double();
  bool fits = visit_dtype(dtype, [&]<class T>() {
    if constexpr (std::is_integral_v<T>) {
      if (value.is_integral() && sizeof(T) == 8) return true;
      return v != v || (v >= static_cast<double>(std::numeric_limits<T>::min()) -
                                 (std::is_signed_v<T> ? 0 : static_cast<double>(std::numeric_limits<T>::max())) &&
                        v <= static_cast<double>(std::numeric_limits<T>::max()));
    } else {
      return true;
    }
  });
  FL_CHECK(fits, op, ": value ", value, " cannot be converted to type ", info(dtype).name, " without overflow");
}

namespace {

Tensor copy_(const Tensor& self, const Tensor& source, bool) {
  Dims shape = broadcast(self.sizes(), source.sizes(), "copy_");
  FL_CHECK(equal(shape, self.sizes()), "copy_: the sizes of the source ", shape_text(source.sizes()),
           " can't be broadcast to those of the destination ", shape_text(self.sizes()));
  FL_CHECK(self.is_meta() || !source.is_meta(), ErrorKind::NotImplemented, "Cannot copy out of meta tensor; no data!");
  raw_copy(self, source);
  return self;
}
Tensor fill_scalar(const Tensor& self, Scalar value) {
  check_fits(value, self.dtype(), "fill_");
  raw_fill(self, value);
  return self;
}
Tensor fill_tensor(const Tensor& self, const Tensor& value) {
  FL_CHECK(value.dim() == 0, "fill_: only supports a 0-dimension value tensor but got tensor with ", value.dim(),
           " dimensions.");
  raw_copy(self, value);
  return self;
}
Tensor zero_(const Tensor& self) {
  if (self.is_contiguous() && self.bytes())
    std::memset(self.bytes(), 0, self.numel() * self.item_size());
  else
    raw_fill(self, Scalar(0));
  return self;
}
Tensor clone_op(const Tensor& input, std::optional<MemoryFormat> format) {
  if (format && *format != MemoryFormat::Preserve) {
    Tensor r = empty(input.sizes(), input.dtype(), input.device(), *format);
    raw_copy(r, input);
    return r;
  }
  return raw_clone(input);
}
Tensor to_dtype_op(const Tensor& input, DType dtype) {
  Tensor r = empty_like(input, dtype);
  raw_copy(r, input);
  return r;
}
Tensor to_device_op(const Tensor& input, Device device) {
  FL_CHECK(!input.is_meta() || device.type == DeviceType::Meta, ErrorKind::NotImplemented,
           "Cannot copy out of meta tensor; no data! Use torch.empty_like or Module.to_empty()");
  Tensor r = empty_strided(input.sizes(), empty_like(input).strides(), input.dtype(), device);
  raw_copy(r, input);
  return r;
}
Tensor filled_copy(const Tensor& input, Scalar value) {
  static const Op fill("fill_");
  return fill(clone(input), value);
}
Tensor filled_copy_tensor(const Tensor& input, const Tensor& value) {
  static const Op fill("fill_.Tensor");
  return fill(clone(input), value);
}
// With wrap the diagonal of a tall matrix starts again after a row without one.
Tensor fill_diagonal(const Tensor& self, Scalar value, bool wrap) {
  FL_CHECK(self.dim() >= 2, "fill_diagonal_: the tensor needs at least 2 dimensions, got ", self.dim());
  int64_t height = self->sizes[0], width = self->sizes[1], step = 0;
  for (int64_t d = 0; d < self.dim(); d++) {
    FL_CHECK(self.dim() == 2 || self->sizes[d] == height,
             "fill_diagonal_: a tensor of more than 2 dimensions needs equal sizes, got ", shape_text(self.sizes()));
    step += self->strides[d];
  }
  static const Op as_strided("as_strided"), fill("fill_");
  bool again = wrap && self.dim() == 2;
  for (int64_t row = 0; row == 0 || (again && row < height); row += width + 1) {
    int64_t length = std::min(height - row, width);
    fill(as_strided(self, IntList(&length, 1), IntList(&step, 1), self.offset() + row * self->strides[0]), value);
  }
  return self;
}
void same_back(Vjp& v) {
  if (v.needs(0)) v.set(0, v.grad());
}

const Declare ops([] {
  Define("Tensor.copy_(Tensor input, Tensor src, bool non_blocking=False) -> Tensor")
      .kernel<copy_>()
      .mutates()
      .any_device()
      .node("CopyBackwards")
      .vjp("",
           [](Vjp& v) {
             if (v.needs(0)) v.set(0, zeros(v.sizes(0), v.grad().dtype(), v.grad().device()));
             if (v.needs(1)) v.set(1, v.grad());
           })
      .doc("Copies the values of src into this tensor, with broadcasting and conversion, and returns it.");
  Define("fill_(Tensor input, Scalar value) -> Tensor")
      .kernel<fill_scalar>()
      .mutates()
      .node("FillBackward0")
      .vjp("",
           [](Vjp& v) {
             if (v.needs(0)) v.set(0, zeros(v.sizes(0), v.grad().dtype(), v.grad().device()));
           })
      .doc("Sets every element to value. Raises RuntimeError when an integer type can't hold it.");
  Define("fill_.Tensor(Tensor input, Tensor value) -> Tensor")
      .kernel<fill_tensor>()
      .mutates()
      .node("FillBackward1")
      .vjp("", [](Vjp& v) {
        if (v.needs(0)) v.set(0, zeros(v.sizes(0), v.grad().dtype(), v.grad().device()));
        if (v.needs(1)) v.set(1, sum(v.grad()));
      });
  Define("zero_(Tensor input) -> Tensor")
      .kernel<zero_>()
      .mutates()
      .node("ZeroBackward0")
      .vjp("",
           [](Vjp& v) {
             if (v.needs(0)) v.set(0, zeros(v.sizes(0), v.grad().dtype(), v.grad().device()));
           })
      .doc("Sets every element to zero.");
  Define("torch.fill(Tensor input, Scalar value) -> Tensor")
      .composite<filled_copy>()
      .doc("A copy of input with every element set to value.");
  Define("torch.fill.Tensor(Tensor input, Tensor value) -> Tensor").composite<filled_copy_tensor>();
  Define("Tensor.fill_diagonal_(Tensor self, Scalar fill_value, bool wrap=False) -> Tensor")
      .composite<fill_diagonal>()
      .returns_self()
      .doc("Sets the elements whose indices are all equal to fill_value.");
  Define("clone(Tensor input, *, memory_format? memory_format=None) -> Tensor")
      .kernel<clone_op>()
      .vjp("", same_back)
      .doc("A copy with memory of its own; gradients flow through it.");
  Define("_C._to_dtype(Tensor input, dtype dtype) -> Tensor")
      .kernel<to_dtype_op>()
      .node("ToCopyBackward0")
      .vjp("", same_back);
  Define("_C._to_device(Tensor input, device device) -> Tensor")
      .kernel<to_device_op>()
      .node("ToCopyBackward0")
      .vjp("", same_back);
});

}  // namespace
}  // namespace fl
