#include "ops/product.h"

#include "blas/gemm.h"
#include "dispatch/dispatch.h"
#include "dnn/library.h"
#include "dnn/matmul.h"

namespace fl {
namespace {

// The work from which oneDNN's blocking pays for its call.
constexpr int64_t kLibraryWork = 24 * 24 * 24;

template <class T>
struct BlasType {
  using type = T;
};
template <>
struct BlasType<Complex<float>> {
  using type = std::complex<float>;
};
template <>
struct BlasType<Complex<double>> {
  using type = std::complex<double>;
};
template <>
struct BlasType<int8_t> {
  using type = uint8_t;
};
template <>
struct BlasType<int16_t> {
  using type = uint16_t;
};
template <>
struct BlasType<int32_t> {
  using type = uint32_t;
};
template <>
struct BlasType<int64_t> {
  using type = uint64_t;
};

template <class T>
T blas_number(const Scalar& s) {
  if constexpr (blas::is_complex<T>)
    return T(static_cast<typename T::value_type>(s.to_complex().real()),
             static_cast<typename T::value_type>(s.to_complex().imag()));
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(s.to_int());
  else
    return static_cast<T>(s.to_double());
}

blas::MatrixStrides strides_of(const Tensor& t, int first) { return {t->strides[first], t->strides[first + 1]}; }

bool is_short(DType t) { return t == DType::Half || t == DType::BFloat16; }
dnn::DataType dnn_type(DType t) {
  return t == DType::Half ? dnn::DataType::f16 : t == DType::BFloat16 ? dnn::DataType::bf16 : dnn::DataType::f32;
}

[[noreturn]] void refuse(const Tensor& t) {
  fail(ErrorKind::NotImplemented, "\"addmm\" not implemented for '", info(t.dtype()).name,
       "': matrix products need a floating, complex or integer type");
}

bool use_dnn(DType t, int64_t m, int64_t n, int64_t k) {
  if (is_short(t)) return true;
  return t == DType::Float && m * n * k >= kLibraryWork && m > 0 && n > 0 && k > 0;
}

void run(const Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha, const Scalar& beta, int64_t batch,
         int first) {
  int64_t m = a->sizes[first], k = a->sizes[first + 1], n = b->sizes[first + 1];
  if (out.is_meta() || out.numel() == 0) return;
  auto step = [&](const Tensor& t) { return first ? t->strides[0] : 0; };
  if (use_dnn(out.dtype(), m, n, k)) {
    if (k == 0) {
      Tensor scaled = beta.equals(0) ? Tensor() : raw_clone(out);
      static const Op mul("mul");
      if (beta.equals(0))
        raw_fill(out, Scalar(0));
      else
        raw_copy(out, mul(scaled, beta));
      return;
    }
    dnn::load_library();
    dnn::Matmul p;
    p.type = dnn_type(out.dtype());
    p.batch = batch;
    p.m = m;
    p.n = n;
    p.k = k;
    p.a_strides = strides_of(a, first);
    p.b_strides = strides_of(b, first);
    p.c_strides = strides_of(out, first);
    p.a_batch = step(a);
    p.b_batch = step(b);
    p.c_batch = step(out);
    p.alpha = static_cast<float>(alpha.to_double());
    p.beta = static_cast<float>(beta.to_double());
    dnn::matmul(p, a.bytes(), b.bytes(), nullptr, out.bytes());
    return;
  }
  visit_dtype(out.dtype(), [&]<class Stored>() {
    using T = typename BlasType<Stored>::type;
    if constexpr (std::is_same_v<T, Bool> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      refuse(out);
    } else if (first == 0) {
      blas::gemm<T>(m, n, k, blas_number<T>(alpha), a.data<T>(), strides_of(a, 0), b.data<T>(), strides_of(b, 0),
                    blas_number<T>(beta), out.data<T>(), strides_of(out, 0));
    } else {
      blas::batched_gemm<T>(batch, m, n, k, blas_number<T>(alpha), a.data<T>(), step(a), strides_of(a, 1), b.data<T>(),
                            step(b), strides_of(b, 1), blas_number<T>(beta), out.data<T>(), step(out),
                            strides_of(out, 1));
    }
  });
}

// The packed copy of a weight lives beside the bytes it was made from.
dnn::WeightSlot weight_slot(const Tensor& weight) {
  Storage* s = weight.storage();
  if (weight.offset() != 0 || !weight.is_contiguous() || weight.numel() * weight.item_size() != s->bytes ||
      !s->resizable)
    return {};
  if (!s->cache) {
    s->cache = new dnn::PackedWeights;
    s->release_cache = [](void* p) { delete static_cast<dnn::PackedWeights*>(p); };
  }
  return {static_cast<dnn::PackedWeights*>(s->cache), s->writes};
}

}  // namespace

void product(const Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha, const Scalar& beta) {
  run(out, a, b, alpha, beta, 1, 0);
}
void batched_product(const Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha, const Scalar& beta) {
  run(out, a, b, alpha, beta, out->sizes[0], 1);
}

void linear_product(const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  int64_t m = x->sizes[0], k = x->sizes[1], n = weight->sizes[0];
  if (out.is_meta() || out.numel() == 0) return;
  if (use_dnn(out.dtype(), m, n, k) && k > 0) {
    dnn::load_library();
    dnn::Matmul p;
    p.type = dnn_type(out.dtype());
    p.m = m;
    p.n = n;
    p.k = k;
    p.a_strides = strides_of(x, 0);
    p.b_strides = strides_of(weight, 0).transposed();
    p.c_strides = strides_of(out, 0);
    Tensor dense_bias = bias && !bias.is_contiguous() ? raw_clone(bias) : bias;
    dnn::matmul(p, x.bytes(), weight.bytes(), dense_bias ? dense_bias.bytes() : nullptr, out.bytes(),
                weight_slot(weight));
    return;
  }
  if (bias) raw_copy(out, bias);
  Dims sizes{k, n}, strides{weight->strides[1], weight->strides[0]};
  run(out, x, alias(weight, sizes, strides, weight.offset()), Scalar(1), Scalar(bias ? 1 : 0), 1, 0);
}

}  // namespace fl
