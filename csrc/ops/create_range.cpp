// Tensors of evenly spaced values, identity matrices and the indices of triangles.
#include <cmath>

#include "autograd/record.h"
#include "ops/factory.h"

namespace fl {
namespace {

template <class T>
inline constexpr bool is_complex_type = std::is_same_v<T, Complex<float>> || std::is_same_v<T, Complex<double>>;

// A value computed in double as an element.
template <class T>
T element(double v) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<int64_t>(v));
  else if constexpr (std::is_same_v<T, Bool>)
    return T(v != 0);
  else if constexpr (std::is_same_v<T, double>)
    return v;
  else if constexpr (is_complex_type<T>)
    return T(Complex<double>(v, 0.0));
  else
    return T(static_cast<float>(v));
}

// f(i, i as a double) for i below n. Numbers of a block come from a table: converting 64-bit integers one by one is
// slow.
template <class F>
void count_up(int64_t n, F f) {
  constexpr int kBlock = 64;
  double within[kBlock];
  for (int j = 0; j < kBlock; j++) within[j] = j;
  int64_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    double before = static_cast<double>(i);
    for (int j = 0; j < kBlock; j++) f(i + j, before + within[j]);
  }
  for (; i < n; i++) f(i, static_cast<double>(i));
}

// ---- arange and range

void check_direction(double start, double end, double step, const char* op) {
  FL_CHECK(step != 0 && step == step, op, ": the step must be a number other than zero");
  FL_CHECK(std::isfinite(start) && std::isfinite(end), op, ": unsupported range from ", start, " to ", end);
  FL_CHECK((step > 0 && end >= start) || (step < 0 && end <= start), op, ": the bounds ", start, " and ", end,
           " are inconsistent with the sign of the step ", step);
}

// Every value is computed from its position, so that errors don't add up along the tensor.
Tensor progression(const Scalar& start, const Scalar& step, double count, const FactoryOptions& o, const char* op) {
  FL_CHECK(o.dtype != DType::Bool && !is_complex(o.dtype), ErrorKind::NotImplemented, op, ": not implemented for ",
           info(o.dtype).name);
  FL_CHECK(count >= 0 && count < 9.2e18, op, ": the number of elements, ", count, ", is too large");
  int64_t n = static_cast<int64_t>(count);
  Tensor t = empty({&n, 1}, o.dtype, o.device);
  if (t.is_meta()) return o.finish(t);
  visit_dtype(o.dtype, [&]<class T>() {
    T* out = t.data<T>();
    if constexpr (std::is_integral_v<T>) {
      uint64_t first = static_cast<uint64_t>(start.to_int()), by = static_cast<uint64_t>(step.to_int());
      for (int64_t i = 0; i < n; i++) out[i] = static_cast<T>(first + by * static_cast<uint64_t>(i));
    } else {
      double first = start.to_double(), by = step.to_double();
      count_up(n, [=](int64_t i, double k) { out[i] = element<T>(first + by * k); });
    }
  });
  return o.finish(t);
}

DType dtype_for(const Scalar& a, const Scalar& b, const Scalar& c) {
  return a.is_integral() && b.is_integral() && c.is_integral() ? DType::Int64 : default_dtype();
}

Tensor arange_step(Scalar start, Scalar end, Scalar step, FL_FACTORY_PARAMETERS) {
  FactoryOptions o = factory_options(FL_FACTORY_ARGUMENTS, dtype_for(start, end, step));
  FL_CHECK(!start.is_complex() && !end.is_complex() && !step.is_complex(),
           "arange: bounds and step must be real numbers");
  if (o.dtype == DType::Int64) {
    // int64 counts in whole numbers: it has more of them than double.
    __int128 a = start.to_int(), b = end.to_int(), s = step.to_int();
    if (s == 0 && step.to_double() != 0) {
      check_direction(start.to_double(), end.to_double(), step.to_double(), "arange");
      fail(ErrorKind::Value, "arange: the step ", step, " is zero as a whole number, which int64 counts in");
    }
    check_direction(static_cast<double>(a), static_cast<double>(b), static_cast<double>(s), "arange");
    __int128 n = s > 0 ? (b - a + s - 1) / s : (b - a + s + 1) / s;
    return progression(start, step, static_cast<double>(n), o, "arange");
  }
  double a = start.to_double(), b = end.to_double(), s = step.to_double();
  check_direction(a, b, s, "arange");
  return progression(start, step, std::ceil((b - a) / s), o, "arange");
}
Tensor arange_end(Scalar end, FL_FACTORY_PARAMETERS) {
  return arange_step(Scalar(0), end, Scalar(1), FL_FACTORY_ARGUMENTS);
}
Tensor range_op(Scalar start, Scalar end, Scalar step, FL_FACTORY_PARAMETERS) {
  FactoryOptions o = factory_options(FL_FACTORY_ARGUMENTS, default_dtype());
  double a = start.to_double(), b = end.to_double(), s = step.to_double();
  check_direction(a, b, s, "range");
  return progression(start, step, std::floor((b - a) / s) + 1, o, "range");
}
Tensor range_from_zero(Scalar end, FL_FACTORY_PARAMETERS) {
  return range_op(Scalar(0), end, Scalar(1), FL_FACTORY_ARGUMENTS);
}

