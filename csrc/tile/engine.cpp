// Runs tile programs.
#include <Python.h>

#include <algorithm>
#include <cstring>

#include "base/small_vector.h"
#include "base/threads.h"
#include "tile/program.h"

namespace fl {

constinit TileKernels tile_kernels{};

Isa machine_isa() {
#if defined(__x86_64__)
  static const Isa isa = [] {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd"))
      return Isa::Avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
      return Isa::Avx2;
    return Isa::Baseline;
  }();
  return isa;
#else
  return Isa::Baseline;
#endif
}

namespace {

constexpr int64_t kTile = 512;
constexpr int64_t kGrain = 32768;                    // elements of a chunk; a multiple of the tile
constexpr int64_t kStreamBytes = int64_t(24) << 20;  // results past this don't fit the caches anyway
constexpr int64_t kReleaseLock = 1 << 16;            // elements worth letting other Python threads run for

enum class Access : uint8_t { Direct, Constant, Rows };

// The program with its dimensions merged and sorted: innermost last.
struct Plan {
  const TileProgram* program;
  Dims sizes;
  SmallVector<int64_t, 24> strides[kMaxOperands];
  Access access[kMaxOperands];
  bool stream = false;
  int64_t numel = 1;
  int64_t tile = kTile;  // elements of a register
};

void merge_dimensions(const TileProgram& p, Plan& plan) {
  int n = p.ndim;
  SmallVector<int, 8> order;
  for (int d = 0; d < n; d++)
    if (p.sizes[d] != 1) order.push_back(d);
  // By the output's strides, outermost first; the order given decides ties.
  bool sorted = true;
  for (size_t i = 1; i < order.size(); i++)
    sorted &= p.operands[0].strides[order[i - 1]] >= p.operands[0].strides[order[i]];
  if (!sorted)
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return p.operands[0].strides[a] > p.operands[0].strides[b]; });
  for (int d : order) {
    bool merge = !plan.sizes.empty();
    for (int o = 0; merge && o < p.operand_count; o++)
      merge = plan.strides[o].back() == p.operands[o].strides[d] * p.sizes[d];
    if (merge) {
      plan.sizes.back() *= p.sizes[d];
      for (int o = 0; o < p.operand_count; o++) plan.strides[o].back() = p.operands[o].strides[d];
    } else {
      plan.sizes.push_back(p.sizes[d]);
      for (int o = 0; o < p.operand_count; o++) plan.strides[o].push_back(p.operands[o].strides[d]);
    }
  }
  if (plan.sizes.empty()) {
    plan.sizes.push_back(1);
    for (int o = 0; o < p.operand_count; o++) plan.strides[o].push_back(0);
  }
  for (int64_t s : plan.sizes) plan.numel *= s;
}

void run_steps(const TileProgram& p, char** registers, int64_t n) {
  for (int i = 0; i < p.step_count; i++) {
    const Step& s = p.steps[i];
    const char* in[kMaxStepInputs];
    for (int k = 0; k < kMaxStepInputs; k++) in[k] = registers[s.in[k]];
    s.loop(registers[s.out], in, n, s.params);
  }
}

// One thread's registers.
struct Registers {
  alignas(64) char room[kMaxRegisters][kTile * 16];
  char scratch[kTile * 16];
};
Registers& thread_registers() {
  thread_local Registers* r = new Registers;
  return *r;
}

// Position in the outer dimensions, and each operand's address there.
struct Cursor {
  SmallVector<int64_t, 24> index;
  char* at[kMaxOperands];
};

void seek(const Plan& plan, int64_t linear, Cursor& c) {
  size_t n = plan.sizes.size();
  c.index.resize(n);
  const TileProgram& p = *plan.program;
  for (int o = 0; o < p.operand_count; o++) c.at[o] = p.operands[o].data;
  for (size_t d = n; d-- > 0;) {
    c.index[d] = linear % plan.sizes[d];
    linear /= plan.sizes[d];
    for (int o = 0; o < p.operand_count; o++) c.at[o] += c.index[d] * plan.strides[o][d];
  }
}

