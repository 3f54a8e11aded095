// What the table knows of a pointwise op besides its schema.
#pragma once
#include <cstdint>

#include "tile/program.h"

namespace fl {

class Vjp;

// How the type of the result and of the computation follow from the operands.
enum class Rule : uint8_t {
  Same,      // promoted; integers stay integers
  Float,     // promoted, integers become the default floating type
  Floating,  // promoted; integers are refused
  Boolean,   // computed as promoted, the result is bool
  Real,      // as Same, but of a complex number the result is real
  FloatReal, // as Float, but of a complex number the result is real
  Integral,  // promoted; only integers and bool
};

struct PointwiseInfo {
  const char* name = nullptr;
  Rule rule = Rule::Same;
  uint8_t inputs = 1, params = 0;
  uint8_t mask_inputs = 0;       // bit k: input k is a bool that selects, outside of promotion
  bool refuses_bool = false, refuses_complex = false, bool_as_int = false;
  uint8_t cost = 2;
  Loop loops[kNumDTypes] = {};    // by the type computed in
  bool gives_bool[kNumDTypes] = {};
  // Derivatives: by input, in tensor ops; and as one fused loop over (gradient, saved values).
  void (*grads[4])(Vjp&) = {};
  uint8_t grad_reads[4] = {};     // bit k: input k, bit 7: the result
  Loop fused[kNumDTypes] = {};    // of a single input
};

PointwiseInfo& pointwise_info(const char* name);  // made on first use; objects of several instruction sets share it

}  // namespace fl
