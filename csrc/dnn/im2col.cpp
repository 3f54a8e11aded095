#include "dnn/im2col.h"

#include <algorithm>
#include <complex>
#include <type_traits>

#include "base/threads.h"
#include "blas/gemm.h"
#include "dnn/buffer.h"

// For each image and group, the pixels under the kernel are gathered into a matrix with a row for each weight and a
// column for each output pixel, a few lines of output at a time so that it stays in the cache. Convolving is then a
// product with the matrix of weights.

namespace fl::dnn {
namespace {

// In three dimensions: missing ones come first and have size 1.
struct Geometry {
  explicit Geometry(const Convolution& shape) {
    for (int i = 0; i < shape.dims; ++i) {
      const int to = 3 - shape.dims + i;
      input[to] = shape.input[i];
      output[to] = shape.output(i);
      kernel[to] = shape.kernel[i];
      stride[to] = shape.stride[i];
      padding[to] = shape.padding[i];
      dilation[to] = shape.dilation[i];
    }
    groups = shape.groups;
    in_channels = shape.in_channels / groups;
    out_channels = shape.out_channels / groups;
    input_size = shape.input_size();
    output_size = shape.output_size();
    rows = in_channels * shape.kernel_size();
    lines = output[0] * output[1];
    lines_per_chunk = std::clamp<int64_t>((1 << 16) / std::max<int64_t>(1, rows * output[2]), 1, lines);
  }

  // The matrix would be the input itself.
  bool is_pointwise() const {
    for (int i = 0; i < 3; ++i) {
      if (kernel[i] != 1 || stride[i] != 1 || padding[i] != 0) return false;
    }
    return true;
  }