// n elements on, to element `linear`.
void advance(const Plan& plan, Cursor& c, int64_t n, int64_t linear) {
  const TileProgram& p = *plan.program;
  size_t last = plan.sizes.size() - 1;
  int64_t along = c.index[last] + n;
  if (along > plan.sizes[last]) return seek(plan, linear, c);
  int64_t step = n;
  if (along == plan.sizes[last] && last > 0) {
    step -= along;
    along = 0;
  }
  for (int o = 0; o < p.operand_count; o++) c.at[o] += step * plan.strides[o][last];
  c.index[last] = along;
  if (along) return;
  for (size_t d = last; d-- > 0;) {
    for (int o = 0; o < p.operand_count; o++) c.at[o] += plan.strides[o][d];
    if (++c.index[d] < plan.sizes[d]) return;
    for (int o = 0; o < p.operand_count; o++) c.at[o] -= plan.sizes[d] * plan.strides[o][d];
    c.index[d] = 0;
  }
}

// Copies `count` elements that start at the cursor, row by row, into contiguous room (or from it).
template <bool load>
void move_rows(const Plan& plan, const Cursor& start, int o, char* room, int64_t count) {
  const TileProgram& p = *plan.program;
  int64_t item = item_size(p.operands[o].stored);
  int k = size_index(item);
  size_t n = plan.sizes.size();
  int64_t inner = plan.sizes[n - 1], stride = plan.strides[o][n - 1];
  char* at = start.at[o];
  int64_t index[24];
  const int64_t* start_index = start.index.data();
  for (size_t d = 0; d < n && d < 24; d++) index[d] = start_index[d];
  while (count > 0) {
    int64_t run = std::min(inner - index[n - 1], count);
    if constexpr (load) {
      if (stride == item)
        std::memcpy(room, at, run * item);
      else if (stride == 0)
        tile_kernels.fill[k](at, room, run);
      else
        tile_kernels.gather[k](at, stride, room, run);
    } else {
      if (stride == item)
        std::memcpy(at, room, run * item);
      else
        tile_kernels.scatter[k](room, at, stride, run);
    }
    room += run * item;
    count -= run;
    if (count == 0) return;
    at -= index[n - 1] * stride;
    index[n - 1] = 0;
    for (size_t d = n - 1; d-- > 0;) {
      at += plan.strides[o][d];
      if (++index[d] < plan.sizes[d]) break;
      at -= plan.sizes[d] * plan.strides[o][d];
      index[d] = 0;
    }
  }
}

// Elements [begin, end) in the plan's order, in tiles that may span rows.
void run_range(const Plan& plan, int64_t begin, int64_t end) {
  const TileProgram& p = *plan.program;
  Registers& r = thread_registers();
  char* registers[kMaxRegisters];
  for (int i = 0; i < kMaxRegisters; i++) registers[i] = r.room[i];
  // Constants are loaded once.
  for (int o = 1; o < p.operand_count; o++) {
    if (plan.access[o] != Access::Constant) continue;
    const TileOperand& x = p.operands[o];
    alignas(16) char value[16];
    tile_kernels.convert[int(x.stored)][int(x.computed)](x.data, value, 1);
    tile_kernels.fill[size_index(item_size(x.computed))](value, registers[o], std::min(plan.tile, end - begin));
  }
  const TileOperand& out = p.operands[0];
  int64_t out_item = item_size(out.stored);
  bool long_rows = plan.sizes.back() >= plan.tile / 4;
  Cursor c;
  seek(plan, begin, c);
  for (int64_t i = begin; i < end;) {
    int64_t n = std::min(plan.tile, end - i);
    if (long_rows) n = std::min(n, plan.sizes.back() - c.index.back());
    for (int o = 1; o < p.operand_count; o++) {
      const TileOperand& x = p.operands[o];
      if (plan.access[o] == Access::Constant) continue;
      int64_t item = item_size(x.stored);
      bool direct = plan.access[o] == Access::Direct || (long_rows && plan.strides[o].back() == item);
      char* source = c.at[o];
      if (!direct) {
        char* room = x.stored == x.computed ? r.room[o] : r.scratch;
        move_rows<true>(plan, c, o, room, n);
        source = room;
      }
      if (x.stored == x.computed) {
        registers[o] = source;
      } else {
        tile_kernels.convert[int(x.stored)][int(x.computed)](source, r.room[o], n);
        registers[o] = r.room[o];
      }
    }
    bool out_direct = plan.access[0] == Access::Direct || (long_rows && plan.strides[0].back() == out_item);
    bool in_place = out_direct && out.stored == out.computed && !plan.stream;
    registers[0] = in_place ? c.at[0] : r.room[0];
    if (p.step_count == 0)
      registers[0] = registers[1];
    else
      run_steps(p, registers, n);
    if (!in_place || p.step_count == 0) {
      char* value = registers[0];
      if (out.stored != out.computed) {
        char* target = out_direct && !plan.stream ? c.at[0] : r.scratch;
        tile_kernels.convert[int(out.computed)][int(out.stored)](value, target, n);
        value = target;
      }
      if (out_direct) {
        if (plan.stream)
          tile_kernels.stream(value, c.at[0], n * out_item);
        else if (value != c.at[0])
          std::memmove(c.at[0], value, n * out_item);
      } else {
        move_rows<false>(plan, c, 0, value, n);
      }
    }
    i += n;
    if (i < end) advance(plan, c, n, i);
  }
}

