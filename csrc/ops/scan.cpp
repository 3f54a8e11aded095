// cumsum, cumprod, cummax, cummin, logcumsumexp; and prod, whose derivative is made of scans.
#include "tile/scan.h"

#include "base/threads.h"
#include "ops/reduction.h"

namespace fl {

ScanTable scan_table;

namespace {

// Calls f(offset, stride, columns) for the columns along `dim` of a contiguous tensor, several side by side.
template <class F>
void over_columns(const Tensor& x, int64_t dim, F f) {
  constexpr int64_t kGrain = 16384;
  int64_t outer = 1, n = 1, inner = 1;
  for (int64_t d = 0; d < x.dim(); d++) (d < dim ? outer : d == dim ? n : inner) *= x->sizes[d];
  int64_t tiles = (inner + kScanColumns - 1) / kScanColumns, width = std::min(inner, kScanColumns);
  parallel_for(0, outer * tiles, std::max<int64_t>(kGrain / (n * width), 1), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; t++) {
      int64_t c = t % tiles * kScanColumns;
      f(t / tiles * n * inner + c, n, inner, std::min(inner - c, kScanColumns));
    }
  });
}

Tensor scan(Scan kind, const Tensor& input, int64_t dim, DType t, const char* op) {
  int64_t d = wrap_dim(dim, input.dim(), op);
  if (input.is_meta()) return empty(input.sizes(), t, input.device());
  DType computed = is_integral(t, true) ? DType::Int64 : is_complex(t) || t == DType::Double ? t : DType::Float;
  Tensor x = raw_contiguous(raw_cast(raw_cast(input, t), computed)), y = empty(input.sizes(), computed);
  int64_t item = x.item_size();
  ScanLoop loop = scan_table.scan[static_cast<int>(kind)][static_cast<int>(computed)];
  if (y.numel()) {
    over_columns(x, d, [&](int64_t at, int64_t n, int64_t stride, int64_t columns) {
      loop(x.bytes() + at * item, y.bytes() + at * item, n, stride, columns);
    });
  }
  return raw_cast(y, t);
}
Tensor cumsum_op(const Tensor& input, int64_t dim, std::optional<DType> dtype) {
  return scan(Scan::Sum, input, dim, sum_type(input, dtype), "cumsum");
}
Tensor cumprod_op(const Tensor& input, int64_t dim, std::optional<DType> dtype) {
  return scan(Scan::Product, input, dim, sum_type(input, dtype), "cumprod");
}
Tensor logcumsumexp_op(const Tensor& input, int64_t dim) {
  FL_CHECK(is_differentiable(input.dtype()), ErrorKind::NotImplemented, "logcumsumexp: not implemented for ",
           info(input.dtype()).name);
  return scan(Scan::LogSumExp, input, dim, input.dtype(), "logcumsumexp");
}

template <bool smallest>
std::tuple<Tensor, Tensor> extreme_scan(const Tensor& input, int64_t dim) {
  const char* op = smallest ? "cummin" : "cummax";
  FL_CHECK(!input.is_complex(), ErrorKind::NotImplemented, op, ": not implemented for ", info(input.dtype()).name);
  int64_t d = wrap_dim(dim, input.dim(), op);
  Tensor indices = empty(input.sizes(), DType::Int64, input.device());
  if (input.is_meta()) return {empty(input.sizes(), input.dtype(), input.device()), indices};
  DType computed = reduction_type(Reduction::Max, input.dtype());
  Tensor x = raw_contiguous(raw_cast(input, computed)), y = empty(input.sizes(), computed);
  int64_t item = x.item_size();
  IndexedScanLoop loop = scan_table.extreme[smallest][static_cast<int>(computed)];
  if (y.numel()) {
    over_columns(x, d, [&](int64_t at, int64_t n, int64_t stride, int64_t columns) {
      loop(x.bytes() + at * item, y.bytes() + at * item, indices.data<int64_t>() + at, n, stride, columns);
    });
  }
  return {raw_cast(y, input.dtype()), indices};
}

