#include "dnn/matmul.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <type_traits>

#include "base/threads.h"
#include "blas/blocks.h"
#include "blas/gemm.h"
#include "blas/operand.h"
#include "dnn/buffer.h"
#include "dnn/convert.h"
#include "dnn/primitive.h"

namespace fl::dnn {
namespace {

using blas::MatrixStrides;
using Desc = dnnl::memory::desc;

double work_of(const Matmul& p) { return static_cast<double>(p.m) * p.n * p.k; }

// Several products with the same right operand, one below the other in memory, are one product.
Matmul fold_batch(Matmul p) {
  const bool stacked = p.b_batch == 0 && p.a_batch == p.m * p.a_strides.row && p.c_batch == p.m * p.c_strides.row;
  if (p.batch > 1 && stacked) {
    p.m *= p.batch;
    p.batch = 1;
  }
  return p;
}

// ---- f32 without oneDNN: vectors, small matrices, and skinny ones, where its sgemm is ahead of its other kernels ----

void apply_relu(const Matmul& p, float* c) {
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      float& entry = c[i * p.c_strides.row + j * p.c_strides.column];
      entry = entry < 0 ? 0 : entry;  // keeps NaN
    }
  }
}

// c = beta * c + bias
void start_from_bias(const Matmul& p, const float* bias, float* c) {
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      float& entry = c[i * p.c_strides.row + j * p.c_strides.column];
      entry = p.beta == 0 ? bias[j] : p.beta * entry + bias[j];
    }
  }
}

bool is_for_blas(const Matmul& p) {
  const double small_work = p.batch == 1 ? 64 * 64 * 64 : 48 * 48 * 48;
  const bool has_gelu = p.epilogue == Epilogue::gelu || p.epilogue == Epilogue::gelu_tanh;
  const bool small = std::min(p.m, p.n) == 1 || work_of(p) <= small_work;
  return p.type == DataType::f32 && !has_gelu && (small || p.k == 0);
}

void blas_matmul(Matmul p, const float* a, const float* b, const float* bias, float* c) {
  if (bias != nullptr) {
    for (int64_t i = 0; i < p.batch; ++i) start_from_bias(p, bias, c + i * p.c_batch);
    p.beta = 1;
  }
  blas::batched_gemm<float>(p.batch, p.m, p.n, p.k, p.alpha, a, p.a_batch, p.a_strides, b, p.b_batch, p.b_strides,
                            p.beta, c, p.c_batch, p.c_strides);
  if (p.epilogue == Epilogue::relu) {
    for (int64_t i = 0; i < p.batch; ++i) apply_relu(p, c + i * p.c_batch);
  }
}

// ---- primitives ----

struct MatmulPlan {
  Primitive primitive;
  Desc a, b, bias, c;
  int bias_argument;
};

// The library's fast kernels take dense matrices only, plain or transposed.
Desc description(DataType type, int64_t batch, bool shared, int64_t rows, int64_t columns, bool transposed) {
  using Tag = dnnl::memory::format_tag;
  if (batch == 1) return Desc({rows, columns}, native_type(type), transposed ? Tag::ba : Tag::ab);
  return Desc({shared ? 1 : batch, rows, columns}, native_type(type), transposed ? Tag::acb : Tag::abc);
}

struct Form {
  bool a_transposed, b_transposed, a_shared, b_shared, has_bias, packed;
};

void append_epilogue(dnnl::post_ops& operations, Epilogue epilogue) {
  switch (epilogue) {
    case Epilogue::none:
      return;
    case Epilogue::relu:
      return operations.append_eltwise(dnnl::algorithm::eltwise_relu, 0, 0);
    case Epilogue::gelu:
      return operations.append_eltwise(dnnl::algorithm::eltwise_gelu_erf, 0, 0);
    case Epilogue::gelu_tanh:
      return operations.append_eltwise(dnnl::algorithm::eltwise_gelu_tanh, 0, 0);
  }
}