// A copy between types of one size whose two sides have their unit strides in different dimensions.
bool run_transpose(const Plan& plan) {
  const TileProgram& p = *plan.program;
  if (p.step_count != 0 || p.operands[0].stored != p.operands[1].stored) return false;
  size_t n = plan.sizes.size();
  if (n < 2 || n > 24) return false;
  int64_t item = item_size(p.operands[0].stored);
  if (plan.strides[0][n - 1] != item || plan.strides[1][n - 1] == item) return false;
  size_t unit = n;  // where the source is contiguous
  for (size_t d = 0; d + 1 < n; d++)
    if (plan.strides[1][d] == item) unit = d;
  if (unit == n || plan.sizes[unit] < 4 || plan.sizes[n - 1] < 4) return false;
  int64_t rows = plan.sizes[unit], columns = plan.sizes[n - 1];
  int64_t blocks = 1;
  for (size_t d = 0; d + 1 < n; d++)
    if (d != unit) blocks *= plan.sizes[d];
  constexpr int64_t kRows = 64;
  int64_t bands = (rows + kRows - 1) / kRows;
  int k = size_index(item);
  parallel_for(0, blocks * bands, std::max<int64_t>(1, kGrain / (kRows * columns)), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; b++) {
      int64_t rest = b / bands, first = b % bands * kRows;
      char* to = p.operands[0].data + first * plan.strides[0][unit];
      const char* from = p.operands[1].data + first * item;
      for (size_t d = n - 1; d-- > 0;) {
        if (d == unit) continue;
        int64_t i = rest % plan.sizes[d];
        rest /= plan.sizes[d];
        to += i * plan.strides[0][d];
        from += i * plan.strides[1][d];
      }
      tile_kernels.transpose[k](from, plan.strides[1][n - 1], to, plan.strides[0][unit], std::min(kRows, rows - first),
                                columns);
    }
  });
  return true;
}

// A step whose operands are all of its own types and dense, or one value: only the values are staged.
void run_dense(const Plan& plan, int64_t begin, int64_t end) {
  const TileProgram& p = *plan.program;
  const Step& s = p.steps[0];
  const char* in[kMaxStepInputs] = {};
  int64_t steps[kMaxStepInputs] = {};
  bool constants = false;
  for (int k = 0; k < kMaxStepInputs; k++) {
    int o = s.in[k];
    if (o == 0 || o >= p.operand_count) continue;
    const TileOperand& x = p.operands[o];
    if (plan.access[o] == Access::Constant) {
      alignas(16) char value[16];
      tile_kernels.convert[int(x.stored)][int(x.computed)](x.data, value, 1);
      char* room = thread_registers().room[o];
      tile_kernels.fill[size_index(item_size(x.computed))](value, room, std::min(plan.tile, end - begin));
      in[k] = room;
      constants = true;
    } else {
      steps[k] = item_size(x.stored);
      in[k] = x.data + begin * steps[k];
    }
  }
  int64_t out_step = item_size(p.operands[0].stored);
  char* out = p.operands[0].data + begin * out_step;
  int64_t tile = constants ? plan.tile : end - begin;
  for (int64_t left = end - begin; left > 0; left -= tile) {
    int64_t n = std::min(tile, left);
    s.loop(out, in, n, s.params);
    out += n * out_step;
    for (int k = 0; k < kMaxStepInputs; k++) in[k] += n * steps[k];
  }
}

