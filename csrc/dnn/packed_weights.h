// Weights reordered into the layout a primitive likes best, kept from call to call beside the parameter they were made
// from.
#pragma once

#include <cstdint>
#include <memory>

namespace fl::dnn {

// Empty at first. Products that are given one pack their weights into it the second time they see the same version, so
// that training, where each step brings a new version, doesn't pay for packing. One object serves one set of weights,
// but any number of shapes; it may be used from several threads.
class PackedWeights {
 public:
  PackedWeights();
  ~PackedWeights();
  PackedWeights(const PackedWeights&) = delete;
  PackedWeights& operator=(const PackedWeights&) = delete;

  // Bytes held.
  int64_t size() const;

  struct State;
  State& state() { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

// What the op layer hands down: where packed weights are kept, and a number that changes whenever the weights do.
struct WeightSlot {
  PackedWeights* packed = nullptr;
  uint64_t version = 0;
};

}  // namespace fl::dnn
