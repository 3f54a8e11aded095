// The loops of bilinear sampling of planes, over blocks of samples.
#pragma once
#include <cstdint>

namespace fl {

inline constexpr int64_t kSampleBlock = 64;  // samples, at most

// The four pixels of each sample of a block: tap k of sample i is at [k][i]. Weights and slopes (their derivatives by
// the grid's x and y) of pixels outside are zero, and their places are valid.
template <class T>
struct BilinearTaps {
  int32_t at[4][kSampleBlock];
  T weight[4][kSampleBlock], slope_x[4][kSampleBlock], slope_y[4][kSampleBlock];
};

template <class T>
struct SampleKernels {
  void (*taps)(const T* grid, int64_t n, int64_t height, int64_t width, bool border, bool align_corners,
               BilinearTaps<T>* taps);
  // out = the weighted sums of an image's pixels
  void (*sum)(const BilinearTaps<T>& taps, const T* image, int64_t n, T* out);
  // Adds the gradients for the grid's x and y; `gradient` is that of the samples.
  void (*slopes)(const BilinearTaps<T>& taps, const T* image, const T* gradient, int64_t n, T* x, T* y);
};
extern SampleKernels<float> float_sample_kernels;
extern SampleKernels<double> double_sample_kernels;

}  // namespace fl
