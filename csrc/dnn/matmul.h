// Matrix products of f32, bf16 and f16, summed in f32. The same bits at any number of threads.
#pragma once

#include <cstdint>

#include "blas/matrix.h"
#include "dnn/packed_weights.h"
#include "dnn/types.h"

namespace fl::dnn {

enum class Epilogue { none, relu, gelu, gelu_tanh };

// c = epilogue(beta * c + alpha * a @ b + bias) for each of `batch` products: a (m, k), b (k, n), c (m, n), bias (n).
// Strides are in elements and may be any; the batch strides are the distances between successive matrices (0 shares one
// among all).
struct Matmul {
  DataType type = DataType::f32;
  int64_t batch = 1, m = 0, n = 0, k = 0;
  blas::MatrixStrides a_strides, b_strides, c_strides;
  int64_t a_batch = 0, b_batch = 0, c_batch = 0;
  float alpha = 1, beta = 0;  // with beta = 0, c is not read
  Epilogue epilogue = Epilogue::none;
};

// The bias may be null. Packed weights stand for b, when there is a single product.
void matmul(const Matmul& product, const void* a, const void* b, const void* bias, void* c, WeightSlot slot = {});

}  // namespace fl::dnn
