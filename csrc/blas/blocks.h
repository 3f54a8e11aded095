// How a product is shared among threads: equal blocks of whole rows and columns of the result, chosen by shape alone.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/threads.h"

namespace fl::blas {

struct Blocks {
  int64_t rows, columns;              // of a block
  int64_t row_blocks, column_blocks;  // how many
};

// Blocks of no fewer rows and columns than these: each block packs its operands anew.
struct SmallestBlock {
  int64_t rows, columns;
};
inline constexpr SmallestBlock kOpenBlasBlock{256, 512};

// No more blocks than there is work for.
inline Blocks blocks_of_product(int64_t m, int64_t n, int64_t k, SmallestBlock smallest) {
  constexpr int64_t kEnough = 4, kMost = 64;
  constexpr double kSmallWork = 1 << 22, kLargeWork = 1 << 27;  // multiplications: about 0.1 ms and 3 ms
  int64_t row_blocks = 1, column_blocks = 1;
  while (row_blocks * column_blocks < kMost) {
    const int64_t count = row_blocks * column_blocks;
    const double work = static_cast<double>(m) * n * k / count;
    if (work < kSmallWork || (count >= kEnough && work <= kLargeWork)) break;
    const int64_t rows = m / row_blocks, columns = n / column_blocks;
    if (rows >= 2 * smallest.rows && (rows >= columns || columns < 2 * smallest.columns)) {
      row_blocks *= 2;
    } else if (columns >= 2 * smallest.columns) {
      column_blocks *= 2;
    } else {
      break;
    }
  }
  // Multiples of 64 keep the blocks' edges on the kernels' own tiles.
  const auto part = [](int64_t size, int64_t count) {
    return count == 1 ? size : ((size + count - 1) / count + 63) / 64 * 64;
  };
  Blocks blocks{part(m, row_blocks), part(n, column_blocks), 0, 0};
  blocks.row_blocks = (m + blocks.rows - 1) / blocks.rows;
  blocks.column_blocks = (n + blocks.columns - 1) / blocks.columns;
  return blocks;
}

// Calls f(row, rows, column, columns) for every block of an (m, n) result, in parallel. m and n must be positive.
template <class F>
void for_each_block(int64_t m, int64_t n, int64_t k, SmallestBlock smallest, F&& f) {
  const Blocks blocks = blocks_of_product(m, n, k, smallest);
  parallel_for(0, blocks.row_blocks * blocks.column_blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const int64_t row = block / blocks.column_blocks * blocks.rows;
      const int64_t column = block % blocks.column_blocks * blocks.columns;
      f(row, std::min(blocks.rows, m - row), column, std::min(blocks.columns, n - column));
    }
  });
}

}  // namespace fl::blas
