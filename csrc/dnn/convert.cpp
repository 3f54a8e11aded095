#include "dnn/convert.h"

#include <algorithm>

#include "base/half.h"
#include "base/threads.h"

namespace fl::dnn {
namespace {

constexpr int64_t kGrain = 1 << 15;

template <class T>
void widen(int64_t count, const void* source, float* target) {
  const T* values = static_cast<const T*>(source);
  parallel_for(0, count, kGrain, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) target[i] = static_cast<float>(values[i]);
  });
}

template <class T>
void narrow(int64_t count, const float* source, void* target) {
  T* values = static_cast<T*>(target);
  parallel_for(0, count, kGrain, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) values[i] = T(source[i]);
  });
}

}  // namespace

void to_float(DataType type, int64_t count, const void* source, float* target) {
  switch (type) {
    case DataType::bf16:
      return widen<BFloat16>(count, source, target);
    case DataType::f16:
      return widen<Half>(count, source, target);
    case DataType::f32:
      std::copy_n(static_cast<const float*>(source), count, target);
  }
}

void from_float(DataType type, int64_t count, const float* source, void* target) {
  switch (type) {
    case DataType::bf16:
      return narrow<BFloat16>(count, source, target);
    case DataType::f16:
      return narrow<Half>(count, source, target);
    case DataType::f32:
      std::copy_n(source, count, static_cast<float*>(target));
  }
}

}  // namespace fl::dnn
