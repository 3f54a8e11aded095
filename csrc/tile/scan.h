// Running sums, products and extremes along a dimension.
#pragma once
#include "tile/program.h"

namespace fl {

// A scan of columns side by side: element i of a column lies i * stride elements further. At most kScanColumns at once.
inline constexpr int64_t kScanColumns = 128;
using ScanLoop = void (*)(const char* in, char* out, int64_t n, int64_t stride, int64_t columns);
using IndexedScanLoop = void (*)(const char* in, char* out, int64_t* indices, int64_t n, int64_t stride,
                                 int64_t columns);
// y[i] = a[i] * y[i - 1] + b[i], from zero; or from the end, from y[i + 1].
using AffineLoop = void (*)(const char* a, const char* b, char* out, int64_t n, int64_t stride, int64_t columns,
                            bool reverse);

enum class Scan : uint8_t { Sum, Product, LogSumExp };
// By the type computed in; null where there is none.
struct ScanTable {
  ScanLoop scan[3][kNumDTypes];
  IndexedScanLoop extreme[2][kNumDTypes];  // largest, smallest
  AffineLoop affine[kNumDTypes];
};
extern ScanTable scan_table;

}  // namespace fl
