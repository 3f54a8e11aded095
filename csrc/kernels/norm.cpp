// Normalisation: moments in one reading, and the loops that scale and shift.
//
// Moments: a block of eight registers is read once; its mean and squared distances, lane by lane, are merged with those
// of the blocks before it (Chan, Golub and LeVeque, 1979). Nothing cancels, however far the mean is from zero.
#include "kernels/norm.h"

#include "simd/vec.h"
#include "tile/isa.h"

namespace fl {
namespace FL_ISA {
namespace {

template <class T>
FL_INLINE T lane_sum(Vec<T> v) {
  T lane[Vec<T>::N];
  v.store(lane);
  for (int step = Vec<T>::N / 2; step; step /= 2)
    for (int k = 0; k < step; k++) lane[k] += lane[k + step];
  return lane[0];
}

// The last elements of an array, and zeros behind them.
template <class T>
FL_INLINE Vec<T> load_some(const T* x, int64_t count) {
  T lane[Vec<T>::N] = {};
  for (int64_t k = 0; k < count; k++) lane[k] = x[k];
  return Vec<T>::load(lane);
}

template <class T>
void moments(const void* data, int64_t n, double* mean_out, double* squares_out) {
  using V = Vec<T>;
  constexpr int lanes = V::N, block = 8;
  const T* x = static_cast<const T*>(data);
  V mean(0), squares(0);
  int64_t i = 0, seen = 0;
  for (; i + block * lanes <= n; i += block * lanes, seen += block) {
    V v[block], sum(0), distances(0);
    for (int k = 0; k < block; k++) v[k] = V::load(x + i + k * lanes);
    for (int k = 0; k < block; k++) sum += v[k];
    V centre = sum * V(T(1) / block);
    for (int k = 0; k < block; k++) distances += (v[k] - centre) * (v[k] - centre);
    const T share = T(block) / T(seen + block);
    V apart = centre - mean;
    mean += apart * V(share);
    squares += distances + apart * apart * V(T(seen) * share);
  }
  for (; i + lanes <= n; i += lanes, seen++) {
    V v = V::load(x + i), apart = v - mean;
    const T share = T(1) / T(seen + 1);
    mean += apart * V(share);
    squares += apart * apart * V(T(seen) * share);
  }
  double m = 0, s = 0;
  if (seen) {
    const T centre = lane_sum(mean) * (T(1) / lanes);
    V apart = mean - V(centre);
    m = centre;
    s = double(lane_sum(squares)) + double(lane_sum(apart * apart)) * double(seen);
  }
  for (; i < n; i++) {
    double apart = double(x[i]) - m;
    m += apart / double(i + 1);
    s += apart * (double(x[i]) - m);
  }
  *mean_out = m;
  *squares_out = s;
}

template <class T>
double squares(const void* data, int64_t n) {
  using V = Vec<T>;
  constexpr int lanes = V::N;
  const T* x = static_cast<const T*>(data);
  V a[4] = {V(0), V(0), V(0), V(0)};
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes)
    for (int k = 0; k < 4; k++) {
      V v = V::load(x + i + k * lanes);
      a[k] += v * v;
    }
  for (; i + lanes <= n; i += lanes) {
    V v = V::load(x + i);
    a[0] += v * v;
  }
  if (i < n) {
    V v = load_some(x + i, n - i);
    a[1] += v * v;
  }
  return double(lane_sum((a[0] + a[1]) + (a[2] + a[3])));
}

template <class T>
void affine(const void* from, void* to, int64_t n, double mean, double scale, double shift) {
  const T* __restrict x = static_cast<const T*>(from);
  const T m = T(mean), a = T(scale), b = T(shift);
  T* __restrict y = static_cast<T*>(to);
  for (int64_t i = 0; i < n; i++) y[i] = (x[i] - m) * a + b;
}

template <class T>
void gradient_sums(const void* gradient, const void* data, int64_t n, double mean, double* sum, double* product) {
  using V = Vec<T>;
  constexpr int lanes = V::N;
  const T *g = static_cast<const T*>(gradient), *x = static_cast<const T*>(data);
  const V m = V(T(mean));
  V s[2] = {V(0), V(0)}, p[2] = {V(0), V(0)};
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes)
    for (int k = 0; k < 2; k++) {
      V v = V::load(g + i + k * lanes);
      s[k] += v;
      p[k] += v * (V::load(x + i + k * lanes) - m);
    }
  for (; i < n; i += lanes) {
    const int64_t count = n - i < lanes ? n - i : lanes;
    V v = load_some(g + i, count);
    s[0] += v;
    p[0] += v * (load_some(x + i, count) - m);
  }
  *sum = double(lane_sum(s[0] + s[1]));
  *product = double(lane_sum(p[0] + p[1]));
}

template <class T>
void gradient(const void* gradient, const void* data, void* result, int64_t n, double mean, double scale, double slope,
              double shift) {
  const T* __restrict g = static_cast<const T*>(gradient), * __restrict x = static_cast<const T*>(data);
  T* __restrict dx = static_cast<T*>(result);
  const T m = T(mean), a = T(scale), s = T(slope), b = T(shift);
  for (int64_t i = 0; i < n; i++) dx[i] = g[i] * a + ((x[i] - m) * s + b);
}

template <class T>
void row_affine(const void* from, void* to, const void* weight, const void* bias, int64_t n, double mean,
                double scale) {
  const T* __restrict x = static_cast<const T*>(from), * __restrict w = static_cast<const T*>(weight), * __restrict b = static_cast<const T*>(bias);
  T* __restrict y = static_cast<T*>(to);
  const T m = T(mean), a = T(scale);
  if (w && b)
    for (int64_t i = 0; i < n; i++) y[i] = (x[i] - m) * a * w[i] + b[i];
  else if (w)
    for (int64_t i = 0; i < n; i++) y[i] = (x[i] - m) * a * w[i];
  else if (b)
    for (int64_t i = 0; i < n; i++) y[i] = (x[i] - m) * a + b[i];
  else
    for (int64_t i = 0; i < n; i++) y[i] = (x[i] - m) * a;
}

template <class T>
void row_gradient(const void* gradient, const void* data, const void* weight, void* result, void* weight_sum,
                  void* bias_sum, int64_t n, double mean, double scale, bool centred) {
  using V = Vec<T>;
  constexpr int lanes = V::N;
  const T *g = static_cast<const T*>(gradient), *x = static_cast<const T*>(data), *w = static_cast<const T*>(weight);
  T *dw = static_cast<T*>(weight_sum), *db = static_cast<T*>(bias_sum);
  const T m = T(mean), a = T(scale);
  if (dw)
    for (int64_t i = 0; i < n; i++) dw[i] += g[i] * ((x[i] - m) * a);
  if (db)
    for (int64_t i = 0; i < n; i++) db[i] += g[i];
  if (!result) return;
  V s[2] = {V(0), V(0)}, p[2] = {V(0), V(0)};
  auto add = [&](int k, V gv, V xv, V wv) {
    V v = w ? gv * wv : gv;
    s[k] += v;
    p[k] += v * ((xv - V(m)) * V(a));
  };
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes)
    for (int k = 0; k < 2; k++)
      add(k, V::load(g + i + k * lanes), V::load(x + i + k * lanes), w ? V::load(w + i + k * lanes) : V(0));
  for (; i < n; i += lanes) {
    const int64_t count = n - i < lanes ? n - i : lanes;
    add(0, load_some(g + i, count), load_some(x + i, count), w ? load_some(w + i, count) : V(0));
  }
  const T shift = centred ? T(-double(lane_sum(s[0] + s[1])) / double(n) * scale) : T(0);
  const T slope = T(-double(lane_sum(p[0] + p[1])) / double(n) * scale * scale);
  T* __restrict dx = static_cast<T*>(result);
  if (w)
    for (int64_t i = 0; i < n; i++) dx[i] = g[i] * w[i] * a + ((x[i] - m) * slope + shift);
  else
    for (int64_t i = 0; i < n; i++) dx[i] = g[i] * a + ((x[i] - m) * slope + shift);
}

