// Scaled dot-product attention in one pass over blocks of keys, which never holds the matrix of scores (Dao et al.,
// 2022): the softmax of a row is corrected as larger scores turn up. The gradient computes the scores again from the
// saved logarithm of each row's sum.
#include "kernels/attention.h"

#include <cmath>
#include <optional>

#include "autograd/record.h"
#include "base/threads.h"
#include "blas/gemm.h"
#include "dnn/buffer.h"
#include "ops/nn/layout.h"

namespace fl {

AttentionKernels attention_kernels[2];

namespace {

constexpr int64_t kQueries = 64, kKeys = 256;  // of a block
constexpr double kNothing = -INFINITY;

// Matrices of a batch in one tensor: where each begins, and its strides.
struct Matrices {
  explicit Matrices(const Tensor& t) : tensor(t), strides{t.stride(-2), t.stride(-1)}, batch(t.dim() - 2) {}
  template <class T>
  T* at(int64_t i) const {
    int64_t offset = 0;
    for (int64_t d = batch - 1; d >= 0; d--) {
      offset += i % tensor->sizes[d] * tensor->strides[d];
      i /= tensor->sizes[d];
    }
    return tensor.data<T>() + offset;
  }
  Tensor tensor;
  blas::MatrixStrides strides;
  int64_t batch;
};

struct Attention {
  Attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& given_mask, bool causal, double scale)
      : query(q),
        key(k),
        value(v),
        causal(causal),
        scale(scale),
        queries(q.size(-2)),
        keys(k.size(-2)),
        width(q.size(-1)),
        value_width(v.size(-1)) {
    for (int64_t d = 0; d < q.dim() - 2; d++) count *= q.size(d);
    if (given_mask) mask_rows.emplace(additive_mask(q, given_mask));
  }
  // Keys of the block from `key` on that the query may see.
  int64_t visible(int64_t query, int64_t key, int64_t n) const {
    return causal ? std::clamp<int64_t>(query + 1 - key, 0, n) : n;
  }
  // Past the last key that a block of queries may see.
  int64_t last_key(int64_t past_query) const { return causal ? std::min(keys, past_query) : keys; }
  template <class T>
  const T* mask_row(int64_t i, int64_t query, int64_t key) const {
    return mask_rows ? mask_rows->at<T>(i) + query * mask_rows->strides.row + key : nullptr;
  }

  // The mask as numbers to be added to the scores, expanded over the batch.
  Tensor additive_mask(const Tensor& q, const Tensor& given) const {
    Tensor m = given;
    if (given.dtype() == DType::Bool) {
      const Tensor seen = contiguous(given);
      m = empty(given.sizes(), DType::Float);
      for (int64_t i = 0; i < m.numel(); i++)
        m.data<float>()[i] = seen.data<bool>()[i] ? 0.0f : static_cast<float>(kNothing);
    }
    Dims own(m.sizes());
    while (own.size() < 2) own.insert(0, 1);
    own[own.size() - 2] = queries;
    own[own.size() - 1] = keys;
    m = contiguous(expand(converted(m, q.dtype()), own));
    Dims all(q.sizes());
    all.back() = keys;
    return expand(m, all);
  }

