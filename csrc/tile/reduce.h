// Reductions of a strided tensor over any set of its dimensions.
//
// A reduction is a table of loops over accumulators. The engine walks the tensor, converts what is not of the loops'
// own type tile by tile, and hands them either runs of elements that go into one accumulator or rows that go into a row
// of accumulators. Work is cut by shape alone and partial accumulators are merged in a fixed order.
#pragma once
#include <cstdint>

#include "tensor/tensor.h"

namespace fl {

struct ReduceParams {
  double correction = 0;  // of a variance
  int64_t count = 1;      // elements that go into one result
};

struct ReduceLoops {
  DType computed, result;  // types the loops read and write
  int accumulator_bytes;
  void (*start)(char* accumulators, int64_t n);
  // n contiguous elements into one accumulator.
  void (*run)(const char* in, int64_t n, char* accumulator);
  // Rows of contiguous columns into as many accumulators.
  void (*rows)(const char* in, int64_t rows, int64_t row_stride, int64_t columns, char* accumulators);
  void (*merge)(char* accumulators, const char* others, int64_t n);
  void (*finish)(const char* accumulators, int64_t n, char* out, const ReduceParams& params);
};

enum class Reduction : uint8_t {
  Sum,
  Mean,
  Prod,
  Any,
  All,
  Max,
  Min,
  SumSquares,
  Norm2,
  SumAbs,
  CountNonzero,
  Var,
  Std
};
inline constexpr int kReductions = 13;
inline constexpr int kMaxAccumulatorBytes = 32;

// By reduction and the type computed in; null where there is none. Filled in when the extension is loaded.
extern const ReduceLoops* reduce_loops[kReductions][kNumDTypes];

// Reduces `in` over the dimensions in `mask` into `out`, which is contiguous and has an element for each combination of
// the other dimensions. Types are converted to and from those of the loops, which must exist.
void run_reduction(const ReduceLoops& loops, const Tensor& in, uint64_t mask, const Tensor& out,
                   ReduceParams params = {});

}  // namespace fl
