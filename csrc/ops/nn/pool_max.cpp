// Maximum pooling, plain and adaptive, and its inverse.
//
// The derivative moves values between outputs and the places their indices name. Two ops that are each other's
// derivative do that: pool_scatter adds to places, pool_gather reads them.
#include "autograd/record.h"
#include "base/threads.h"
#include "ops/nn/pool.h"

namespace fl {
namespace {

// ---- moving values by indices

// Calls f(values of a plane and its indices, planes, stride) ... for each plane: where its elements begin and how far
// apart they are.
template <class F>
void for_each_plane(const Tensor& small, const Tensor& large, int64_t small_size, int64_t large_size, F&& f) {
  const int64_t planes = large_size ? large.numel() / large_size : 0;
  const bool last = is_channels_last(small);
  const int64_t channels = last ? small.size(1) : 1;
  parallel_for(0, planes, std::max<int64_t>(1, (1 << 15) / std::max<int64_t>(1, small_size + large_size)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t p = begin; p < end; p++) {
                   const int64_t image = p / channels, c = p % channels;
                   f(image * channels * small_size + c, image * channels * large_size + c, channels);
                 }
               });
}

int64_t plane_size(IntList sizes, int64_t dims) {
  int64_t n = 1;
  for (int64_t i = 0; i < dims; i++) n *= sizes[sizes.size() - dims + i];
  return n;
}

[[noreturn]] void bad_index(const char* op, int64_t index, int64_t size) {
  fail(op, ": index ", index, " is out of range for a plane of ", size, " elements");
}

// Zeros of the input's sizes, with the values added (or put) where the indices say.
template <bool add>
Tensor scatter(const char* op, const Tensor& given, const Tensor& indices, IntList plane) {
  const int64_t dims = static_cast<int64_t>(plane.size());
  Dims sizes(given.sizes());
  for (int64_t i = 0; i < dims; i++) sizes[sizes.size() - dims + i] = plane[i];
  const Tensor values = dense_planes(given), places = laid_out_as(values, indices);
  Tensor r = empty_as_laid_out(values, sizes, values.dtype());
  if (r.is_meta()) return r;
  raw_fill(r, Scalar(0));
  const int64_t small = plane_size(values.sizes(), dims), large = plane_size(sizes, dims);
  visit_dtype(values.dtype(), [&]<class T>() {
    if constexpr (!requires(T a) { T(a + a); })
      fail(ErrorKind::NotImplemented, op, " isn't implemented for ", info(values.dtype()).name);
    else {
      for_each_plane(values, r, small, large, [&](int64_t from, int64_t to, int64_t step) {
        const T* v = values.data<T>() + from;
        const int64_t* at = places.data<int64_t>() + from;
        T* out = r.data<T>() + to;
        for (int64_t i = 0; i < small; i++) {
          const int64_t k = at[i * step];
          if (k < 0 || k >= large) bad_index(op, k, large);
          if constexpr (add)
            out[k * step] = T(out[k * step] + v[i * step]);
          else
            out[k * step] = v[i * step];
        }
      });
    }
  });
  return r;
}

Tensor pool_scatter(const Tensor& values, const Tensor& indices, IntList plane) {
  return scatter<true>("max_pool backward", values, indices, plane);
}

Tensor pool_gather(const Tensor& given, const Tensor& indices, int64_t dims) {
  const Tensor from = dense_planes(given), places = laid_out_as(from, indices);
  Tensor r = empty_as_laid_out(from, indices.sizes(), from.dtype());
  if (r.is_meta() || r.numel() == 0) return r;
  const int64_t small = plane_size(indices.sizes(), dims), large = plane_size(from.sizes(), dims);
  visit_dtype(from.dtype(), [&]<class T>() {
    for_each_plane(r, from, small, large, [&](int64_t to, int64_t source, int64_t step) {
      for (int64_t i = 0; i < small; i++) {
        const int64_t k = places.data<int64_t>()[to + i * step];
        if (k < 0 || k >= large) bad_index("max_pool backward", k, large);
        r.data<T>()[to + i * step] = from.data<T>()[source + k * step];
      }
    });
  });
  return r;
}

const Op scatter_op("_C._pool_scatter"), gather_op("_C._pool_gather");

Dims last_sizes(IntList sizes, int64_t dims) {
  return Dims(IntList(sizes.data() + sizes.size() - dims, static_cast<size_t>(dims)));
}

template <int dims>
void max_vjp(Vjp& v) {
  if (v.needs(0)) v.set(0, scatter_op(v.grad(), v.output(1), last_sizes(v.sizes(0), dims)));
}

// ---- plain and adaptive

template <int dims>
constexpr const char* kMax = dims == 1   ? "max_pool1d"
                             : dims == 2 ? "max_pool2d"
                                         : "max_pool3d";
template <int dims>
constexpr const char* kAdaptive = dims == 1   ? "adaptive_max_pool1d"
                                  : dims == 2 ? "adaptive_max_pool2d"
                                              : "adaptive_max_pool3d";

template <int dims>
MaxPooled max_pool(const Tensor& input, IntList kernel, IntList stride, IntList padding, IntList dilation,
                   bool ceil_mode, bool with_indices) {
  const char* op = kMax<dims>;
  check_pool_input(input, dims, op);
  Pooling p(op, dims, input.sizes());
  const Dims k = pool_numbers(kernel, dims, op, "kernel_size");
  p.set_regular(k, pool_numbers(stride, dims, op, "stride", k), pool_numbers(padding, dims, op, "padding"),
                pool_numbers(dilation, dims, op, "dilation"), ceil_mode);
  return run_max_pool(p, input, with_indices);
}

template <int dims>
std::tuple<Tensor, Tensor> max_pool_pair(const Tensor& input, IntList kernel, IntList stride, IntList padding,
                                         IntList dilation, bool ceil_mode) {
  MaxPooled r = max_pool<dims>(input, kernel, stride, padding, dilation, ceil_mode, true);
  return {r.values, r.indices};
}

template <int dims>
std::tuple<Tensor, Tensor> adaptive_pair(const Tensor& input, IntList size) {
  check_pool_input(input, dims, kAdaptive<dims>);
  Pooling p(kAdaptive<dims>, dims, input.sizes());
  p.set_adaptive(size);
  MaxPooled r = run_max_pool(p, input, true);
  return {r.values, r.indices};
}

Result pair_or_first(Result pair, bool both) {
  if (both) return pair;
  return Result(std::move(pair.tensors[0]));
}

// (input, kernel_size, stride, padding, dilation, ceil_mode, return_indices): without a graph or indices wanted, none
// are made.
template <int dims>
Result max_pool_public(const Value* a, bool both) {
  static const std::string id = std::string("_C._") + kMax<dims> + "_with_indices";
  static const Op op(id.c_str());
  const Tensor& input = borrow(a[0].tensor);
  if (!both && !(grad_enabled() && input.requires_grad()))
    return Result(
        max_pool<dims>(input, a[1].int_list(), a[2].int_list(), a[3].int_list(), a[4].int_list(), a[5].i != 0, false)
            .values);
  return pair_or_first(op.run(input, a[1].int_list(), a[2].int_list(), a[3].int_list(), a[4].int_list(), a[5].i != 0),
                       both);
}
template <int dims>
Result max_pool_choice(const Entry&, const Value* a, const Destination*) {
  return max_pool_public<dims>(a, a[6].i != 0);
}
template <int dims>
Result max_pool_first(const Entry&, const Value* a, const Destination*) {
  return max_pool_public<dims>(a, false);
}
template <int dims>
Result max_pool_both(const Entry&, const Value* a, const Destination*) {
  return max_pool_public<dims>(a, true);
}

template <int dims>
Result adaptive_public(const Value* a, bool both) {
  static const std::string id = std::string("_C._") + kAdaptive<dims>;
  static const Op op(id.c_str());
  const Tensor& input = borrow(a[0].tensor);
  check_adaptive_input(input, dims, a[1], kAdaptive<dims>);
  return pair_or_first(op.run(input, pool_output_size(a[1], dims, kAdaptive<dims>, input.sizes())), both);
}
template <int dims>
Result adaptive_choice(const Entry&, const Value* a, const Destination*) {
  return adaptive_public<dims>(a, a[2].i != 0);
}
template <int dims>
Result adaptive_both(const Entry&, const Value* a, const Destination*) {
  return adaptive_public<dims>(a, true);
}

// ---- unpooling

template <int dims>
constexpr const char* kUnpool = dims == 1   ? "max_unpool1d"
                                : dims == 2 ? "max_unpool2d"
                                            : "max_unpool3d";

template <int dims>
Tensor max_unpool(const Tensor& input, const Tensor& indices, IntList plane) {
  const char* op = kUnpool<dims>;
  check_pool_input(input, dims, op);
  FL_CHECK(indices.dtype() == DType::Int64, op, ": indices must be int64, got ", info(indices.dtype()).name);
  FL_CHECK(equal(input.sizes(), indices.sizes()), op, ": input ", shape_text(input.sizes()), " and indices ",
           shape_text(indices.sizes()), " must have the same sizes");
  for (int64_t s : plane) FL_CHECK(s > 0, op, ": the output size must be positive, got ", shape_text(plane));
  return scatter<false>(op, input, indices, plane);
}

// The sizes that the pooling with these windows had, or those asked for, which may differ from them by less than a
// stride.
template <int dims>
Tensor max_unpool_public(const Tensor& input, const Tensor& indices, IntList kernel, IntList stride, IntList padding,
                         const Value& output_size) {
  const char* op = kUnpool<dims>;
  static const std::string id = std::string("_C._") + op;
  static const Op unpool(id.c_str());
  FL_CHECK(input.dim() == dims + 1 || input.dim() == dims + 2, op, ": input must have ", dims + 1, " (unbatched) or ",
           dims + 2, " dimensions, got ", shape_text(input.sizes()));
  const Dims k = pool_numbers(kernel, dims, op, "kernel_size"), s = pool_numbers(stride, dims, op, "stride", k),
             p = pool_numbers(padding, dims, op, "padding");
  Dims plane;
  for (int i = 0; i < dims; i++) plane.push_back((input.size(input.dim() - dims + i) - 1) * s[i] + k[i] - 2 * p[i]);
  if (!output_size.is_none()) {
    IntList given = output_size.int_list();
    if (static_cast<int64_t>(given.size()) == dims + 2)
      given = given.subspan(2);
    else if (static_cast<int64_t>(given.size()) == dims + 1 && input.dim() == dims + 1)
      given = given.subspan(1);
    FL_CHECK(static_cast<int>(given.size()) == dims, ErrorKind::Value, op, ": output_size must have ", dims, " or ",
             dims + 2, " elements, got ", given.size());
    for (int i = 0; i < dims; i++)
      FL_CHECK(given[i] > plane[i] - s[i] && given[i] < plane[i] + s[i], ErrorKind::Value, op, ": output_size ",
               shape_text(given), " must be within a stride of ", shape_text(plane));
    plane = Dims(given);
  }
  return unpool(input, indices, plane);
}

// ---- declarations

template <int dims>
void declare() {
  const std::string n = std::to_string(dims), ints = "int[" + n + "] ", optional_ints = "int[" + n + "]? ";
  const std::string windows = ", " + ints + "padding=0, " + ints + "dilation=1, bool ceil_mode=False";
  const std::string pool = "max_pool" + n + "d", both = " -> (Tensor, Tensor)";
  auto composite = [](const std::string& schema, Kernel kernel, const char* doc) {
    Define d(schema.c_str());
    d.raw_kernel(kernel).function_only().doc(doc);
    d.entry()->composite = true;
  };
  const std::string upper = "MaxPool" + n + "D";
  static const std::string node = upper + "WithIndicesBackward0", adaptive_node = "Adaptive" + upper + "Backward0",
                           unpool_node = "MaxUnpool" + n + "DBackward0";
  Define(
      ("_C._" + pool +
       "_with_indices(Tensor input, int[] kernel_size, int[] stride, int[] padding, int[] dilation, bool ceil_mode)" +
       both)
          .c_str())
      .kernel<max_pool_pair<dims>>()
      .constant_outputs(2)
      .node(node.c_str())
      .vjp("result1", max_vjp<dims>);
  Define(("_C._adaptive_" + pool + "(Tensor input, int[] output_size)" + both).c_str())
      .kernel<adaptive_pair<dims>>()
      .constant_outputs(2)
      .node(adaptive_node.c_str())
      .vjp("result1", max_vjp<dims>);
  Define(("_C._max_unpool" + n + "d(Tensor input, Tensor indices, int[] plane) -> Tensor").c_str())
      .kernel<max_unpool<dims>>()
      .node(unpool_node.c_str())
      .vjp("indices", [](Vjp& v) {
        if (v.needs(0)) v.set(0, gather_op(v.grad(), v.input(1), int64_t(dims)));
      });

  const std::string nn_windows = "(Tensor input, " + ints + "kernel_size, " + optional_ints + "stride=None" + windows;
  const std::string torch_windows = "(Tensor input, " + ints + "kernel_size, " + ints + "stride=[]" + windows;
  const char* doc = "The largest element of each window; with return_indices also where in its plane it was.";
  composite("nn." + pool + nn_windows + ", bool return_indices=False) -> any", max_pool_choice<dims>, doc);
  composite("nn." + pool + "_with_indices" + nn_windows + ", bool return_indices=False)" + both, max_pool_both<dims>,
            doc);
  composite("torch." + pool + torch_windows + ") -> Tensor", max_pool_first<dims>, doc);
  if (dims == 1) composite("torch." + pool + "_with_indices" + torch_windows + ")" + both, max_pool_both<dims>, doc);
  const char* adaptive_doc = "The largest element of each of output_size windows that share the input out.";
  composite("nn.adaptive_" + pool + "(Tensor input, any output_size, bool return_indices=False) -> any",
            adaptive_choice<dims>, adaptive_doc);
  composite("nn.adaptive_" + pool + "_with_indices(Tensor input, any output_size, bool return_indices=False)" + both,
            adaptive_both<dims>, adaptive_doc);
  if (dims == 1)
    composite("torch.adaptive_" + pool + "(Tensor input, " + ints + "output_size)" + both, adaptive_both<dims>,
              adaptive_doc);
  Define(("nn.max_unpool" + n + "d(Tensor input, Tensor indices, " + ints + "kernel_size, " + optional_ints +
          "stride=None, " + ints + "padding=0, int[]? output_size=None) -> Tensor")
             .c_str())
      .composite<max_unpool_public<dims>>()
      .doc(
          "Puts each element where max pooling's indices say, into zeros. Raises RuntimeError for an index outside its "
          "plane.");
}

const Declare ops([] {
  Define("_C._pool_scatter(Tensor input, Tensor indices, int[] plane) -> Tensor")
      .kernel<pool_scatter>()
      .node("MaxPoolBackwardBackward0")
      .vjp("indices", [](Vjp& v) {
        if (v.needs(0)) v.set(0, gather_op(v.grad(), v.input(1), static_cast<int64_t>(v.ints(2).size())));
      });
  Define("_C._pool_gather(Tensor input, Tensor indices, int dims) -> Tensor")
      .kernel<pool_gather>()
      .node("MaxPoolGatherBackward0")
      .vjp("indices", [](Vjp& v) {
        if (v.needs(0)) v.set(0, scatter_op(v.grad(), v.input(1), last_sizes(v.sizes(0), v.integer(2))));
      });
  declare<1>();
  declare<2>();
  declare<3>();
});

}  // namespace
}  // namespace fl
