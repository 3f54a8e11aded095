#include "kernels/grid_sample.h"

#include "tile/isa.h"

namespace fl {
namespace FL_ISA {
namespace {

FL_INLINE float floor_of(float x) { return __builtin_floorf(x); }
FL_INLINE double floor_of(double x) { return __builtin_floor(x); }

template <class T>
void taps(const T* __restrict grid, int64_t n, int64_t height, int64_t width, bool border, bool align_corners,
          BilinearTaps<T>* __restrict t) {
  const T sizes[2] = {T(width), T(height)};
  T low[2][kSampleBlock], part[2][kSampleBlock], rate[2][kSampleBlock];
  for (int d = 0; d < 2; d++) {
    const T size = sizes[d], most = size - 1;
    const T scale = (align_corners ? size - 1 : size) / 2, shift = align_corners ? T(0) : T(-0.5);
    for (int64_t i = 0; i < n; i++) {
      T x = (grid[2 * i + d] + 1) * scale + shift, r = scale;
      if (border) {
        r = x > 0 && x < most ? r : T(0);
        x = x > 0 ? x : T(0);
        x = x < most ? x : most;
      }
      const T floor = floor_of(x);
      low[d][i] = floor;
      part[d][i] = x - floor;
      rate[d][i] = r;
    }
  }
  for (int k = 0; k < 4; k++) {
    const T right = T(k & 1), below = T(k >> 1);
    for (int64_t i = 0; i < n; i++) {
      const T x = low[0][i] + right, y = low[1][i] + below;
      const bool inside = (x >= 0) & (x < sizes[0]) & (y >= 0) & (y < sizes[1]);
      const T wx = right ? part[0][i] : 1 - part[0][i], wy = below ? part[1][i] : 1 - part[1][i];
      const T dx = right ? rate[0][i] : -rate[0][i], dy = below ? rate[1][i] : -rate[1][i];
      t->at[k][i] = inside ? int32_t(inside ? y : T(0)) * int32_t(width) + int32_t(inside ? x : T(0)) : 0;
      t->weight[k][i] = inside ? wx * wy : T(0);
      t->slope_x[k][i] = inside ? dx * wy : T(0);
      t->slope_y[k][i] = inside ? wx * dy : T(0);
    }
  }
}

// What is multiplied by zero lies outside: it doesn't count even if it is no number.
template <class T>
FL_INLINE T share(T weight, T pixel) {
  return weight != 0 ? weight * pixel : T(0);
}

template <class T>
void sum(const BilinearTaps<T>& t, const T* image, int64_t n, T* __restrict out) {
  for (int64_t i = 0; i < n; i++) {
    out[i] = (share(t.weight[0][i], image[t.at[0][i]]) + share(t.weight[1][i], image[t.at[1][i]])) +
             (share(t.weight[2][i], image[t.at[2][i]]) + share(t.weight[3][i], image[t.at[3][i]]));
  }
}

template <class T>
void slopes(const BilinearTaps<T>& t, const T* image, const T* gradient, int64_t n, T* __restrict x, T* __restrict y) {
  for (int64_t i = 0; i < n; i++) {
    T sx = 0, sy = 0;
    for (int k = 0; k < 4; k++) {
      const T pixel = image[t.at[k][i]];
      sx += share(t.slope_x[k][i], pixel);
      sy += share(t.slope_y[k][i], pixel);
    }
    x[i] += sx * gradient[i];
    y[i] += sy * gradient[i];
  }
}

bool install() {
  if (machine_isa() < FL_THIS_ISA) return false;
  float_sample_kernels = {taps<float>, sum<float>, slopes<float>};
  double_sample_kernels = {taps<double>, sum<double>, slopes<double>};
  return true;
}
const bool installed = install();

}  // namespace
}  // namespace FL_ISA
}  // namespace fl