std::shared_ptr<const MatmulPlan> plan_for(const Matmul& p, Form form) {
  constexpr int64_t kKind = 1;
  const int64_t flags = form.a_transposed | form.b_transposed << 1 | form.a_shared << 2 | form.b_shared << 3 |
                        form.has_bias << 4 | form.packed << 5;
  Key key{kKind,
          static_cast<int64_t>(p.type),
          p.batch,
          p.m,
          p.n,
          p.k,
          flags,
          static_cast<int64_t>(p.epilogue),
          std::bit_cast<int32_t>(p.alpha),
          std::bit_cast<int32_t>(p.beta)};
  const bool has_bias = form.has_bias;
  return cached_plan<MatmulPlan>(std::move(key), [&] {
    const auto type = native_type(p.type);
    const Desc a_desc = description(p.type, p.batch, form.a_shared, p.m, p.k, form.a_transposed);
    const Desc c_desc = description(p.type, p.batch, false, p.m, p.n, false);
    const Desc b_desc = form.packed ? Desc({p.k, p.n}, type, dnnl::memory::format_tag::any)
                                    : description(p.type, p.batch, form.b_shared, p.k, p.n, form.b_transposed);
    const Desc bias_desc = p.batch == 1 ? Desc({1, p.n}, type, dnnl::memory::format_tag::ab)
                                        : Desc({1, 1, p.n}, type, dnnl::memory::format_tag::abc);
    // The library's own bias comes before alpha; ours after.
    const bool late_bias = has_bias && p.alpha != 1;
    int bias_argument = DNNL_ARG_BIAS;
    dnnl::post_ops operations;
    if (p.alpha != 1) operations.append_eltwise(dnnl::algorithm::eltwise_linear, p.alpha, 0);
    if (p.beta != 0) operations.append_sum(p.beta);
    if (late_bias) {
      bias_argument = DNNL_ARG_ATTR_MULTIPLE_POST_OP(operations.len()) | DNNL_ARG_SRC_1;
      operations.append_binary(dnnl::algorithm::binary_add, bias_desc);
    }
    append_epilogue(operations, p.epilogue);
    dnnl::primitive_attr attr = attributes();
    attr.set_post_ops(operations);
    const auto made = has_bias && !late_bias
                          ? dnnl::matmul::primitive_desc(engine(), a_desc, b_desc, bias_desc, c_desc, attr)
                          : dnnl::matmul::primitive_desc(engine(), a_desc, b_desc, c_desc, attr);
    return MatmulPlan{Primitive(made), made.src_desc(), made.weights_desc(), bias_desc, made.dst_desc(), bias_argument};
  });
}

void run(const MatmulPlan& plan, const void* a, const void* b, const void* bias, void* c) {
  plan.primitive.run({{DNNL_ARG_SRC, plan.a, a},
                      {DNNL_ARG_WEIGHTS, plan.b, b},
                      {plan.bias_argument, plan.bias, bias},
                      {DNNL_ARG_DST, plan.c, c}});
}

// sgemm beats the other kernels where there are few rows, and takes neither bias nor epilogue.
bool is_for_sgemm(const Matmul& p, bool has_bias) {
  return p.type == DataType::f32 && p.m <= 8 && !has_bias && p.epilogue == Epilogue::none;
}

// A block of an operand, copied if it isn't dense: rows (or, transposed, columns) of `width` entries, `lead` apart.
template <class T>
class DenseBlock {
 public:
  DenseBlock(const blas::Operand<T>& operand, const T* data, int64_t rows, int64_t columns)
      : data_(data), transposed_(operand.transpose() != blas::cblas::kPlain) {
    const int64_t count = transposed_ ? columns : rows, width = transposed_ ? rows : columns;
    if (count == 1 || operand.leading() == width) return;
    copy_.emplace(sizeof(T) * count * width);
    T* target = copy_->template as<T>();
    for (int64_t i = 0; i < count; ++i) std::copy_n(data + i * operand.leading(), width, target + i * width);
    data_ = target;
  }
  const T* data() const { return data_; }
  bool transposed() const { return transposed_; }

 private:
  const T* data_;
  bool transposed_;
  std::optional<Scratch> copy_;
};

