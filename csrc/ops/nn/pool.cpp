#include "ops/nn/pool.h"

#include "base/threads.h"
#include "python/objects.h"

namespace fl {

PoolKernels pool_kernels;

Dims pool_numbers(IntList given, int dims, const char* op, const char* what, IntList otherwise) {
  if (given.empty() && !otherwise.empty()) return Dims(otherwise);
  FL_CHECK(given.size() == 1 || static_cast<int>(given.size()) == dims, op, ": ", what, " must be one number or ", dims,
           ", got ", shape_text(given));
  return given.size() == 1 ? Dims(static_cast<size_t>(dims), given[0]) : Dims(given);
}

void check_pool_input(const Tensor& input, int dims, const char* op) {
  FL_CHECK(input.dim() == dims + 1 || input.dim() == dims + 2, op, ": input must have ", dims + 1, " (unbatched) or ",
           dims + 2, " dimensions, got ", shape_text(input.sizes()));
  for (int64_t d = input.dim() == dims + 2 ? 1 : 0; d < input.dim(); d++)
    FL_CHECK(input->sizes[d] > 0, op, ": only the batch may be empty, got input ", shape_text(input.sizes()));
}

void check_adaptive_input(const Tensor& input, int dims, const Value& output_size, const char* op) {
  const bool is_list =
      output_size.tag == Tag::Object && (PyTuple_Check(output_size.object) || PyList_Check(output_size.object));
  FL_CHECK(dims == 1 || !is_list || input.dim() > dims, ErrorKind::Value, op, ": input must have more than ", dims,
           " dimensions, got ", shape_text(input.sizes()));
  check_pool_input(input, dims, op);
}

Pooling::Pooling(const char* op, int dims, IntList input_sizes) : op_(op), dims_(dims), input_sizes_(input_sizes) {
  shape.channels = input_sizes[input_sizes.size() - dims - 1];
  for (int i = 0; i < dims; i++) shape.input[3 - dims + i] = input_sizes[input_sizes.size() - dims + i];
  for (int i = 0; i < 3 - dims; i++) {
    set_axis(i, 1);
    first_[i] = {0};
    last_[i] = count_[i] = {1};
  }
}

void Pooling::set_axis(int axis, int64_t count) {
  shape.output[axis] = count;
  first_[axis].resize(static_cast<size_t>(count));
  last_[axis].resize(static_cast<size_t>(count));
  count_[axis].resize(static_cast<size_t>(count));
}

void Pooling::finish() {
  shape.input_size = shape.output_size = 1;
  for (int i = 0; i < 3; i++) {
    shape.input_size *= shape.input[i];
    shape.output_size *= shape.output[i];
    shape.first[i] = first_[i].data();
    shape.last[i] = last_[i].data();
    shape.count[i] = count_[i].data();
  }
}

void Pooling::set_regular(IntList kernel, IntList stride, IntList padding, IntList dilation, bool ceil_mode,
                          bool count_padding) {
  shape.regular = true;
  for (int i = 0; i < dims_; i++) {
    const int axis = 3 - dims_ + i;
    const int64_t k = kernel[i], s = stride[i], p = padding[i], d = dilation[i], in = shape.input[axis];
    FL_CHECK(k > 0, op_, ": kernel_size must be positive, got ", shape_text(kernel));
    FL_CHECK(s > 0, op_, ": stride must be positive, got ", shape_text(stride));
    FL_CHECK(d > 0, op_, ": dilation must be positive, got ", shape_text(dilation));
    FL_CHECK(p >= 0, op_, ": padding must not be negative, got ", shape_text(padding));
    int64_t reach = 0;
    FL_CHECK(!__builtin_mul_overflow(d, k - 1, &reach) && reach < (int64_t(1) << 60) && p < (int64_t(1) << 60), op_,
             ": kernel_size ", shape_text(kernel), " is too large");
    FL_CHECK(p <= (reach + 1) / 2, op_, ": padding must be at most half of the kernel, got padding ",
             shape_text(padding), " for kernel_size ", shape_text(kernel));
    const int64_t room = in + 2 * p - reach - 1;
    int64_t out = room >= 0 ? (room + (ceil_mode ? s - 1 : 0)) / s + 1 : (ceil_mode && room + s - 1 >= 0 ? 1 : 0);
    if (ceil_mode && (out - 1) * s >= in + p) out--;
    FL_CHECK(out > 0, op_, ": the result would be empty: input ", shape_text(input_sizes_), ", kernel_size ",
             shape_text(kernel));
    set_axis(axis, out);
    shape.kernel[axis] = k;
    shape.stride[axis] = s;
    shape.padding[axis] = p;
    shape.step[axis] = d;
    for (int64_t o = 0; o < out; o++) {
      const int64_t begin = o * s - p, end = begin + reach + 1;
      const int64_t inside = begin < 0 ? begin + (-begin + d - 1) / d * d : begin, inside_end = std::min(end, in);
      first_[axis][o] = inside;
      last_[axis][o] = inside_end;
      count_[axis][o] = count_padding ? std::min(end, in + p) - begin : inside_end - inside;
    }
  }
  finish();
}

void Pooling::set_adaptive(IntList output) {
  for (int i = 0; i < dims_; i++) {
    const int axis = 3 - dims_ + i;
    const int64_t in = shape.input[axis], out = output[i];
    FL_CHECK(out >= 0, op_, ": output_size must not be negative, got ", shape_text(output));
    FL_CHECK(out <= int64_t(1) << 28, ErrorKind::OutOfMemory, op_, ": output_size ", shape_text(output),
             " needs more memory than there is");
    set_axis(axis, out);
    for (int64_t o = 0; o < out; o++) {
      // floor(o * in / out), without the product overflowing.
      auto place = [&](int64_t o) { return o / out * in + o % out * in / out; };
      first_[axis][o] = place(o);
      last_[axis][o] = (o + 1) * in % out ? place(o + 1) + 1 : place(o + 1);
      count_[axis][o] = last_[axis][o] - first_[axis][o];
    }
  }
  finish();
}

void Pooling::set_windows(int axis, std::vector<int64_t> first, int64_t kernel) {
  const int64_t count = static_cast<int64_t>(first.size());
  set_axis(axis, count);
  first_[axis] = std::move(first);
  for (int64_t o = 0; o < count; o++) last_[axis][o] = first_[axis][o] + kernel;
  finish();
}

Dims Pooling::output_sizes() const {
  Dims sizes(input_sizes_);
  for (int i = 0; i < dims_; i++) sizes[sizes.size() - dims_ + i] = shape.output[3 - dims_ + i];
  return sizes;
}

Dims pool_output_size(const Value& given, int dims, const char* op, IntList input_sizes) {
  Dims sizes;
  auto at = [&](int i) { return input_sizes[input_sizes.size() - dims + i]; };
  if (given.tag == Tag::IntList) {
    sizes = Dims(given.int_list());
  } else if (given.tag == Tag::Int) {
    sizes.push_back(given.i);
  } else {
    FL_CHECK(given.tag == Tag::Object, ErrorKind::Type, op, ": output_size must be a number or ", dims, " of them");
    PyObject* o = given.object;
    auto number = [&](PyObject* x, int i) {
      int64_t n;
      if (x == Py_None) return at(i);
      FL_CHECK(to_int(x, &n), ErrorKind::Type, op, ": output_size must be ints or None, got ", Py_TYPE(x)->tp_name);
      return n;
    };
    if (PyTuple_Check(o) || PyList_Check(o)) {
      FL_CHECK(PySequence_Fast_GET_SIZE(o) == 1 || PySequence_Fast_GET_SIZE(o) == dims, ErrorKind::Runtime, op,
               ": output_size must be one number or ", dims, ", got ", PySequence_Fast_GET_SIZE(o));
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); i++)
        sizes.push_back(number(PySequence_Fast_GET_ITEM(o, i), static_cast<int>(i)));
    } else {
      for (int i = 0; i < dims; i++) sizes.push_back(number(o, i));
    }
  }
  return pool_numbers(sizes, dims, op, "output_size");
}

