// Fills raw contiguous arrays of `count` elements with random numbers, in PyTorch's CPU draw order: the same seed gives
// the same values.
//
// Every function takes the generator's lock for its whole run. PyTorch fills a non-contiguous tensor in memory order
// (largest stride outermost), not in logical order, and `normal_` then takes the one-by-one path
// (`fill_normal_serial`). Elements of `dtype` outside what a function documents are the caller's error. Complex tensors
// are filled as twice as many real elements.
#pragma once

#include <cstdint>
#include <optional>

#include "base/dtype.h"
#include "random/generator.h"

namespace fl {

// Floating dtypes: uniform on [from, to).
void fill_uniform(Generator& generator, DType dtype, void* out, int64_t count, double from, double to);

// Floating dtypes: 16 and more elements come from pairs of a block of 16, fewer from the generator's polar pairs.
void fill_normal(Generator& generator, DType dtype, void* out, int64_t count, double mean, double std);
// The one-by-one path at any length.
void fill_normal_serial(Generator& generator, DType dtype, void* out, int64_t count, double mean, double std);

// Every real dtype: the whole range a dtype counts exactly, as `random_()` (not the negative half).
void fill_random(Generator& generator, DType dtype, void* out, int64_t count);
// Every real dtype: integers in [base, base + range), as `random_(from, to)` and `randint`. A range of 0
// stands for 2^64.
void fill_integers(Generator& generator, DType dtype, void* out, int64_t count, uint64_t range, int64_t base);
// int64, float, double and bfloat16: 64-bit integers of any value, as `random_(-2**63, None)`.
void fill_integers_full(Generator& generator, DType dtype, void* out, int64_t count);

// A permutation of 0 .. count - 1 in any real dtype that holds them.
void fill_permutation(Generator& generator, DType dtype, void* out, int64_t count);

// Every real dtype: 1 with probability p.
void fill_bernoulli(Generator& generator, DType dtype, void* out, int64_t count, double p);
// One probability per element, in floating dtype `p_dtype`.
void fill_bernoulli(Generator& generator, DType dtype, void* out, int64_t count, DType p_dtype, const void* p);

// Floating dtypes.
void fill_exponential(Generator& generator, DType dtype, void* out, int64_t count, double rate);
void fill_cauchy(Generator& generator, DType dtype, void* out, int64_t count, double median, double sigma);
void fill_log_normal(Generator& generator, DType dtype, void* out, int64_t count, double mean, double std);
// Every real dtype.
void fill_geometric(Generator& generator, DType dtype, void* out, int64_t count, double p);

// The bounds of `random_(from, to)` after rounding them inwards to what `dtype` holds.
struct IntegerBounds {
  // kEmpty: nothing lies between the bounds. kFrom, kTo: that bound is not a value of the dtype.
  enum class Problem : uint8_t { kNone, kEmpty, kFrom, kTo };
  int64_t from;
  uint64_t range;
  Problem problem;
};
// `to` is exclusive; without it, the range ends at the dtype's largest value, or for floats at the last one up to which
// they hold every integer.
IntegerBounds integer_bounds(DType dtype, int64_t from, std::optional<int64_t> to);

}  // namespace fl
