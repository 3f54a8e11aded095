// Matrix products on tensors, without recording: which library computes what.
#pragma once
#include "tensor/tensor.h"

namespace fl {

// out (m, n) = beta * out + alpha * a (m, k) @ b (k, n); all of one type, any strides. With beta 0 out isn't read.
void product(const Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha, const Scalar& beta);
// The same for each of a batch: three dimensions.
void batched_product(const Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha, const Scalar& beta);
// out (m, n) = x (m, k) @ weight (n, k)^T + bias (n); the weight's packed copy is kept with its storage.
void linear_product(const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias);

}  // namespace fl
