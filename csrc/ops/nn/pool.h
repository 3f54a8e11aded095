// Pooling: windows, and running the loops over planes or, with channels last, images.
#pragma once
#include <vector>

#include "kernels/pool.h"
#include "ops/nn/layout.h"

namespace fl {

// The windows of a pooling and the tensors it runs over. Copies point to each other's tables and are not made.
class Pooling {
 public:
  // `dims` spatial dimensions at the end of `input_sizes`, one or two before them.
  Pooling(const char* op, int dims, IntList input_sizes);
  Pooling(const Pooling&) = delete;

  // Windows of one size. Averages leave dilation at 1. Throws for sizes that make no sense.
  void set_regular(IntList kernel, IntList stride, IntList padding, IntList dilation, bool ceil_mode,
                   bool count_padding = true);
  // Windows that share the input out among a given number of outputs.
  void set_adaptive(IntList output);
  // Windows of one size that begin at given places in each dimension.
  void set_windows(int axis, std::vector<int64_t> first, int64_t kernel);

  Dims output_sizes() const;
  PoolShape shape;

 private:
  void set_axis(int axis, int64_t count);
  void finish();
  const char* op_;
  int dims_;
  Dims input_sizes_;
  std::vector<int64_t> first_[3], last_[3], count_[3];
};

// One number for each dimension: a single one is repeated, none gives `otherwise`.
Dims pool_numbers(IntList given, int dims, const char* op, const char* what, IntList otherwise = {});
// Sizes from an int, or a sequence of ints and Nones, which stand for the input's sizes.
Dims pool_output_size(const Value& given, int dims, const char* op, IntList input_sizes);
// Refuses inputs that are no planes or have empty ones.
void check_pool_input(const Tensor& input, int dims, const char* op);
// Likewise; too few dimensions for a list of output sizes is a ValueError.
void check_adaptive_input(const Tensor& input, int dims, const Value& output_size, const char* op);

struct MaxPooled {
  Tensor values, indices;
};
MaxPooled run_max_pool(const Pooling& p, const Tensor& input, bool with_indices);
Tensor run_average_pool(const Pooling& p, const Tensor& input);
Tensor run_average_pool_back(const Pooling& p, const Tensor& gradient, IntList input_sizes);

}  // namespace fl
