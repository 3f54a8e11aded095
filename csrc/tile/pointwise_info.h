// What the table knows of a pointwise op besides its schema.
#pragma once
#include <cstdint>

#include "tile/program.h"

namespace fl {

class Vjp;
struct Value;

// How the type of the result and of the computation follow from the operands.
enum class Rule : uint8_t {
  Same,       // promoted; integers stay integers
  Float,      // promoted, integers become the default floating type
  Boolean,    // computed as promoted, the result is bool
  Real,       // as Same, but of a complex number the result is real
  FloatReal,  // as Float, but of a complex number the result is real
  First,      // the first operand's, whatever the others are
  ToComplex,  // of real operands, the result is complex
};

struct PointwiseInfo {
  const char* name = nullptr;
  Rule rule = Rule::Same;
  uint8_t inputs = 1, params = 0;
  uint8_t mask_inputs = 0;  // bit k: input k is a bool that selects, outside of promotion
  uint8_t cost = 2;
  const char* bool_refusal = nullptr;  // a RuntimeError's text where an operand is bool
  bool lacks_bool = false, lacks_complex = false;
  bool refuses_zero_divisor = false;  // input 1 of an integer type must hold no zero
  bool by_value = false;              // operands of different integer types are compared as numbers
  bool bool_as_int = false;           // bool counts as int64
  bool exact_out = false;             // out= must have the result's dtype
  bool equal_types = false;           // tensors must have one dtype
  Loop loops[kNumDTypes] = {};        // by the type computed in
  bool gives_bool[kNumDTypes] = {};
  bool direct[kNumDTypes] = {};  // operands and parameters of this type need no decisions
  void (*check)(const Value* args, DType compute) = nullptr;
  // Another op's loops that do the work for these arguments, or null: pow(x, 2) is square(x).
  const PointwiseInfo* (*substitute)(const Value* args) = nullptr;
  // Derivatives: by input, in tensor ops; and as one fused loop over (gradient, saved values).
  void (*grads[4])(Vjp&) = {};
  uint8_t grad_reads[4] = {};   // bit k: input k, bit 7: the result
  Loop fused[kNumDTypes] = {};  // of a single input
};

// Which forms the op has besides the function, and how it is described.
struct PointwiseForms {
  bool in_place, out, function_only, method_only;
  const char* node;
  const char* doc;
};

// Made on first use; objects of several instruction sets share it.
PointwiseInfo& pointwise_info(const char* schema);

}  // namespace fl