// How a product is cut for the threads: into blocks of rows if there are many, else of columns. A plain b is packed for
// each block of rows, and copied for each block of columns.
blas::Blocks blocks_for(const Matmul& p, bool b_transposed) {
  constexpr int64_t kFewRows = 128, kFewColumns = 128;
  constexpr double kSmallWork = 1 << 22, kSmallWorkPlain = 1 << 24, kLargeWork = 1 << 27;
  constexpr int64_t kEnough = 4, kMost = 64;
  const bool by_rows = p.m >= 2 * kFewRows;
  const int64_t size = by_rows ? p.m : p.n, few = by_rows ? kFewRows : kFewColumns;
  const double small = by_rows || b_transposed ? kSmallWork : kSmallWorkPlain;
  int64_t count = 1;
  while (count < kMost && size >= 2 * few * count && work_of(p) > small * count &&
         (count < kEnough || work_of(p) > kLargeWork * count)) {
    count *= 2;
  }
  // Multiples of 64 keep the blocks' edges on the kernels' own tiles.
  const int64_t part = count == 1 ? size : ((size + count - 1) / count + 63) / 64 * 64;
  const int64_t parts = (size + part - 1) / part;
  return by_rows ? blas::Blocks{part, p.n, parts, 1} : blas::Blocks{p.m, part, 1, parts};
}

// c has BLAS rows. Works on rows ... rows + part.m and columns ... columns + part.n of it.
template <class T>
void block_matmul(const Matmul& part, const blas::Operand<T>& a, const blas::Operand<T>& b, const T* bias, T* c,
                  int64_t c_lead, int64_t row, int64_t column, bool packed, WeightSlot slot) {
  const DenseBlock<T> left(a, a.from_row(row), part.m, part.k), right(b, b.from_column(column), part.k, part.n);
  T* target = c + row * c_lead + column;
  std::optional<Scratch> dense;
  T* result = target;
  const bool in_place = part.m == 1 || c_lead == part.n;
  if (!in_place) {
    dense.emplace(sizeof(T) * part.m * part.n);
    result = dense->template as<T>();
    for (int64_t i = 0; i < part.m && part.beta != 0; ++i)
      std::copy_n(target + i * c_lead, part.n, result + i * part.n);
  }
  const auto plan = plan_for(part, {left.transposed(), right.transposed(), false, false, bias != nullptr, packed});
  const T* bias_part = bias == nullptr ? nullptr : bias + column;
  if (packed) {
    const Desc plain = description(part.type, 1, false, part.k, part.n, right.transposed());
    const PreparedWeights weights(slot, true, column, plain, right.data(), plan->b);
    run(*plan, left.data(), weights.get(), bias_part, result);
  } else {
    run(*plan, left.data(), right.data(), bias_part, result);
  }
  for (int64_t i = 0; i < part.m && !in_place; ++i) std::copy_n(result + i * part.n, part.n, target + i * c_lead);
}

void skinny_matmul(const Matmul& p, const blas::Operand<float>& a, const blas::Operand<float>& b, float* c,
                   int64_t c_lead) {
  const auto letter = [](const auto& operand) { return operand.transpose() == blas::cblas::kPlain ? 'N' : 'T'; };
  dnnl::error::wrap_c_api(dnnl_sgemm(letter(a), letter(b), p.m, p.n, p.k, p.alpha, a.data(), a.leading(), b.data(),
                                     b.leading(), p.beta, c, c_lead),
                          "oneDNN could not multiply matrices");
}

// T: float or an unsigned integer of the type's size. c has BLAS rows.
template <class T>
void blocked_matmul(const Matmul& p, const void* a, const void* b, const void* bias, T* c, WeightSlot slot) {
  const blas::Operand<T> left(p.m, p.k, static_cast<const T*>(a), p.a_strides);
  const blas::Operand<T> right(p.k, p.n, static_cast<const T*>(b), p.b_strides);
  const int64_t c_lead = blas::leading_dimension(p.m, p.n, p.c_strides.row);
  const bool packed = seen_before(slot, 0);
  if constexpr (std::is_same_v<T, float>) {
    if (!packed && is_for_sgemm(p, bias != nullptr)) {
      const SerialScope serial;
      return skinny_matmul(p, left, right, c, c_lead);
    }
  }
  const blas::Blocks blocks = blocks_for(p, right.transpose() != blas::cblas::kPlain);
  parallel_for(0, blocks.row_blocks * blocks.column_blocks, 1, [&](int64_t begin, int64_t end) {
    const SerialScope serial;
    for (int64_t block = begin; block < end; ++block) {
      const int64_t row = blocks.row_blocks == 1 ? 0 : block * blocks.rows;
      const int64_t column = blocks.column_blocks == 1 ? 0 : block * blocks.columns;
      Matmul part = p;
      part.m = std::min(blocks.rows, p.m - row);
      part.n = std::min(blocks.columns, p.n - column);
      block_matmul<T>(part, left, right, static_cast<const T*>(bias), c, c_lead, row, column, packed, slot);
    }
  });
}

