// Products with vectors: gemv and dot.
#include <algorithm>
#include <climits>
#include <complex>
#include <memory>
#include <vector>

#include "base/threads.h"
#include "blas/cblas.h"
#include "blas/gemm.h"
#include "blas/loop_gemm.h"
#include "blas/operand.h"

namespace fl::blas {
namespace {

// OpenBLAS takes vectors at negative strides from their other end, and reads one at stride 0 differently in each
// routine.
bool is_blas_stride(int64_t stride) { return stride >= 1 && stride <= INT_MAX; }

template <class T>
struct ContiguousVector {
  ContiguousVector(int64_t n, const T* data, int64_t stride) : data(data), stride(static_cast<int>(stride)) {
    if (is_blas_stride(stride)) return;
    copy.reset(new T[n]);
    for (int64_t i = 0; i < n; ++i) copy[i] = data[i * stride];
    this->data = copy.get();
    this->stride = 1;
  }
  const T* data;
  int stride;
  std::unique_ptr<T[]> copy;
};

template <class T>
T loop_dot(int64_t n, const T* x, int64_t x_stride, const T* y, int64_t y_stride) {
  using Sum = typename Accumulator<T>::type;
  Sum sum(0);
  for (int64_t i = 0; i < n; ++i) {
    sum += multiply(static_cast<Sum>(x[i * x_stride]), static_cast<Sum>(y[i * y_stride]));
  }
  return static_cast<T>(sum);
}

}  // namespace

template <class T>
void gemv(int64_t m, int64_t n, T alpha, const T* a, MatrixStrides a_strides, const T* x, int64_t x_stride, T beta,
          T* y, int64_t y_stride) {
  if (m <= 0) return;
  if (m == 1) y_stride = 1;
  const MatrixStrides x_strides{x_stride, 1}, y_strides{y_stride, 1};
  if (n <= 0 || alpha == T(0)) return scale(m, 1, beta, y, y_strides);
  if (std::max(m, n) > INT_MAX || !is_blas_stride(y_stride)) {
    return loop_gemm(m, 1, n, alpha, a, a_strides, x, x_strides, beta, y, y_strides);
  }
  const Operand<T> matrix(m, n, a, a_strides);
  const ContiguousVector<T> vector(n, x, x_stride);
  // A chunk of the result reads about 1 MB of the matrix.
  const int64_t grain = std::max<int64_t>(64, (1 << 20) / static_cast<int64_t>(sizeof(T)) / n / 64 * 64);
  parallel_for(0, m, grain, [&](int64_t begin, int64_t end) {
    const bool plain = matrix.transpose() == cblas::kPlain;
    const int rows = static_cast<int>(end - begin), depth = static_cast<int>(n);
    cblas::gemv<T>(matrix.transpose(), plain ? rows : depth, plain ? depth : rows, alpha, matrix.from_row(begin),
                   matrix.leading(), vector.data, vector.stride, beta, y + begin * y_stride,
                   static_cast<int>(y_stride));
  });
}

template <class T>
T dot(int64_t n, const T* x, int64_t x_stride, const T* y, int64_t y_stride) {
  constexpr int64_t kShort = 64, kChunk = 1 << 15;
  const auto chunk_dot = [&](int64_t begin, int64_t end) -> T {
    if constexpr (!std::is_integral_v<T>) {
      if (n > kShort && is_blas_stride(x_stride) && is_blas_stride(y_stride)) {
        return cblas::dot<T>(static_cast<int>(end - begin), x + begin * x_stride, static_cast<int>(x_stride),
                             y + begin * y_stride, static_cast<int>(y_stride));
      }
    }
    return loop_dot(end - begin, x + begin * x_stride, x_stride, y + begin * y_stride, y_stride);
  };
  if (n <= kChunk) return chunk_dot(0, std::max<int64_t>(n, 0));
  std::vector<T> parts((n + kChunk - 1) / kChunk);
  parallel_for(0, n, kChunk, [&](int64_t begin, int64_t end) {
    for (int64_t first = begin; first < end; first += kChunk) {
      parts[first / kChunk] = chunk_dot(first, std::min(first + kChunk, end));
    }
  });
  const T one(1);
  return loop_dot(static_cast<int64_t>(parts.size()), parts.data(), 1, &one, 0);
}

#define FL_INSTANTIATE_VECTOR(T) \
  template void gemv(int64_t, int64_t, T, const T*, MatrixStrides, const T*, int64_t, T, T*, int64_t);
FL_INSTANTIATE_VECTOR(float)
FL_INSTANTIATE_VECTOR(double)
FL_INSTANTIATE_VECTOR(std::complex<float>)
FL_INSTANTIATE_VECTOR(std::complex<double>)
#undef FL_INSTANTIATE_VECTOR

template float dot(int64_t, const float*, int64_t, const float*, int64_t);
template double dot(int64_t, const double*, int64_t, const double*, int64_t);
template std::complex<float> dot(int64_t, const std::complex<float>*, int64_t, const std::complex<float>*, int64_t);
template std::complex<double> dot(int64_t, const std::complex<double>*, int64_t, const std::complex<double>*, int64_t);
template int8_t dot(int64_t, const int8_t*, int64_t, const int8_t*, int64_t);
template int16_t dot(int64_t, const int16_t*, int64_t, const int16_t*, int64_t);
template int32_t dot(int64_t, const int32_t*, int64_t, const int32_t*, int64_t);
template int64_t dot(int64_t, const int64_t*, int64_t, const int64_t*, int64_t);
template uint8_t dot(int64_t, const uint8_t*, int64_t, const uint8_t*, int64_t);
template uint16_t dot(int64_t, const uint16_t*, int64_t, const uint16_t*, int64_t);
template uint32_t dot(int64_t, const uint32_t*, int64_t, const uint32_t*, int64_t);
template uint64_t dot(int64_t, const uint64_t*, int64_t, const uint64_t*, int64_t);

}  // namespace fl::blas
