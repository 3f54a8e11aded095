// Sampling of images at places given by a grid. Whatever the mode, a sample is a weighted sum of pixels, its taps; they
// are found axis by axis.
#include "kernels/grid_sample.h"

#include <cmath>
#include <string>

#include "autograd/record.h"
#include "base/threads.h"
#include "ops/nn/layout.h"

namespace fl {

SampleKernels<float> float_sample_kernels;
SampleKernels<double> double_sample_kernels;

namespace {

enum class Mode : int64_t { Linear, Nearest, Cubic };
enum class Padding : int64_t { Zeros, Border, Reflection };

struct Options {
  Mode mode;
  Padding padding;
  bool align_corners;
};

// Along one axis: pixels, their weights, and the derivatives of the weights by the grid's coordinate.
template <class T>
struct AxisTaps {
  int count = 0;
  int64_t at[4];
  T weight[4], slope[4];
};

// A coordinate and its derivative by the grid's.
template <class T>
struct Place {
  T x, slope;
};

template <class T>
Place<T> clipped(Place<T> p, int64_t size) {
  const T most = static_cast<T>(size - 1);
  if (!(p.x > 0)) return {0, 0};
  return p.x >= most ? Place<T>{most, 0} : p;
}

template <class T>
Place<T> reflected(Place<T> p, int64_t size, bool align_corners) {
  const T low = align_corners ? T(0) : T(-0.5), span = align_corners ? static_cast<T>(size - 1) : static_cast<T>(size);
  if (span <= 0) return {0, 0};
  T distance = p.x - low, sign = 1;
  if (distance < 0) {
    distance = -distance;
    sign = -1;
  }
  const T rest = std::fmod(distance, span), flips = std::floor(distance / span);
  if (std::fmod(flips, T(2)) == 0) return {rest + low, p.slope * sign};
  return {span - rest + low, -p.slope * sign};
}

template <class T>
Place<T> padded(Place<T> p, int64_t size, const Options& o) {
  if (o.padding == Padding::Border) return clipped(p, size);
  if (o.padding == Padding::Reflection) return clipped(reflected(p, size, o.align_corners), size);
  return p;
}

// The cubic convolution of Keys (1981) with a = -3/4: the weight of a pixel at a distance, and its derivative.
template <class T>
T cubic(T d) {
  constexpr T a = T(-0.75);
  d = std::abs(d);
  return d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : ((d - 5) * d + 8) * d * a - 4 * a;
}
template <class T>
T cubic_slope(T d) {
  constexpr T a = T(-0.75);
  const T s = d < 0 ? T(-1) : T(1);
  d = std::abs(d);
  return s * (d <= 1 ? (3 * (a + 2) * d - 2 * (a + 3)) * d : a * ((3 * d - 10) * d + 8));
}

// Far away from every pixel, and still an integer.
template <class T>
T tamed(T x) {
  return std::abs(x) < T(1e9) ? x : T(-1e9);
}

template <class T>
AxisTaps<T> axis_taps(T coordinate, int64_t size, const Options& o) {
  Place<T> p = o.align_corners ? Place<T>{(coordinate + 1) / 2 * static_cast<T>(size - 1), static_cast<T>(size - 1) / 2}
                               : Place<T>{((coordinate + 1) * static_cast<T>(size) - 1) / 2, static_cast<T>(size) / 2};
  AxisTaps<T> r;
  if (o.mode == Mode::Cubic) {
    p.x = tamed(p.x);
    const T floor = std::floor(p.x);
    r.count = 4;
    for (int k = 0; k < 4; k++) {
      const T pixel = floor + static_cast<T>(k - 1);
      r.at[k] = static_cast<int64_t>(padded(Place<T>{pixel, 1}, size, o).x);
      r.weight[k] = cubic(p.x - pixel);
      r.slope[k] = cubic_slope(p.x - pixel) * p.slope;
    }
    return r;
  }
  p = padded(p, size, o);
  p.x = tamed(p.x);
  if (o.mode == Mode::Nearest) {
    r.count = 1;
    r.at[0] = static_cast<int64_t>(std::nearbyint(p.x));
    r.weight[0] = 1;
    r.slope[0] = 0;
    return r;
  }
  const T floor = std::floor(p.x);
  r.count = 2;
  r.at[0] = static_cast<int64_t>(floor);
  r.at[1] = r.at[0] + 1;
  r.weight[1] = p.x - floor;
  r.weight[0] = 1 - r.weight[1];
  r.slope[0] = -p.slope;
  r.slope[1] = p.slope;
  return r;
}

template <class T>
struct Taps {
  int count = 0;
  int64_t at[16];  // within a plane
  T weight[16], slope[16][3];
};

// In three dimensions; missing ones come first and have size 1.
struct Shape {
  Shape(const Tensor& input, const Tensor& grid)
      : dims(static_cast<int>(input.dim()) - 2), batch(input.size(0)), channels(input.size(1)) {
    for (int i = 0; i < dims; i++) {
      size[3 - dims + i] = input.size(2 + i);
      plane *= input.size(2 + i);
      samples *= grid.size(1 + i);
    }
  }
  int dims;
  int64_t batch, channels, size[3] = {1, 1, 1}, plane = 1, samples = 1;
};

// `point` holds the coordinates, the last dimension's first.
template <class T>
Taps<T> taps(const T* point, const Shape& s, const Options& o) {
  AxisTaps<T> axis[3];
  for (int i = 0; i < 3; i++) {
    if (i < 3 - s.dims) {
      axis[i].count = 1;
      axis[i].at[0] = 0;
      axis[i].weight[0] = 1;
      axis[i].slope[0] = 0;
    } else {
      axis[i] = axis_taps(point[2 - i], s.size[i], o);
    }
  }
  Taps<T> r;
  for (int z = 0; z < axis[0].count; z++)
    for (int y = 0; y < axis[1].count; y++)
      for (int x = 0; x < axis[2].count; x++) {
        const int64_t at[3] = {axis[0].at[z], axis[1].at[y], axis[2].at[x]};
        bool inside = true;
        for (int i = 0; i < 3; i++) inside &= at[i] >= 0 && at[i] < s.size[i];
        if (!inside) continue;
        const T wz = axis[0].weight[z], wy = axis[1].weight[y], wx = axis[2].weight[x];
        r.at[r.count] = (at[0] * s.size[1] + at[1]) * s.size[2] + at[2];
        r.weight[r.count] = wz * wy * wx;
        r.slope[r.count][0] = axis[0].slope[z] * wy * wx;
        r.slope[r.count][1] = wz * axis[1].slope[y] * wx;
        r.slope[r.count][2] = wz * wy * axis[2].slope[x];
        r.count++;
      }
  return r;
}

// Bilinear samples of planes, the common case, go by blocks.
bool by_blocks(const Shape& s, const Options& o) {
  return s.dims == 2 && o.mode == Mode::Linear && o.padding != Padding::Reflection && s.plane < (1 << 30);
}

template <class T>
const SampleKernels<T>& sample_kernels() {
  if constexpr (std::is_same_v<T, double>)
    return double_sample_kernels;
  else
    return float_sample_kernels;
}

// Calls f(image, first sample in it, samples, taps) for the blocks of images [begin, end).
template <class T, class F>
void for_each_block(const Tensor& grid, const Shape& s, const Options& o, int64_t begin, int64_t end, F&& f) {
  BilinearTaps<T> taps;
  for (int64_t image = begin; image < end; image++) {
    for (int64_t first = 0; first < s.samples; first += kSampleBlock) {
      const int64_t n = std::min(kSampleBlock, s.samples - first);
      sample_kernels<T>().taps(grid.data<T>() + (image * s.samples + first) * 2, n, s.size[1], s.size[2],
                               o.padding == Padding::Border, o.align_corners, &taps);
      f(image, first, n, taps);
    }
  }
}

template <class T>
void sample_blocks(const Tensor& input, const Tensor& grid, const Tensor& output, const Shape& s, const Options& o) {
  parallel_for(0, s.batch, 1, [&](int64_t begin, int64_t end) {
    for_each_block<T>(grid, s, o, begin, end, [&](int64_t image, int64_t first, int64_t n, const BilinearTaps<T>& t) {
      for (int64_t c = image * s.channels; c < (image + 1) * s.channels; c++) {
        sample_kernels<T>().sum(t, input.data<T>() + c * s.plane, n, output.data<T>() + c * s.samples + first);
      }
    });
  });
}

template <class T>
void sample_blocks_back(const Tensor& gradient, const Tensor& input, const Tensor& grid, const Tensor& dx,
                        const Tensor& dgrid, const Shape& s, const Options& o) {
  parallel_for(0, s.batch, 1, [&](int64_t begin, int64_t end) {
    for_each_block<T>(grid, s, o, begin, end, [&](int64_t image, int64_t first, int64_t n, const BilinearTaps<T>& t) {
      T x[kSampleBlock] = {}, y[kSampleBlock] = {};
      for (int64_t c = image * s.channels; c < (image + 1) * s.channels; c++) {
        const T* g = gradient.data<T>() + c * s.samples + first;
        sample_kernels<T>().slopes(t, input.data<T>() + c * s.plane, g, n, x, y);
        T* plane = dx.data<T>() + c * s.plane;
        for (int64_t i = 0; i < n; i++) {
          for (int k = 0; k < 4; k++) {
            if (t.weight[k][i] != 0) plane[t.at[k][i]] += t.weight[k][i] * g[i];
          }
        }
      }
      T* to = dgrid.data<T>() + (image * s.samples + first) * 2;
      for (int64_t i = 0; i < n; i++) {
        to[2 * i] = x[i];
        to[2 * i + 1] = y[i];
      }
    });
  });
}

template <class T>
void sample(const Tensor& input, const Tensor& grid, const Tensor& output, const Options& o) {
  const Shape s(input, grid);
  if (by_blocks(s, o)) return sample_blocks<T>(input, grid, output, s, o);
  parallel_for(0, s.batch * s.samples, std::max<int64_t>(64, (1 << 13) / std::max<int64_t>(1, s.channels)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; i++) {
                   const Taps<T> t = taps(grid.data<T>() + i * s.dims, s, o);
                   const T* image = input.data<T>() + i / s.samples * s.channels * s.plane;
                   T* out = output.data<T>() + i / s.samples * s.channels * s.samples + i % s.samples;
                   for (int64_t c = 0; c < s.channels; c++, image += s.plane, out += s.samples) {
                     T sum = 0;
                     for (int k = 0; k < t.count; k++) sum += t.weight[k] * image[t.at[k]];
                     *out = sum;
                   }
                 }
               });
}

// Samples of an image may share pixels, so each image is one thread's.
template <class T>
void sample_back(const Tensor& gradient, const Tensor& input, const Tensor& grid, const Tensor& dx, const Tensor& dgrid,
                 const Options& o) {
  const Shape s(input, grid);
  if (by_blocks(s, o)) return sample_blocks_back<T>(gradient, input, grid, dx, dgrid, s, o);
  parallel_for(0, s.batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * s.samples; i < end * s.samples; i++) {
      const Taps<T> t = taps(grid.data<T>() + i * s.dims, s, o);
      const int64_t image = i / s.samples * s.channels * s.plane;
      const T* g = gradient.data<T>() + i / s.samples * s.channels * s.samples + i % s.samples;
      T slope[3] = {0, 0, 0};
      for (int64_t c = 0; c < s.channels; c++, g += s.samples) {
        const int64_t plane = image + c * s.plane;
        for (int k = 0; k < t.count; k++) {
          if (dx) dx.data<T>()[plane + t.at[k]] += t.weight[k] * *g;
          const T product = input.data<T>()[plane + t.at[k]] * *g;
          for (int d = 0; d < 3; d++) slope[d] += t.slope[k][d] * product;
        }
      }
      for (int d = 0; d < s.dims; d++) dgrid.data<T>()[i * s.dims + d] = slope[2 - d];
    }
  });
}

