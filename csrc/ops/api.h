// The ops as C++ functions over tensors, for derivatives and for ops made of ops. Each goes through the dispatcher, so
// what is written in them records itself.
#pragma once
#include "dispatch/dispatch.h"

namespace fl {

#define FL_UNARY_API(name)              \
  inline Tensor name(const Tensor& x) { \
    static const Op op(#name);          \
    return op(x);                       \
  }
#define FL_BINARY_API(name)                              \
  inline Tensor name(const Tensor& a, const Tensor& b) { \
    static const Op op(#name);                           \
    return op(a, b);                                     \
  }                                                      \
  inline Tensor name(const Tensor& a, const Scalar& b) { \
    static const Op op(#name);                           \
    return op(a, b);                                     \
  }

// clang-format off
FL_UNARY_API(abs) FL_UNARY_API(neg) FL_UNARY_API(exp) FL_UNARY_API(exp2) FL_UNARY_API(expm1)
FL_UNARY_API(log) FL_UNARY_API(log2) FL_UNARY_API(log10) FL_UNARY_API(log1p) FL_UNARY_API(sin)
FL_UNARY_API(cos) FL_UNARY_API(tan) FL_UNARY_API(asin) FL_UNARY_API(acos) FL_UNARY_API(atan)
FL_UNARY_API(sinh) FL_UNARY_API(cosh) FL_UNARY_API(tanh) FL_UNARY_API(sqrt) FL_UNARY_API(rsqrt)
FL_UNARY_API(reciprocal) FL_UNARY_API(sigmoid) FL_UNARY_API(sign) FL_UNARY_API(sgn) FL_UNARY_API(erf)
FL_UNARY_API(erfc) FL_UNARY_API(lgamma) FL_UNARY_API(digamma) FL_UNARY_API(isnan) FL_UNARY_API(isinf)
FL_UNARY_API(floor) FL_UNARY_API(trunc) FL_UNARY_API(square) FL_UNARY_API(logical_not) FL_UNARY_API(real)
FL_UNARY_API(imag) FL_UNARY_API(clone)
FL_BINARY_API(pow) FL_BINARY_API(eq) FL_BINARY_API(ne) FL_BINARY_API(lt) FL_BINARY_API(le)
FL_BINARY_API(gt) FL_BINARY_API(ge) FL_BINARY_API(logical_and) FL_BINARY_API(logical_or) FL_BINARY_API(xlogy)
FL_BINARY_API(maximum) FL_BINARY_API(minimum) FL_BINARY_API(floor_divide) FL_BINARY_API(atan2)
// clang-format on
#undef FL_UNARY_API
#undef FL_BINARY_API

                                            inline Tensor conj(const Tensor& x) {
  static const Op op("conj");
  return x.is_complex() ? op(x) : x;
}
inline Scalar conj(const Scalar& s) { return s.is_complex() ? Scalar(std::conj(s.to_complex())) : s; }
inline Tensor polygamma(int64_t n, const Tensor& x) {
  static const Op op("torch.polygamma");
  return op(n, x);
}

#define FL_OPERATOR(symbol, name)                                   \
  inline Tensor operator symbol(const Tensor& a, const Tensor& b) { \
    static const Op op(#name);                                      \
    return op(a, b);                                                \
  }                                                                 \
  inline Tensor operator symbol(const Tensor& a, const Scalar& b) { \
    static const Op op(#name);                                      \
    return op(a, b);                                                \
  }                                                                 \
  inline Tensor operator symbol(const Tensor& a, double b) {        \
    static const Op op(#name);                                      \
    return op(a, b);                                                \
  }                                                                 \
  inline Tensor operator symbol(const Tensor& a, int b) {           \
    static const Op op(#name);                                      \
    return op(a, b);                                                \
  }
// clang-format off
FL_OPERATOR(+, add) FL_OPERATOR(-, sub) FL_OPERATOR(*, mul) FL_OPERATOR(/, div)
FL_OPERATOR(>, gt) FL_OPERATOR(<, lt) FL_OPERATOR(>=, ge) FL_OPERATOR(<=, le)
FL_OPERATOR(==, eq) FL_OPERATOR(!=, ne) FL_OPERATOR(&, bitwise_and) FL_OPERATOR(|, bitwise_or)
// clang-format on
#undef FL_OPERATOR
        inline Tensor
        operator!(const Tensor& a) {
  return logical_not(a);
}
inline Tensor operator-(const Tensor& a) { return neg(a); }
template <class S>
requires std::is_arithmetic_v<S> || std::is_same_v<S, Scalar>
inline Tensor operator+(const S& a, const Tensor& b) { return b + a; }
template <class S>
requires std::is_arithmetic_v<S> || std::is_same_v<S, Scalar>
inline Tensor operator*(const S& a, const Tensor& b) { return b * a; }
template <class S>
requires std::is_arithmetic_v<S> || std::is_same_v<S, Scalar>
inline Tensor operator-(const S& a, const Tensor& b) {
  static const Op op("rsub");
  return op(b, a);
}
template <class S>
requires std::is_arithmetic_v<S> || std::is_same_v<S, Scalar>
inline Tensor operator/(const S& a, const Tensor& b) { return reciprocal(b) * a; }

namespace detail {
inline Value as_value(const Tensor& t) { return Value(t); }
template <class S>
requires std::is_arithmetic_v<S> Value as_value(S s) { return Value(static_cast<double>(s)); }
inline Value as_value(const Scalar& s) { return Value(s); }
}  // namespace detail
template <class A, class B>
inline Tensor where(const Tensor& mask, const A& a, const B& b) {
  static const Op op("where");
  return op(mask, detail::as_value(a), detail::as_value(b));
}

// A zero gradient stays zero even where the derivative is infinite: the branch that where() didn't take sends none.
inline Tensor zero_stays(const Tensor& g, const Tensor& product) { return where(g == 0, g, product); }

inline Tensor sum(const Tensor& x, IntList dims, bool keepdim = false) {
  static const Op op("sum.dim");
  return op(x, dims, keepdim);
}
inline Tensor sum(const Tensor& x) {
  static const Op op("sum");
  return op(x);
}
inline Tensor matmul(const Tensor& a, const Tensor& b) {
  static const Op op("matmul");
  return op(a, b);
}
inline Tensor mm(const Tensor& a, const Tensor& b) {
  static const Op op("mm");
  return op(a, b);
}
inline Tensor bmm(const Tensor& a, const Tensor& b) {
  static const Op op("bmm");
  return op(a, b);
}
inline Tensor transpose(const Tensor& x, int64_t a, int64_t b) {
  static const Op op("transpose");
  return op(x, a, b);
}
inline Tensor reshape(const Tensor& x, IntList sizes) {
  static const Op op("reshape");
  return op(x, sizes);
}
inline Tensor view(const Tensor& x, IntList sizes) {
  static const Op op("view");
  return op(x, sizes);
}
inline Tensor permute(const Tensor& x, IntList dims) {
  static const Op op("permute");
  return op(x, dims);
}
inline Tensor expand(const Tensor& x, IntList sizes) {
  static const Op op("expand");
  return op(x, sizes);
}
inline Tensor unsqueeze(const Tensor& x, int64_t dim) {
  static const Op op("unsqueeze");
  return op(x, dim);
}
inline Tensor squeeze(const Tensor& x, int64_t dim) {
  static const Op op("squeeze.dim");
  return op(x, dim);
}
inline Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length) {
  static const Op op("narrow");
  return op(x, dim, start, length);
}
inline Tensor select(const Tensor& x, int64_t dim, int64_t index) {
  static const Op op("select");
  return op(x, dim, index);
}
inline Tensor contiguous(const Tensor& x) {
  static const Op op("contiguous");
  return op(x);
}
inline Tensor to_dtype(const Tensor& x, DType dtype) {
  static const Op op("_C._to_dtype");
  return x.dtype() == dtype ? x : op(x, dtype);
}
inline Tensor cat(const std::vector<Tensor>& list, int64_t dim) {
  static const Op op("cat");
  return op(list, dim);
}
inline Tensor zeros(IntList sizes, DType dtype, Device device = {}) {
  Tensor t = empty(sizes, dtype, device);
  raw_fill(t, Scalar(0));
  return t;
}
inline Tensor full(IntList sizes, const Scalar& value, DType dtype, Device device = {}) {
  Tensor t = empty(sizes, dtype, device);
  raw_fill(t, value);
  return t;
}
inline Tensor zeros_like(const Tensor& x) {
  Tensor t = empty_like(x);
  raw_fill(t, Scalar(0));
  return t;
}
inline Tensor ones_like(const Tensor& x) {
  Tensor t = empty_like(x);
  raw_fill(t, Scalar(1));
  return t;
}

}  // namespace fl