template <class T>
void column_sums(const void* data, int64_t rows, int64_t n, void* sum) {
  const T* __restrict x = static_cast<const T*>(data);
  T* __restrict s = static_cast<T*>(sum);
  for (int64_t r = 0; r < rows; r++, x += n)
    for (int64_t i = 0; i < n; i++) s[i] += x[i];
}

template <class T>
void column_squares(const void* data, int64_t rows, int64_t n, const void* mean, void* squares) {
  const T* __restrict x = static_cast<const T*>(data), * __restrict m = static_cast<const T*>(mean);
  T* __restrict s = static_cast<T*>(squares);
  for (int64_t r = 0; r < rows; r++, x += n)
    for (int64_t i = 0; i < n; i++) s[i] += (x[i] - m[i]) * (x[i] - m[i]);
}

template <class T>
void column_gradient_sums(const void* gradient, const void* data, int64_t rows, int64_t n, const void* mean, void* sum,
                          void* product) {
  const T* __restrict g = static_cast<const T*>(gradient), * __restrict x = static_cast<const T*>(data), * __restrict m = static_cast<const T*>(mean);
  T* __restrict s = static_cast<T*>(sum), * __restrict p = static_cast<T*>(product);
  for (int64_t r = 0; r < rows; r++, x += n, g += n)
    for (int64_t i = 0; i < n; i++) {
      s[i] += g[i];
      p[i] += g[i] * (x[i] - m[i]);
    }
}

