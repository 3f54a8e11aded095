// Losses of class indices: nll_loss, and cross_entropy fused from scores to loss.
#include <cmath>

#include "autograd/record.h"
#include "base/threads.h"
#include "kernels/cross_entropy.h"
#include "ops/nn/layout.h"
#include "ops/nn/loss.h"

namespace fl {

CrossEntropyKernels cross_entropy_kernels[2];

LossReduction loss_reduction(std::string_view name, std::optional<bool> size_average, std::optional<bool> reduce,
                             const char* op) {
  if (size_average || reduce) {
    const LossReduction r = !reduce.value_or(true)        ? LossReduction::None
                            : size_average.value_or(true) ? LossReduction::Mean
                                                          : LossReduction::Sum;
    const char* text = r == LossReduction::None ? "none" : r == LossReduction::Mean ? "mean" : "sum";
    const std::string message =
        std::string("size_average and reduce args will be deprecated, please use reduction='") + text + "' instead.";
    if (PyErr_WarnEx(PyExc_UserWarning, message.c_str(), 1) < 0) throw PythonError();
    return r;
  }
  if (name == "mean") return LossReduction::Mean;
  if (name == "sum") return LossReduction::Sum;
  if (name == "none") return LossReduction::None;
  if (name == "elementwise_mean") {
    if (PyErr_WarnEx(PyExc_UserWarning,
                     "reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.", 1) < 0)
      throw PythonError();
    return LossReduction::Mean;
  }
  fail(ErrorKind::Value, op, ": reduction must be 'none', 'mean' or 'sum', got '", name, "'");
}

namespace {

// Scores of `classes` for each of batch times inner targets.
struct ClassLayout {
  explicit ClassLayout(const Tensor& input) : ClassLayout(input.sizes()) {}
  explicit ClassLayout(IntList sizes) {
    classes = sizes[sizes.size() == 1 ? 0 : 1];
    if (sizes.size() > 1) batch = sizes[0];
    for (size_t d = 2; d < sizes.size(); d++) inner *= sizes[d];
  }
  int64_t rows() const { return batch * inner; }
  // Of the score of class 0 for target t; the next class is `inner` further.
  int64_t offset(int64_t t) const { return t / inner * classes * inner + t % inner; }
  int64_t batch = 1, classes, inner = 1;
};

void check_operands(const Tensor& input, const Tensor& target, const Tensor& weight, const char* op) {
  FL_CHECK(input.dim() > 0, op, ": input must have a dimension of classes");
  FL_CHECK(input.is_floating(), ErrorKind::NotImplemented, op, " isn't implemented for ", info(input.dtype()).name);
  Dims expected(input.sizes());
  expected.erase(input.dim() == 1 ? 0 : 1);
  if (!equal(target.sizes(), expected)) {
    const bool batch_differs = input.dim() > 1 && target.dim() > 0 && input.size(0) != target.size(0);
    fail(batch_differs ? ErrorKind::Value : ErrorKind::Runtime, op, ": for input ", shape_text(input.sizes()),
         " the target must have the sizes ", shape_text(expected), ", got ", shape_text(target.sizes()));
  }
  FL_CHECK(target.dtype() == DType::Int64 || target.dtype() == DType::UInt8, op,
           ": target must hold classes as int64 or uint8, got ", info(target.dtype()).name);
  const int64_t classes = ClassLayout(input).classes;
  FL_CHECK(!weight.defined() || (weight.dim() == 1 && weight.size(0) == classes), op,
           ": weight must have one element for each of ", classes, " classes, got ",
           weight ? shape_text(weight.sizes()) : "");
  FL_CHECK(!weight.defined() || weight.dtype() == input.dtype(), op, ": weight (",
           weight ? info(weight.dtype()).name : "", ") must have the type of the input, ", info(input.dtype()).name);
}

// The classes asked for, checked; -1 for those ignored.
std::vector<int64_t> classes_of(const Tensor& target, int64_t classes, int64_t ignore_index, const char* op) {
  const Tensor t = contiguous(converted(target, DType::Int64));
  const int64_t* given = t.data<int64_t>();
  std::vector<int64_t> result(static_cast<size_t>(t.numel()));
  for (int64_t i = 0; i < t.numel(); i++) {
    if (given[i] == ignore_index) {
      result[i] = -1;
      continue;
    }
    FL_CHECK(given[i] >= 0 && given[i] < classes, ErrorKind::Index, op, ": target ", given[i], " is out of bounds for ",
             classes, " classes");
    result[i] = given[i];
  }
  return result;
}

// The losses of single targets, reduced. Added up in double and in order.
class Losses {
 public:
  Losses(const Tensor& input, const Tensor& target, const Tensor& weight, LossReduction reduction)
      : reduction_(reduction),
        dtype_(input.dtype()),
        sizes_(target.sizes()),
        losses_(empty(target.sizes(), DType::Double)) {
    if (weight) weight_ = contiguous(converted(weight, DType::Double));
  }
  double weight(int64_t c) const { return c < 0 ? 0 : weight_ ? weight_.data<double>()[c] : 1; }
  void set(int64_t i, double loss) { losses_.data<double>()[i] = loss; }
  // (result, sum of the weights)
  std::tuple<Tensor, Tensor> finish(const std::vector<int64_t>& classes) const {
    double sum = 0, weights = 0;
    for (size_t i = 0; i < classes.size(); i++) {
      weights += weight(classes[i]);
      sum += losses_.data<double>()[i];
    }
    const Tensor total = scalar_tensor(Scalar(reduction_ == LossReduction::None ? 0 : weights), dtype_);
    if (reduction_ == LossReduction::None) return {converted(losses_, dtype_), total};
    return {scalar_tensor(Scalar(reduction_ == LossReduction::Mean ? sum / weights : sum), dtype_), total};
  }

