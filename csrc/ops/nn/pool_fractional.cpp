// Maximum pooling with windows at pseudo-random places (Graham, 2014): the input is cut into about equal steps whose
// rounding a sample in [0, 1) shifts.
#include <cmath>
#include <string>

#include "autograd/record.h"
#include "base/threads.h"
#include "ops/nn/pool.h"

namespace fl {
namespace {

template <int dims>
constexpr const char* kName = dims == 2 ? "fractional_max_pool2d" : "fractional_max_pool3d";

// Computed in the type of the samples, whose rounding decides.
template <class T>
std::vector<int64_t> window_starts(T sample, int64_t input, int64_t output, int64_t kernel) {
  std::vector<int64_t> starts(static_cast<size_t>(output));
  if (output > 1) {
    const T step = static_cast<T>(input - kernel) / static_cast<T>(output - 1);
    for (int64_t i = 0; i + 1 < output; i++)
      starts[i] = static_cast<int64_t>((static_cast<T>(i) + sample) * step) - static_cast<int64_t>(sample * step);
  }
  if (output > 0) starts.back() = input - kernel;
  return starts;
}

template <int dims>
std::tuple<Tensor, Tensor> fractional(const Tensor& input, IntList kernel, IntList size, const Tensor& samples) {
  const char* op = kName<dims>;
  check_pool_input(input, dims, op);
  const int64_t batch = input.dim() == dims + 2 ? input.size(0) : 1, channels = input.size(input.dim() - dims - 1);
  FL_CHECK(samples.dim() == 3 && samples.size(0) >= batch && samples.size(1) == channels && samples.size(2) == dims, op,
           ": the samples must have the sizes [", batch, ", ", channels, ", ", dims, "], got ",
           shape_text(samples.sizes()));
  FL_CHECK(samples.dtype() == input.dtype(), op, ": the samples must have the input's type, ", info(input.dtype()).name,
           ", got ", info(samples.dtype()).name);
  Dims sizes(input.sizes());
  for (int i = 0; i < dims; i++) {
    const int64_t in = input.size(input.dim() - dims + i);
    FL_CHECK(kernel[i] > 0 && size[i] > 0, op, ": kernel_size and output_size must be positive, got ",
             shape_text(kernel), " and ", shape_text(size));
    FL_CHECK(size[i] <= in && kernel[i] <= in && size[i] + kernel[i] - 1 <= in, op, ": kernel_size ",
             shape_text(kernel), " and output_size ", shape_text(size), " are too large for input ",
             shape_text(input.sizes()));
    sizes[input.dim() - dims + i] = size[i];
  }
  Tensor values = empty(sizes, input.dtype(), input.device()), indices = empty(sizes, DType::Int64, input.device());
  if (values.is_meta() || values.numel() == 0) return {values, indices};
  const bool exact = input.dtype() == DType::Double;
  const DType type = compute_type(input.dtype());
  const auto max = pool_kernels.max[static_cast<int>(type)];
  FL_CHECK(max && is_floating(type), ErrorKind::NotImplemented, op, " isn't implemented for ", info(type).name);
  const Tensor x = contiguous(converted(input, type)),
               given = contiguous(converted(samples, exact ? DType::Double : DType::Float)), y = empty(sizes, type);
  auto sample = [&](int64_t i) {
    return exact ? given.data<double>()[i] : static_cast<double>(given.data<float>()[i]);
  };
  // Samples outside of [0, 1) are let through as far as every window stays inside.
  for (int64_t i = 0; i < batch * channels * dims; i++)
    FL_CHECK(std::abs(sample(i)) < 1e6, op, ": the samples must lie in [0, 1), got ", sample(i));
  parallel_for(0, batch * channels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; p++) {
      Pooling pool(op, dims, x.sizes());
      // The samples are those of the width, the height and, in three dimensions, first of all the depth.
      for (int i = 0; i < dims; i++) {
        const int64_t at = p * dims + (dims == 3 ? i : 1 - i), in = x.size(x.dim() - dims + i);
        auto starts = exact ? window_starts(sample(at), in, size[i], kernel[i])
                            : window_starts(static_cast<float>(sample(at)), in, size[i], kernel[i]);
        for (int64_t start : starts)
          FL_CHECK(start >= 0 && start + kernel[i] <= in, op, ": the sample ", sample(at),
                   ", which must lie in [0, 1), puts a window outside of the input");
        pool.set_windows(3 - dims + i, std::move(starts), kernel[i]);
      }
      const char* plane = x.bytes() + p * pool.shape.input_size * x.item_size();
      max(pool.shape, plane, y.bytes() + p * pool.shape.output_size * x.item_size(),
          indices.data<int64_t>() + p * pool.shape.output_size, 0, 1);
    }
  });
  return {converted(y, input.dtype()), indices};
}

