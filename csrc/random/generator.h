// The CPU random generator: mt19937 with PyTorch's seeding, draw order and state layout.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

namespace fl {

// The bits of a draw that make a float and a double in [0, 1).
inline constexpr uint32_t kMask24 = (1u << 24) - 1;
inline constexpr uint64_t kMask53 = (1ull << 53) - 1;

class Generator {
 public:
  static constexpr uint64_t kDefaultSeed = 67280421310721ull;
  // Size in bytes of the state as `torch.get_rng_state()` lays it out.
  static constexpr size_t kStateBytes = 5056;

  explicit Generator(uint64_t seed = kDefaultSeed) { set_seed(seed); }
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  // Whoever draws holds this lock for the whole fill, so that one call's draws stay together. The member functions
  // below do not take it.
  std::mutex& mutex() { return mutex_; }

  // Restarts the stream. Only the low 32 bits choose the stream; `initial_seed` returns all 64.
  void set_seed(uint64_t seed);
  // Restarts from 64 bits of system entropy and returns them.
  uint64_t seed();
  uint64_t initial_seed() const { return initial_seed_; }

  uint32_t random() {
    if (next_ == kWords) refill();
    return draws_[next_++];
  }
  // The first draw is the high half.
  uint64_t random64() {
    const uint64_t high = random();
    return high << 32 | random();
  }
  // The next `count` 32-bit draws.
  void draw(uint32_t* out, size_t count) { copy_draws(out, count); }
  // The next `count` 64-bit draws.
  void draw64(uint64_t* out, size_t count);
  // One double in [0, 1) from 53 bits of a 64-bit draw.
  double uniform() { return static_cast<double>(random64() & kMask53) * 0x1p-53; }
  // One standard normal from a polar pair: the second of each pair is kept for the next call.
  double normal();

  std::optional<double> next_normal() const { return next_normal_; }
  void set_next_normal(std::optional<double> value) { next_normal_ = value; }
  std::optional<float> next_float_normal() const { return next_float_normal_; }
  void set_next_float_normal(std::optional<float> value) { next_float_normal_ = value; }

  void get_state(uint8_t (&bytes)[kStateBytes]) const;
  // Returns false, and changes nothing, when `size` or the bytes do not describe a state.
  bool set_state(const uint8_t* bytes, size_t size);
  std::shared_ptr<Generator> clone() const;

 private:
  static constexpr uint32_t kWords = 624;

  void refill();
  void copy_draws(void* out, size_t count);

  std::mutex mutex_;
  uint64_t initial_seed_ = kDefaultSeed;
  // Index of the next draw; kWords when the block is used up.
  uint32_t next_ = kWords;
  // True from seeding until the first draw: PyTorch's state tells this apart from a used-up block.
  bool fresh_ = true;
  std::array<uint32_t, kWords> state_;
  // The tempered words of `state_`: tempering a whole block at once vectorises.
  std::array<uint32_t, kWords> draws_;
  std::optional<double> next_normal_;
  std::optional<float> next_float_normal_;
};

}  // namespace fl