namespace {

// Chunks of planes or, with channels last, images, by size alone.
template <class F>
void for_chunks(const PoolShape& s, const Tensor& t, bool channels_last, F&& f) {
  constexpr int64_t kChunk = 1 << 15;
  const int64_t planes = t.numel() / (s.input_size == 0 ? 1 : s.input_size);
  const int64_t count = channels_last ? planes / s.channels : planes;
  const int64_t work = std::max(s.input_size, s.output_size) * (channels_last ? s.channels : 1);
  parallel_for(0, count, std::max<int64_t>(1, kChunk / std::max<int64_t>(1, work)), f);
}

template <class Fn>
Fn kernel_for(Fn (&table)[kNumDTypes], DType dtype, const char* op) {
  Fn f = table[static_cast<int>(dtype)];
  FL_CHECK(f, ErrorKind::NotImplemented, op, " isn't implemented for ", info(dtype).name);
  return f;
}

}  // namespace

MaxPooled run_max_pool(const Pooling& p, const Tensor& input, bool with_indices) {
  const DType type = compute_type(input.dtype());
  auto max = kernel_for(pool_kernels.max, type, "max_pool");
  const Tensor from = converted(dense_planes(input), type);
  const Dims sizes = p.output_sizes();
  MaxPooled r{empty_as_laid_out(from, sizes, type),
              with_indices ? empty_as_laid_out(from, sizes, DType::Int64) : Tensor()};
  const bool last = is_channels_last(from);
  if (!r.values.is_meta() && r.values.numel() > 0) {
    if (last) max = pool_kernels.max_channels_last[static_cast<int>(type)];
    for_chunks(p.shape, from, last, [&](int64_t begin, int64_t end) {
      max(p.shape, from.bytes(), r.values.bytes(), with_indices ? r.indices.data<int64_t>() : nullptr, begin, end);
    });
  }
  r.values = converted(r.values, input.dtype());
  return r;
}

Tensor run_average_pool(const Pooling& p, const Tensor& input) {
  const DType type = compute_type(input.dtype());
  auto average = kernel_for(pool_kernels.average, type, "avg_pool");
  const Tensor from = converted(dense_planes(input), type);
  Tensor r = empty_as_laid_out(from, p.output_sizes(), type);
  const bool last = is_channels_last(from);
  if (!r.is_meta() && r.numel() > 0) {
    if (last) average = pool_kernels.average_channels_last[static_cast<int>(type)];
    for_chunks(p.shape, from, last,
               [&](int64_t begin, int64_t end) { average(p.shape, from.bytes(), r.bytes(), begin, end); });
  }
  return converted(r, input.dtype());
}

Tensor run_average_pool_back(const Pooling& p, const Tensor& gradient, IntList input_sizes) {
  const DType type = compute_type(gradient.dtype());
  auto back = kernel_for(pool_kernels.average_back, type, "avg_pool");
  const Tensor from = converted(dense_planes(gradient), type);
  Tensor r = empty_as_laid_out(from, input_sizes, type);
  const bool last = is_channels_last(from);
  if (!r.is_meta() && r.numel() > 0) {
    if (last) back = pool_kernels.average_back_channels_last[static_cast<int>(type)];
    for_chunks(p.shape, r, last,
               [&](int64_t begin, int64_t end) { back(p.shape, from.bytes(), r.bytes(), begin, end); });
  }
  return converted(r, gradient.dtype());
}

}  // namespace fl