void check(const Tensor& input, const Tensor& grid, int64_t mode, int64_t padding) {
  const char* op = "grid_sample";
  FL_CHECK(input.dim() == 4 || input.dim() == 5, op, ": input must have 4 or 5 dimensions, got ",
           shape_text(input.sizes()));
  FL_CHECK(input.is_floating(), ErrorKind::NotImplemented, op, " isn't implemented for ", info(input.dtype()).name);
  FL_CHECK(grid.dtype() == input.dtype(), op, ": input (", info(input.dtype()).name, ") and grid (",
           info(grid.dtype()).name, ") must have the same type");
  FL_CHECK(grid.dim() == input.dim(), op, ": grid must have ", input.dim(), " dimensions like the input, got ",
           shape_text(grid.sizes()));
  FL_CHECK(grid.size(0) == input.size(0), op, ": input ", shape_text(input.sizes()), " and grid ",
           shape_text(grid.sizes()), " must have the same batch size");
  FL_CHECK(grid.size(-1) == input.dim() - 2, op, ": the last size of the grid must be ", input.dim() - 2, ", got ",
           shape_text(grid.sizes()));
  for (int64_t d = 2; d < input.dim(); d++)
    FL_CHECK(input.size(d) > 0, op, ": input must have non-empty spatial dimensions, got ", shape_text(input.sizes()));
  FL_CHECK(mode >= 0 && mode <= 2 && padding >= 0 && padding <= 2, op, ": unknown interpolation or padding mode, ",
           mode, " and ", padding);
  FL_CHECK(static_cast<Mode>(mode) != Mode::Cubic || input.dim() == 4, op,
           ": bicubic interpolation needs input of 4 dimensions, got ", shape_text(input.sizes()));
}

