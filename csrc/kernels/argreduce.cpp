#include "tile/argreduce.h"

#include "math/math.h"
#include "tile/isa.h"

namespace fl {
namespace FL_ISA {
namespace {

template <class T, bool smallest>
struct Extreme {
  static FL_INLINE auto beats(auto b, auto a) {
    if constexpr (smallest)
      return b < a;
    else
      return b > a;
  }
  static FL_INLINE bool is_nan(T x) { return x != x; }
  static FL_INLINE bool wins(T b, T a) { return beats(b, a) | (is_nan(b) & !is_nan(a)); }

  static T best(const T* x, int64_t n) {
    constexpr int lanes = Vec<T>::N;
    Vec<T> a(x[0]), b = a, c = a, d = a;
    auto take = [](Vec<T>& v, Vec<T> y) { v = where(beats(y, v) | (y != y), y, v); };
    int64_t i = 0;
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
      take(a, Vec<T>::load(x + i));
      take(b, Vec<T>::load(x + i + lanes));
      take(c, Vec<T>::load(x + i + 2 * lanes));
      take(d, Vec<T>::load(x + i + 3 * lanes));
    }
    for (; i + lanes <= n; i += lanes) take(a, Vec<T>::load(x + i));
    take(a, b);
    take(c, d);
    take(a, c);
    T lane[lanes];
    a.store(lane);
    T r = lane[0];
    for (int k = 1; k < lanes; k++)
      if (wins(lane[k], r)) r = lane[k];
    for (; i < n; i++)
      if (wins(x[i], r)) r = x[i];
    return r;
  }
  static void run(const char* in, int64_t n, char* value, int64_t* index) {
    const T* x = reinterpret_cast<const T*>(in);
    constexpr int64_t block = 2048;
    T top = x[0];
    int64_t where_top = 0;
    for (int64_t i = 0; i < n; i += block) {
      T b = best(x + i, n - i < block ? n - i : block);
      if (wins(b, top)) {
        top = b;
        where_top = i;
      }
    }
    int64_t i = where_top;
    if (is_nan(top)) {
      while (!is_nan(x[i])) i++;
    } else {
      while (!(x[i] == top)) i++;
    }
    *reinterpret_cast<T*>(value) = x[i];
    *index = i;
  }
  static void rows(const char* in, int64_t rows, int64_t columns, char* values, int64_t* indices) {
    const T* x = reinterpret_cast<const T*>(in);
    T* value = reinterpret_cast<T*>(values);
    for (int64_t c = 0; c < columns; c++) {
      value[c] = x[c];
      indices[c] = 0;
    }
    for (int64_t r = 1; r < rows; r++) {
      const T* row = x + r * columns;
      for (int64_t c = 0; c < columns; c++) {
        bool win = wins(row[c], value[c]);
        value[c] = win ? row[c] : value[c];
        indices[c] = win ? r : indices[c];
      }
    }
  }
};

template <class T>
void put(DType t) {
  arg_loops[0][static_cast<int>(t)] = {Extreme<T, false>::run, Extreme<T, false>::rows};
  arg_loops[1][static_cast<int>(t)] = {Extreme<T, true>::run, Extreme<T, true>::rows};
}
bool install() {
  if (machine_isa() < FL_THIS_ISA) return false;
  put<float>(DType::Float);
  put<double>(DType::Double);
  put<int64_t>(DType::Int64);
  put<uint64_t>(DType::UInt64);
  return true;
}
const bool installed = install();

}  // namespace
}  // namespace FL_ISA
}  // namespace fl