  Matrices query, key, value;
  // Made once: threads must not count references.
  std::optional<Matrices> mask_rows;
  bool causal;
  double scale;
  int64_t count = 1, queries, keys, width, value_width;
};

template <class T>
void attend(const Attention& a, const Tensor& output, const Tensor& lse) {
  const AttentionKernels& k = attention_kernels[std::is_same_v<T, double>];
  const int64_t blocks = (a.queries + kQueries - 1) / kQueries, block_keys = std::min(kKeys, a.keys);
  const int64_t grain = std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(1, std::min(a.queries, kQueries) * a.keys));
  parallel_for(0, a.count * blocks, grain, [&](int64_t begin, int64_t end) {
    const dnn::Scratch scratch(static_cast<size_t>(kQueries * std::max<int64_t>(1, block_keys)) * sizeof(T));
    T* scores = scratch.as<T>();
    for (int64_t task = begin; task < end; task++) {
      const int64_t i = task / blocks, first = task % blocks * kQueries, rows = std::min(kQueries, a.queries - first);
      const T *query = a.query.at<T>(i) + first * a.query.strides.row, *key = a.key.at<T>(i), *value = a.value.at<T>(i);
      T* out = output.data<T>() + (i * a.queries + first) * a.value_width;
      double largest[kQueries], sum[kQueries];
      for (int64_t r = 0; r < rows; r++) {
        largest[r] = kNothing;
        sum[r] = 0;
      }
      std::memset(out, 0, static_cast<size_t>(rows * a.value_width) * sizeof(T));
      for (int64_t at = 0; at < a.last_key(first + rows); at += block_keys) {
        const int64_t n = std::min(block_keys, a.keys - at);
        blas::gemm<T>(rows, n, a.width, T(1), query, a.query.strides, key + at * a.key.strides.row,
                      a.key.strides.transposed(), T(0), scores, {n, 1});
        for (int64_t r = 0; r < rows; r++) {
          T* row = scores + r * n;
          const int64_t seen = a.visible(first + r, at, n);
          std::memset(row + seen, 0, static_cast<size_t>(n - seen) * sizeof(T));
          const double correction =
              k.softmax_block(row, a.mask_row<T>(i, first + r, at), seen, a.scale, &largest[r], &sum[r]);
          if (correction != 1 && at > 0) k.multiply(out + r * a.value_width, a.value_width, correction);
        }
        blas::gemm<T>(rows, a.value_width, n, T(1), scores, {n, 1}, value + at * a.value.strides.row, a.value.strides,
                      T(1), out, {a.value_width, 1});
      }
      for (int64_t r = 0; r < rows; r++) {
        if (sum[r] != 0) k.multiply(out + r * a.value_width, a.value_width, 1 / sum[r]);
        if (lse) lse.data<double>()[i * a.queries + first + r] = sum[r] == 0 ? kNothing : largest[r] + std::log(sum[r]);
      }
    }
  });
}

struct AttentionGradients {
  Tensor query, key, value;
};

template <class T>
AttentionGradients gradients(const Attention& a, const Tensor& gradient, const Tensor& output, const Tensor& lse) {
  const AttentionKernels& k = attention_kernels[std::is_same_v<T, double>];
  const Tensor g = contiguous(gradient), out = contiguous(output);
  AttentionGradients r{zeros(a.query.tensor.sizes(), g.dtype()), zeros(a.key.tensor.sizes(), g.dtype()),
                       zeros(a.value.tensor.sizes(), g.dtype())};
  const int64_t block_keys = std::min(kKeys, a.keys);
  parallel_for(0, a.count, 1, [&](int64_t begin, int64_t end) {
    const dnn::Scratch scratch(static_cast<size_t>(2 * kQueries * std::max<int64_t>(1, block_keys)) * sizeof(T));
    for (int64_t i = begin; i < end; i++) {
      const T *key = a.key.at<T>(i), *value = a.value.at<T>(i);
      T *dq = r.query.data<T>() + i * a.queries * a.width, *dk = r.key.data<T>() + i * a.keys * a.width,
        *dv = r.value.data<T>() + i * a.keys * a.value_width;
      for (int64_t first = 0; first < a.queries; first += kQueries) {
        const int64_t rows = std::min(kQueries, a.queries - first), place = (i * a.queries + first) * a.value_width;
        const T* query = a.query.at<T>(i) + first * a.query.strides.row;
        const T *row_gradient = g.data<T>() + place, *row_output = out.data<T>() + place;
        double dots[kQueries];
        for (int64_t row = 0; row < rows; row++)
          dots[row] = k.dot(row_gradient + row * a.value_width, row_output + row * a.value_width, a.value_width);
        for (int64_t at = 0; at < a.last_key(first + rows); at += block_keys) {
          const int64_t n = std::min(block_keys, a.keys - at);
          T *scores = scratch.as<T>(), *weights_gradient = scores + kQueries * n;
          const T *keys = key + at * a.key.strides.row, *values = value + at * a.value.strides.row;
          blas::gemm<T>(rows, n, a.width, T(1), query, a.query.strides, keys, a.key.strides.transposed(), T(0), scores,
                        {n, 1});
          blas::gemm<T>(rows, n, a.value_width, T(1), row_gradient, {a.value_width, 1}, values,
                        a.value.strides.transposed(), T(0), weights_gradient, {n, 1});
          for (int64_t row = 0; row < rows; row++) {
            const int64_t seen = a.visible(first + row, at, n);
            k.gradient_block(scores + row * n, weights_gradient + row * n, a.mask_row<T>(i, first + row, at), seen,
                             a.scale, lse.data<double>()[i * a.queries + first + row], dots[row]);
            std::memset(scores + row * n + seen, 0, static_cast<size_t>(n - seen) * sizeof(T));
            std::memset(weights_gradient + row * n + seen, 0, static_cast<size_t>(n - seen) * sizeof(T));
          }
          blas::gemm<T>(n, a.value_width, rows, T(1), scores, {1, n}, row_gradient, {a.value_width, 1}, T(1),
                        dv + at * a.value_width, {a.value_width, 1});
          blas::gemm<T>(rows, a.width, n, T(1), weights_gradient, {n, 1}, keys, a.key.strides, T(1),
                        dq + first * a.width, {a.width, 1});
          blas::gemm<T>(n, a.width, rows, T(1), weights_gradient, {1, n}, query, a.query.strides, T(1),
                        dk + at * a.width, {a.width, 1});
        }
      }
    }
  });
  return r;
}

