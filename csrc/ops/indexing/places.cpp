#include "ops/indexing/places.h"

#include "dispatch/dispatch.h"

namespace fl {
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
        for (int64_t k = a; k < b; k++) out[k] = data[p.offsets[k]];
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
            for (int64_t k = 0; k < p.count; k++) to[k] = from[p.offsets[k]];
          } else {
            for (int64_t k = 0; k < p.count; k++) read_place(from + p.offsets[k], to + k * size);
          }
        }
      });
      i = at;
    }
  });
}

template <class T, class F>
void write_as(const Places& p, const T* source, bool single, F combine) {
  T* data = reinterpret_cast<T*>(p.data);
  int64_t lines = p.after.lines(), line = p.after.line(), step = p.after.step(0), size = lines * line;
  auto write_line = [&](T* to, const T* from) {
    if constexpr (std::is_same_v<F, combine::Assign>) {
      if (single) {
        T value = *source;
        for (int64_t i = 0; i < line; i++) to[i * step] = value;
        return;
      }
      if (step == 1) {
        std::memcpy(to, from, line * sizeof(T));
        return;
      }
    }
    if (single) {
      T value = *source;
      for (int64_t i = 0; i < line; i++) to[i * step] = combine(to[i * step], value);
    } else if (step == 1) {
      for (int64_t i = 0; i < line; i++) to[i] = combine(to[i], from[i]);
    } else {
      for (int64_t i = 0; i < line; i++) to[i * step] = combine(to[i * step], from[i]);
    }
  };
  auto write_row = [&](T* base, const T* from) {
    if (size == 1) {
      for (int64_t k = 0; k < p.count; k++) {
        T* to = base + p.offsets[k];
        *to = combine(*to, single ? *source : from[k]);
      }
      return;
    }
    for (int64_t k = 0; k < p.count; k++) {
      T* place = base + p.offsets[k];
      if (lines == 1) {
        write_line(place, from + (single ? 0 : k * size));
      } else {
        const T* x = from + (single ? 0 : k * size);
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
  if (how == Combine::Assign) {
    visit_size(item_size(p.dtype), [&]<class T>() { write_as(p, reinterpret_cast<const T*>(source), single, combine::Assign{}); });
    return;
  }
  visit_dtype(p.dtype, [&]<class T>() {
    visit_combine(how, [&](auto combine) { write_as(p, reinterpret_cast<const T*>(source), single, combine); });
  });
}

Tensor checked_positions(const Tensor& index, int64_t size, int64_t dim, const char* op, bool negative, ErrorKind kind) {
  Tensor positions = index;
  if (index.dtype() != DType::Int64 || !index.is_contiguous()) {
    positions = empty(index.sizes(), DType::Int64, index.device());
    raw_copy(positions, index);
  }
  if (positions.is_meta()) return positions;
  const int64_t* p = positions.data<int64_t>();
  int64_t n = positions.numel(), low = 0, high = -1;
  for (int64_t i = 0; i < n; i++) {
    low = std::min(low, p[i]);
    high = std::max(high, p[i]);
  }
  if (low < (negative ? -size : 0) || high >= size)
    fail(kind, op, "index ", low < (negative ? -size : 0) ? low : high, " is out of bounds for dimension ", dim, " with size ", size);
  if (low >= 0) return positions;
  if (positions.is(index)) positions = raw_clone(index);
  int64_t* q = positions.data<int64_t>();
  for (int64_t i = 0; i < n; i++) q[i] += q[i] < 0 ? size : 0;
  return positions;
}

}  // namespace fl