  int64_t input[3] = {1, 1, 1}, output[3] = {1, 1, 1}, kernel[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, padding[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};
  int64_t groups, in_channels, out_channels;  // channels of a group
  int64_t input_size, output_size;
  int64_t rows;                    // of the matrix
  int64_t lines, lines_per_chunk;  // of output
};

int64_t input_index(const Geometry& g, int dimension, int64_t output, int64_t kernel) {
  return output * g.stride[dimension] - g.padding[dimension] + kernel * g.dilation[dimension];
}

// Calls f(matrix_index, line_offset, x, width) for every line of the matrix and every line of output in the chunk:
// output pixel i of the line sees input pixel line_offset + x + i * stride, if 0 <= x + i * stride < width. A line
// wholly outside has width 0.
template <class F>
void for_each_line(const Geometry& g, int64_t first_line, int64_t lines, F&& f) {
  const int64_t columns = lines * g.output[2];
  int64_t row = 0;
  for (int64_t c = 0; c < g.in_channels; ++c) {
    for (int64_t kz = 0; kz < g.kernel[0]; ++kz) {
      for (int64_t ky = 0; ky < g.kernel[1]; ++ky) {
        for (int64_t kx = 0; kx < g.kernel[2]; ++kx, ++row) {
          const int64_t x = input_index(g, 2, 0, kx);
          for (int64_t i = 0; i < lines; ++i) {
            const int64_t line = first_line + i;
            const int64_t z = input_index(g, 0, line / g.output[1], kz), y = input_index(g, 1, line % g.output[1], ky);
            const bool inside = z >= 0 && z < g.input[0] && y >= 0 && y < g.input[1];
            const int64_t offset = ((c * g.input[0] + z) * g.input[1] + y) * g.input[2];
            f(row * columns + i * g.output[2], inside ? offset : 0, x, inside ? g.input[2] : 0);
          }
        }
      }
    }
  }
}

// The output pixels of a line that see input: first ... last.
struct Span {
  Span(const Geometry& g, int64_t x, int64_t width) {
    const int64_t step = g.stride[2];
    first = std::min(x >= 0 ? 0 : (-x + step - 1) / step, g.output[2]);
    last = width <= x ? first : std::clamp((width - x + step - 1) / step, first, g.output[2]);
  }
  int64_t first, last;
};

template <class T>
void gather(const Geometry& g, const T* image, int64_t first_line, int64_t lines, T* matrix) {
  for_each_line(g, first_line, lines, [&](int64_t index, int64_t offset, int64_t x, int64_t width) {
    const Span span(g, x, width);
    T* target = matrix + index;
    std::fill_n(target, span.first, T(0));
    for (int64_t i = span.first; i < span.last; ++i) target[i] = image[offset + x + i * g.stride[2]];
    std::fill(target + span.last, target + g.output[2], T(0));
  });
}

// Unsigned types stand for the signed ones, as sums must wrap around.
template <class T>
void scatter_add(const Geometry& g, const T* matrix, int64_t first_line, int64_t lines, T* image) {
  for_each_line(g, first_line, lines, [&](int64_t index, int64_t offset, int64_t x, int64_t width) {
    const Span span(g, x, width);
    for (int64_t i = span.first; i < span.last; ++i) {
      T& pixel = image[offset + x + i * g.stride[2]];
      pixel = static_cast<T>(pixel + matrix[index + i]);
    }
  });
}

template <class F>
void for_each_chunk(const Geometry& g, F&& f) {
  for (int64_t line = 0; line < g.lines; line += g.lines_per_chunk) {
    f(line, std::min(g.lines_per_chunk, g.lines - line));
  }
}

// Images and groups in parallel, several together if they are small.
template <class F>
void for_each_image_and_group(const Convolution& shape, const Geometry& g, F&& f) {
  const double work = static_cast<double>(g.rows) * g.out_channels * g.output_size;
  const int64_t grain = std::max<int64_t>(1, static_cast<int64_t>((1 << 18) / (work + 1)));
  parallel_for(0, shape.batch * g.groups, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i, i % g.groups);
  });
}

template <class T>
Scratch matrix_for(const Geometry& g) {
  return Scratch(g.is_pointwise() ? 0 : sizeof(T) * g.rows * g.lines_per_chunk * g.output[2]);
}

template <class T>
void forward(const Convolution& shape, const T* source, const T* weights, const T* bias, T* destination) {
  const Geometry g(shape);
  for_each_image_and_group(shape, g, [&](int64_t index, int64_t group) {
    const T* image = source + index * g.in_channels * g.input_size;
    T* out = destination + index * g.out_channels * g.output_size;
    for (int64_t c = 0; bias != nullptr && c < g.out_channels; ++c) {
      std::fill_n(out + c * g.output_size, g.output_size, bias[group * g.out_channels + c]);
    }
    const Scratch scratch = matrix_for<T>(g);
    for_each_chunk(g, [&](int64_t line, int64_t lines) {
      const int64_t pixel = line * g.output[2], pixels = lines * g.output[2];
      const T* matrix = g.is_pointwise() ? image + pixel : scratch.as<T>();
      if (!g.is_pointwise()) gather(g, image, line, lines, scratch.as<T>());
      blas::gemm<T>(g.out_channels, pixels, g.rows, T(1), weights + group * g.out_channels * g.rows, {g.rows, 1},
                    matrix, {g.is_pointwise() ? g.input_size : pixels, 1}, T(bias == nullptr ? 0 : 1), out + pixel,
                    {g.output_size, 1});
    });
  });
}

template <class T>
void backward_data(const Convolution& shape, const T* gradient, const T* weights, T* source_gradient) {
  const Geometry g(shape);
  for_each_image_and_group(shape, g, [&](int64_t index, int64_t group) {
    const T* out = gradient + index * g.out_channels * g.output_size;
    T* image = source_gradient + index * g.in_channels * g.input_size;
    const blas::MatrixStrides transposed{1, g.rows};
    const T* group_weights = weights + group * g.out_channels * g.rows;
    if (!g.is_pointwise()) std::fill_n(image, g.in_channels * g.input_size, T(0));
    const Scratch scratch = matrix_for<T>(g);
    for_each_chunk(g, [&](int64_t line, int64_t lines) {
      const int64_t pixel = line * g.output[2], pixels = lines * g.output[2];
      T* matrix = g.is_pointwise() ? image + pixel : scratch.as<T>();
      blas::gemm<T>(g.rows, pixels, g.out_channels, T(1), group_weights, transposed, out + pixel, {g.output_size, 1},
                    T(0), matrix, {g.is_pointwise() ? g.input_size : pixels, 1});
      if (!g.is_pointwise()) scatter_add(g, matrix, line, lines, image);
    });
  });
}

template <class T>
void backward_weights(const Convolution& shape, const T* source, const T* gradient, T* weights_gradient) {
  const Geometry g(shape);
  std::fill_n(weights_gradient, shape.weights_count(), T(0));
  parallel_for(0, g.groups, 1, [&](int64_t begin, int64_t end) {
    const Scratch scratch = matrix_for<T>(g);
    for (int64_t group = begin; group < end; ++group) {
      for (int64_t n = 0; n < shape.batch; ++n) {
        const int64_t index = n * g.groups + group;
        const T* image = source + index * g.in_channels * g.input_size;
        const T* out = gradient + index * g.out_channels * g.output_size;
        for_each_chunk(g, [&](int64_t line, int64_t lines) {
          const int64_t pixel = line * g.output[2], pixels = lines * g.output[2];
          const T* matrix = g.is_pointwise() ? image + pixel : scratch.as<T>();
          if (!g.is_pointwise()) gather(g, image, line, lines, scratch.as<T>());
          const blas::MatrixStrides transposed{1, g.is_pointwise() ? g.input_size : pixels};
          blas::gemm<T>(g.out_channels, g.rows, pixels, T(1), out + pixel, {g.output_size, 1}, matrix, transposed, T(1),
                        weights_gradient + group * g.out_channels * g.rows, {g.rows, 1});
        });
      }
    }
  });
}

template <class T>
void backward_bias(const Convolution& shape, const T* gradient, T* bias_gradient) {
  const int64_t pixels = shape.output_size();
  for (int64_t c = 0; c < shape.out_channels; ++c) {
    T sum(0);
    for (int64_t n = 0; n < shape.batch; ++n) {
      const T* image = gradient + (n * shape.out_channels + c) * pixels;
      T part(0);
      for (int64_t i = 0; i < pixels; ++i) part = static_cast<T>(part + image[i]);
      sum = static_cast<T>(sum + part);
    }
    bias_gradient[c] = sum;
  }
}

// Signed integers are computed as unsigned ones, whose overflow is defined.
template <class T, bool = std::is_integral_v<T>>
struct Wrapping {
  using type = T;
};
template <class T>
struct Wrapping<T, true> {
  using type = std::make_unsigned_t<T>;
};

template <class T>
auto wrapping(T* data) {
  using Element = std::remove_const_t<T>;
  using Unsigned = typename Wrapping<Element>::type;
  return reinterpret_cast<std::conditional_t<std::is_const_v<T>, const Unsigned*, Unsigned*>>(data);
}

}  // namespace

