// What is switched on and off per thread: recording, modes, the layers an op passes through.
#pragma once
#include <cstdint>

#include "tensor/tensor.h"

namespace fl {

struct ThreadState {
  uint16_t enabled = kLayerFlags;  // layers not switched off; recording is one of them
  uint16_t new_tensor_flags = 0;   // kInference in inference mode
  bool inference = false;
  bool anomaly = false, anomaly_check_nan = true;
  bool multithreading = true;
  int function_modes = 0;                // length of the __torch_function__ mode stack
  bool function_disabled = false;        // DisableTorchFunctionSubclass
  bool function_modes_disabled = false;  // DisableTorchFunction: modes too
  bool autocast = false;
  Device default_device;  // where factory functions put tensors
};

// The extension is loaded by dlopen; its few bytes of thread-local state fit the static block, which makes access one
// load.
extern thread_local ThreadState thread_state __attribute__((tls_model("initial-exec")));

inline bool grad_enabled() { return thread_state.enabled & kRequiresGrad; }
inline void set_grad_enabled(bool on) {
  if (on)
    thread_state.enabled |= kRequiresGrad;
  else
    thread_state.enabled &= ~kRequiresGrad;
}

class GradMode {
 public:
  explicit GradMode(bool on) : saved_(grad_enabled()) { set_grad_enabled(on); }
  ~GradMode() { set_grad_enabled(saved_); }
  GradMode(const GradMode&) = delete;

 private:
  bool saved_;
};
struct NoGrad : GradMode {
  NoGrad() : GradMode(false) {}
};

}  // namespace fl
