// Type promotion by PyTorch's documented rules (the lattice of "Type promotion" in its tensor attributes page).
#include "tensor/tensor.h"

namespace fl {
namespace {

DType the_default = DType::Float;

int rank(DType t) {  // among signed integers and the small unsigned one
  switch (t) {
    case DType::Bool:
      return 0;
    case DType::UInt8:
      return 1;
    case DType::Int8:
      return 2;
    case DType::Int16:
      return 3;
    case DType::Int32:
      return 4;
    case DType::Int64:
      return 5;
    default:
      return 6;
  }
}
bool wide_unsigned(DType t) { return t == DType::UInt16 || t == DType::UInt32 || t == DType::UInt64; }

}  // namespace

DType default_dtype() { return the_default; }
void set_default_dtype(DType dtype) { the_default = dtype; }

DType promote(DType a, DType b) {
  if (a == b) return a;
  FL_CHECK(is_floating(a) || is_floating(b) || !(wide_unsigned(a) || wide_unsigned(b)), "promotion of ", info(a).name,
           " and ", info(b).name,
           " is not supported: uint16, uint32 and uint64 have no common type with others than floats; convert one of "
           "them first");
  if (is_complex(a) || is_complex(b)) {
    DType ra = is_complex(a)    ? real_of(a)
               : is_floating(a) ? a
                                : DType::Half,
          rb = is_complex(b)    ? real_of(b)
               : is_floating(b) ? b
                                : DType::Half;
    return ra == DType::Double || rb == DType::Double ? DType::ComplexDouble : DType::ComplexFloat;
  }
  if (is_floating(a) || is_floating(b)) {
    if (!is_floating(a)) return b;
    if (!is_floating(b)) return a;
    if (a == DType::Double || b == DType::Double) return DType::Double;
    return DType::Float;  // float with any, or half with bfloat16
  }
  if (a == DType::Bool) return b;
  if (b == DType::Bool) return a;
  DType small = rank(a) < rank(b) ? a : b, large = rank(a) < rank(b) ? b : a;
  if (small == DType::UInt8 && large == DType::Int8) return DType::Int16;
  return large;
}

bool can_cast(DType from, DType to) {
  if (is_complex(from) && !is_complex(to)) return false;
  if (is_floating(from) && is_integral(to, true)) return false;
  if (from != DType::Bool && to == DType::Bool) return false;
  return true;
}

void TypePromoter::add(const Tensor& t) {
  DType d = t.dtype();
  if (t.is_wrapped_number()) {
    DType n = is_complex(d) ? complex_of(the_default) : is_floating(d) ? the_default : d;
    number_ = has_number_ ? promote(number_, n) : n;
    has_number_ = true;
  } else if (t.dim() == 0) {
    zero_ = has_zero_ ? promote(zero_, d) : d;
    has_zero_ = true;
  } else {
    dim_ = has_dim_ ? promote(dim_, d) : d;
    has_dim_ = true;
  }
}

void TypePromoter::add(const Scalar& s) {
  DType d = s.natural_dtype();
  if (is_complex(d))
    d = complex_of(the_default);
  else if (is_floating(d))
    d = the_default;
  number_ = has_number_ ? promote(number_, d) : d;
  has_number_ = true;
}

DType TypePromoter::result() const {
  auto category = [](DType t) { return is_complex(t) ? 3 : is_floating(t) ? 2 : t == DType::Bool ? 0 : 1; };
  // A class of lower priority only matters when it is of a higher category.
  auto combine = [&](bool has_high, DType high, bool has_low, DType low) {
    if (!has_low) return high;
    if (!has_high) return low;
    if (category(low) <= category(high)) return high;
    // Something complex beside a real tensor takes the tensor's precision.
    if (is_complex(low) && is_floating(high)) return complex_of(high);
    return high == DType::Bool ? promote(high, low) : low;
  };
  DType zero = combine(has_zero_, zero_, has_number_, number_);
  return combine(has_dim_, dim_, has_zero_ || has_number_, zero);
}

}  // namespace fl