template <class T>
void one_matmul(const Matmul& p, const void* a, const void* b, const void* bias, T* c, WeightSlot slot) {
  if (blas::has_blas_rows(p.m, p.n, p.c_strides)) return blocked_matmul<T>(p, a, b, bias, c, slot);
  const Scratch rows(sizeof(T) * p.m * p.n);
  T* product = rows.as<T>();
  const auto copy = [&](auto from, auto to) {
    for (int64_t i = 0; i < p.m; ++i) {
      for (int64_t j = 0; j < p.n; ++j) *to(i, j) = *from(i, j);
    }
  };
  const auto in_rows = [&](int64_t i, int64_t j) { return product + i * p.n + j; };
  const auto in_c = [&](int64_t i, int64_t j) { return c + i * p.c_strides.row + j * p.c_strides.column; };
  if (p.beta != 0) copy(in_c, in_rows);
  Matmul contiguous = p;
  contiguous.c_strides = {p.n, 1};
  blocked_matmul<T>(contiguous, a, b, bias, product, slot);
  copy(in_rows, in_c);
}

// Whether the matrices of a batch are dense and lie one after the other, or are all the same.
bool is_dense(int64_t rows, int64_t columns, MatrixStrides strides, int64_t batch_stride, bool& transposed) {
  transposed = !(strides.column == 1 && strides.row == columns);
  const bool dense = !transposed || (strides.row == 1 && strides.column == rows);
  return dense && (batch_stride == 0 || batch_stride == rows * columns);
}

template <class T>
void batched_matmul(const Matmul& p, const T* a, const T* b, const T* bias, T* c) {
  constexpr double kLargeWork = 1 << 22, kChunkWork = 1 << 23;
  Form form{false, false, p.a_batch == 0, p.b_batch == 0, bias != nullptr, false};
  bool c_transposed = false;
  const bool dense = is_dense(p.m, p.k, p.a_strides, p.a_batch, form.a_transposed) &&
                     is_dense(p.k, p.n, p.b_strides, p.b_batch, form.b_transposed) &&
                     is_dense(p.m, p.n, p.c_strides, p.c_batch, c_transposed) && !c_transposed &&
                     !(form.a_shared && form.b_shared);
  const auto one_by_one = [&](int64_t begin, int64_t end) {
    Matmul one = p;
    one.batch = 1;
    for (int64_t i = begin; i < end; ++i) {
      one_matmul<T>(one, a + i * p.a_batch, b + i * p.b_batch, bias, c + i * p.c_batch, {});
    }
  };
  if (work_of(p) >= kLargeWork && p.batch < 16) return one_by_one(0, p.batch);
  const int64_t grain = std::clamp<int64_t>(static_cast<int64_t>(kChunkWork / work_of(p)), 1, p.batch);
  if (!dense || grain == 1) return parallel_for(0, p.batch, grain, one_by_one);
  parallel_for(0, p.batch, grain, [&](int64_t begin, int64_t end) {
    const SerialScope serial;
    for (int64_t first = begin; first < end; first += grain) {
      Matmul part = p;
      part.batch = std::min(grain, end - first);
      if (part.batch == 1) {
        one_by_one(first, end);
      } else {
        const auto plan = plan_for(part, form);
        run(*plan, a + first * p.a_batch, b + first * p.b_batch, bias, c + first * p.c_batch);
      }
    }
  });
}

template <class T>
void native_matmul(const Matmul& p, const void* a, const void* b, const void* bias, T* c, WeightSlot slot) {
  engine();
  if (p.batch == 1) return one_matmul<T>(p, a, b, bias, c, slot);
  batched_matmul<T>(p, static_cast<const T*>(a), static_cast<const T*>(b), static_cast<const T*>(bias), c);
}