template <class T>
void im2col_convolution(const Convolution& shape, const T* source, const T* weights, const T* bias, T* destination) {
  forward(shape, wrapping(source), wrapping(weights), wrapping(bias), wrapping(destination));
}

template <class T>
void im2col_backward_data(const Convolution& shape, const T* gradient, const T* weights, T* source_gradient) {
  backward_data(shape, wrapping(gradient), wrapping(weights), wrapping(source_gradient));
}

template <class T>
void im2col_backward_weights(const Convolution& shape, const T* source, const T* gradient, T* weights_gradient,
                             T* bias_gradient) {
  backward_weights(shape, wrapping(source), wrapping(gradient), wrapping(weights_gradient));
  if (bias_gradient != nullptr) backward_bias(shape, wrapping(gradient), wrapping(bias_gradient));
}

#define FL_INSTANTIATE(T)                                                                 \
  template void im2col_convolution(const Convolution&, const T*, const T*, const T*, T*); \
  template void im2col_backward_data(const Convolution&, const T*, const T*, T*);         \
  template void im2col_backward_weights(const Convolution&, const T*, const T*, T*, T*);
FL_INSTANTIATE(float)
FL_INSTANTIATE(double)
FL_INSTANTIATE(std::complex<float>)
FL_INSTANTIATE(std::complex<double>)
FL_INSTANTIATE(int8_t)
FL_INSTANTIATE(int16_t)
FL_INSTANTIATE(int32_t)
FL_INSTANTIATE(int64_t)
FL_INSTANTIATE(uint8_t)
#undef FL_INSTANTIATE

}  // namespace fl::dnn
