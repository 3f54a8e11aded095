// Gathering and scattering by positions, and rows combined into rows.
#include "ops/indexing/kernels.h"
#include "tile/isa.h"
#include "tile/program.h"

namespace fl {
namespace FL_ISA {
namespace {

bool in_bounds(const int64_t* positions, int64_t n, int64_t size) {
  // A sign bit remains where a position is negative or past the last.
  uint64_t worst = 0, last = static_cast<uint64_t>(size) - 1;
  for (int64_t i = 0; i < n; i++)
    worst |= static_cast<uint64_t>(positions[i]) | (last - static_cast<uint64_t>(positions[i]));
  return !(worst >> 63);
}

template <class T>
void gather(const char* from, const int64_t* positions, int64_t along, int64_t step, char* to, int64_t n) {
  const T* x = reinterpret_cast<const T*>(from);
  T* __restrict y = reinterpret_cast<T*>(to);
  if (along == 1 && step == 0) {
    for (int64_t i = 0; i < n; i++) y[i] = x[positions[i]];
  } else {
    for (int64_t i = 0; i < n; i++) y[i] = x[positions[i] * along + i * step];
  }
}

template <class T, class F>
void scatter_with(T* y, const int64_t* positions, int64_t along, int64_t step, const T* x, int64_t x_step, int64_t n,
                  F f) {
  if (along == 1 && step == 0 && x_step == 1) {
    for (int64_t i = 0; i < n; i++) f(y[positions[i]], x[i]);
  } else if (step == 1 && x_step == 1) {
    for (int64_t i = 0; i < n; i++) f(y[positions[i] * along + i], x[i]);
  } else {
    for (int64_t i = 0; i < n; i++) f(y[positions[i] * along + i * step], x[i * x_step]);
  }
}
template <class T>
void scatter(char* to, const int64_t* positions, int64_t along, int64_t step, const char* from, int64_t from_step,
             int64_t n) {
  scatter_with(reinterpret_cast<T*>(to), positions, along, step, reinterpret_cast<const T*>(from), from_step, n,
               [](T& a, T b) { a = b; });
}
template <class T, class F>
void scatter_combine(char* to, const int64_t* positions, int64_t along, int64_t step, const char* from,
                     int64_t from_step, int64_t n) {
  scatter_with(reinterpret_cast<T*>(to), positions, along, step, reinterpret_cast<const T*>(from), from_step, n,
               [](T& a, T b) { a = F{}(a, b); });
}
template <class T, class F>
void combine_row(char* to, const char* from, int64_t n) {
  T* __restrict y = reinterpret_cast<T*>(to);
  const T* __restrict x = reinterpret_cast<const T*>(from);
  for (int64_t i = 0; i < n; i++) y[i] = F{}(y[i], x[i]);
}
template <class T>
void reverse(const char* last, char* to, int64_t n) {
  const T* x = reinterpret_cast<const T*>(last);
  T* __restrict y = reinterpret_cast<T*>(to);
  for (int64_t i = 0; i < n; i++) y[i] = x[-i];
}

struct Wide {
  uint64_t low, high;
};

template <class F>
void fill_combine(Combine how) {
#define TYPE(E, T)                                                                                          \
  index_kernels.scatter_combine[static_cast<int>(how)][static_cast<int>(DType::E)] = scatter_combine<T, F>; \
  index_kernels.combine_row[static_cast<int>(how)][static_cast<int>(DType::E)] = combine_row<T, F>;
  FL_FORALL_DTYPES(TYPE)
#undef TYPE
}

bool install() {
  if (machine_isa() < FL_THIS_ISA) return false;
  IndexKernels& k = index_kernels;
  k.in_bounds = in_bounds;
#define SIZE(i, T)           \
  k.gather[i] = gather<T>;   \
  k.scatter[i] = scatter<T>; \
  k.reverse[i] = reverse<T>;
  SIZE(0, uint8_t)
  SIZE(1, uint16_t)
  SIZE(2, uint32_t)
  SIZE(3, uint64_t)
  SIZE(4, Wide)
#undef SIZE
  fill_combine<combine::Add>(Combine::Add);
  fill_combine<combine::Mul>(Combine::Mul);
  fill_combine<combine::Min>(Combine::Min);
  fill_combine<combine::Max>(Combine::Max);
  return true;
}
const bool installed = install();

}  // namespace
}  // namespace FL_ISA
}  // namespace fl
