// The largest element of each window, and where it is: the first of equals, the last NaN.
#include <limits>

#include "kernels/pool.h"
#include "simd/vec.h"
#include "tile/isa.h"

namespace fl {
namespace FL_ISA {
namespace {

template <class T>
constexpr T lowest() {
  if constexpr (std::is_floating_point_v<T>)
    return -std::numeric_limits<T>::infinity();
  else
    return std::numeric_limits<T>::min();
}

// An index as wide as the element, so that both fill vectors alike.
template <class T>
using Index = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
template <class T>
bool fits(const PoolShape& s) {
  return s.input_size <= std::numeric_limits<Index<T>>::max();
}

// Selected by masks of bits: random data would mispredict a branch at every other element.
template <class T, class I>
FL_INLINE void take(T v, I place, T& best, I& best_place) {
  using Bits = std::make_unsigned_t<typename SignedOfSize<sizeof(T)>::Type>;
  const bool better = (v > best) | (v != v);
  const Bits bits = Bits(0) - Bits(better);
  best = __builtin_bit_cast(T, Bits((__builtin_bit_cast(Bits, v) & bits) | (__builtin_bit_cast(Bits, best) & ~bits)));
  const I mask = I(0) - I(better);
  best_place = (place & mask) | (best_place & ~mask);
}

template <class T>
void one_window(const PoolShape& s, const T* plane, T* output, int64_t* index, int64_t oz, int64_t oy, int64_t ox) {
  T best = lowest<T>();
  int64_t place = (s.first[0][oz] * s.input[1] + s.first[1][oy]) * s.input[2] + s.first[2][ox];
  for (int64_t z = s.first[0][oz]; z < s.last[0][oz]; z += s.step[0])
    for (int64_t y = s.first[1][oy]; y < s.last[1][oy]; y += s.step[1]) {
      int64_t line = (z * s.input[1] + y) * s.input[2];
      for (int64_t x = s.first[2][ox]; x < s.last[2][ox]; x += s.step[2]) take(plane[line + x], line + x, best, place);
    }
  *output = best;
  if (index) *index = place;
}

constexpr int64_t kMostColumns = 1024;

// Adds column k of the windows to the maxima of a line of output.
template <int fixed_stride, class T, class I>
FL_INLINE void take_column(const T* line, I line_place, int64_t stride, int64_t begin, int64_t end, T* best, I* place) {
  const int64_t s = fixed_stride ? fixed_stride : stride;
  for (int64_t x = begin; x < end; x++) take(line[x * s], static_cast<I>(line_place + x * s), best[x], place[x]);
}

// A line of output at a time: vectors run along it.
template <class T>
void one_line(const PoolShape& s, const T* plane, T* output, int64_t* index, int64_t oz, int64_t oy) {
  using I = Index<T>;
  T best[kMostColumns];
  I place[kMostColumns];
  const int64_t width = s.output[2], stride = s.stride[2];
  const int64_t corner = (s.first[0][oz] * s.input[1] + s.first[1][oy]) * s.input[2];
  for (int64_t x = 0; x < width; x++) {
    best[x] = lowest<T>();
    place[x] = static_cast<I>(corner + s.first[2][x]);
  }
  for (int64_t z = s.first[0][oz]; z < s.last[0][oz]; z += s.step[0])
    for (int64_t y = s.first[1][oy]; y < s.last[1][oy]; y += s.step[1]) {
      const int64_t line = (z * s.input[1] + y) * s.input[2];
      for (int64_t k = 0; k < s.kernel[2]; k++) {
        const int64_t shift = k * s.step[2] - s.padding[2];
        int64_t begin = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
        int64_t end = s.input[2] - 1 - shift < 0 ? 0 : (s.input[2] - 1 - shift) / stride + 1;
        if (end > width) end = width;
        const T* from = plane + line + shift;
        const I from_place = static_cast<I>(line + shift);
        if (stride == 1)
          take_column<1>(from, from_place, 1, begin, end, best, place);
        else if (stride == 2)
          take_column<2>(from, from_place, 2, begin, end, best, place);
        else
          take_column<0>(from, from_place, stride, begin, end, best, place);
      }
    }
  memcpy(output, best, static_cast<size_t>(width) * sizeof(T));
  if (index)
    for (int64_t x = 0; x < width; x++) index[x] = place[x];
}

template <class T>
void max_planes(const PoolShape& s, const void* input, void* output, int64_t* indices, int64_t begin, int64_t end) {
  const bool by_lines = s.regular && s.output[2] >= 8 && s.output[2] <= kMostColumns && fits<T>(s);
  for (int64_t p = begin; p < end; p++) {
    const T* plane = static_cast<const T*>(input) + p * s.input_size;
    T* out = static_cast<T*>(output) + p * s.output_size;
    int64_t* index = indices ? indices + p * s.output_size : nullptr;
    int64_t o = 0;
    for (int64_t oz = 0; oz < s.output[0]; oz++)
      for (int64_t oy = 0; oy < s.output[1]; oy++) {
        if (by_lines) {
          one_line(s, plane, out + o, index ? index + o : nullptr, oz, oy);
          o += s.output[2];
        } else {
          for (int64_t ox = 0; ox < s.output[2]; ox++, o++)
            one_window(s, plane, out + o, index ? index + o : nullptr, oz, oy, ox);
        }
      }
  }
}

// Vectors run along the channels.
template <class T, class I>
void one_window_channels(const PoolShape& s, const T* image, T* output, int64_t* index, int64_t oz, int64_t oy,
                         int64_t ox, int64_t count) {
  constexpr int64_t kMost = 256;
  T best[kMost];
  I place[kMost];
  const int64_t corner = (s.first[0][oz] * s.input[1] + s.first[1][oy]) * s.input[2] + s.first[2][ox];
  for (int64_t c = 0; c < count; c++) {
    best[c] = lowest<T>();
    place[c] = static_cast<I>(corner);
  }
  for (int64_t z = s.first[0][oz]; z < s.last[0][oz]; z += s.step[0])
    for (int64_t y = s.first[1][oy]; y < s.last[1][oy]; y += s.step[1])
      for (int64_t x = s.first[2][ox]; x < s.last[2][ox]; x += s.step[2]) {
        const int64_t at = (z * s.input[1] + y) * s.input[2] + x;
        const T* from = image + at * s.channels;
        for (int64_t c = 0; c < count; c++) take(from[c], static_cast<I>(at), best[c], place[c]);
      }
  memcpy(output, best, static_cast<size_t>(count) * sizeof(T));
  if (index)
    for (int64_t c = 0; c < count; c++) index[c] = place[c];
}

template <class T>
void max_channels_last(const PoolShape& s, const void* input, void* output, int64_t* indices, int64_t begin,
                       int64_t end) {
  const bool narrow = fits<T>(s);
  for (int64_t n = begin; n < end; n++) {
    const T* image = static_cast<const T*>(input) + n * s.input_size * s.channels;
    int64_t at = n * s.output_size * s.channels;
    for (int64_t oz = 0; oz < s.output[0]; oz++)
      for (int64_t oy = 0; oy < s.output[1]; oy++)
        for (int64_t ox = 0; ox < s.output[2]; ox++)
          for (int64_t c = 0; c < s.channels; c += 256) {
            const int64_t count = s.channels - c < 256 ? s.channels - c : 256;
            T* out = static_cast<T*>(output) + at;
            int64_t* index = indices ? indices + at : nullptr;
            if (narrow)
              one_window_channels<T, Index<T>>(s, image + c, out, index, oz, oy, ox, count);
            else
              one_window_channels<T, int64_t>(s, image + c, out, index, oz, oy, ox, count);
            at += count;
          }
  }
}

bool install() {
  if (machine_isa() < FL_THIS_ISA) return false;
#define INSTALL(E, T)                                           \
  pool_kernels.max[static_cast<int>(DType::E)] = max_planes<T>; \
  pool_kernels.max_channels_last[static_cast<int>(DType::E)] = max_channels_last<T>;
  // clang-format off
  INSTALL(Float, float)
  INSTALL(Double, double)
  INSTALL(Int64, int64_t)
  INSTALL(Int32, int32_t)
  INSTALL(Int16, int16_t)
  INSTALL(Int8, int8_t) INSTALL(UInt8, uint8_t)
// clang-format on
#undef INSTALL
      return true;
}
const bool installed = install();

}  // namespace
}  // namespace FL_ISA
}  // namespace fl