// ---- types the processor doesn't multiply ----

// A contiguous f32 copy of `batch` matrices.
Scratch widened(DataType type, int64_t batch, int64_t rows, int64_t columns, const void* data, int64_t batch_stride,
                MatrixStrides strides) {
  const int64_t size = rows * columns;
  const Scratch gathered(size_t{2} * batch * size);
  const auto* source = static_cast<const uint16_t*>(data);
  auto* target = gathered.as<uint16_t>();
  for (int64_t i = 0; i < batch * rows; ++i) {
    const uint16_t* row = source + i / rows * batch_stride + i % rows * strides.row;
    for (int64_t j = 0; j < columns; ++j) target[i * columns + j] = row[j * strides.column];
  }
  Scratch result(size_t{4} * batch * size);
  to_float(type, batch * size, target, result.as<float>());
  return result;
}

void widened_matmul(const Matmul& p, const void* a, const void* b, const void* bias, uint16_t* c) {
  const int64_t b_count = p.b_batch == 0 ? 1 : p.batch;
  const Scratch a_wide = widened(p.type, p.batch, p.m, p.k, a, p.a_batch, p.a_strides);
  const Scratch b_wide = widened(p.type, b_count, p.k, p.n, b, p.b_batch, p.b_strides);
  const Scratch bias_wide(size_t{4} * p.n);
  if (bias != nullptr) to_float(p.type, p.n, bias, bias_wide.as<float>());
  Scratch c_wide = p.beta == 0 ? Scratch(size_t{4} * p.batch * p.m * p.n)
                               : widened(p.type, p.batch, p.m, p.n, c, p.c_batch, p.c_strides);
  Matmul wide = p;
  wide.type = DataType::f32;
  wide.a_strides = {p.k, 1};
  wide.b_strides = {p.n, 1};
  wide.c_strides = {p.n, 1};
  wide.a_batch = p.m * p.k;
  wide.b_batch = p.b_batch == 0 ? 0 : p.k * p.n;
  wide.c_batch = p.m * p.n;
  matmul(wide, a_wide.get(), b_wide.get(), bias == nullptr ? nullptr : bias_wide.get(), c_wide.get());
  const Scratch narrow(size_t{2} * p.batch * p.m * p.n);
  from_float(p.type, p.batch * p.m * p.n, c_wide.as<float>(), narrow.get());
  for (int64_t i = 0; i < p.batch * p.m; ++i) {
    uint16_t* row = c + i / p.m * p.c_batch + i % p.m * p.c_strides.row;
    for (int64_t j = 0; j < p.n; ++j) row[j * p.c_strides.column] = narrow.as<uint16_t>()[i * p.n + j];
  }
}

// With no terms or alpha = 0 the operands aren't read. A product with one zero term says so to every path.
void constant_matmul(Matmul p, const void* bias, void* c) {
  const Scratch zeros(size_t{4} * std::max(p.m, p.n));
  std::fill_n(zeros.as<char>(), size_t{4} * std::max(p.m, p.n), 0);
  p.k = 1;
  p.alpha = 1;
  p.a_batch = p.b_batch = 0;
  p.a_strides = p.b_strides = {1, 1};
  matmul(p, zeros.get(), zeros.get(), bias, c);
}

}  // namespace

void matmul(const Matmul& product, const void* a, const void* b, const void* bias, void* c, WeightSlot slot) {
  if (product.batch <= 0 || product.m <= 0 || product.n <= 0) return;
  if (product.k <= 0 || product.alpha == 0) return constant_matmul(product, bias, c);
  const Matmul p = fold_batch(product);
  if (is_for_blas(p)) {
    return blas_matmul(p, static_cast<const float*>(a), static_cast<const float*>(b), static_cast<const float*>(bias),
                       static_cast<float*>(c));
  }
  if (p.type == DataType::f32) return native_matmul<float>(p, a, b, bias, static_cast<float*>(c), slot);
  if (is_native(p.type)) return native_matmul<uint16_t>(p, a, b, bias, static_cast<uint16_t*>(c), slot);
  widened_matmul(p, a, b, bias, static_cast<uint16_t*>(c));
}

}  // namespace fl::dnn
