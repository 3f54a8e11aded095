// What functions that make tensors share: the options of their schemas, and what becomes of them.
#pragma once
#include "ops/api.h"
#include "python/autograd.h"
#include "tensor/thread_state.h"

namespace fl {

// The options as schemas write them and as kernels take them.
#define FL_FACTORY_OPTIONS \
  "dtype? dtype=None, layout? layout=None, device? device=None, bool requires_grad=False, bool pin_memory=False"
#define FL_FACTORY_PARAMETERS \
  std::optional<DType> dtype, const Value &layout, std::optional<Device> device, bool requires_grad, bool pin_memory
#define FL_FACTORY_ARGUMENTS dtype, layout, device, requires_grad, pin_memory

struct FactoryOptions {
  DType dtype;
  Device device;
  bool requires_grad;

  Tensor finish(Tensor t) const {
    if (requires_grad) change_requires_grad(t, true);
    return t;
  }
};

inline FactoryOptions factory_options(FL_FACTORY_PARAMETERS, DType otherwise,
                                      Device otherwise_on = thread_state.default_device) {
  FL_CHECK(layout.is_none() || layout.i == 0,
           "factory functions: only dense tensors (layout=torch.strided) are supported");
  FL_CHECK(!pin_memory, "pin_memory=True needs an accelerator, and this build has none");
  return {dtype.value_or(otherwise), device.value_or(otherwise_on), requires_grad};
}

// Throws where an integer type can't hold the value.
void check_fits(const Scalar& value, DType dtype, const char* op);

}  // namespace fl
