// Tile programs: pointwise work of every kind.
//
// A program is a short list of steps over registers. A register is a tile of a few hundred elements that stays in the
// L1 cache: loading one gathers strides, broadcasts and casts; storing casts back. An eager op is a program of one
// step, a copy a program of none. Where operands are contiguous and of the step's own type, registers are the operands'
// memory itself and nothing is staged.
#pragma once
#include <cstdint>

#include "base/dtype.h"

namespace fl {

// A number that a step takes besides its registers, as every type a body may want it in.
struct Param {
  double real, imag;
  int64_t integer;
};

// The body of an op over n contiguous elements. `in` and `out` may be equal, but not overlap otherwise.
using Loop = void (*)(char* out, const char* const* in, int64_t n, const Param* params);

inline constexpr int kMaxStepInputs = 6;
inline constexpr int kMaxOperands = 16;
inline constexpr int kMaxRegisters = 24;

struct Step {
  Loop loop;
  const Param* params;
  uint8_t out;
  uint8_t in[kMaxStepInputs];
};

// Memory a program reads or writes. Strides are in bytes, one for each dimension of the program's shape.
struct TileOperand {
  char* data;
  DType stored;    // as it is in memory
  DType computed;  // as the steps see it
  const int64_t* strides;
};

// Operand 0 is the output, register 0 its value; operand i is loaded into register i.
struct TileProgram {
  const Step* steps;
  int step_count;
  TileOperand operands[kMaxOperands];
  int operand_count;
  const int64_t* sizes;
  int ndim;
  int64_t cost = 1;  // of an element, about, in simple operations
};

void run_program(const TileProgram& program);

// What differs by instruction set, filled in when the extension is loaded.
struct TileKernels {
  // n contiguous elements from one type to another.
  void (*convert[kNumDTypes][kNumDTypes])(const char* from, char* to, int64_t n);
  // n elements of 1, 2, 4, 8 or 16 bytes (index log2), strides in bytes.
  void (*gather[5])(const char* from, int64_t stride, char* to, int64_t n);
  void (*scatter[5])(const char* from, char* to, int64_t stride, int64_t n);
  void (*fill[5])(const char* value, char* to, int64_t n);
  void (*stream)(const char* from, char* to, int64_t bytes);  // past the caches
  // to[i][j] = from[j][i] for a block, rows contiguous; strides in bytes.
  void (*transpose[5])(const char* from, int64_t from_stride, char* to, int64_t to_stride, int64_t rows,
                       int64_t columns);
};
extern TileKernels tile_kernels;
inline int size_index(int64_t bytes) { return bytes == 16 ? 4 : bytes == 8 ? 3 : bytes == 4 ? 2 : bytes == 2 ? 1 : 0; }

// Instruction sets in rising order; a kernel object registers itself only where the machine can run it.
enum class Isa { Baseline, Avx2, Avx512 };
Isa machine_isa();

}  // namespace fl