 private:
  LossReduction reduction_;
  DType dtype_;
  Dims sizes_;
  Tensor losses_, weight_;
};

std::tuple<Tensor, Tensor> meta_result(const Tensor& input, const Tensor& target, LossReduction reduction) {
  return {empty(reduction == LossReduction::None ? target.sizes() : IntList(), input.dtype(), input.device()),
          empty(IntList(), input.dtype(), input.device())};
}

std::tuple<Tensor, Tensor> nll_loss_kernel(const Tensor& input, const Tensor& target, const Tensor& weight,
                                           int64_t reduction_number, int64_t ignore_index) {
  const auto reduction = static_cast<LossReduction>(reduction_number);
  if (input.is_meta()) return meta_result(input, target, reduction);
  const ClassLayout l(input);
  const std::vector<int64_t> classes = classes_of(target, l.classes, ignore_index, "nll_loss");
  const Tensor x = contiguous(input);
  Losses losses(input, target, weight, reduction);
  auto run = [&]<class T>() {
    for (int64_t i = 0; i < l.rows(); i++)
      losses.set(i, classes[i] < 0 ? 0
                                   : -losses.weight(classes[i]) *
                                         static_cast<double>(x.data<T>()[l.offset(i) + classes[i] * l.inner]));
  };
  switch (x.dtype()) {
    case DType::Double:
      run.operator()<double>();
      break;
    case DType::Half:
      run.operator()<Half>();
      break;
    case DType::BFloat16:
      run.operator()<BFloat16>();
      break;
    default:
      run.operator()<float>();
  }
  return losses.finish(classes);
}

// What arrives at each target's loss: the gradient times the weight, with the mean's divisor.
std::vector<double> target_gradients(const Tensor& gradient, const std::vector<int64_t>& classes, const Losses& losses,
                                     const Tensor& total, LossReduction reduction) {
  const Tensor g = contiguous(converted(gradient, DType::Double));
  std::vector<double> result(classes.size());
  const double divisor = reduction == LossReduction::Mean ? converted(total, DType::Double).data<double>()[0] : 1;
  for (size_t i = 0; i < classes.size(); i++)
    result[i] = classes[i] < 0
                    ? 0
                    : losses.weight(classes[i]) * g.data<double>()[reduction == LossReduction::None ? i : 0] / divisor;
  return result;
}

Tensor nll_loss_backward(const Tensor& gradient, const Tensor& target, const Tensor& weight, const Tensor& total,
                         IntList sizes, int64_t reduction_number, int64_t ignore_index) {
  const auto reduction = static_cast<LossReduction>(reduction_number);
  Tensor dx = zeros(sizes, gradient.dtype(), gradient.device());
  if (dx.is_meta()) return dx;
  const ClassLayout l(sizes);
  const std::vector<int64_t> classes = classes_of(target, l.classes, ignore_index, "nll_loss");
  const Losses losses(dx, target, weight, reduction);
  const std::vector<double> g = target_gradients(gradient, classes, losses, total, reduction);
  auto run = [&]<class T>(auto narrow) {
    for (int64_t i = 0; i < l.rows(); i++)
      if (classes[i] >= 0) dx.data<T>()[l.offset(i) + classes[i] * l.inner] = T(static_cast<decltype(narrow)>(-g[i]));
  };
  switch (dx.dtype()) {
    case DType::Double:
      run.operator()<double>(0.0);
      break;
    case DType::Half:
      run.operator()<Half>(0.0f);
      break;
    case DType::BFloat16:
      run.operator()<BFloat16>(0.0f);
      break;
    default:
      run.operator()<float>(0.0f);
  }
  return dx;
}

const Op nll_op("_C._nll_loss"), nll_backward_op("_C._nll_loss_backward"), cross_entropy_op("_C._cross_entropy");

Tensor optional_input(Vjp& v, int arg) { return v.is_tensor(arg) ? v.input(arg) : Tensor(); }

void nll_loss_vjp(Vjp& v) {
  if (v.needs(0))
    v.set(0,
          nll_backward_op(v.grad(), v.input(1), optional_input(v, 2), v.output(1), v.sizes(0), v.value(3), v.value(4)));
}
// The loss is linear in the input, so its derivative's derivative is the loss itself.
void nll_loss_backward_vjp(Vjp& v) {
  if (v.needs(0)) v.set(0, nll_op.list(v.grad(), v.input(1), optional_input(v, 2), v.value(5), v.value(6))[0]);
}

// ---- cross entropy of rows

std::tuple<Tensor, Tensor, Tensor> cross_entropy_kernel(const Tensor& input, const Tensor& target, const Tensor& weight,
                                                        int64_t reduction_number, int64_t ignore_index) {
  const auto reduction = static_cast<LossReduction>(reduction_number);
  const ClassLayout l(input);
  const DType type = compute_type(input.dtype());
  if (input.is_meta()) {
    auto [loss, total] = meta_result(input, target, reduction);
    return {loss, total, empty(target.sizes(), DType::Double, input.device())};
  }
  const std::vector<int64_t> classes = classes_of(target, l.classes, ignore_index, "cross_entropy");
  const Tensor x = contiguous(converted(input, type)), lse = empty(target.sizes(), DType::Double);
  const CrossEntropyKernels& k = cross_entropy_kernels[type == DType::Double];
  Losses losses(input, target, weight, reduction);
  const int64_t item = x.item_size();
  parallel_for(0, l.batch, std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(1, l.classes)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; i++) {
                   const char* row = x.bytes() + i * l.classes * item;
                   const double total = k.log_sum_exp(row, l.classes);
                   lse.data<double>()[i] = total;
                   if (classes[i] < 0) {
                     losses.set(i, 0);
                     continue;
                   }
                   const double score = type == DType::Double
                                            ? reinterpret_cast<const double*>(row)[classes[i]]
                                            : static_cast<double>(reinterpret_cast<const float*>(row)[classes[i]]);
                   losses.set(i, losses.weight(classes[i]) * (total - score));
                 }
               });
  auto [loss, total] = losses.finish(classes);
  return {loss, total, lse};
}

