// Dropout and its variants.
#include <cmath>

#include "ops/api.h"
#include "ops/random.h"

namespace fl {
namespace {

// What is dropped: single elements or whole channels; alpha dropout keeps the mean and variance of what selu gives.
struct Variant {
  const char* name;
  bool features, alpha;
};

// Random zeros and ones, one for each element or for each channel of each sample.
Tensor mask_for(const Tensor& input, double keep, bool features) {
  Tensor mask;
  if (features) {
    FL_CHECK(input.dim() >= 2, "feature dropout requires at least 2 dimensions in the input, got ", input.dim());
    Dims sizes(input.dim(), 1);
    sizes[0] = input->sizes[0];
    sizes[1] = input->sizes[1];
    mask = empty(sizes, input.dtype(), input.device());
  } else {
    mask = empty_like(alias(input));
  }
  bernoulli_fill(mask, keep, nullptr);
  return mask;
}

// input * scale + shift, where shift may be undefined; false: nothing is to be done.
bool noise_for(const Tensor& input, double p, bool train, const Variant& variant, Tensor* scale, Tensor* shift) {
  FL_CHECK(p >= 0 && p <= 1, variant.name, ": dropout probability has to be between 0 and 1, but got ", p);
  if (p == 0 || !train || input.numel() == 0) return false;
  if (p == 1) {
    *scale = zeros({}, input.dtype(), input.device());
    return true;
  }
  NoGrad guard;
  static const Op mul("mul"), add("add"), div("div");
  *scale = mask_for(input, 1 - p, variant.features);
  if (!variant.alpha) {
    div.in_place(*scale, 1 - p);
    return true;
  }
  constexpr double kAlpha = 1.7580993408473766;  // minus the limit of selu at minus infinity
  double a = 1 / std::sqrt((kAlpha * kAlpha * p + 1) * (1 - p));
  *shift = *scale - 1;
  mul.in_place(*shift, kAlpha * a);
  add.in_place(*shift, kAlpha * a * p);
  mul.in_place(*scale, a);
  return true;
}

template <const Variant& variant>
Tensor dropped(const Tensor& input, double p, bool train) {
  Tensor scale, shift;
  if (!noise_for(input, p, train, variant, &scale, &shift)) return input;
  Tensor r = input * scale;
  return shift ? r + shift : r;
}
void drop_in_place(const Tensor& input, double p, bool train, const Variant& variant) {
  static const Op mul("mul"), add("add");
  Tensor scale, shift;
  if (!noise_for(input, p, train, variant, &scale, &shift)) return;
  mul.in_place(input, scale);
  if (shift) add.in_place(input, shift);
}

constexpr Variant kDropout{"dropout", false, false}, kAlphaDropout{"alpha_dropout", false, true};
constexpr Variant kFeatureDropout{"feature_dropout", true, false},
    kFeatureAlphaDropout{"feature_alpha_dropout", true, true};

// The form of nn.functional.
template <const Variant& variant>
Tensor functional(const Tensor& input, double p, bool training, bool in_place) {
  FL_CHECK(p >= 0 && p <= 1, ErrorKind::Value, variant.name,
           ": dropout probability has to be between 0 and 1, but got ", p);
  if (!in_place) return dropped<variant>(input, p, training);
  drop_in_place(input, p, training, variant);
  return input;
}

std::tuple<Tensor, Tensor> native_dropout_op(const Tensor& input, double p, std::optional<bool> train) {
  Tensor mask = empty(input.sizes(), DType::Bool, input.device());
  if (train && !*train) {
    raw_fill(mask, Scalar(true));
    return {raw_clone(input), mask};
  }
  bernoulli_fill(mask, 1 - p, nullptr);
  static const Op mul("mul");
  Tensor r = input * mask;
  mul.in_place(r, p == 1 ? 0.0 : 1 / (1 - p));
  return {r, mask};
}

const Declare ops([] {
  Define("torch.dropout(Tensor input, float p, bool train) -> Tensor")
      .composite<dropped<kDropout>>()
      .in_place()
      .doc("Sets elements to zero with probability p while training and scales the others by 1 / (1 - p).");
  Define("torch.alpha_dropout(Tensor input, float p, bool train) -> Tensor")
      .composite<dropped<kAlphaDropout>>()
      .in_place()
      .doc("Dropout that keeps the mean and variance of what selu gives.");
  Define("torch.feature_dropout(Tensor input, float p, bool train) -> Tensor")
      .composite<dropped<kFeatureDropout>>()
      .in_place()
      .doc("Dropout of whole channels: of input[i, j].");
  Define("torch.feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor")
      .composite<dropped<kFeatureAlphaDropout>>()
      .in_place()
      .doc("Alpha dropout of whole channels: of input[i, j].");
  Define("torch.native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)")
      .kernel<native_dropout_op>()
      .constant_outputs(2)
      .vjp("result1",
           [](Vjp& v) {
             bool trained = v.value(2).is_none() || v.flag(2);
             double p = v.number(1);
             if (v.needs(0)) v.set(0, trained ? v.grad() * v.output(1) * (p == 1 ? 0.0 : 1 / (1 - p)) : v.grad());
           })
      .doc("Dropout and the mask of the elements it kept.");
  Define("nn.dropout(Tensor input, float p=0.5, bool training=True, bool inplace=False) -> Tensor")
      .composite<functional<kDropout>>()
      .returns_self()
      .doc("Sets elements to zero with probability p while training and scales the others by 1 / (1 - p).");
  Define("nn.alpha_dropout(Tensor input, float p=0.5, bool training=False, bool inplace=False) -> Tensor")
      .composite<functional<kAlphaDropout>>()
      .returns_self()
      .doc("Dropout that keeps the mean and variance of what selu gives.");
  Define("nn.feature_alpha_dropout(Tensor input, float p=0.5, bool training=False, bool inplace=False) -> Tensor")
      .composite<functional<kFeatureAlphaDropout>>()
      .returns_self()
      .doc("Alpha dropout of whole channels: of input[i, j].");
});

}  // namespace
}  // namespace fl
