// softmax, log_softmax and logsumexp.
#include "tile/softmax.h"

#include "base/threads.h"
#include "ops/reduction.h"

namespace fl {

SoftmaxLoops softmax_loops[2][2];

namespace {

struct Layout {
  int64_t outer = 1, n = 1, inner = 1;
};
Layout layout_of(const Tensor& x, int64_t dim) {
  Layout l;
  for (int64_t d = 0; d < x.dim(); d++) (d < dim ? l.outer : d == dim ? l.n : l.inner) *= x->sizes[d];
  return l;
}

// Calls row(offset) for each row along the dimension, or columns(offset, count) where it isn't the innermost.
template <class R, class C>
void over(const Layout& l, R row, C columns) {
  constexpr int64_t kGrain = 16384;
  if (l.inner == 1) {
    parallel_for(0, l.outer, std::max<int64_t>(kGrain / l.n, 1), [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; o++) row(o * l.n);
    });
    return;
  }
  int64_t tiles = (l.inner + kSoftmaxColumns - 1) / kSoftmaxColumns;
  int64_t cost = l.n * std::min(l.inner, kSoftmaxColumns);
  parallel_for(0, l.outer * tiles, std::max<int64_t>(kGrain / cost, 1), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; t++) {
      int64_t c = t % tiles * kSoftmaxColumns;
      columns(t / tiles * l.n * l.inner + c, std::min(l.inner - c, kSoftmaxColumns));
    }
  });
}

Tensor run_softmax(const Tensor& input, int64_t dim, std::optional<DType> dtype, bool logarithm) {
  const char* op = logarithm ? "log_softmax" : "softmax";
  int64_t d = wrap_dim(dim, input.dim(), op);
  DType t = dtype.value_or(input.dtype());
  FL_CHECK(is_floating(t), ErrorKind::NotImplemented, op, ": not implemented for ", info(t).name,
           ", expected a floating type (see dtype=)");
  if (input.is_meta()) return empty(input.sizes(), t, input.device());
  DType computed = t == DType::Double ? t : DType::Float;
  Tensor x = raw_contiguous(raw_cast(input, computed));
  Tensor y = empty(input.sizes(), computed);
  if (y.numel()) {
    const SoftmaxLoops& loops = softmax_loops[logarithm][computed == DType::Double];
    Layout l = layout_of(x, d);
    int64_t item = x.item_size();
    over(
        l, [&](int64_t at) { loops.row(x.bytes() + at * item, y.bytes() + at * item, l.n); },
        [&](int64_t at, int64_t count) {
          loops.columns(x.bytes() + at * item, y.bytes() + at * item, l.n, l.inner, count);
        });
  }
  return raw_cast(y, t);
}
Tensor softmax_op(const Tensor& input, int64_t dim, std::optional<DType> dtype) {
  return run_softmax(input, dim, dtype, false);
}
Tensor log_softmax_op(const Tensor& input, int64_t dim, std::optional<DType> dtype) {
  return run_softmax(input, dim, dtype, true);
}

Tensor softmax_gradient(const Tensor& grad, const Tensor& output, int64_t dim, bool logarithm) {
  if (output.is_meta()) return empty(output.sizes(), output.dtype(), output.device());
  DType t = output.dtype(), computed = t == DType::Double ? t : DType::Float;
  Tensor g = raw_contiguous(raw_cast(grad, computed)), y = raw_contiguous(raw_cast(output, computed));
  Tensor r = empty(output.sizes(), computed);
  if (r.numel()) {
    const SoftmaxLoops& loops = softmax_loops[logarithm][computed == DType::Double];
    Layout l = layout_of(y, wrap_dim(dim, y.dim()));
    int64_t item = y.item_size();
    over(
        l,
        [&](int64_t at) {
          loops.row_gradient(g.bytes() + at * item, y.bytes() + at * item, r.bytes() + at * item, l.n);
        },
        [&](int64_t at, int64_t count) {
          loops.columns_gradient(g.bytes() + at * item, y.bytes() + at * item, r.bytes() + at * item, l.n, l.inner,
                                 count);
        });
  }
  return raw_cast(r, t);
}

const Op gradient("_C._softmax_gradient");

template <bool logarithm>
void softmax_back(Vjp& v) {
  if (v.needs(0)) v.set(0, cast(gradient(v.grad(), v.output(), v.integer(1), logarithm), v.dtype(0)));
}
void gradient_back(Vjp& v) {
  Tensor h = v.grad(), g = v.input(0), y = v.input(1);
  int64_t dims[1] = {v.integer(2)};
  bool logarithm = v.flag(3);
  auto total = [&](const Tensor& t) { return y.dim() ? sum(t, dims, true) : t; };
  if (v.needs(0)) v.set(0, logarithm ? h - total(h * exp(y)) : gradient(h, y, dims[0], false));
  if (!v.needs(1)) return;
  if (logarithm)
    v.set(1, -(exp(y) * h * total(g)));
  else
    v.set(1, h * (g - total(g * y)) - g * total(h * y));
}

