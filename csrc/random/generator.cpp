#include "random/generator.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>
#include <random>

#include "random/multiversion.h"

namespace fl {
namespace {

constexpr uint32_t kWords = 624;
constexpr uint32_t kShift = 397;

// The bytes `torch.get_rng_state()` returns: the layout of the oldest generator struct, then a float sample.
struct StateBytes {
  uint64_t initial_seed;
  int32_t left;
  int32_t seeded;
  uint64_t next;
  uint64_t words[kWords];
  double normal_x;
  double normal_y;
  double normal_rho;
  int32_t normal_valid;
  int32_t padding0;
  float float_normal;
  uint8_t float_normal_valid;
  uint8_t padding1[3];
};
static_assert(sizeof(StateBytes) == Generator::kStateBytes);

FL_ALWAYS_INLINE uint32_t twist(uint32_t upper, uint32_t lower) {
  const uint32_t mixed = (upper & 0x80000000u) | (lower & 0x7fffffffu);
  return mixed >> 1 ^ ((0u - (lower & 1u)) & 0x9908b0dfu);
}

FL_ALWAYS_INLINE uint32_t temper(uint32_t word) {
  word ^= word >> 11;
  word ^= word << 7 & 0x9d2c5680u;
  word ^= word << 15 & 0xefc60000u;
  return word ^ word >> 18;
}

// Each loop reads words at a fixed distance of 227 or more from those it writes, so it vectorises.
FL_ALWAYS_INLINE void advance_body(uint32_t* state, uint32_t* draws) {
  for (uint32_t i = 0; i < kWords - kShift; ++i) state[i] = state[i + kShift] ^ twist(state[i], state[i + 1]);
  for (uint32_t i = kWords - kShift; i < kWords - 1; ++i)
    state[i] = state[i + kShift - kWords] ^ twist(state[i], state[i + 1]);
  state[kWords - 1] = state[kShift - 1] ^ twist(state[kWords - 1], state[0]);
  for (uint32_t i = 0; i < kWords; ++i) draws[i] = temper(state[i]);
}

FL_MULTIVERSION(advance, (uint32_t * state, uint32_t* draws), (state, draws), advance_body)

}  // namespace

void Generator::set_seed(uint64_t seed) {
  initial_seed_ = seed;
  state_[0] = static_cast<uint32_t>(seed);
  for (uint32_t i = 1; i < kWords; ++i) state_[i] = 1812433253u * (state_[i - 1] ^ state_[i - 1] >> 30) + i;
  next_ = kWords;
  fresh_ = true;
  next_normal_.reset();
  next_float_normal_.reset();
}

uint64_t Generator::seed() {
  std::random_device device;
  const uint64_t high = device();
  const uint64_t entropy = high << 32 | device();
  set_seed(entropy);
  return entropy;
}

void Generator::refill() {
  advance(state_.data(), draws_.data());
  next_ = 0;
  fresh_ = false;
}

void Generator::copy_draws(void* out, size_t count) {
  auto* bytes = static_cast<std::byte*>(out);
  while (count > 0) {
    if (next_ == kWords) refill();
    const size_t taken = std::min<size_t>(count, kWords - next_);
    std::memcpy(bytes, draws_.data() + next_, taken * sizeof(uint32_t));
    next_ += static_cast<uint32_t>(taken);
    bytes += taken * sizeof(uint32_t);
    count -= taken;
  }
}

void Generator::draw64(uint64_t* out, size_t count) {
  copy_draws(out, 2 * count);
  if constexpr (std::endian::native == std::endian::little)
    for (size_t i = 0; i < count; ++i) out[i] = std::rotl(out[i], 32);
}

double Generator::normal() {
  if (next_normal_) {
    const double kept = *next_normal_;
    next_normal_.reset();
    return kept;
  }
  const double theta = 2.0 * std::numbers::pi * uniform();
  const double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
  next_normal_ = radius * std::sin(theta);
  return radius * std::cos(theta);
}

void Generator::get_state(uint8_t (&bytes)[kStateBytes]) const {
  StateBytes layout{};
  layout.initial_seed = initial_seed_;
  layout.left = fresh_ ? 1 : static_cast<int32_t>(kWords + 1 - next_);
  layout.seeded = 1;
  layout.next = fresh_ ? 0 : next_;
  std::copy(state_.begin(), state_.end(), layout.words);
  layout.normal_valid = next_normal_.has_value();
  // The sample's place is normal_y; the neighbours are unused.
  if (next_normal_) layout.normal_y = *next_normal_;
  layout.float_normal_valid = next_float_normal_.has_value();
  layout.float_normal = next_float_normal_.value_or(0.0f);
  std::memcpy(bytes, &layout, sizeof(layout));
}

bool Generator::set_state(const uint8_t* bytes, size_t size) {
  if (size != kStateBytes) return false;
  StateBytes layout{};
  std::memcpy(&layout, bytes, size);
  const bool fresh = layout.left == 1 && layout.next == 0;
  if (layout.seeded != 1) return false;
  if (!fresh && (layout.next > kWords || layout.left != static_cast<int64_t>(kWords + 1 - layout.next))) return false;
  if (std::any_of(layout.words, layout.words + kWords, [](uint64_t word) { return word >> 32 != 0; })) return false;
  initial_seed_ = layout.initial_seed;
  fresh_ = fresh;
  next_ = fresh ? kWords : static_cast<uint32_t>(layout.next);
  for (uint32_t i = 0; i < kWords; ++i) {
    state_[i] = static_cast<uint32_t>(layout.words[i]);
    draws_[i] = temper(state_[i]);
  }
  next_normal_ = layout.normal_valid ? std::optional(layout.normal_y) : std::nullopt;
  next_float_normal_ = layout.float_normal_valid ? std::optional(layout.float_normal) : std::nullopt;
  return true;
}

std::shared_ptr<Generator> Generator::clone() const {
  auto copy = std::make_shared<Generator>(initial_seed_);
  copy->next_ = next_;
  copy->fresh_ = fresh_;
  copy->state_ = state_;
  copy->draws_ = draws_;
  copy->next_normal_ = next_normal_;
  copy->next_float_normal_ = next_float_normal_;
  return copy;
}

}  // namespace fl
