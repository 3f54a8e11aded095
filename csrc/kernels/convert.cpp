// Loading and storing tiles: conversion between types, gathering and scattering by stride, blocks of transposes.
#include "simd/convert.h"

#include "tile/isa.h"

namespace fl {
namespace FL_ISA {
namespace {

template <class From, class To>
void convert(const char* from, char* to, int64_t n) {
  convert_array(reinterpret_cast<const From*>(from), reinterpret_cast<To*>(to), n);
}

template <int bytes>
struct Block {
  char b[bytes];
};
template <class T>
void gather(const char* from, int64_t stride, char* to, int64_t n) {
  T* out = reinterpret_cast<T*>(to);
  for (int64_t i = 0; i < n; i++) out[i] = *reinterpret_cast<const T*>(from + i * stride);
}
template <class T>
void scatter(const char* from, char* to, int64_t stride, int64_t n) {
  const T* in = reinterpret_cast<const T*>(from);
  for (int64_t i = 0; i < n; i++) *reinterpret_cast<T*>(to + i * stride) = in[i];
}
template <class T>
void fill(const char* value, char* to, int64_t n) {
  T v = *reinterpret_cast<const T*>(value);
  T* out = reinterpret_cast<T*>(to);
  for (int64_t i = 0; i < n; i++) out[i] = v;
}

// Square blocks keep both sides in the cache: rows of the result are written whole.
template <class T>
void transpose(const char* from, int64_t from_stride, char* to, int64_t to_stride, int64_t rows, int64_t columns) {
  constexpr int64_t kBlock = sizeof(T) >= 8 ? 8 : 16;
  for (int64_t i0 = 0; i0 < rows; i0 += kBlock) {
    int64_t i1 = i0 + kBlock < rows ? i0 + kBlock : rows;
    for (int64_t j0 = 0; j0 < columns; j0 += kBlock) {
      int64_t j1 = j0 + kBlock < columns ? j0 + kBlock : columns;
      if (i1 - i0 == kBlock && j1 - j0 == kBlock) {
        T block[kBlock][kBlock];
        for (int64_t j = 0; j < kBlock; j++) {
          const T* in = reinterpret_cast<const T*>(from + (j0 + j) * from_stride) + i0;
          for (int64_t i = 0; i < kBlock; i++) block[i][j] = in[i];
        }
        for (int64_t i = 0; i < kBlock; i++)
          memcpy(to + (i0 + i) * to_stride + j0 * sizeof(T), block[i], sizeof(block[i]));
      } else {
        for (int64_t i = i0; i < i1; i++) {
          T* out = reinterpret_cast<T*>(to + i * to_stride);
          for (int64_t j = j0; j < j1; j++) out[j] = reinterpret_cast<const T*>(from + j * from_stride)[i];
        }
      }
    }
  }
}

void stream(const char* from, char* to, int64_t bytes) {
#if FL_VECTOR_BYTES >= 32 && defined(__x86_64__)
  typedef long long V __attribute__((vector_size(32)));
  int64_t i = 0;
  int64_t lead = (32 - (reinterpret_cast<uintptr_t>(to) & 31)) & 31;
  if (lead > bytes) lead = bytes;
  memcpy(to, from, lead);
  for (i = lead; i + 32 <= bytes; i += 32) {
    V v;
    memcpy(&v, from + i, 32);
    __builtin_ia32_movntdq256(reinterpret_cast<V*>(to + i), v);
  }
  memcpy(to + i, from + i, bytes - i);
#else
  memcpy(to, from, bytes);
#endif
}

struct Wide {
  uint64_t a, b;
};

template <class From>
void fill_row(void (**row)(const char*, char*, int64_t)) {
#define TO(E, T) row[static_cast<int>(DType::E)] = convert<From, T>;
  FL_FORALL_DTYPES(TO)
#undef TO
}

bool install() {
  if (machine_isa() < FL_THIS_ISA) return false;
  TileKernels& k = tile_kernels;
#define ROW(E, T) fill_row<T>(k.convert[static_cast<int>(DType::E)]);
  FL_FORALL_DTYPES(ROW)
#undef ROW
#define SIZE(i, T)           \
  k.gather[i] = gather<T>;   \
  k.scatter[i] = scatter<T>; \
  k.fill[i] = fill<T>;       \
  k.transpose[i] = transpose<T>;
  // clang-format off
  SIZE(0, uint8_t)
  SIZE(1, uint16_t)
  SIZE(2, uint32_t)
  SIZE(3, uint64_t)
  SIZE(4, Wide)
// clang-format on
#undef SIZE
  k.stream = stream;
  return true;
}
const bool installed = install();

}  // namespace
}  // namespace FL_ISA
}  // namespace fl