Tensor cross_entropy_gradient(Vjp& v) {
  const auto reduction = static_cast<LossReduction>(v.integer(3));
  const Tensor input = v.input(0), target = v.input(1), saved = v.output(2);
  const ClassLayout l(input);
  const DType type = compute_type(input.dtype());
  const std::vector<int64_t> classes = classes_of(target, l.classes, v.integer(4), "cross_entropy");
  const Losses losses(input, target, optional_input(v, 2), reduction);
  const std::vector<double> g = target_gradients(v.grad(), classes, losses, v.output(1), reduction);
  const Tensor x = contiguous(converted(input, type));
  Tensor dx = empty(x.sizes(), type);
  const CrossEntropyKernels& k = cross_entropy_kernels[type == DType::Double];
  const int64_t stride = l.classes * x.item_size();
  parallel_for(0, l.batch, std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(1, l.classes)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; i++) {
                   char* row = dx.bytes() + i * stride;
                   if (classes[i] < 0) {
                     std::memset(row, 0, static_cast<size_t>(stride));
                     continue;
                   }
                   k.gradient(x.bytes() + i * stride, row, l.classes, saved.data<double>()[i], g[i]);
                   if (type == DType::Double)
                     reinterpret_cast<double*>(row)[classes[i]] -= g[i];
                   else
                     reinterpret_cast<float*>(row)[classes[i]] -= static_cast<float>(g[i]);
                 }
               });
  return converted(dx, input.dtype());
}

