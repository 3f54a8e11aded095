// What the normalisations share.
#pragma once
#include <vector>

#include "autograd/record.h"
#include "kernels/norm.h"
#include "ops/nn/layout.h"

namespace fl {

inline const NormKernels& norm_kernels_for(DType computed) { return norm_kernels[computed == DType::Double]; }

// The elements of a small tensor as doubles, or `count` times `otherwise` where there is none.
std::vector<double> as_doubles(const Tensor& t, int64_t count, double otherwise);
Tensor from_doubles(const std::vector<double>& values, IntList sizes, DType dtype);

// Refuses what isn't floating.
void check_norm_type(const Tensor& input, const char* op);

// Whether a call with these tensors leaves a node behind.
inline bool is_recording(std::initializer_list<std::reference_wrapper<const Tensor>> tensors) {
  if (!grad_enabled()) return false;
  for (const Tensor& t : tensors)
    if (t && t.requires_grad()) return true;
  return false;
}

struct NormGradients {
  Tensor input, weight, bias;
};
// The gradients of y = (x - mean) * rsqrt(var + eps) * w + b, with moments over `dims`, in ops that can be
// differentiated again. Weight and bias broadcast with x; weight may be undefined. Not `centred`: the mean is zero.
NormGradients norm_gradients(const Tensor& g, const Tensor& x, const Tensor& w, IntList dims, double eps, bool centred);

}  // namespace fl