Tensor affine_scan(const Tensor& scale, const Tensor& offset, int64_t dim, bool reverse) {
  if (offset.is_meta()) return empty(offset.sizes(), offset.dtype(), offset.device());
  DType t = offset.dtype(), computed = is_complex(t) || t == DType::Double ? t : DType::Float;
  Tensor a = raw_contiguous(raw_cast(scale, computed)), b = raw_contiguous(raw_cast(offset, computed)),
         y = empty(b.sizes(), computed);
  int64_t item = b.item_size();
  AffineLoop loop = scan_table.affine[static_cast<int>(computed)];
  if (y.numel()) {
    over_columns(b, wrap_dim(dim, b.dim()), [&](int64_t at, int64_t n, int64_t stride, int64_t columns) {
      loop(a.bytes() + at * item, b.bytes() + at * item, y.bytes() + at * item, n, stride, columns, reverse);
    });
  }
  return raw_cast(y, t);
}

// ---- derivatives

const Op affine("_C._affine_scan"), flip("flip"), cumsum("cumsum"), cumprod("cumprod");

Tensor flipped(const Tensor& x, int64_t dim) {
  int64_t dims[1] = {dim};
  return flip(x, IntList(dims));
}
// Every element moved by one place along dim, away from the end where `fill` comes in.
Tensor shifted(const Tensor& x, int64_t dim, bool forward, double fill) {
  int64_t n = x.size(dim);
  if (n == 0) return x;
  Tensor edge = full(narrow(x, dim, 0, 1).sizes(), Scalar(fill), x.dtype(), x.device());
  Tensor rest = narrow(x, dim, forward ? 0 : 1, n - 1);
  return forward ? cat({edge, rest}, dim) : cat({rest, edge}, dim);
}
void cumsum_back(Vjp& v) {
  if (!v.needs(0)) return;
  Tensor g = v.grad();
  int64_t dim = v.integer(1);
  v.set(0, cast(g.dim() ? flipped(cumsum(flipped(g, dim), dim), dim) : g, v.dtype(0)));
}
// d/dx[k] = prod(x[j], j < k) * s[k], where s[k] = g[k] + x[k + 1] s[k + 1]: no division, so zeros need no care.
void cumprod_back(Vjp& v) {
  if (!v.needs(0)) return;
  Tensor g = v.grad(), x = cast(v.input(0), g.dtype());
  int64_t dim = v.integer(1);
  if (x.dim() == 0) return v.set(0, cast(g, v.dtype(0)));
  Tensor factors = conj(x);
  Tensor later = affine(shifted(factors, dim, false, 0), g, dim, true);
  v.set(0, cast(shifted(cumprod(factors, dim), dim, true, 1) * later, v.dtype(0)));
}
// With t[k] the sum over i >= k of g[i] exp(y[k] - y[i]): t[k] = g[k] + exp(y[k] - y[k + 1]) t[k + 1].
void logcumsumexp_back(Vjp& v) {
  if (!v.needs(0)) return;
  Tensor g = v.grad(), x = v.input(0), y = v.output();
  int64_t dim = v.integer(1);
  if (x.dim() == 0) return v.set(0, g);
  auto ratio = [](const Tensor& a, const Tensor& b) {
    Tensor level = b.is_complex() ? real(b) : b;
    return where(level == -__builtin_inf(), 0.0, exp(a - b));
  };
  int64_t n = x.size(dim);
  if (n == 0) return v.set(0, g);
  Tensor steps = ratio(narrow(y, dim, 0, n - 1), narrow(y, dim, 1, n - 1)),
         edge = zeros(narrow(y, dim, 0, 1).sizes(), y.dtype(), y.device());
  Tensor t = affine(conj(cat({steps, edge}, dim)), g, dim, true);
  v.set(0, conj(ratio(x, y)) * t);
}
void affine_back(Vjp& v) {
  Tensor a = v.input(0), y = v.output(), g = v.grad();
  int64_t dim = v.integer(2);
  bool reverse = v.flag(3);
  Tensor back = affine(shifted(conj(a), dim, reverse, 0), g, dim, !reverse);
  if (v.needs(0)) v.set(0, back * conj(shifted(y, dim, !reverse, 0)));
  if (v.needs(1)) v.set(1, back);
}
void extreme_scan_back(Vjp& v) {
  if (!v.needs(0)) return;
  static const Op scatter_add("scatter_add");
  Tensor g = v.grad();
  if (g.dim() == 0 || g.numel() == 0) return v.set(0, g);
  v.set(0, scatter_add(zeros(v.sizes(0), g.dtype(), g.device()), v.integer(1), v.output(1), g));
}

// ---- prod

