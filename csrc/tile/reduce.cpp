#include "tile/reduce.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/threads.h"
#include "tile/program.h"

namespace fl {

const ReduceLoops* reduce_loops[kReductions][kNumDTypes];

namespace {

constexpr int64_t kGrain = 32768;  // elements worth a task of their own
constexpr int64_t kRun = 16384;    // elements, and rows below, summed into one accumulator before it is merged
constexpr int64_t kRowRun = 512;
constexpr int64_t kStageElements = 1024, kStageColumns = 128, kColumns = 1024;

struct Dim {
  int64_t size, stride, out_stride;
};

struct Walk {
  const ReduceLoops* loops;
  DType stored;
  int64_t item;
  Dim kept[kMaxDims], reduced[kMaxDims];
  int kept_count = 0, reduced_count = 0;
  int64_t outputs = 1, count = 1;
};

// Merges neighbours that are one dimension in memory.
int coalesce(Dim* dims, int n) {
  std::stable_sort(dims, dims + n, [](const Dim& a, const Dim& b) { return a.stride > b.stride; });
  int last = -1;
  for (int i = 0; i < n; i++) {
    if (dims[i].size == 1) continue;
    if (last >= 0 && dims[last].stride == dims[i].size * dims[i].stride &&
        dims[last].out_stride == dims[i].size * dims[i].out_stride) {
      dims[last] = {dims[last].size * dims[i].size, dims[i].stride, dims[i].out_stride};
    } else {
      dims[++last] = dims[i];
    }
  }
  return last + 1;
}

// n elements `stride` bytes apart into one accumulator.
void reduce_run(const Walk& w, const char* in, int64_t n, int64_t stride, char* accumulator) {
  const ReduceLoops& l = *w.loops;
  bool plain = w.stored == l.computed;
  if (plain && (stride == w.item || n == 1)) return l.run(in, n, accumulator);
  alignas(64) char gathered[kStageElements * 16], converted[kStageElements * 16];
  for (int64_t i = 0; i < n; i += kStageElements) {
    int64_t m = std::min(n - i, kStageElements);
    const char* from = in + i * stride;
    if (stride != w.item && m > 1) {
      tile_kernels.gather[size_index(w.item)](from, stride, gathered, m);
      from = gathered;
    }
    if (!plain) {
      tile_kernels.convert[static_cast<int>(w.stored)][static_cast<int>(l.computed)](from, converted, m);
      from = converted;
    }
    l.run(from, m, accumulator);
  }
}

void reduce_rows(const Walk& w, const char* in, int64_t rows, int64_t row_stride, int64_t columns, int64_t stride,
                 char* accumulators) {
  const ReduceLoops& l = *w.loops;
  bool plain = w.stored == l.computed;
  if (plain && stride == w.item) return l.rows(in, rows, row_stride, columns, accumulators);
  constexpr int64_t kStageRows = 8;
  alignas(64) char gathered[kStageColumns * 16], converted[kStageRows * kStageColumns * 16];
  int64_t width = item_size(l.computed) * kStageColumns;
  for (int64_t c = 0; c < columns; c += kStageColumns) {
    int64_t m = std::min(columns - c, kStageColumns);
    for (int64_t r = 0; r < rows; r += kStageRows) {
      int64_t k = std::min(rows - r, kStageRows);
      for (int64_t i = 0; i < k; i++) {
        const char* from = in + (r + i) * row_stride + c * stride;
        if (stride != w.item) {
          tile_kernels.gather[size_index(w.item)](from, stride, gathered, m);
          from = gathered;
        }
        tile_kernels.convert[static_cast<int>(w.stored)][static_cast<int>(l.computed)](from, converted + i * width, m);
      }
      l.rows(converted, k, width, m, accumulators + c * l.accumulator_bytes);
    }
  }
}

// The reduced elements begin ... end, in the order of w.reduced, for `columns` outputs that lie `stride` apart in the
// input (columns 0: a single output, whose elements form runs).
void reduce_range(const Walk& w, const char* in, int64_t begin, int64_t end, int64_t columns, int64_t stride,
                  char* accumulators) {
  int n = w.reduced_count;
  Dim last = n ? w.reduced[n - 1] : Dim{1, w.item, 0};
  int64_t width = columns ? columns : 1;
  int64_t most = columns ? kRowRun : kRun;
  alignas(64) char partial[kColumns * kMaxAccumulatorBytes];
  bool whole = end - begin <= most;
  while (begin < end) {
    int64_t at = begin % last.size, rest = begin / last.size, offset = at * last.stride;
    for (int d = n - 2; d >= 0; d--) {
      offset += rest % w.reduced[d].size * w.reduced[d].stride;
      rest /= w.reduced[d].size;
    }
    int64_t m = std::min({last.size - at, end - begin, most});
    char* into = accumulators;
    bool staged = !whole && m * 4 > most;
    if (staged) {
      into = partial;
      w.loops->start(into, width);
    }
    if (columns)
      reduce_rows(w, in + offset, m, last.stride, columns, stride, into);
    else
      reduce_run(w, in + offset, m, last.stride, into);
    if (staged) w.loops->merge(accumulators, partial, width);
    begin += m;
  }
}

void store(const Walk& w, const char* accumulators, int64_t n, const Tensor& out, int64_t at, int64_t out_stride,
           const ReduceParams& params) {
  const ReduceLoops& l = *w.loops;
  int64_t size = out.item_size();
  if (out.dtype() == l.result && (out_stride == 1 || n == 1))
    return l.finish(accumulators, n, out.bytes() + at * size, params);
  alignas(64) char finished[kStageColumns * 16], converted[kStageColumns * 16];
  for (int64_t i = 0; i < n; i += kStageColumns) {
    int64_t m = std::min(n - i, kStageColumns);
    l.finish(accumulators + i * l.accumulator_bytes, m, finished, params);
    tile_kernels.convert[static_cast<int>(l.result)][static_cast<int>(out.dtype())](finished, converted, m);
    tile_kernels.scatter[size_index(size)](converted, out.bytes() + (at + i * out_stride) * size, out_stride * size, m);
  }
}

// A small contiguous tensor whose last or first dimensions are reduced: one call of each loop does it all. False where
// it isn't one.
bool reduce_small(const ReduceLoops& loops, const Tensor& in, uint64_t mask, const Tensor& out, ReduceParams params) {
  int64_t n = in.dim(), outputs = out.numel(), count = in.numel() / outputs;
  uint64_t all = n >= 64 ? ~uint64_t(0) : (uint64_t(1) << n) - 1, kept = all & ~mask;
  bool last = (kept & (kept + 1)) == 0, first = (mask & (mask + 1)) == 0;
  if (!(last || first) || outputs > kColumns || mask == 0) return false;
  params.count = count;
  alignas(64) char accumulators[kColumns * kMaxAccumulatorBytes];
  loops.start(accumulators, outputs);
  if (last) {
    int64_t step = count * in.item_size();
    for (int64_t i = 0; i < outputs; i++)
      loops.run(in.bytes() + i * step, count, accumulators + i * loops.accumulator_bytes);
  } else {
    loops.rows(in.bytes(), count, outputs * in.item_size(), outputs, accumulators);
  }
  loops.finish(accumulators, outputs, out.bytes(), params);
  return true;
}

}  // namespace

void run_reduction(const ReduceLoops& loops, const Tensor& in, uint64_t mask, const Tensor& out, ReduceParams params) {
  alignas(16) char single[kMaxAccumulatorBytes];
  // Small and whole: nothing to plan.
  if (out.numel() == 1 && in.is_contiguous() && in.dtype() == loops.computed && in.numel() <= kRun) {
    params.count = in.numel();
    loops.start(single, 1);
    if (in.numel()) loops.run(in.bytes(), in.numel(), single);
    if (out.dtype() == loops.result) return loops.finish(single, 1, out.bytes(), params);
    alignas(16) char finished[16];
    loops.finish(single, 1, finished, params);
    tile_kernels.convert[static_cast<int>(loops.result)][static_cast<int>(out.dtype())](finished, out.bytes(), 1);
    return;
  }

  if (in.numel() && in.numel() <= kRun && in.is_contiguous() && in.dtype() == loops.computed &&
      out.dtype() == loops.result && reduce_small(loops, in, mask, out, params))
    return;

  Walk w;
  w.loops = &loops;
  w.stored = in.dtype();
  w.item = in.item_size();
  for (int d = static_cast<int>(in.dim()) - 1; d >= 0; d--) {
    int64_t size = in->sizes[d], stride = in->strides[d] * w.item;
    if (mask >> d & 1) {
      w.count *= size;
      w.reduced[w.reduced_count++] = {size, stride, 0};
    } else {
      w.kept[w.kept_count++] = {size, stride, w.outputs};
      w.outputs *= size;
    }
  }
  if (w.outputs == 0) return;
  params.count = w.count;
  std::reverse(w.kept, w.kept + w.kept_count);
  std::reverse(w.reduced, w.reduced + w.reduced_count);
  w.kept_count = coalesce(w.kept, w.kept_count);
  w.reduced_count = coalesce(w.reduced, w.reduced_count);

  // Rows of accumulators where the outputs lie closer together in the input than the elements of one output.
  bool by_rows = w.kept_count && w.count > 1 && w.kept[w.kept_count - 1].size > 1 && w.reduced_count &&
                 w.kept[w.kept_count - 1].stride < w.reduced[w.reduced_count - 1].stride;
  Dim row = by_rows ? w.kept[--w.kept_count] : Dim{1, 0, 1};
  int64_t columns = by_rows ? std::min(row.size, kColumns) : 0, width = by_rows ? columns : 1;
  int64_t tiles = by_rows ? (row.size + columns - 1) / columns : 1;
  int64_t groups = w.outputs / row.size * tiles;
  int64_t bytes = loops.accumulator_bytes;

  // Where outputs are too few to share out, the reduced elements are cut as well.
  int64_t piece = std::max<int64_t>(kGrain * 2 / width, 1);
  int64_t pieces = groups < 16 && w.count * width > 4 * kGrain ? (w.count + piece - 1) / piece : 1;
  if (pieces == 1) piece = w.count;
  std::unique_ptr<char[]> partials;
  if (pieces > 1) partials.reset(new char[groups * pieces * width * bytes]);

  auto locate = [&](int64_t group, int64_t* at, int64_t* m) {
    int64_t tile = group % tiles, rest = group / tiles, offset = tile * width * row.stride;
    *at = tile * width * row.out_stride;
    *m = std::min(row.size - tile * width, width);
    for (int d = w.kept_count - 1; d >= 0; d--) {
      int64_t i = rest % w.kept[d].size;
      rest /= w.kept[d].size;
      offset += i * w.kept[d].stride;
      *at += i * w.kept[d].out_stride;
    }
    return in.bytes() + offset;
  };
  int64_t work = std::max<int64_t>(piece * width, 1);
  parallel_for(0, groups * pieces, std::max<int64_t>(kGrain / work, 1), [&](int64_t begin, int64_t end) {
    alignas(64) char accumulators[kColumns * kMaxAccumulatorBytes];
    for (int64_t task = begin; task < end; task++) {
      int64_t at, m, part = task % pieces;
      const char* from = locate(task / pieces, &at, &m);
      char* into = pieces > 1 ? partials.get() + task * width * bytes : accumulators;
      loops.start(into, m);
      reduce_range(w, from, part * piece, std::min(w.count, (part + 1) * piece), by_rows ? m : 0, row.stride, into);
      if (pieces == 1) store(w, into, m, out, at, row.out_stride, params);
    }
  });
  if (pieces == 1) return;
  for (int64_t group = 0; group < groups; group++) {
    int64_t at, m;
    locate(group, &at, &m);
    char* first = partials.get() + group * pieces * width * bytes;
    for (int64_t step = 1; step < pieces; step *= 2)
      for (int64_t i = 0; i + step < pieces; i += 2 * step)
        loops.merge(first + i * width * bytes, first + (i + step) * width * bytes, m);
    store(w, first, m, out, at, row.out_stride, params);
  }
}

}  // namespace fl