void cross_entropy_vjp(Vjp& v) {
  if (!v.needs(0)) return;
  const Tensor x = v.input(0);
  if (!grad_enabled() && !x.is_meta()) return v.set(0, cross_entropy_gradient(v));
  static const Op softmax("softmax");
  const int64_t dim = x.dim() == 1 ? 0 : 1;
  const Tensor g =
      nll_backward_op(v.grad(), v.input(1), optional_input(v, 2), v.output(1), v.sizes(0), v.value(3), v.value(4));
  v.set(0, g - softmax(x, dim) * sum(g, Dims{dim}, true));
}

// ---- public forms

Tensor nll_loss(const Tensor& input, const Tensor& target, const Tensor& weight, std::optional<bool> size_average,
                int64_t ignore_index, std::optional<bool> reduce, std::string_view name) {
  const LossReduction reduction = loss_reduction(name, size_average, reduce, "nll_loss");
  check_operands(input, target, weight, "nll_loss");
  return nll_op.list(input, target, weight, static_cast<int64_t>(reduction), ignore_index)[0];
}

Tensor cross_entropy(const Tensor& input, const Tensor& target, const Tensor& weight, std::optional<bool> size_average,
                     int64_t ignore_index, std::optional<bool> reduce, std::string_view name, double label_smoothing) {
  const bool classes = input.dim() > 0 && !target.is_floating() && label_smoothing == 0;
  if (!classes) {
    static const Op general("_C._cross_entropy_general");
    return general(input, target, weight, size_average, ignore_index, reduce, name, label_smoothing);
  }
  const LossReduction reduction = loss_reduction(name, size_average, reduce, "cross_entropy");
  check_operands(input, target, weight, "cross_entropy");
  if (input.dim() <= 2)
    return cross_entropy_op.list(input, target, weight, static_cast<int64_t>(reduction), ignore_index)[0];
  static const Op log_softmax("log_softmax");
  return nll_op.list(log_softmax(input, int64_t(1)), target, weight, static_cast<int64_t>(reduction), ignore_index)[0];
}

const Declare ops([] {
  Define(
      "_C._nll_loss(Tensor input, Tensor target, Tensor? weight, int reduction, int ignore_index) -> (Tensor, Tensor)")
      .kernel<nll_loss_kernel>()
      .constant_outputs(2)
      .node("NllLossBackward0")
      .vjp("target weight result1", nll_loss_vjp);
  Define(
      "_C._nll_loss_backward(Tensor gradient, Tensor target, Tensor? weight, Tensor total, int[] sizes, int reduction, "
      "int ignore_index) -> Tensor")
      .kernel<nll_loss_backward>()
      .node("NllLossBackwardBackward0")
      .vjp("target weight", nll_loss_backward_vjp);
  Define(
      "_C._cross_entropy(Tensor input, Tensor target, Tensor? weight, int reduction, int ignore_index) -> (Tensor, "
      "Tensor, Tensor)")
      .kernel<cross_entropy_kernel>()
      .constant_outputs(6)
      .node("NllLossBackward0")
      .vjp("input target weight result1 result2", cross_entropy_vjp);
  Define(
      "nn.nll_loss(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, int ignore_index=-100, "
      "bool? reduce=None, str reduction='mean') -> Tensor")
      .composite<nll_loss>()
      .doc(
          "The negative log-likelihood of classes: input (C), (N, C) or (N, C, *) of log-probabilities, target of "
          "class indices without C. Raises IndexError "
          "for a class that doesn't exist and isn't ignore_index.");
  Define(
      "nn.cross_entropy(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, int "
      "ignore_index=-100, bool? reduce=None, str reduction='mean', "
      "float label_smoothing=0.0) -> Tensor")
      .composite<cross_entropy>()
      .doc(
          "The cross entropy of softmax(input) and the target. input is (C), (N, C) or (N, C, *); target holds "
          "classes, shaped as the input without C, or "
          "class probabilities, shaped as the input. weight (C) weighs the classes; rows of class ignore_index don't "
          "count. Raises IndexError for a class "
          "that doesn't exist, ValueError or RuntimeError for shapes that don't fit.");
});

}  // namespace
}  // namespace fl
