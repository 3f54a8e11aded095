// Where the largest or smallest element is.
#pragma once
#include "tile/program.h"

namespace fl {

struct ArgLoops {
  // The extreme of n contiguous elements and its first index. NaN is more extreme than any number.
  void (*run)(const char* in, int64_t n, char* value, int64_t* index);
  // The same for each of the columns of a matrix.
  void (*rows)(const char* in, int64_t rows, int64_t columns, char* values, int64_t* indices);
};
// By type computed in (Float, Double, Int64, UInt64), for the largest [0] and the smallest [1].
extern ArgLoops arg_loops[2][kNumDTypes];

}  // namespace fl
