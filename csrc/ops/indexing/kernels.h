// Inner loops of indexing, one set for each instruction set.
#pragma once
#include <cstdint>

#include "base/dtype.h"
#include "ops/indexing/combine.h"

namespace fl {

// Arrays over element sizes are indexed by size_index. Strides are in elements.
struct IndexKernels {
  // Whether all are in [0, size).
  bool (*in_bounds)(const int64_t* positions, int64_t n, int64_t size);
  // to[i] = from[positions[i] * along + i * step]
  void (*gather[5])(const char* from, const int64_t* positions, int64_t along, int64_t step, char* to, int64_t n);
  // to[positions[i] * along + i * step] is assigned or combined with from[i * from_step], in order.
  void (*scatter[5])(char* to, const int64_t* positions, int64_t along, int64_t step, const char* from,
                     int64_t from_step, int64_t n);
  void (*scatter_combine[5][kNumDTypes])(char* to, const int64_t* positions, int64_t along, int64_t step,
                                         const char* from, int64_t from_step, int64_t n);
  // to[i] is combined with from[i]; rows don't overlap.
  void (*combine_row[5][kNumDTypes])(char* to, const char* from, int64_t n);
  // to[i] = last[-i]
  void (*reverse[5])(const char* last, char* to, int64_t n);
};
extern IndexKernels index_kernels;

}  // namespace fl
