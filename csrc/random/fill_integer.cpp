#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "random/element.h"
#include "random/fill.h"

namespace fl {
namespace {

template <class T>
T from_integer(int64_t value) {
  if constexpr (is_reduced_float<T>) {
    return T(static_cast<float>(value));
  } else if constexpr (std::same_as<T, Bool>) {
    return Bool(value != 0);
  } else {
    return static_cast<T>(value);
  }
}

// The remainder of 32-bit draws by a fixed 32-bit range, by a multiplication instead of a division (Lemire, Kaser and
// Kurz, "Faster remainder by direct computation", 2019; exact for every 32-bit draw).
class FastRemainder {
 public:
  explicit FastRemainder(uint32_t range) : range_(range), inverse_(~0ull / range + 1) {}
  uint32_t operator()(uint32_t value) const {
    return static_cast<uint32_t>((static_cast<unsigned __int128>(inverse_ * value) * range_) >> 64);
  }

 private:
  uint64_t range_;
  uint64_t inverse_;
};

template <class T>
void random(Generator& generator, T* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (std::same_as<T, Bool>) {
      out[i] = Bool((generator.random() & 1) != 0);
    } else if constexpr (std::same_as<T, double>) {
      out[i] = static_cast<double>(generator.random64() % ((1ull << 53) + 1));
    } else if constexpr (std::same_as<T, float> || is_reduced_float<T>) {
      out[i] = from_integer<T>(generator.random() % ((1u << significand_bits<T>)+1));
    } else if constexpr (std::same_as<T, uint64_t>) {
      out[i] = generator.random64();
    } else if constexpr (std::same_as<T, int64_t>) {
      out[i] = static_cast<int64_t>(generator.random64() & (~0ull >> 1));
    } else {
      out[i] = static_cast<T>(generator.random() & static_cast<uint32_t>(std::numeric_limits<T>::max()));
    }
  }
}

}  // namespace

void fill_random(Generator& generator, DType dtype, void* out, int64_t count) {
  const std::lock_guard lock(generator.mutex());
  visit_real(dtype, [&]<class T>() { random(generator, static_cast<T*>(out), count); });
}

void fill_integers(Generator& generator, DType dtype, void* out, int64_t count, uint64_t range, int64_t base) {
  // From here on a remainder of 32 bits would favour small numbers noticeably.
  constexpr uint64_t kWideRange = 1ull << 28;
  const std::lock_guard lock(generator.mutex());
  visit_real(dtype, [&]<class T>() {
    T* target = static_cast<T*>(out);
    const auto place = [&](uint64_t offset) {
      return from_integer<T>(static_cast<int64_t>(offset + static_cast<uint64_t>(base)));
    };
    if (range == 0) {
      for (int64_t i = 0; i < count; ++i) target[i] = place(generator.random64());
    } else if (range >= kWideRange) {
      for (int64_t i = 0; i < count; ++i) target[i] = place(generator.random64() % range);
    } else {
      const FastRemainder remainder(static_cast<uint32_t>(range));
      for (int64_t i = 0; i < count; ++i) target[i] = place(remainder(generator.random()));
    }
  });
}

void fill_integers_full(Generator& generator, DType dtype, void* out, int64_t count) {
  const std::lock_guard lock(generator.mutex());
  visit_real(dtype, [&]<class T>() {
    T* target = static_cast<T*>(out);
    for (int64_t i = 0; i < count; ++i) target[i] = from_integer<T>(static_cast<int64_t>(generator.random64()));
  });
}

void fill_permutation(Generator& generator, DType dtype, void* out, int64_t count) {
  // From here on a remainder of 32 bits would be too uneven.
  constexpr int64_t kLargeCount = std::numeric_limits<uint32_t>::max() / 20;
  const std::lock_guard lock(generator.mutex());
  visit_real(dtype, [&]<class T>() {
    T* target = static_cast<T*>(out);
    if (count >= kLargeCount) {
      // The inside-out shuffle: each new element takes a place among those before it.
      for (int64_t i = 0; i < count; ++i) {
        const auto place = static_cast<int64_t>(generator.random64() % static_cast<uint64_t>(i + 1));
        target[i] = target[place];
        target[place] = from_integer<T>(i);
      }
      return;
    }
    for (int64_t i = 0; i < count; ++i) target[i] = from_integer<T>(i);
    for (int64_t i = 0; i < count - 1; ++i) {
      const uint32_t step = generator.random() % static_cast<uint32_t>(count - i);
      std::swap(target[i], target[i + step]);
    }
  });
}

namespace {

// Floats only hold every integer up to 2^bits; a bound between two of them moves inwards to the next one held.
template <class T>
int64_t round_trip(int64_t value) {
  return static_cast<int64_t>(static_cast<float>(T(static_cast<float>(value))));
}
template <>
int64_t round_trip<double>(int64_t value) {
  return static_cast<int64_t>(static_cast<double>(value));
}

uint64_t magnitude(int64_t value) {
  return value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
}

int64_t spacing(int64_t value, int bits) {
  const int exponent = static_cast<int>(std::bit_width(magnitude(value))) - 1;
  return int64_t{1} << (exponent - bits + 1);
}

template <class T>
int64_t round_up(int64_t from) {
  const int64_t next = round_trip<T>(from + 1);
  return next < from ? next + spacing(from + 1, significand_bits<T>) : from;
}

template <class T>
int64_t round_down(int64_t to) {
  const int64_t last = round_trip<T>(to - 1);
  return last >= to ? last - spacing(to - 1, significand_bits<T>) : to;
}

template <class T>
inline constexpr bool is_floating_element = is_reduced_float<T> || std::is_floating_point_v<T>;

// The last value of a range without an end: floats stop where they no longer hold every integer.
template <class T>
int64_t open_end() {
  if constexpr (std::same_as<T, Bool>) {
    return 1;
  } else if constexpr (is_floating_element<T>) {
    return int64_t{1} << significand_bits<T>;
  } else if constexpr (sizeof(T) < 8) {
    return static_cast<int64_t>(std::numeric_limits<T>::max());
  } else {
    return std::numeric_limits<int64_t>::max();
  }
}

template <class T>
bool representable(int64_t value) {
  if constexpr (std::same_as<T, Half>) {
    return value >= -65504 && value <= 65504;
  } else if constexpr (is_floating_element<T>) {
    return true;
  } else if constexpr (std::same_as<T, Bool>) {
    return value == 0 || value == 1;
  } else {
    return std::in_range<T>(value);
  }
}

}  // namespace

IntegerBounds integer_bounds(DType dtype, int64_t from, std::optional<int64_t> to) {
  using Problem = IntegerBounds::Problem;
  IntegerBounds bounds{0, 0, Problem::kNone};
  visit_real(dtype, [&]<class T>() {
    int64_t first = from;
    int64_t last = to ? *to - (*to > from) : open_end<T>();
    if constexpr (is_floating_element<T>) {
      first = round_up<T>(from);
      if (to && *to > from) last = round_down<T>(*to) - 1;
    }
    if ((to && *to <= from) || first > last) {
      bounds.problem = Problem::kEmpty;
    } else if (!representable<T>(first)) {
      bounds.problem = Problem::kFrom;
    } else if (!representable<T>(last)) {
      bounds.problem = Problem::kTo;
    } else {
      bounds = {first, static_cast<uint64_t>(last) - static_cast<uint64_t>(first) + 1, Problem::kNone};
    }
  });
  return bounds;
}

}  // namespace fl