// The dimension that nn.functional takes where none is given: a habit PyTorch warns about.
int64_t implicit_dim(const Tensor& x, const char* op) {
  std::string text = std::string("Implicit dimension choice for ") + op +
                     " has been deprecated. Change the call to include dim=X as an argument.";
  if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) < 0) throw PythonError();
  return x.dim() == 0 || x.dim() == 1 || x.dim() == 3 ? 0 : 1;
}
Tensor nn_softmax(const Tensor& input, std::optional<int64_t> dim, int64_t, std::optional<DType> dtype) {
  static const Op op("softmax");
  return op(input, dim ? *dim : implicit_dim(input, "softmax"), dtype);
}
Tensor nn_log_softmax(const Tensor& input, std::optional<int64_t> dim, int64_t, std::optional<DType> dtype) {
  static const Op op("log_softmax");
  return op(input, dim ? *dim : implicit_dim(input, "log_softmax"), dtype);
}
Tensor special_softmax(const Tensor& input, int64_t dim, std::optional<DType> dtype) {
  static const Op op("softmax");
  return op(input, dim, dtype);
}
Tensor special_log_softmax(const Tensor& input, int64_t dim, std::optional<DType> dtype) {
  static const Op op("log_softmax");
  return op(input, dim, dtype);
}

// The largest element is taken out first; where it is infinite, nothing is, so that the sum is right by itself.
Tensor logsumexp_op(const Tensor& input, IntList dim, bool keepdim) {
  NoGrad guard;
  Tensor x = is_integral(input.dtype(), true) ? raw_cast(input, default_dtype()) : input;
  uint64_t mask = dims_mask(x, dim, "logsumexp");
  if (dim.empty()) mask = all_dims(x);
  if (x.numel() == 0 || x.is_meta()) return log(reduce(Reduction::Sum, exp(x), mask, keepdim, x.dtype()));
  Tensor level = x.is_complex() ? real(x) : x;
  Tensor top = reduce(Reduction::Max, level, mask, true, level.dtype());
  static const Op isinf_of("isinf");
  top = where(isinf_of(top), 0.0, top);
  Tensor total = log(reduce(Reduction::Sum, exp(x - top), mask, keepdim, x.dtype()));
  return total + (keepdim ? top : reshape(top, total.sizes()));
}
void logsumexp_back(Vjp& v) {
  if (!v.needs(0)) return;
  Tensor x = v.input(0);
  if (!is_differentiable(x.dtype())) return;
  uint64_t mask = mask_of(v, 1);
  bool keepdim = v.flag(2);
  Tensor y = with_dims(v.output(), x.dim(), mask, keepdim), g = with_dims(v.grad(), x.dim(), mask, keepdim);
  // A result of -inf is a sum of nothing: its gradient is zero.
  Tensor share = exp(x - (x.is_complex() ? y : where(y == -__builtin_inf(), 0.0, y)));
  v.set(0, g * conj(share));
}
Tensor special_logsumexp(const Tensor& input, IntList dim, bool keepdim) {
  static const Op op("logsumexp");
  return op(input, dim, keepdim);
}

const Declare ops([] {
  Define("softmax(Tensor input, int dim, dtype? dtype=None) -> Tensor")
      .kernel<softmax_op>()
      .out()
      .vjp("result", softmax_back<false>)
      .doc("exp(input) scaled so that it sums to one along dim.");
  Define("log_softmax(Tensor input, int dim, dtype? dtype=None) -> Tensor")
      .kernel<log_softmax_op>()
      .out()
      .vjp("result", softmax_back<true>)
      .doc("The logarithm of softmax, computed without leaving the logarithms.");
  Define("_C._softmax_gradient(Tensor grad, Tensor output, int dim, bool logarithm) -> Tensor")
      .kernel<softmax_gradient>()
      .vjp("grad output", gradient_back);
  Define("nn.softmax(Tensor input, int? dim=None, int _stacklevel=3, dtype? dtype=None) -> Tensor")
      .composite<nn_softmax>()
      .doc("exp(input) scaled so that it sums to one along dim.");
  Define("nn.log_softmax(Tensor input, int? dim=None, int _stacklevel=3, dtype? dtype=None) -> Tensor")
      .composite<nn_log_softmax>()
      .doc("The logarithm of softmax, computed without leaving the logarithms.");
  Define("special.softmax(Tensor input, int dim, dtype? dtype=None) -> Tensor")
      .composite<special_softmax>()
      .doc("exp(input) scaled so that it sums to one along dim.");
  Define("special.log_softmax(Tensor input, int dim, *, dtype? dtype=None) -> Tensor")
      .composite<special_log_softmax>()
      .doc("The logarithm of softmax, computed without leaving the logarithms.");
  Define("logsumexp(Tensor input, int[1] dim, bool keepdim=False) -> Tensor")
      .kernel<logsumexp_op>()
      .out()
      .vjp("input result", logsumexp_back)
      .doc("log(sum(exp(input))) along dim, without overflow.");
  Define("special.logsumexp(Tensor input, int[1] dim, bool keepdim=False) -> Tensor")
      .composite<special_logsumexp>()
      .out()
      .doc("log(sum(exp(input))) along dim, without overflow.");
});

}  // namespace
}  // namespace fl
