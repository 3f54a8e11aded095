// The loops of normalisations, for float and double; filled when the extension is loaded.
#pragma once
#include <cstdint>

namespace fl {

// x, y, gradients and weights point to elements of one type; statistics are double.
struct NormKernels {
  // The mean of n elements and the sum of their squared distances from it, in one reading.
  void (*moments)(const void* x, int64_t n, double* mean, double* squares);
  // The sum of squares.
  double (*squares)(const void* x, int64_t n);
  // y = (x - mean) * scale + shift
  void (*affine)(const void* x, void* y, int64_t n, double mean, double scale, double shift);
  // The sums of g and of g * (x - mean).
  void (*gradient_sums)(const void* g, const void* x, int64_t n, double mean, double* sum, double* product);
  // dx = g * scale + (x - mean) * slope + shift
  void (*gradient)(const void* g, const void* x, void* dx, int64_t n, double mean, double scale, double slope,
                   double shift);

  // Rows with a weight and a bias (which may be null) for each element: y = (x - mean) * scale * w + b
  void (*row_affine)(const void* x, void* y, const void* w, const void* b, int64_t n, double mean, double scale);
  // dx of one such row; with `centred` off its mean is no function of x. Adds to the sums for the weight and the bias,
  // which may be null.
  void (*row_gradient)(const void* g, const void* x, const void* w, void* dx, void* dw, void* db, int64_t n,
                       double mean, double scale, bool centred);

  // Columns of a matrix of `rows` by n: sums of x; of (x - mean)^2; of g and g * (x - mean). They add to what is there.
  void (*column_sums)(const void* x, int64_t rows, int64_t n, void* sum);
  void (*column_squares)(const void* x, int64_t rows, int64_t n, const void* mean, void* squares);
  void (*column_gradient_sums)(const void* g, const void* x, int64_t rows, int64_t n, const void* mean, void* sum,
                               void* product);
  // y = (x - mean) * scale + shift and dx = g * scale + (x - mean) * slope + shift, with one of each for a column.
  void (*column_affine)(const void* x, void* y, int64_t rows, int64_t n, const void* mean, const void* scale,
                        const void* shift);
  void (*column_gradient)(const void* g, const void* x, void* dx, int64_t rows, int64_t n, const void* mean,
                          const void* scale, const void* slope, const void* shift);
};
extern NormKernels norm_kernels[2];  // float, double

}  // namespace fl
