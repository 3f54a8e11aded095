// The activation functions as nn.functional calls them, and those made of other ops.
#include "autograd/record.h"
#include "ops/api.h"

namespace fl {
namespace {

// With `inplace` as its last argument; the op it stands for takes the others.
Result with_inplace(const Entry& entry, const Value* args, const Destination*) {
  if (!args[entry.schema.args.size() - 1].i) return call(*entry.forward, args);
  call_in_place(*entry.forward, args);
  return Result(Tensor::share(args[0].tensor));
}

Tensor gelu(const Tensor& input, std::string_view approximate) {
  static const Op exact("_C.gelu_erf"), quick("_C.gelu_tanh");
  FL_CHECK(approximate == "none" || approximate == "tanh", "gelu: approximate must be 'none' or 'tanh', got '",
           approximate, "'");
  return approximate == "none" ? exact(input) : quick(input);
}

Tensor prelu(const Tensor& input, const Tensor& weight) {
  static const Op apply("_C.prelu");
  FL_CHECK(weight.dim() <= 1, "prelu: expected the weight to have one dimension or none, got sizes ",
           shape_text(weight.sizes()));
  int64_t count = weight.numel();
  FL_CHECK(count == 1 || input.dim() > 0, "prelu: ", count,
           " weights need an input with channels, got one without dimensions");
  if (count != 1) {
    int64_t channels = input.dim() > 1 ? input.sizes()[1] : 1;
    FL_CHECK(channels == count, "prelu: expected as many weights as channels, ", channels, ", got ", count);
  }
  Dims shape;
  for (int64_t d = 0; d < input.dim(); d++) shape.push_back(d == 1 && count != 1 ? count : 1);
  if (input.dim() == 1 || count == 1) {
    for (int64_t& s : shape) s = 1;
  }
  return apply(input, reshape(weight, shape));
}

Tensor hardshrink(const Tensor& input, Scalar lambd) {
  static const Op apply("hardshrink");
  return apply(input, lambd);
}
Tensor softshrink(const Tensor& input, double lambd) {
  static const Op apply("_nn.softshrink");
  FL_CHECK(lambd >= 0, "softshrink: lambda must be greater or equal to 0, but found to be ", lambd);
  return apply(input, lambd);
}

Tensor glu(const Tensor& input, int64_t dim) {
  FL_CHECK(input.dim() > 0, "glu: does not support tensors without dimensions");
  int64_t d = wrap_dim(dim, input.dim(), "glu"), size = input.sizes()[d];
  FL_CHECK(size % 2 == 0, "glu: halving dimension must be even, but dimension ", d, " is size ", size);
  FL_CHECK(is_differentiable(input.dtype()), ErrorKind::NotImplemented, "\"glu\" not implemented for '",
           info(input.dtype()).name, "'");
  return narrow(input, d, 0, size / 2) * sigmoid(narrow(input, d, size / 2, size / 2));
}

void declare(const char* schema, const char* target, const char* doc) {
  Define d(schema);
  d.raw_kernel(with_inplace).doc(doc);
  d.entry()->composite = true;
  d.entry()->forward_id = target;
  d.in_place();
}

const Declare ops([] {
  declare("nn.relu(Tensor input, bool inplace=False) -> Tensor", "relu", "input where it is positive, 0 elsewhere.");
  declare("nn.relu6(Tensor input, bool inplace=False) -> Tensor", "_nn.relu6", "input limited to [0, 6].");
  declare("nn.leaky_relu(Tensor input, float negative_slope=0.01, bool inplace=False) -> Tensor", "_nn.leaky_relu",
          "input where it is positive, negative_slope * input elsewhere.");
  declare("nn.elu(Tensor input, float alpha=1.0, bool inplace=False) -> Tensor", "_nn.elu",
          "input where it is positive, alpha * (exp(input) - 1) elsewhere.");
  declare("nn.celu(Tensor input, float alpha=1.0, bool inplace=False) -> Tensor", "celu",
          "input where positive, alpha * (exp(input / alpha) - 1) elsewhere.");
  declare("nn.selu(Tensor input, bool inplace=False) -> Tensor", "selu",
          "The scaled exponential linear unit of self-normalizing networks.");
  declare("nn.silu(Tensor input, bool inplace=False) -> Tensor", "_nn.silu", "input * sigmoid(input).");
  declare("nn.mish(Tensor input, bool inplace=False) -> Tensor", "_nn.mish", "input * tanh(softplus(input)).");
  declare("nn.threshold(Tensor input, float threshold, float value, bool inplace=False) -> Tensor", "threshold",
          "input where it is above threshold, value elsewhere.");
  declare("nn.hardtanh(Tensor input, Scalar min_val=-1., Scalar max_val=1., bool inplace=False) -> Tensor",
          "_nn.hardtanh", "input limited to [min_val, max_val].");
  declare("nn.hardsigmoid(Tensor input, bool inplace=False) -> Tensor", "_nn.hardsigmoid",
          "input / 6 + 1 / 2, limited to [0, 1].");
  declare("nn.hardswish(Tensor input, bool inplace=False) -> Tensor", "_nn.hardswish", "input * hardsigmoid(input).");
  Define("nn.gelu(Tensor input, *, str approximate='none') -> Tensor")
      .composite<gelu>()
      .out()
      .doc(
          "input times the normal distribution function of input; approximate='tanh' computes it by a tanh.\n\n"
          ">>> torch.nn.functional.gelu(torch.tensor([0.0]))\ntensor([0.])");
  Define("prelu(Tensor input, Tensor weight) -> Tensor")
      .composite<prelu>()
      .doc(
          "input where it is positive, weight * input elsewhere, with one weight or one for each channel (dimension "
          "1).")
      .alias("nn.prelu");
  Define("nn.hardshrink(Tensor input, Scalar lambd=0.5) -> Tensor")
      .composite<hardshrink>()
      .out()
      .doc("input where it is further than lambd from 0, 0 elsewhere.");
  Define("nn.softshrink(Tensor input, float lambd=0.5) -> Tensor")
      .composite<softshrink>()
      .out()
      .doc("input moved toward 0 by lambd, and 0 where it is nearer than that.");
  Define("nn.glu(Tensor input, int dim=-1) -> Tensor")
      .composite<glu>()
      .out()
      .doc("The first half along dim times the sigmoid of the second half.");
});

}  // namespace
}  // namespace fl