// ---- linspace and logspace

Scalar bound(const Value& v, const char* op) {
  if (!v.is_tensor()) return v.scalar();
  const Tensor& t = borrow(v.tensor);
  FL_CHECK(t.dim() == 0, op, " only supports 0-dimensional start and end tensors, but got one with ", t.dim(),
           " dimension(s)");
  FL_CHECK(!t.is_meta(), ErrorKind::NotImplemented, op, ": a meta tensor has no value to take as a bound");
  return visit_dtype(t.dtype(), [&]<class T>() -> Scalar {
    T x = *t.data<T>();
    if constexpr (std::is_same_v<T, Bool>)
      return Scalar(bool(x));
    else if constexpr (std::is_integral_v<T>)
      return Scalar(static_cast<int64_t>(x));
    else if constexpr (is_complex_type<T>)
      return Scalar(std::complex<double>(x.real, x.imag));
    else
      return Scalar(static_cast<double>(x));
  });
}

FactoryOptions spacing_options(const Scalar& start, const Scalar& end, int64_t steps, FL_FACTORY_PARAMETERS,
                               const char* op) {
  bool complex = start.is_complex() || end.is_complex();
  FactoryOptions o = factory_options(FL_FACTORY_ARGUMENTS, complex ? complex_of(default_dtype()) : default_dtype());
  FL_CHECK(steps >= 0, op, ": the number of steps must be non-negative, got ", steps);
  FL_CHECK(!complex || is_complex(o.dtype), op, ": complex bounds can't be safely cast to the given dtype ",
           info(o.dtype).name);
  FL_CHECK(o.dtype != DType::Bool, ErrorKind::NotImplemented, op, ": not implemented for bool");
  return o;
}

// f(i) for each of the evenly spaced numbers; counted from the nearer end, so that both ends are exact.
template <class N, class F>
void spaced(N start, N end, int64_t steps, F f) {
  N step = steps > 1 ? (end - start) / static_cast<double>(steps - 1) : N(0);
  int64_t half = steps == 1 ? 1 : steps / 2;
  double last = static_cast<double>(steps - 1);
  count_up(half, [=](int64_t i, double k) { f(i, start + step * k); });
  double first = static_cast<double>(half);
  count_up(steps - half, [=](int64_t i, double k) { f(half + i, end - step * (last - first - k)); });
}

Tensor spacing(const Scalar& start, const Scalar& end, int64_t steps, std::optional<double> base,
               const FactoryOptions& o) {
  Tensor t = empty({&steps, 1}, o.dtype, o.device);
  if (t.is_meta()) return o.finish(t);
  visit_dtype(o.dtype, [&]<class T>() {
    T* out = t.data<T>();
    if constexpr (is_complex_type<T>) {
      spaced(start.to_complex(), end.to_complex(), steps, [&](int64_t i, std::complex<double> x) {
        if (base) x = std::pow(std::complex<double>(*base), x);
        out[i] = T(Complex<double>(x.real(), x.imag()));
      });
    } else {
      double first = start.to_double(), last = end.to_double();
      if constexpr (std::is_integral_v<T>)
        first = static_cast<double>(static_cast<T>(start.to_int())),
        last = static_cast<double>(static_cast<T>(end.to_int()));
      if (base)
        spaced(first, last, steps, [=](int64_t i, double x) { out[i] = element<T>(std::pow(*base, x)); });
      else
        spaced(first, last, steps, [=](int64_t i, double x) { out[i] = element<T>(x); });
    }
  });
  return o.finish(t);
}

Tensor linspace_op(const Value& start, const Value& end, int64_t steps, FL_FACTORY_PARAMETERS) {
  Scalar a = bound(start, "linspace"), b = bound(end, "linspace");
  return spacing(a, b, steps, std::nullopt, spacing_options(a, b, steps, FL_FACTORY_ARGUMENTS, "linspace"));
}
Tensor logspace_op(const Value& start, const Value& end, int64_t steps, double base, FL_FACTORY_PARAMETERS) {
  Scalar a = bound(start, "logspace"), b = bound(end, "logspace");
  return spacing(a, b, steps, base, spacing_options(a, b, steps, FL_FACTORY_ARGUMENTS, "logspace"));
}

// ---- matrices