// output_size, or output_ratio times the input's sizes.
template <int dims>
Dims wanted_size(const Tensor& input, IntList size, std::span<const double> ratio) {
  const char* op = kName<dims>;
  FL_CHECK(!size.empty() || !ratio.empty(), ErrorKind::Value, op, ": either output_size or output_ratio must be given");
  FL_CHECK(input.dim() == dims + 1 || input.dim() == dims + 2, op, ": input must have ", dims + 1, " (unbatched) or ",
           dims + 2, " dimensions, got ", shape_text(input.sizes()));
  if (!size.empty()) return pool_numbers(size, dims, op, "output_size");
  FL_CHECK(ratio.size() == 1 || static_cast<int>(ratio.size()) == dims, op, ": output_ratio must be one number or ",
           dims, ", got ", ratio.size());
  Dims r;
  for (int i = 0; i < dims; i++) {
    const double share = ratio[ratio.size() == 1 ? 0 : i];
    FL_CHECK(share > 0 && share < 1, ErrorKind::Assertion, op, ": output_ratio must lie between 0 and 1, got ", share);
    r.push_back(static_cast<int64_t>(static_cast<double>(input.size(input.dim() - dims + i)) * share));
  }
  return r;
}

template <int dims>
Result fractional_public(const Value* a, bool both) {
  static const std::string id = std::string("_C._") + kName<dims>;
  static const Op op(id.c_str()), rand("torch.rand");
  const Tensor& input = borrow(a[0].tensor);
  std::span<const double> ratio;
  if (a[3].tag == Tag::FloatList) ratio = {a[3].floats, a[3].length};
  const double one_ratio = a[3].is_number() ? a[3].to_double() : 0;
  if (a[3].is_number()) ratio = {&one_ratio, 1};
  const Dims size = wanted_size<dims>(input, a[2].int_list(), ratio);
  Tensor samples = detail::Unbox<const Tensor&>::get(a[5]);
  if (!samples.defined()) {
    const Dims sizes{input.dim() == dims + 2 ? input.size(0) : 1, input.size(input.dim() - dims - 1), dims};
    static const Op uniform("uniform_");
    samples = empty(sizes, input.dtype(), input.device());
    NoGrad guard;
    uniform.in_place(samples);
  }
  Result r = op.run(input, pool_numbers(a[1].int_list(), dims, kName<dims>, "kernel_size"), size, samples);
  if (both) return r;
  return Result(std::move(r.tensors[0]));
}
template <int dims>
Result fractional_choice(const Entry&, const Value* a, const Destination*) {
  return fractional_public<dims>(a, a[4].i != 0);
}
template <int dims>
Result fractional_both(const Entry&, const Value* a, const Destination*) {
  return fractional_public<dims>(a, true);
}

template <int dims>
void declare() {
  const std::string n = std::to_string(dims), ints = "int[" + n + "]";
  static const std::string node = "FractionalMaxPool" + n + "DBackward0";
  Define((std::string("_C._") + kName<dims> +
          "(Tensor input, int[] kernel_size, int[] output_size, Tensor samples) -> (Tensor, Tensor)")
             .c_str())
      .kernel<fractional<dims>>()
      .constant_outputs(2)
      .node(node.c_str())
      .vjp("result1", [](Vjp& v) {
        static const Op scatter("_C._pool_scatter");
        IntList sizes = v.sizes(0);
        if (v.needs(0)) v.set(0, scatter(v.grad(), v.output(1), sizes.subspan(sizes.size() - dims)));
      });
  const std::string operands =
      "(Tensor input, " + ints + " kernel_size, " + ints +
      "? output_size=None, float[]? output_ratio=None, bool return_indices=False, Tensor? _random_samples=None)";
  const char* doc =
      "Maximum pooling with windows at pseudo-random places; output_size or output_ratio says how many. The samples, "
      "(N, C, dimensions) in [0, 1), are drawn unless given.";
  auto composite = [&](const std::string& schema, Kernel kernel) {
    Define d(schema.c_str());
    d.raw_kernel(kernel).doc(doc);
    d.entry()->composite = true;
  };
  composite(std::string("nn.") + kName<dims> + operands + " -> any", fractional_choice<dims>);
  composite(std::string("nn.") + kName<dims> + "_with_indices" + operands + " -> (Tensor, Tensor)",
            fractional_both<dims>);
}

const Declare ops([] {
  declare<2>();
  declare<3>();
});

}  // namespace
}  // namespace fl