Dims output_sizes(const Tensor& query, const Tensor& value) {
  Dims sizes(query.sizes());
  sizes.back() = value.size(-1);
  return sizes;
}

std::tuple<Tensor, Tensor> attention_kernel(const Tensor& query, const Tensor& key, const Tensor& value,
                                            const Tensor& mask, bool causal, double scale) {
  const DType type = compute_type(query.dtype());
  const Dims sizes = output_sizes(query, value);
  Tensor lse = empty(IntList(sizes.data(), sizes.size() - 1), DType::Double, query.device());
  if (query.is_meta()) return {empty(sizes, query.dtype(), query.device()), lse};
  Tensor output = empty(sizes, type);
  if (output.numel() > 0 || lse.numel() > 0) {
    const Attention a(converted(query, type), converted(key, type), converted(value, type), mask, causal, scale);
    if (type == DType::Double)
      attend<double>(a, output, lse);
    else
      attend<float>(a, output, lse);
  }
  return {converted(output, query.dtype()), lse};
}

// In ops that can be differentiated again.
AttentionGradients gradients_in_ops(const Tensor& g, const Tensor& q, const Tensor& k, const Tensor& v,
                                    const Tensor& mask, bool causal, double scale) {
  static const Op softmax("softmax");
  Tensor scores = matmul(q, transpose(k, -2, -1)) * scale;
  if (mask || causal) {
    const Attention a(q, k, v, mask, false, scale);
    Tensor hidden = a.mask_rows ? a.mask_rows->tensor : Tensor();
    if (causal) {
      hidden = full(Dims{a.queries, a.keys}, Scalar(0.0), q.dtype(), q.device());
      for (int64_t i = 0; i < a.queries; i++)
        if (i + 1 < a.keys) raw_fill(narrow(select(hidden, 0, i), 0, i + 1, a.keys - i - 1), Scalar(kNothing));
    }
    scores = scores + hidden;
  }
  Tensor weights = softmax(scores, int64_t(-1));
  if (mask) weights = where(isnan(weights), 0.0, weights);
  const Tensor weights_gradient = matmul(g, transpose(v, -2, -1));
  const int64_t last[1] = {-1};
  const Tensor scores_gradient = weights * (weights_gradient - sum(weights_gradient * weights, last, true)) * scale;
  return {matmul(scores_gradient, k), matmul(transpose(scores_gradient, -2, -1), q),
          matmul(transpose(weights, -2, -1), g)};
}