Tensor eye_op(int64_t n, std::optional<int64_t> m, FL_FACTORY_PARAMETERS) {
  FactoryOptions o = factory_options(FL_FACTORY_ARGUMENTS, default_dtype());
  FL_CHECK(n >= 0, "eye: n must be greater or equal to 0, got ", n);
  FL_CHECK(!m || *m >= 0, "eye: m must be greater or equal to 0, got ", *m);
  int64_t sizes[2] = {n, m.value_or(n)};
  Tensor t = zeros({sizes, 2}, o.dtype, o.device);
  int64_t diagonal = std::min(sizes[0], sizes[1]), step = sizes[1] + 1;
  if (!t.is_meta() && diagonal) raw_fill(alias(t, {&diagonal, 1}, {&step, 1}, 0), Scalar(1));
  return o.finish(t);
}

// The columns of row r that lie in the triangle: below and on the diagonal, or on it and above.
struct Triangle {
  int64_t rows, columns, offset;
  bool lower;
  int64_t first(int64_t r) const { return lower ? 0 : std::clamp<int64_t>(r + offset, 0, columns); }
  int64_t last(int64_t r) const { return lower ? std::clamp<int64_t>(r + offset + 1, 0, columns) : columns; }
};

Tensor triangle_indices(Triangle shape, const FactoryOptions& o, const char* op) {
  FL_CHECK(shape.rows >= 0 && shape.columns >= 0, op, ": row and col must be non-negative, got ", shape.rows, " and ",
           shape.columns);
  FL_CHECK(o.dtype == DType::Int32 || o.dtype == DType::Int64 || o.device.type == DeviceType::Meta ||
               is_integral(o.dtype, false) || is_floating(o.dtype),
           ErrorKind::NotImplemented, op, ": not implemented for ", info(o.dtype).name);
  int64_t count = 0;
  for (int64_t r = 0; r < shape.rows; r++) count += shape.last(r) - shape.first(r);
  int64_t sizes[2] = {2, count};
  Tensor t = empty({sizes, 2}, o.dtype, o.device);
  if (t.is_meta()) return o.finish(t);
  visit_dtype(o.dtype, [&]<class T>() {
    T *row = t.data<T>(), *column = row + count;
    for (int64_t r = 0; r < shape.rows; r++)
      for (int64_t c = shape.first(r), end = shape.last(r); c < end; c++) {
        *row++ = element<T>(static_cast<double>(r));
        *column++ = element<T>(static_cast<double>(c));
      }
  });
  return o.finish(t);
}
Tensor tril_indices_op(int64_t row, int64_t col, int64_t offset, FL_FACTORY_PARAMETERS) {
  return triangle_indices({row, col, offset, true}, factory_options(FL_FACTORY_ARGUMENTS, DType::Int64),
                          "tril_indices");
}
Tensor triu_indices_op(int64_t row, int64_t col, int64_t offset, FL_FACTORY_PARAMETERS) {
  return triangle_indices({row, col, offset, false}, factory_options(FL_FACTORY_ARGUMENTS, DType::Int64),
                          "triu_indices");
}

const Declare ops([] {
  Define("arange(Scalar end, *, " FL_FACTORY_OPTIONS ") -> Tensor").kernel<arange_end>().out();
  Define("arange.start_step(Scalar start, Scalar end, Scalar step=1, *, " FL_FACTORY_OPTIONS ") -> Tensor")
      .kernel<arange_step>()
      .out()
      .doc("The numbers from start up to, not including, end. int64 when bounds and step are ints.");
  Define("range.end(Scalar end, *, " FL_FACTORY_OPTIONS ") -> Tensor").kernel<range_from_zero>().out();
  Define("range(Scalar start, Scalar end, Scalar step=1, *, " FL_FACTORY_OPTIONS ") -> Tensor")
      .kernel<range_op>()
      .out()
      .doc("The numbers from start up to and including end. Prefer arange.");
  Define("linspace(Tensor|Scalar start, Tensor|Scalar end, int steps, *, " FL_FACTORY_OPTIONS ") -> Tensor")
      .kernel<linspace_op>()
      .out()
      .constant_outputs(~0u)
      .doc("steps evenly spaced numbers from start to end, both included.");
  Define("logspace(Tensor|Scalar start, Tensor|Scalar end, int steps, float base=10.0, *, " FL_FACTORY_OPTIONS
         ") -> Tensor")
      .kernel<logspace_op>()
      .out()
      .constant_outputs(~0u)
      .doc("Powers of base with steps evenly spaced exponents from start to end.");
  Define("eye(int n, int? m=None, *, " FL_FACTORY_OPTIONS ") -> Tensor")
      .kernel<eye_op>()
      .out()
      .doc("Ones on the diagonal of an n by m matrix, zeros elsewhere.");
  Define("tril_indices(int row, int col, int offset=0, *, " FL_FACTORY_OPTIONS ") -> Tensor")
      .kernel<tril_indices_op>()
      .doc("The positions of the lower triangle of a row by col matrix: row indices, then column indices.");
  Define("triu_indices(int row, int col, int offset=0, *, " FL_FACTORY_OPTIONS ") -> Tensor")
      .kernel<triu_indices_op>()
      .doc("The positions of the upper triangle of a row by col matrix: row indices, then column indices.");
});

}  // namespace
}  // namespace fl