// The same over the rows of a matrix, along which every operand is dense or stays at one value.
void run_rows(const Plan& plan, int64_t begin, int64_t end) {
  const TileProgram& p = *plan.program;
  const Step& s = p.steps[0];
  int64_t columns = plan.sizes[1];
  for (int64_t row = begin; row < end; row++) {
    char* out = p.operands[0].data + row * plan.strides[0][0];
    const char* in[kMaxStepInputs] = {};
    int64_t steps[kMaxStepInputs] = {};
    for (int k = 0; k < kMaxStepInputs; k++) {
      int o = s.in[k];
      if (o == 0 || o >= p.operand_count) continue;
      in[k] = p.operands[o].data + row * plan.strides[o][0];
      if (plan.strides[o][1] != 0) {
        steps[k] = plan.strides[o][1];
        continue;
      }
      char* room = thread_registers().room[o];
      tile_kernels.fill[size_index(item_size(p.operands[o].stored))](in[k], room, std::min(plan.tile, columns));
      in[k] = room;
    }
    for (int64_t left = columns; left > 0; left -= plan.tile) {
      int64_t n = std::min(plan.tile, left);
      s.loop(out, in, n, s.params);
      out += n * plan.strides[0][1];
      for (int k = 0; k < kMaxStepInputs; k++) in[k] += n * steps[k];
    }
  }
}

// Whether run_rows can do it: a matrix of rows long enough, with nothing to convert.
bool has_rows(const Plan& plan) {
  const TileProgram& p = *plan.program;
  if (plan.sizes.size() != 2 || p.step_count != 1 || plan.stream || plan.sizes[1] < 64) return false;
  for (int o = 0; o < p.operand_count; o++) {
    int64_t inner = plan.strides[o][1];
    if (p.operands[o].stored != p.operands[o].computed ||
        (inner != item_size(p.operands[o].stored) && (inner != 0 || o == 0)))
      return false;
  }
  return true;
}

void run_plan(Plan& plan) {
  const TileProgram& p = *plan.program;
  bool dense = p.step_count == 1;
  int64_t widest = 1;
  for (int o = 0; o < p.operand_count; o++) {
    int64_t item = item_size(p.operands[o].stored);
    bool constant = true, direct = plan.sizes.size() == 1 && (plan.strides[o][0] == item || plan.numel == 1);
    for (int64_t s : plan.strides[o]) constant &= s == 0;
    plan.access[o] = o && constant && plan.numel > 1 ? Access::Constant : direct ? Access::Direct : Access::Rows;
    dense &= plan.access[o] == Access::Constant ||
             (plan.access[o] == Access::Direct && p.operands[o].stored == p.operands[o].computed);
    widest = std::max({widest, item, item_size(p.operands[o].computed)});
  }
  // Registers between the steps may be of any type.
  if (p.step_count <= 1) plan.tile = std::clamp<int64_t>(kTile * 8 / widest, kTile, 2 * kTile);
  plan.stream = plan.numel * item_size(p.operands[0].stored) >= kStreamBytes &&
                p.operands[0].strides[p.ndim - 1 < 0 ? 0 : p.ndim - 1] != 0;
  for (int o = 1; plan.stream && o < p.operand_count; o++) plan.stream = p.operands[o].data != p.operands[0].data;
  if (plan.stream && plan.strides[0].back() != item_size(p.operands[0].stored)) plan.stream = false;
  if (run_transpose(plan)) return;
  int64_t grain = std::max<int64_t>(kTile, kGrain / std::max<int64_t>(p.cost, 1) / kTile * kTile);
  if (dense && !plan.stream) {
    parallel_for(0, plan.numel, grain, [&](int64_t begin, int64_t end) { run_dense(plan, begin, end); });
    return;
  }
  if (has_rows(plan)) {
    parallel_for(0, plan.sizes[0], std::max<int64_t>(1, grain / plan.sizes[1]),
                 [&](int64_t begin, int64_t end) { run_rows(plan, begin, end); });
    return;
  }
  parallel_for(0, plan.numel, grain, [&](int64_t begin, int64_t end) { run_range(plan, begin, end); });
}

}  // namespace

void run_program(const TileProgram& program) {
  Plan plan;
  plan.program = &program;
  merge_dimensions(program, plan);
  if (plan.numel == 0) return;
  if (plan.numel < kReleaseLock || in_parallel_region() || !PyGILState_Check()) {
    run_plan(plan);
    return;
  }
  PyThreadState* saved = PyEval_SaveThread();
  try {
    run_plan(plan);
  } catch (...) {
    PyEval_RestoreThread(saved);
    throw;
  }
  PyEval_RestoreThread(saved);
}

}  // namespace fl
