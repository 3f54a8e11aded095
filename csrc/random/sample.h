// Samples whose distribution differs per element or row, in PyTorch's CPU draw order. Arrays are contiguous; the
// parameters have the dtype of the result unless said otherwise; every function takes the generator's lock.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "random/generator.h"

namespace fl {

// Floating dtypes; rates at least 0.
void sample_poisson(Generator& generator, DType dtype, void* out, const void* rate, int64_t count);
// Float and double; `p` of the same dtype as `trials`.
void sample_binomial(Generator& generator, DType dtype, void* out, const void* trials, const void* p, int64_t count);
// Float and double: gamma samples of rate 1.
void sample_gamma(Generator& generator, DType dtype, void* out, const void* concentration, int64_t count);
// Float and double: every row of `columns` concentrations gives a row that adds up to 1.
void sample_dirichlet(Generator& generator, DType dtype, void* out, const void* concentration, int64_t rows,
                      int64_t columns);
// Floating dtypes. Where `input` is at most 0, `noise` becomes uniform on [lower, upper) and `out` its product with
// `input`; elsewhere `noise` becomes 1 and `out` the input.
void sample_rrelu(Generator& generator, DType dtype, void* out, void* noise, const void* input, int64_t count,
                  double lower, double upper);

// Draws `samples` category indices per row of `weights` (floating; non-negative, finite, with a positive sum per row;
// without replacement, at least `samples` categories). Without replacement indices come in the order drawn.
void sample_multinomial(Generator& generator, DType dtype, int64_t* out, const void* weights, int64_t rows,
                        int64_t categories, int64_t samples, bool replacement);

}  // namespace fl