Tensor prod_over(const Tensor& x, uint64_t mask, bool keepdim, std::optional<DType> dtype) {
  DType t = sum_type(x, dtype);
  if (t == DType::Bool) return reduce(Reduction::All, x, mask, keepdim, t);
  bool same = is_integral(x.dtype(), true) == is_integral(t, true) && is_complex(x.dtype()) == is_complex(t);
  return reduce(Reduction::Prod, same ? x : raw_cast(x, t), mask, keepdim, t);
}
Tensor prod_all(const Tensor& input, std::optional<DType> dtype) {
  return prod_over(input, all_dims(input), false, dtype);
}
Tensor prod_dim(const Tensor& input, int64_t dim, bool keepdim, std::optional<DType> dtype) {
  int64_t d = wrap_dim(dim, input.dim(), "prod");
  return prod_over(input, input.dim() ? uint64_t(1) << d : 0, keepdim, dtype);
}
bool has_zero(const Tensor& x) {
  if (x.is_meta()) return true;
  NoGrad guard;
  Tensor none = reduce(Reduction::All, x, all_dims(x), false, DType::Bool);
  return *none.bytes() == 0;
}
// Each element's gradient is the product of the others.
Tensor prod_gradient(const Tensor& g, const Tensor& x, const Tensor& y, int64_t dim) {
  if (!has_zero(x)) return g * conj(y / x);
  Tensor before = shifted(cumprod(x, dim), dim, true, 1);
  Tensor after = flipped(shifted(cumprod(flipped(x, dim), dim), dim, true, 1), dim);
  return g * conj(before * after);
}
void prod_all_back(Vjp& v) {
  if (!v.needs(0)) return;
  Tensor g = v.grad(), x = cast(v.input(0), g.dtype());
  int64_t flat[1] = {-1};
  if (x.dim() == 0) return v.set(0, cast(g, v.dtype(0)));
  v.set(0, cast(reshape(prod_gradient(g, reshape(x, flat), v.output(), 0), v.sizes(0)), v.dtype(0)));
}
void prod_dim_back(Vjp& v) {
  if (!v.needs(0)) return;
  Tensor g = v.grad(), x = cast(v.input(0), g.dtype()), y = v.output();
  if (x.dim() == 0) return v.set(0, cast(g, v.dtype(0)));
  int64_t dim = wrap_dim(v.integer(1), x.dim());
  if (!v.flag(2)) {
    g = unsqueeze(g, dim);
    y = unsqueeze(y, dim);
  }
  v.set(0, cast(prod_gradient(g, x, y, dim), v.dtype(0)));
}

const Declare ops([] {
  Define("cumsum(Tensor input, int dim, *, dtype? dtype=None) -> Tensor")
      .kernel<cumsum_op>()
      .in_place()
      .out()
      .vjp("", cumsum_back)
      .doc("The running sum along dim. Integers are added as int64.");
  Define("cumprod(Tensor input, int dim, *, dtype? dtype=None) -> Tensor")
      .kernel<cumprod_op>()
      .in_place()
      .out()
      .vjp("input", cumprod_back)
      .doc("The running product along dim. Integers are multiplied as int64.");
  Define("logcumsumexp(Tensor input, int dim) -> Tensor")
      .kernel<logcumsumexp_op>()
      .out()
      .vjp("input result", logcumsumexp_back)
      .doc("The logarithm of the running sum of exp(input) along dim.");
  Define("cummax(Tensor input, int dim) -> (Tensor values, Tensor indices)")
      .kernel<extreme_scan<false>>()
      .out()
      .constant_outputs(2)
      .vjp("result1", extreme_scan_back)
      .doc("The running maximum along dim and where it is, the last of equals.");
  Define("cummin(Tensor input, int dim) -> (Tensor values, Tensor indices)")
      .kernel<extreme_scan<true>>()
      .out()
      .constant_outputs(2)
      .vjp("result1", extreme_scan_back)
      .doc("The running minimum along dim and where it is, the last of equals.");
  Define("_C._affine_scan(Tensor scale, Tensor offset, int dim, bool reverse) -> Tensor")
      .kernel<affine_scan>()
      .vjp("scale result", affine_back);
  Define("prod(Tensor input, *, dtype? dtype=None) -> Tensor")
      .kernel<prod_all>()
      .out()
      .vjp("input result", prod_all_back)
      .node("ProdBackward0")
      .doc("The product of all elements, or along dim. Integers are multiplied as int64.");
  Define("prod.dim_int(Tensor input, int dim, bool keepdim=False, *, dtype? dtype=None) -> Tensor")
      .kernel<prod_dim>()
      .out()
      .vjp("input result", prod_dim_back)
      .node("ProdBackward1");
});

}  // namespace
}  // namespace fl
