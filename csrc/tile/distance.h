// Distances between vectors.
#pragma once
#include <cstdint>

namespace fl {

enum class Metric : uint8_t { Hamming, Manhattan, Euclidean, Chebyshev, Minkowski };

// out[j] = the distance between `a` and column j of the matrix `b`, whose n rows are `stride` apart, a multiple of
// kDistanceStride not below the number of columns. p is read for Minkowski only.
inline constexpr int64_t kDistanceStride = 16;
struct DistanceLoops {
  void (*of_float)(const float* a, const float* b, int64_t columns, int64_t stride, int64_t n, double p, float* out);
  void (*of_double)(const double* a, const double* b, int64_t columns, int64_t stride, int64_t n, double p,
                    double* out);
};
extern DistanceLoops distance_loops[5];

}  // namespace fl
