// Element types. The enum order is the order of the promotion lattice's table in tensor/promotion.cpp.
#pragma once
#include <cstdint>
#include <string_view>

#include "base/bool.h"
#include "base/complex.h"
#include "base/half.h"

namespace fl {

enum class DType : uint8_t {
  UInt8,
  Int8,
  Int16,
  Int32,
  Int64,
  Half,
  Float,
  Double,
  ComplexFloat,
  ComplexDouble,
  Bool,
  BFloat16,
  UInt16,
  UInt32,
  UInt64,
};
inline constexpr int kNumDTypes = 15;

struct DTypeInfo {
  std::string_view name;
  uint8_t size;
  bool floating, complex, is_signed;
};

inline constexpr DTypeInfo kDTypeInfo[kNumDTypes] = {
    {"uint8", 1, false, false, false},     {"int8", 1, false, false, true},    {"int16", 2, false, false, true},
    {"int32", 4, false, false, true},      {"int64", 8, false, false, true},   {"float16", 2, true, false, true},
    {"float32", 4, true, false, true},     {"float64", 8, true, false, true},  {"complex64", 8, false, true, true},
    {"complex128", 16, false, true, true}, {"bool", 1, false, false, false},   {"bfloat16", 2, true, false, true},
    {"uint16", 2, false, false, false},    {"uint32", 4, false, false, false}, {"uint64", 8, false, false, false},
};

inline constexpr const DTypeInfo& info(DType t) { return kDTypeInfo[static_cast<int>(t)]; }
inline constexpr int64_t item_size(DType t) { return info(t).size; }
inline constexpr bool is_floating(DType t) { return info(t).floating; }
inline constexpr bool is_complex(DType t) { return info(t).complex; }
inline constexpr bool is_integral(DType t, bool include_bool) {
  return !is_floating(t) && !is_complex(t) && (include_bool || t != DType::Bool);
}
inline constexpr bool is_differentiable(DType t) { return is_floating(t) || is_complex(t); }
inline constexpr DType real_of(DType t) {
  return t == DType::ComplexFloat ? DType::Float : t == DType::ComplexDouble ? DType::Double : t;
}
inline constexpr DType complex_of(DType t) {
  return t == DType::Double || t == DType::ComplexDouble ? DType::ComplexDouble : DType::ComplexFloat;
}

template <class T>
struct DTypeOf;
// clang-format off
#define FL_FORALL_DTYPES(X)               \
  X(UInt8, uint8_t)                       \
  X(Int8, int8_t)                         \
  X(Int16, int16_t)                       \
  X(Int32, int32_t)                       \
  X(Int64, int64_t)                       \
  X(Half, ::fl::Half)                     \
  X(Float, float)                         \
  X(Double, double)                       \
  X(ComplexFloat, ::fl::Complex<float>)   \
  X(ComplexDouble, ::fl::Complex<double>) \
  X(Bool, ::fl::Bool)                     \
  X(BFloat16, ::fl::BFloat16)             \
  X(UInt16, uint16_t)                     \
  X(UInt32, uint32_t)                     \
  X(UInt64, uint64_t)
// clang-format on
#define FL_MAP(E, T)                         \
  template <>                                \
  struct DTypeOf<T> {                        \
    static constexpr DType value = DType::E; \
  };
FL_FORALL_DTYPES(FL_MAP)
#undef FL_MAP
template <class T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

// Calls f.template operator()<T>() with the C++ type that stores `dtype`.
template <class F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
  switch (dtype) {
#define FL_CASE(E, T) \
  case DType::E:      \
    return f.template operator()<T>();
    FL_FORALL_DTYPES(FL_CASE)
#undef FL_CASE
  }
  __builtin_unreachable();
}

}  // namespace fl
