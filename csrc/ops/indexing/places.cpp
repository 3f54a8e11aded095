#include "ops/indexing/places.h"

#include "dispatch/dispatch.h"
#include "ops/indexing/kernels.h"
#include "tile/program.h"

namespace fl {

IndexKernels index_kernels;

namespace {

constexpr int64_t kGrain = 32768;  // elements to a chunk

template <class T>
void read_as(const Places& p, T* out) {
  const T* data = reinterpret_cast<const T*>(p.data);
  int64_t lines = p.after.lines(), line = p.after.line(), step = p.after.step(0), size = lines * line;
  auto read_place = [&](const T* from, T* to) {
    if (size == 1) {
      *to = *from;
    } else if (lines == 1 && step == 1) {
      std::memcpy(to, from, size * sizeof(T));
    } else {
      p.after.run(0, lines, [&](const Walk<1>::Offsets& at) {
        const T* x = from + at[0];
        if (step == 1) {
          std::memcpy(to, x, line * sizeof(T));
        } else {
          for (int64_t i = 0; i < line; i++) to[i] = x[i * step];
        }
        to += line;
      });
    }
  };
  if (p.before.numel() == 1) {
    parallel_for(0, p.count, std::max<int64_t>(1, kGrain / size), [&](int64_t a, int64_t b) {
      if (size == 1) {
        index_kernels.gather[size_index(sizeof(T))](p.data, p.offsets + a, 1, 0, reinterpret_cast<char*>(out + a),
                                                    b - a);
      } else {
        for (int64_t k = a; k < b; k++) read_place(data + p.offsets[k], out + k * size);
      }
    });
    return;
  }
  int64_t row = p.before.line(), row_step = p.before.step(0);
  parallel_for(0, p.before.lines() * row, std::max<int64_t>(1, kGrain / (size * p.count)), [&](int64_t a, int64_t b) {
    for (int64_t i = a; i < b;) {
      int64_t first = i % row, last = std::min(row, first + b - i), at = i;
      p.before.run(i / row, i / row + 1, [&](const Walk<1>::Offsets& base) {
        for (int64_t r = first; r < last; r++, at++) {
          const T* from = data + base[0] + r * row_step;
          T* to = out + at * p.count * size;
          if (size == 1) {
            index_kernels.gather[size_index(sizeof(T))](reinterpret_cast<const char*>(from), p.offsets, 1, 0,
                                                        reinterpret_cast<char*>(to), p.count);
          } else {
            for (int64_t k = 0; k < p.count; k++) read_place(from + p.offsets[k], to + k * size);
          }
        }
      });
      i = at;
    }
  });
}

template <class T>
void write_as(const Places& p, const T* source, bool single, Combine how) {
  T* data = reinterpret_cast<T*>(p.data);
  int64_t lines = p.after.lines(), line = p.after.line(), step = p.after.step(0), size = lines * line;
  int type = static_cast<int>(p.dtype), bytes = size_index(sizeof(T));
  auto combine_row = index_kernels.combine_row[static_cast<int>(how)][type];
  auto scatter = how == Combine::Assign ? index_kernels.scatter[bytes]
                                        : index_kernels.scatter_combine[static_cast<int>(how)][type];
  constexpr int64_t kAtFirst = 0;
  auto write_line = [&](T* to, const T* from) {
    if (single && how == Combine::Assign && step == 1) {
      tile_kernels.fill[bytes](reinterpret_cast<const char*>(source), reinterpret_cast<char*>(to), line);
    } else if (single || step != 1) {
      for (int64_t i = 0; i < line; i++)
        scatter(reinterpret_cast<char*>(to + i * step), &kAtFirst, 0, 0,
                reinterpret_cast<const char*>(single ? source : from + i), 0, 1);
    } else if (how == Combine::Assign) {
      std::memcpy(to, from, line * sizeof(T));
    } else {
      combine_row(reinterpret_cast<char*>(to), reinterpret_cast<const char*>(from), line);
    }
  };
  auto write_row = [&](T* base, const T* from) {
    if (size == 1) {
      scatter(reinterpret_cast<char*>(base), p.offsets, 1, 0, reinterpret_cast<const char*>(from), single ? 0 : 1,
              p.count);
      return;
    }
    for (int64_t k = 0; k < p.count; k++) {
      T* place = base + p.offsets[k];
      const T* x = from + (single ? 0 : k * size);
      if (lines == 1) {
        write_line(place, x);
      } else {
        p.after.run(0, lines, [&](const Walk<1>::Offsets& at) {
          write_line(place + at[0], x);
          if (!single) x += line;
        });
      }
    }
  };
  int64_t row = p.before.line(), row_step = p.before.step(0);
  parallel_for(0, p.before.lines() * row, std::max<int64_t>(1, kGrain / (size * p.count)), [&](int64_t a, int64_t b) {
    for (int64_t i = a; i < b;) {
      int64_t first = i % row, last = std::min(row, first + b - i), at = i;
      p.before.run(i / row, i / row + 1, [&](const Walk<1>::Offsets& base) {
        for (int64_t r = first; r < last; r++, at++)
          write_row(data + base[0] + r * row_step, source + (single ? 0 : at * p.count * size));
      });
      i = at;
    }
  });
}

}  // namespace

void read_places(const Places& p, char* out) {
  if (p.count == 0 || p.before.numel() == 0 || p.after.numel() == 0) return;
  visit_size(item_size(p.dtype), [&]<class T>() { read_as(p, reinterpret_cast<T*>(out)); });
}

void write_places(const Places& p, const char* source, bool single, Combine how) {
  if (p.count == 0 || p.before.numel() == 0 || p.after.numel() == 0) return;
  visit_size(item_size(p.dtype), [&]<class T>() { write_as(p, reinterpret_cast<const T*>(source), single, how); });
}

Tensor checked_positions(const Tensor& index, int64_t size, int64_t dim, const char* op, bool negative,
                         ErrorKind kind) {
  Tensor positions = index;
  if (index.dtype() != DType::Int64 || !index.is_contiguous()) {
    positions = empty(index.sizes(), DType::Int64, index.device());
    raw_copy(positions, index);
  }
  if (positions.is_meta()) return positions;
  const int64_t* p = positions.data<int64_t>();
  int64_t n = positions.numel(), low = 0, high = -1;
  if (index_kernels.in_bounds(p, n, size)) return positions;
  for (int64_t i = 0; i < n; i++) {
    low = std::min(low, p[i]);
    high = std::max(high, p[i]);
  }
  if (low < (negative ? -size : 0) || high >= size)
    fail(kind, op, "index ", low < (negative ? -size : 0) ? low : high, " is out of bounds for dimension ", dim,
         " with size ", size);
  if (low >= 0) return positions;
  if (positions.is(index)) positions = raw_clone(index);
  int64_t* q = positions.data<int64_t>();
  for (int64_t i = 0; i < n; i++) q[i] += q[i] < 0 ? size : 0;
  return positions;
}

}  // namespace fl