Tensor grid_sampler_kernel(const Tensor& input, const Tensor& grid, int64_t mode, int64_t padding, bool align_corners) {
  check(input, grid, mode, padding);
  Dims sizes{input.size(0), input.size(1)};
  for (int64_t d = 1; d + 1 < grid.dim(); d++) sizes.push_back(grid.size(d));
  const DType type = compute_type(input.dtype());
  if (input.is_meta()) return empty(sizes, input.dtype(), input.device());
  const Options o{static_cast<Mode>(mode), static_cast<Padding>(padding), align_corners};
  const Tensor x = contiguous(converted(input, type)), points = contiguous(converted(grid, type)),
               y = empty(sizes, type);
  if (y.numel() > 0) {
    if (type == DType::Double)
      sample<double>(x, points, y, o);
    else
      sample<float>(x, points, y, o);
  }
  return laid_out_as(dense_planes(input), converted(y, input.dtype()));
}

std::tuple<Tensor, Tensor> grid_sampler_backward(const Tensor& gradient, const Tensor& input, const Tensor& grid,
                                                 int64_t mode, int64_t padding, bool align_corners) {
  const DType type = compute_type(input.dtype());
  const Options o{static_cast<Mode>(mode), static_cast<Padding>(padding), align_corners};
  const Tensor dx = zeros(input.sizes(), type, input.device()), dgrid = zeros(grid.sizes(), type, input.device());
  if (!input.is_meta() && dgrid.numel() > 0) {
    const Tensor g = contiguous(converted(gradient, type)), x = contiguous(converted(input, type)),
                 points = contiguous(converted(grid, type));
    if (type == DType::Double)
      sample_back<double>(g, x, points, dx, dgrid, o);
    else
      sample_back<float>(g, x, points, dx, dgrid, o);
  }
  return {converted(dx, input.dtype()), converted(dgrid, grid.dtype())};
}

