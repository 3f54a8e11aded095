// Rows of a table by index.
#include <cmath>

#include "autograd/record.h"
#include "ops/api.h"
#include "ops/indexing/places.h"

namespace fl {
namespace {

Places rows_of(const Tensor& weight, const Tensor& positions, Tensor* offsets) {
  Places p;
  p.add_after(weight, 1);
  *offsets = empty(Dims{positions.numel()}, DType::Int64);
  int64_t* to = offsets->data<int64_t>();
  for (int64_t i = 0; i < positions.numel(); i++) to[i] = positions.data<int64_t>()[i] * weight->strides[0];
  p.data = weight.bytes();
  p.dtype = weight.dtype();
  p.offsets = to;
  p.count = positions.numel();
  return p;
}

Tensor embedding_op(const Tensor& weight, const Tensor& indices, int64_t, bool, bool) {
  FL_CHECK(weight.dim() == 2, "embedding: 'weight' must be 2-D, got ", weight.dim(), " dimensions");
  FL_CHECK(indices.dtype() == DType::Int64 || indices.dtype() == DType::Int32,
           "embedding: expected int32 or int64 for indices, got ", info(indices.dtype()).name);
  Dims sizes(indices.sizes());
  sizes.push_back(weight->sizes[1]);
  Tensor positions = checked_positions(indices, weight->sizes[0], 0, "embedding: ", false, ErrorKind::Index);
  Tensor out = empty(sizes, weight.dtype(), weight.device()), offsets;
  if (!out.is_meta()) read_places(rows_of(weight, positions, &offsets), out.bytes());
  return out;
}

const Op embedding_of("torch.embedding"), index_add("index_add"), index_select("index_select"), ne("ne");

// How often each row was taken, for each index.
Tensor frequencies(const Tensor& indices, int64_t rows, DType dtype) {
  Tensor positions = raw_contiguous(to_dtype(indices, DType::Int64)),
         out = empty(Dims{indices.numel(), 1}, DType::Int64);
  std::vector<int64_t> counts(rows);
  const int64_t* p = positions.data<int64_t>();
  for (int64_t i = 0; i < indices.numel(); i++) counts[p[i]]++;
  for (int64_t i = 0; i < indices.numel(); i++) out.data<int64_t>()[i] = counts[p[i]];
  return to_dtype(out, dtype);
}

void embedding_back(Vjp& v) {
  if (!v.needs(0)) return;
  Tensor indices = reshape(v.input(1), Dims{-1}), g = v.grad();
  IntList sizes = v.sizes(0);
  g = reshape(g, Dims{indices.numel(), sizes[1]});
  int64_t padding = v.integer(2);
  if (padding >= 0) g = g * to_dtype(reshape(ne(indices, padding), Dims{indices.numel(), 1}), g.dtype());
  if (v.flag(3)) g = g / frequencies(indices, sizes[0], g.dtype());
  Tensor whole = zeros(sizes, g.dtype(), g.device());
  index_add.in_place(whole, int64_t(0), indices, g);
  v.set(0, whole);
}

// Scales the rows in use whose norm is above the limit; not seen by autograd.
void renormalize(const Tensor& weight, const Tensor& indices, double max_norm, double p) {
  FL_CHECK(is_floating(weight.dtype()), "embedding: max_norm needs a floating table, got ", info(weight.dtype()).name);
  FL_CHECK(weight.dim() == 2, "embedding: 'weight' must be 2-D, got ", weight.dim(), " dimensions");
  NoGrad guard;
  Tensor positions = checked_positions(indices, weight->sizes[0], 0, "embedding: ", false, ErrorKind::Index);
  if (weight.is_meta()) return;
  std::vector<bool> seen(weight->sizes[0]);
  int64_t columns = weight->sizes[1], step = weight->strides[1];
  visit_dtype(weight.dtype(), [&]<class T>() {
    if constexpr (std::is_convertible_v<T, double> && !std::is_integral_v<T>) {
      for (int64_t i = 0; i < positions.numel(); i++) {
        int64_t row = positions.data<int64_t>()[i];
        if (seen[row]) continue;
        seen[row] = true;
        T* x = weight.data<T>() + row * weight->strides[0];
        double norm = 0;
        for (int64_t j = 0; j < columns; j++) {
          double a = std::fabs(static_cast<double>(x[j * step]));
          if (std::isinf(p))
            norm = std::max(norm, a);
          else
            norm += p == 2 ? a * a : p == 0 ? a != 0 : std::pow(a, p);
        }
        if (!std::isinf(p) && p != 0) norm = p == 2 ? std::sqrt(norm) : std::pow(norm, 1 / p);
        if (!(norm > max_norm)) continue;
        T scale = T(static_cast<float>(max_norm / (norm + 1e-7)));
        if constexpr (std::is_same_v<T, double>) scale = max_norm / (norm + 1e-7);
        for (int64_t j = 0; j < columns; j++) x[j * step] = T(x[j * step] * scale);
      }
    }
  });
  bump_version(weight);
}

Tensor nn_embedding(const Tensor& input, const Tensor& weight, std::optional<int64_t> padding_idx,
                    std::optional<double> max_norm, double norm_type, bool scale_grad_by_freq, bool sparse) {
  int64_t padding = -1, rows = weight.dim() ? weight->sizes[0] : 0;
  if (padding_idx) {
    FL_CHECK(*padding_idx >= -rows && *padding_idx < rows, ErrorKind::Assertion,
             "embedding: padding_idx must be within num_embeddings, got ", *padding_idx, " for ", rows, " rows");
    padding = *padding_idx < 0 ? *padding_idx + rows : *padding_idx;
  }
  if (max_norm) renormalize(weight, input, *max_norm, norm_type);
  return embedding_of(weight, input, padding, scale_grad_by_freq, sparse);
}

const Declare ops([] {
  Define(
      "torch.embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool "
      "sparse=False) -> Tensor")
      .kernel<embedding_op>()
      .vjp("indices", embedding_back)
      .doc("The rows of weight at the indices. Raises IndexError for indices outside the table.");
  Define(
      "nn.embedding(Tensor input, Tensor weight, int? padding_idx=None, float? max_norm=None, float norm_type=2.0, "
      "bool scale_grad_by_freq=False, bool sparse=False) -> Tensor")
      .composite<nn_embedding>()
      .doc(
          "The rows of weight at the indices in input. Row padding_idx gets no gradient; with max_norm the rows in use "
          "are first scaled, in place,\n"
          "to at most that norm. Gradients are dense, whatever sparse says. Raises IndexError for indices outside the "
          "table.");
});

}  // namespace
}  // namespace fl
