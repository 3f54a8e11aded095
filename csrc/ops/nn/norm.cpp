#include "ops/nn/norm.h"

namespace fl {

NormKernels norm_kernels[2];

std::vector<double> as_doubles(const Tensor& t, int64_t count, double otherwise) {
  std::vector<double> values(static_cast<size_t>(count), otherwise);
  if (!t.defined()) return values;
  Tensor to = empty(t.sizes(), DType::Double);
  raw_copy(to, t);
  std::memcpy(values.data(), to.bytes(), values.size() * sizeof(double));
  return values;
}

Tensor from_doubles(const std::vector<double>& values, IntList sizes, DType dtype) {
  Tensor r = empty(sizes, DType::Double);
  if (!values.empty()) std::memcpy(r.bytes(), values.data(), values.size() * sizeof(double));
  return converted(r, dtype);
}

void check_norm_type(const Tensor& input, const char* op) {
  FL_CHECK(input.is_floating(), ErrorKind::NotImplemented, op, " isn't implemented for ", info(input.dtype()).name);
}

NormGradients norm_gradients(const Tensor& given_g, const Tensor& given_x, const Tensor& given_w, IntList dims,
                             double eps, bool centred) {
  const DType type = compute_type(given_x.dtype());
  const Tensor g = to_dtype(given_g, type), x = to_dtype(given_x, type),
               w = given_w ? to_dtype(given_w, type) : Tensor();
  double n = 1;
  for (int64_t d : dims) n *= static_cast<double>(x.size(d));
  auto mean = [&](const Tensor& t) { return sum(t, dims, true) / n; };
  const Tensor apart = centred ? x - mean(x) : x;
  const Tensor scale = rsqrt(mean(apart * apart) + eps), normal = apart * scale;
  const Tensor weighted = w ? g * w : g;
  Tensor inner = weighted - normal * mean(weighted * normal);
  if (centred) inner = inner - mean(weighted);
  return {to_dtype(scale * inner, given_x.dtype()), g * normal, g};
}

}  // namespace fl
