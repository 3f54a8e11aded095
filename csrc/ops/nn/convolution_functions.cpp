// conv1d to conv3d and their transposes, as functions of the package and of nn.functional.
#include <string>

#include "ops/nn/convolution.h"

namespace fl {
namespace {

template <int dims>
constexpr const char* kConv = dims == 1   ? "conv1d"
                              : dims == 2 ? "conv2d"
                                          : "conv3d";
template <int dims>
constexpr const char* kConvTranspose = dims == 1   ? "conv_transpose1d"
                                       : dims == 2 ? "conv_transpose2d"
                                                   : "conv_transpose3d";

Dims spread(IntList given, int dims, const char* op, const char* what) {
  FL_CHECK(given.size() == 1 || static_cast<int>(given.size()) == dims, op, ": ", what, " must be one number or ", dims,
           ", got ", shape_text(given));
  return given.size() == 1 ? Dims(static_cast<size_t>(dims), given[0]) : Dims(given);
}

// Runs f on a batch; an input without the batch dimension becomes a batch of one.
template <class F>
Tensor on_batch(const Tensor& input, const Tensor& weight, int dims, const char* op, F&& f) {
  FL_CHECK(weight.dim() == dims + 2, op, ": weight must have ", dims + 2, " dimensions, got ",
           shape_text(weight.sizes()));
  FL_CHECK(input.dim() == dims + 1 || input.dim() == dims + 2, op, ": input must have ", dims + 1, " (unbatched) or ",
           dims + 2, " dimensions, got ", shape_text(input.sizes()));
  if (input.dim() == dims + 2) return f(input);
  return squeeze(f(unsqueeze(input, 0)), 0);
}

template <int dims>
Tensor conv(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, IntList padding,
            IntList dilation, int64_t groups) {
  const char* op = kConv<dims>;
  return on_batch(input, weight, dims, op, [&](const Tensor& batch) {
    Dims strides = spread(stride, dims, op, "stride"), paddings = spread(padding, dims, op, "padding"),
         dilations = spread(dilation, dims, op, "dilation");
    return convolve(batch, weight, bias,
                    {strides, paddings, dilations, false, Dims(static_cast<size_t>(dims)), groups});
  });
}

template <int dims>
Tensor conv_padded(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride,
                   std::string_view padding, IntList dilation, int64_t groups) {
  const char* op = kConv<dims>;
  FL_CHECK(padding == "same" || padding == "valid", op, ": padding must be numbers, 'same' or 'valid', got '", padding,
           "'");
  if (padding == "valid") return conv<dims>(input, weight, bias, stride, Dims{0}, dilation, groups);
  return on_batch(input, weight, dims, op, [&](const Tensor& batch) {
    Dims strides = spread(stride, dims, op, "stride"), dilations = spread(dilation, dims, op, "dilation"), paddings;
    for (int64_t s : strides)
      FL_CHECK(s == 1, op, ": padding='same' is only possible with stride 1, got ", shape_text(strides));
    bool even = false;
    for (int i = 0; i < dims; i++) {
      int64_t total = dilations[i] * (weight.size(2 + i) - 1);
      paddings.push_back((total + 1) / 2);
      even |= total % 2 != 0;
    }
    Tensor r =
        convolve(batch, weight, bias, {strides, paddings, dilations, false, Dims(static_cast<size_t>(dims)), groups});
    if (!even) return r;
    // One more is padded behind than in front: the result of padding that much on both sides, without its first row.
    MemoryFormat format = suggest_memory_format(r);
    for (int i = 0; i < dims; i++)
      if (r.size(2 + i) != batch.size(2 + i)) r = narrow(r, 2 + i, 1, batch.size(2 + i));
    static const Op contiguous_in("Tensor.contiguous");
    return contiguous_in(r, format);
  });
}

template <int dims>
Tensor conv_transpose(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, IntList padding,
                      IntList output_padding, int64_t groups, IntList dilation) {
  const char* op = kConvTranspose<dims>;
  return on_batch(input, weight, dims, op, [&](const Tensor& batch) {
    Dims strides = spread(stride, dims, op, "stride"), paddings = spread(padding, dims, op, "padding"),
         dilations = spread(dilation, dims, op, "dilation");
    return convolve(batch, weight, bias,
                    {strides, paddings, dilations, true, spread(output_padding, dims, op, "output_padding"), groups});
  });
}

template <int dims>
void declare(const char* doc, const char* transpose_doc) {
  const std::string n = std::to_string(dims), ints = "int[" + n + "] ";
  for (const std::string space : {"nn.", "torch."}) {
    const std::string operands = "(Tensor input, Tensor weight, Tensor? bias=None, " + ints + "stride=1, ";
    Define((space + "conv" + n + "d" + operands + ints + "padding=0, " + ints + "dilation=1, int groups=1) -> Tensor")
               .c_str())
        .composite<conv<dims>>()
        .doc(doc);
    Define((space + "conv" + n + "d.padding" + operands + "str padding='valid', " + ints +
            "dilation=1, int groups=1) -> Tensor")
               .c_str())
        .composite<conv_padded<dims>>();
    Define((space + "conv_transpose" + n + "d" + operands + ints + "padding=0, " + ints +
            "output_padding=0, int groups=1, " + ints + "dilation=1) -> Tensor")
               .c_str())
        .composite<conv_transpose<dims>>()
        .doc(transpose_doc);
  }
}

const Declare ops([] {
  declare<1>("Convolves input (N, C, L) with weight (out, C / groups, K).",
             "The transpose of conv1d, its gradient for the input: input (N, C, L), weight (C, out / groups, K).");
  declare<2>("Convolves input (N, C, H, W) with weight (out, C / groups, KH, KW).",
             "The transpose of conv2d: input (N, C, H, W), weight (C, out / groups, KH, KW).");
  declare<3>("Convolves input (N, C, D, H, W) with weight (out, C / groups, KD, KH, KW).",
             "The transpose of conv3d: input (N, C, D, H, W), weight (C, out / groups, KD, KH, KW).");
});

}  // namespace
}  // namespace fl