void attention_vjp(Vjp& v) {
  const Tensor g = v.grad(), q = v.input(0), k = v.input(1), value = v.input(2),
               mask = v.is_tensor(3) ? v.input(3) : Tensor();
  AttentionGradients r;
  if (grad_enabled() || q.is_meta()) {
    r = gradients_in_ops(g, q, k, value, mask, v.flag(4), v.number(5));
  } else {
    const DType type = compute_type(q.dtype());
    const Attention a(converted(q, type), converted(k, type), converted(value, type), mask, v.flag(4), v.number(5));
    const Tensor gradient = converted(g, type), output = converted(v.output(0), type);
    r = type == DType::Double ? gradients<double>(a, gradient, output, v.output(1))
                              : gradients<float>(a, gradient, output, v.output(1));
  }
  if (v.needs(0)) v.set(0, to_dtype(r.query, q.dtype()));
  if (v.needs(1)) v.set(1, to_dtype(r.key, q.dtype()));
  if (v.needs(2)) v.set(2, to_dtype(r.value, q.dtype()));
}

bool same_batch(const Tensor& a, const Tensor& b) {
  return a.dim() == b.dim() && equal(a.sizes().first(a.dim() - 2), b.sizes().first(b.dim() - 2));
}

// Whether every element is finite: else one that nobody may see would turn up as 0 times itself.
bool is_finite(const Tensor& t) {
  NoGrad guard;
  const Tensor total = converted(sum(to_dtype(t, compute_type(t.dtype()))), DType::Double);
  return std::isfinite(total.data<double>()[0]);
}

bool fits(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, double dropout, bool causal,
          bool repeat_heads) {
  if (dropout != 0 || repeat_heads || (causal && mask) || q.dim() < 2 || !q.is_floating() || q.is_meta()) return false;
  if (q.dtype() != k.dtype() || q.dtype() != v.dtype() || !same_batch(q, k) || !same_batch(q, v)) return false;
  if (q.size(-1) != k.size(-1) || k.size(-2) != v.size(-2) || q.size(-1) == 0) return false;
  if (mask) {
    if (mask.requires_grad() || mask.dim() > q.dim() || (mask.dtype() != DType::Bool && mask.dtype() != q.dtype()))
      return false;
    Dims all(q.sizes());
    all.back() = k.size(-2);
    for (int64_t d = 1; d <= mask.dim(); d++)
      if (mask.size(-d) != 1 && mask.size(-d) != all[all.size() - d]) return false;
  }
  return !(mask || causal) || (is_finite(k) && is_finite(v));
}

Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask, double dropout,
                 bool causal, std::optional<double> scale, bool repeat_heads) {
  if (!fits(query, key, value, mask, dropout, causal, repeat_heads)) {
    static const Op general("_C._attention_general");
    return general(query, key, value, mask, dropout, causal, scale, repeat_heads);
  }
  static const Op op("_C._attention");
  return op.list(query, key, value, mask, causal,
                 scale.value_or(1 / std::sqrt(static_cast<double>(query.size(-1)))))[0];
}

const Declare ops([] {
  Define(
      "_C._attention(Tensor query, Tensor key, Tensor value, Tensor? mask, bool is_causal, float scale) -> (Tensor, "
      "Tensor)")
      .kernel<attention_kernel>()
      .constant_outputs(2)
      .node("ScaledDotProductFlashAttentionForCpuBackward0")
      .vjp("query key value mask result0 result1", attention_vjp);
  Define(
      "nn.scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float "
      "dropout_p=0.0, bool is_causal=False, float? scale=None, "
      "bool enable_gqa=False) -> Tensor")
      .composite<attention>()
      .doc(
          "softmax(query @ key.T * scale + mask) @ value, over (*, L, E), (*, S, E) and (*, S, Ev). attn_mask is "
          "boolean (True: takes part) or added to the "
          "scores; a query that may see nothing gives zeros. is_causal lets each query see the keys up to its own "
          "place. enable_gqa repeats the heads of key and "
          "value.");
});

}  // namespace
}  // namespace fl