const Op sampler("torch.grid_sampler"), sampler_backward("_C._grid_sampler_backward");

template <int ndim>
Tensor grid_sampler_of(const Tensor& input, const Tensor& grid, int64_t mode, int64_t padding, bool align_corners) {
  FL_CHECK(input.dim() == ndim, "grid_sampler: input must have ", ndim, " dimensions, got ", shape_text(input.sizes()));
  return sampler(input, grid, mode, padding, align_corners);
}

Tensor grid_sample(const Tensor& input, const Tensor& grid, std::string_view mode, std::string_view padding,
                   std::optional<bool> align_corners) {
  const char* op = "grid_sample";
  const int64_t mode_number = mode == "bilinear" ? 0 : mode == "nearest" ? 1 : mode == "bicubic" ? 2 : -1;
  const int64_t padding_number = padding == "zeros" ? 0 : padding == "border" ? 1 : padding == "reflection" ? 2 : -1;
  FL_CHECK(mode_number >= 0, ErrorKind::Value, op, ": mode must be 'bilinear', 'nearest' or 'bicubic', got '", mode,
           "'");
  FL_CHECK(padding_number >= 0, ErrorKind::Value, op, ": padding_mode must be 'zeros', 'border' or 'reflection', got '",
           padding, "'");
  if (!align_corners) {
    const char* text =
        "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
        "align_corners=True if the old behavior is desired. "
        "See the documentation of grid_sample for details.";
    if (PyErr_WarnEx(PyExc_UserWarning, text, 1) < 0) throw PythonError();
  }
  return sampler(input, grid, mode_number, padding_number, align_corners.value_or(false));
}

const Declare ops([] {
  Define(
      "torch.grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> "
      "Tensor")
      .kernel<grid_sampler_kernel>()
      .node("GridSamplerBackward0")
      .vjp("input grid",
           [](Vjp& v) {
             std::vector<Tensor> r =
                 sampler_backward.list(v.grad(), v.input(0), v.input(1), v.value(2), v.value(3), v.value(4));
             if (v.needs(0)) v.set(0, r[0]);
             if (v.needs(1)) v.set(1, r[1]);
           })
      .doc("grid_sample with modes as numbers: 0 bilinear, 1 nearest, 2 bicubic; 0 zeros, 1 border, 2 reflection.");
  Define(
      "torch.grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) "
      "-> Tensor")
      .composite<grid_sampler_of<4>>();
  Define(
      "torch.grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) "
      "-> Tensor")
      .composite<grid_sampler_of<5>>();
  Define(
      "_C._grid_sampler_backward(Tensor gradient, Tensor input, Tensor grid, int interpolation_mode, int padding_mode, "
      "bool align_corners) -> (Tensor, Tensor)")
      .kernel<grid_sampler_backward>();
  Define(
      "nn.grid_sample(Tensor input, Tensor grid, str mode='bilinear', str padding_mode='zeros', bool? "
      "align_corners=None) -> Tensor")
      .composite<grid_sample>()
      .doc(
          "Samples input (N, C, H, W) at grid (N, Ho, Wo, 2), whose coordinates (x, y) run from -1 to 1; in three "
          "dimensions likewise.");
});

}  // namespace
}  // namespace fl
