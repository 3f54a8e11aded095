// Means of windows. The lines under a window are added first, as vectors; then its columns.
#include <vector>

#include "kernels/pool.h"
#include "simd/vec.h"
#include "tile/isa.h"

namespace fl {
namespace FL_ISA {
namespace {

FL_INLINE int64_t divisor(const PoolShape& s, int64_t oz, int64_t oy, int64_t ox) {
  return s.divisor ? s.divisor : s.count[0][oz] * s.count[1][oy] * s.count[2][ox];
}
FL_INLINE bool is_empty(const PoolShape& s, int64_t oz, int64_t oy) {
  return s.first[0][oz] >= s.last[0][oz] || s.first[1][oy] >= s.last[1][oy];
}

// A single window that is the whole plane.
bool is_whole_plane(const PoolShape& s) {
  if (s.output_size != 1) return false;
  for (int i = 0; i < 3; i++)
    if (s.first[i][0] != 0 || s.last[i][0] != s.input[i]) return false;
  return true;
}

template <class T>
FL_INLINE T sum(const T* x, int64_t n) {
  using V = Vec<T>;
  constexpr int lanes = V::N;
  V a[4] = {V(0), V(0), V(0), V(0)};
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes)
    for (int k = 0; k < 4; k++) a[k] += V::load(x + i + k * lanes);
  for (; i + lanes <= n; i += lanes) a[0] += V::load(x + i);
  T lane[lanes];
  ((a[0] + a[1]) + (a[2] + a[3])).store(lane);
  for (int k = 0; i < n; i++, k++) lane[k] += x[i];
  for (int step = lanes / 2; step; step /= 2)
    for (int k = 0; k < step; k++) lane[k] += lane[k + step];
  return lane[0];
}

template <class T>
void average(const PoolShape& s, const void* input, void* output, int64_t begin, int64_t end) {
  if (is_whole_plane(s)) {
    const T by = static_cast<T>(divisor(s, 0, 0, 0));
    for (int64_t p = begin; p < end; p++)
      static_cast<T*>(output)[p] = T(sum(static_cast<const T*>(input) + p * s.input_size, s.input_size) / by);
    return;
  }
  std::vector<T> sums(static_cast<size_t>(s.input[2]));
  T* sum = sums.data();
  for (int64_t p = begin; p < end; p++) {
    const T* plane = static_cast<const T*>(input) + p * s.input_size;
    T* out = static_cast<T*>(output) + p * s.output_size;
    for (int64_t oz = 0; oz < s.output[0]; oz++)
      for (int64_t oy = 0; oy < s.output[1]; oy++, out += s.output[2]) {
        const T* line = nullptr;
        for (int64_t z = s.first[0][oz]; z < s.last[0][oz]; z++)
          for (int64_t y = s.first[1][oy]; y < s.last[1][oy]; y++) {
            const T* next = plane + (z * s.input[1] + y) * s.input[2];
            if (!line) {
              line = next;
              continue;
            }
            for (int64_t x = 0; x < s.input[2]; x++) sum[x] = line[x] + next[x];
            line = sum;
          }
        for (int64_t ox = 0; ox < s.output[2]; ox++) {
          T total = 0;
          if (line)
            for (int64_t x = s.first[2][ox]; x < s.last[2][ox]; x++) total += line[x];
          out[ox] = line && s.first[2][ox] < s.last[2][ox] ? T(total / static_cast<T>(divisor(s, oz, oy, ox))) : T(0);
        }
      }
  }
}

template <class T>
void average_back(const PoolShape& s, const void* gradient, void* input_gradient, int64_t begin, int64_t end) {
  std::vector<T> sums(static_cast<size_t>(s.input[2]));
  T* sum = sums.data();
  for (int64_t p = begin; p < end; p++) {
    T* plane = static_cast<T*>(input_gradient) + p * s.input_size;
    const T* g = static_cast<const T*>(gradient) + p * s.output_size;
    memset(plane, 0, static_cast<size_t>(s.input_size) * sizeof(T));
    for (int64_t oz = 0; oz < s.output[0]; oz++)
      for (int64_t oy = 0; oy < s.output[1]; oy++, g += s.output[2]) {
        if (is_empty(s, oz, oy)) continue;
        memset(sum, 0, sums.size() * sizeof(T));
        for (int64_t ox = 0; ox < s.output[2]; ox++) {
          if (s.first[2][ox] >= s.last[2][ox]) continue;
          const T part = T(g[ox] / static_cast<T>(divisor(s, oz, oy, ox)));
          for (int64_t x = s.first[2][ox]; x < s.last[2][ox]; x++) sum[x] += part;
        }
        for (int64_t z = s.first[0][oz]; z < s.last[0][oz]; z++)
          for (int64_t y = s.first[1][oy]; y < s.last[1][oy]; y++) {
            T* line = plane + (z * s.input[1] + y) * s.input[2];
            for (int64_t x = 0; x < s.input[2]; x++) line[x] += sum[x];
          }
      }
  }
}

// Calls f(offset of the pixel) for each pixel of a window.
template <class F>
FL_INLINE void for_each_pixel(const PoolShape& s, int64_t oz, int64_t oy, int64_t ox, F f) {
  for (int64_t z = s.first[0][oz]; z < s.last[0][oz]; z++)
    for (int64_t y = s.first[1][oy]; y < s.last[1][oy]; y++)
      for (int64_t x = s.first[2][ox]; x < s.last[2][ox]; x++) f(((z * s.input[1] + y) * s.input[2] + x) * s.channels);
}

template <class T>
void average_channels_last(const PoolShape& s, const void* input, void* output, int64_t begin, int64_t end) {
  T* out = static_cast<T*>(output) + begin * s.output_size * s.channels;
  for (int64_t n = begin; n < end; n++) {
    const T* image = static_cast<const T*>(input) + n * s.input_size * s.channels;
    for (int64_t oz = 0; oz < s.output[0]; oz++)
      for (int64_t oy = 0; oy < s.output[1]; oy++)
        for (int64_t ox = 0; ox < s.output[2]; ox++, out += s.channels) {
          memset(out, 0, static_cast<size_t>(s.channels) * sizeof(T));
          bool any = false;
          for_each_pixel(s, oz, oy, ox, [&](int64_t at) {
            any = true;
            for (int64_t c = 0; c < s.channels; c++) out[c] += image[at + c];
          });
          if (!any) continue;
          const T by = static_cast<T>(divisor(s, oz, oy, ox));
          for (int64_t c = 0; c < s.channels; c++) out[c] = T(out[c] / by);
        }
  }
}

template <class T>
void average_back_channels_last(const PoolShape& s, const void* gradient, void* input_gradient, int64_t begin,
                                int64_t end) {
  const T* g = static_cast<const T*>(gradient) + begin * s.output_size * s.channels;
  std::vector<T> parts(static_cast<size_t>(s.channels));
  T* part = parts.data();
  for (int64_t n = begin; n < end; n++) {
    T* image = static_cast<T*>(input_gradient) + n * s.input_size * s.channels;
    memset(image, 0, static_cast<size_t>(s.input_size * s.channels) * sizeof(T));
    for (int64_t oz = 0; oz < s.output[0]; oz++)
      for (int64_t oy = 0; oy < s.output[1]; oy++)
        for (int64_t ox = 0; ox < s.output[2]; ox++, g += s.channels) {
          if (is_empty(s, oz, oy) || s.first[2][ox] >= s.last[2][ox]) continue;
          const T by = static_cast<T>(divisor(s, oz, oy, ox));
          for (int64_t c = 0; c < s.channels; c++) part[c] = T(g[c] / by);
          for_each_pixel(s, oz, oy, ox, [&](int64_t at) {
            for (int64_t c = 0; c < s.channels; c++) image[at + c] += part[c];
          });
        }
  }
}

bool install() {
  if (machine_isa() < FL_THIS_ISA) return false;
#define INSTALL(E, T)                                                                        \
  pool_kernels.average[static_cast<int>(DType::E)] = average<T>;                             \
  pool_kernels.average_channels_last[static_cast<int>(DType::E)] = average_channels_last<T>; \
  pool_kernels.average_back[static_cast<int>(DType::E)] = average_back<T>;                   \
  pool_kernels.average_back_channels_last[static_cast<int>(DType::E)] = average_back_channels_last<T>;
  INSTALL(Float, float)
  INSTALL(Double, double)
  INSTALL(Int64, int64_t)
#undef INSTALL
  return true;
}
const bool installed = install();

}  // namespace
}  // namespace FL_ISA
}  // namespace fl
