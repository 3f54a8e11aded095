// Distances between vectors.
#pragma once
#include <cstdint>

namespace fl {

enum class Metric : uint8_t { Hamming, Manhattan, Euclidean, Chebyshev, Minkowski };

// out[j] = the distance between `a` and row j of `b`, rows of n contiguous elements. p is read for Minkowski only.
struct DistanceLoops {
  void (*of_float)(const float* a, const float* b, int64_t rows, int64_t n, double p, float* out);
  void (*of_double)(const double* a, const double* b, int64_t rows, int64_t n, double p, double* out);
};
extern DistanceLoops distance_loops[5];

}  // namespace fl
