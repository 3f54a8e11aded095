// Elements chosen by a mask.
#pragma once
#include "tensor/tensor.h"

namespace fl {

int64_t count_true(const Tensor& mask);  // of bool or uint8
// The elements where the mask is true; both contiguous and of the same sizes.
Tensor compress(const Tensor& values, const Tensor& mask);

}  // namespace fl
