// Average pooling, plain and adaptive. Each is linear, and so is its derivative, whose derivative is the pooling again.
#include <string>

#include "autograd/record.h"
#include "ops/nn/pool.h"

namespace fl {
namespace {

template <int dims>
constexpr const char* kAverage = dims == 1   ? "avg_pool1d"
                                 : dims == 2 ? "avg_pool2d"
                                             : "avg_pool3d";
template <int dims>
constexpr const char* kAdaptive = dims == 1   ? "adaptive_avg_pool1d"
                                  : dims == 2 ? "adaptive_avg_pool2d"
                                              : "adaptive_avg_pool3d";

template <int dims>
void set_windows(Pooling& p, IntList kernel, IntList stride, IntList padding, bool ceil_mode, bool count_padding,
                 std::optional<int64_t> divisor) {
  const char* op = kAverage<dims>;
  FL_CHECK(!divisor || *divisor != 0, op, ": divisor_override must not be zero");
  const Dims k = pool_numbers(kernel, dims, op, "kernel_size");
  p.set_regular(k, pool_numbers(stride, dims, op, "stride", k), pool_numbers(padding, dims, op, "padding"),
                Dims(static_cast<size_t>(dims), 1), ceil_mode, count_padding);
  p.shape.divisor = divisor.value_or(0);
}

template <int dims>
Tensor average(const Tensor& input, IntList kernel, IntList stride, IntList padding, bool ceil_mode, bool count_padding,
               std::optional<int64_t> divisor) {
  check_pool_input(input, dims, kAverage<dims>);
  Pooling p(kAverage<dims>, dims, input.sizes());
  set_windows<dims>(p, kernel, stride, padding, ceil_mode, count_padding, divisor);
  return run_average_pool(p, input);
}
template <int dims>
Tensor average_back(const Tensor& gradient, IntList sizes, IntList kernel, IntList stride, IntList padding,
                    bool ceil_mode, bool count_padding, std::optional<int64_t> divisor) {
  Pooling p(kAverage<dims>, dims, sizes);
  set_windows<dims>(p, kernel, stride, padding, ceil_mode, count_padding, divisor);
  return run_average_pool_back(p, gradient, sizes);
}

template <int dims>
Tensor adaptive(const Tensor& input, IntList size) {
  check_pool_input(input, dims, kAdaptive<dims>);
  Pooling p(kAdaptive<dims>, dims, input.sizes());
  p.set_adaptive(size);
  return run_average_pool(p, input);
}
template <int dims>
Tensor adaptive_back(const Tensor& gradient, IntList sizes, IntList size) {
  Pooling p(kAdaptive<dims>, dims, sizes);
  p.set_adaptive(size);
  return run_average_pool_back(p, gradient, sizes);
}
template <int dims>
Tensor adaptive_public(const Tensor& input, const Value& output_size) {
  static const std::string id = std::string("_C._") + kAdaptive<dims>;
  static const Op op(id.c_str());
  check_adaptive_input(input, dims, output_size, kAdaptive<dims>);
  return op(input, pool_output_size(output_size, dims, kAdaptive<dims>, input.sizes()));
}

template <int dims>
Tensor average_public(const Tensor& input, IntList kernel, IntList stride, IntList padding, bool ceil_mode,
                      bool count_padding, std::optional<int64_t> divisor) {
  static const std::string id = std::string("_C._") + kAverage<dims>;
  static const Op op(id.c_str());
  return op(input, kernel, stride, padding, ceil_mode, count_padding, divisor);
}
Tensor average_public_1d(const Tensor& input, IntList kernel, IntList stride, IntList padding, bool ceil_mode,
                         bool count_padding) {
  return average_public<1>(input, kernel, stride, padding, ceil_mode, count_padding, std::nullopt);
}

template <int dims>
void declare() {
  const std::string n = std::to_string(dims), ints = "int[" + n + "] ";
  const std::string windows =
      "int[] kernel_size, int[] stride, int[] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) "
      "-> Tensor";
  static const std::string id = std::string("_C._") + kAverage<dims>, back_id = id + "_backward";
  static const std::string adaptive_id = std::string("_C._") + kAdaptive<dims>,
                           adaptive_back_id = adaptive_id + "_backward";
  static const std::string node = "AvgPool" + n + "DBackward0", back_node = "AvgPool" + n + "DBackwardBackward0";
  static const std::string adaptive_node = "AdaptiveAvgPool" + n + "DBackward0",
                           adaptive_back_node = "AdaptiveAvgPool" + n + "DBackwardBackward0";
  static const Op forward(id.c_str()), backward(back_id.c_str()), adaptive_forward(adaptive_id.c_str()),
      adaptive_backward(adaptive_back_id.c_str());
  Define((id + "(Tensor input, " + windows).c_str()).kernel<average<dims>>().node(node.c_str()).vjp("", [](Vjp& v) {
    if (v.needs(0))
      v.set(0, backward(v.grad(), v.sizes(0), v.ints(1), v.ints(2), v.ints(3), v.value(4), v.value(5), v.value(6)));
  });
  Define((back_id + "(Tensor gradient, int[] sizes, " + windows).c_str())
      .kernel<average_back<dims>>()
      .node(back_node.c_str())
      .vjp("", [](Vjp& v) {
        if (v.needs(0))
          v.set(0, forward(v.grad(), v.ints(2), v.ints(3), v.ints(4), v.value(5), v.value(6), v.value(7)));
      });
  Define((adaptive_id + "(Tensor input, int[] output_size) -> Tensor").c_str())
      .kernel<adaptive<dims>>()
      .node(adaptive_node.c_str())
      .vjp("", [](Vjp& v) {
        if (v.needs(0)) v.set(0, adaptive_backward(v.grad(), v.sizes(0), v.ints(1)));
      });
  Define((adaptive_back_id + "(Tensor gradient, int[] sizes, int[] output_size) -> Tensor").c_str())
      .kernel<adaptive_back<dims>>()
      .node(adaptive_back_node.c_str())
      .vjp("", [](Vjp& v) {
        if (v.needs(0)) v.set(0, adaptive_forward(v.grad(), v.ints(2)));
      });

  const char* doc = "The mean of each window. Padding counts as zeros, or not at all without count_include_pad.";
  const char* adaptive_doc =
      "The mean of each of output_size windows that share the input out; a size of None is the input's.";
  const std::string operands = "(Tensor input, " + ints + "kernel_size, int[" + n + "]? stride=None, " + ints +
                               "padding=0, bool ceil_mode=False, bool count_include_pad=True";
  if constexpr (dims == 1) {
    for (const std::string space : {"nn.", "torch."}) {
      Define((space + kAverage<1> + operands + ") -> Tensor").c_str()).composite<average_public_1d>().doc(doc);
      Define((space + kAdaptive<1> + "(Tensor input, any output_size) -> Tensor").c_str())
          .composite<adaptive_public<1>>()
          .doc(adaptive_doc);
    }
  } else {
    Define((std::string("nn.") + kAverage<dims> + operands + ", int? divisor_override=None) -> Tensor").c_str())
        .composite<average_public<dims>>()
        .out()
        .doc(doc);
    Define((std::string("nn.") + kAdaptive<dims> + "(Tensor input, any output_size) -> Tensor").c_str())
        .composite<adaptive_public<dims>>()
        .doc(adaptive_doc);
  }
}

const Declare ops([] {
  declare<1>();
  declare<2>();
  declare<3>();
});

}  // namespace
}  // namespace fl