template <class T>
void column_affine(const void* data, void* result, int64_t rows, int64_t n, const void* mean, const void* scale,
                   const void* shift) {
  const T* __restrict x = static_cast<const T*>(data), * __restrict m = static_cast<const T*>(mean), * __restrict a = static_cast<const T*>(scale), * __restrict b = static_cast<const T*>(shift);
  T* __restrict y = static_cast<T*>(result);
  for (int64_t r = 0; r < rows; r++, x += n, y += n)
    for (int64_t i = 0; i < n; i++) y[i] = (x[i] - m[i]) * a[i] + b[i];
}

template <class T>
void column_gradient(const void* gradient, const void* data, void* result, int64_t rows, int64_t n, const void* mean,
                     const void* scale, const void* slope, const void* shift) {
  const T* __restrict g = static_cast<const T*>(gradient), * __restrict x = static_cast<const T*>(data), * __restrict m = static_cast<const T*>(mean);
  const T* __restrict a = static_cast<const T*>(scale), * __restrict s = static_cast<const T*>(slope), * __restrict b = static_cast<const T*>(shift);
  T* __restrict dx = static_cast<T*>(result);
  for (int64_t r = 0; r < rows; r++, x += n, g += n, dx += n)
    for (int64_t i = 0; i < n; i++) dx[i] = g[i] * a[i] + ((x[i] - m[i]) * s[i] + b[i]);
}

template <class T>
constexpr NormKernels kernels() {
  return {moments<T>,       squares<T>,        affine<T>,      gradient_sums<T>,  gradient<T>,
          row_affine<T>,    row_gradient<T>,   column_sums<T>, column_squares<T>, column_gradient_sums<T>,
          column_affine<T>, column_gradient<T>};
}

bool install() {
  if (machine_isa() < FL_THIS_ISA) return false;
  norm_kernels[0] = kernels<float>();
  norm_kernels[1] = kernels<double>();
  return true;
}
const bool installed = install();

}  // namespace
}  // namespace FL_ISA
}  // namespace fl
