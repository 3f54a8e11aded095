#include "dnn/packed_weights.h"

#include <mutex>
#include <set>
#include <vector>

#include "dnn/buffer.h"
#include "dnn/primitive.h"

namespace fl::dnn {

struct PackedWeights::State {
  struct Entry {
    int64_t part;
    dnnl::memory::desc layout;
    std::shared_ptr<const Buffer> data;
  };

  std::shared_ptr<const Buffer> find(int64_t part, const dnnl::memory::desc& layout) const {
    for (const Entry& entry : entries) {
      if (entry.part == part && entry.layout == layout) return entry.data;
    }
    return nullptr;
  }

  std::mutex mutex;
  uint64_t version = 0;
  std::set<int64_t> seen;
  std::vector<Entry> entries;
};

PackedWeights::PackedWeights() : state_(std::make_unique<State>()) {}
PackedWeights::~PackedWeights() = default;

int64_t PackedWeights::size() const {
  std::lock_guard<std::mutex> lock(state_->mutex);
  int64_t bytes = 0;
  for (const auto& entry : state_->entries) bytes += static_cast<int64_t>(entry.data->size());
  return bytes;
}

bool seen_before(WeightSlot slot, int64_t part) {
  if (slot.packed == nullptr) return false;
  auto& state = slot.packed->state();
  std::lock_guard<std::mutex> lock(state.mutex);
  if (state.version != slot.version) {
    state.version = slot.version;
    state.seen.clear();
    state.entries.clear();
  }
  return !state.seen.insert(part).second;
}

PreparedWeights::PreparedWeights(WeightSlot slot, bool keep, int64_t part, const dnnl::memory::desc& from,
                                 const void* data, const dnnl::memory::desc& to)
    : data_(data) {
  if (from == to) return;
  if (!keep) {
    auto scratch = std::make_shared<Scratch>(to.get_size());
    Reorder(from, to).run(data, scratch->get());
    data_ = scratch->get();
    owner_ = std::move(scratch);
    return;
  }
  auto& state = slot.packed->state();
  std::lock_guard<std::mutex> lock(state.mutex);
  auto packed = state.find(part, to);
  if (packed == nullptr) {
    packed = std::make_shared<const Buffer>(to.get_size());
    Reorder(from, to).run(data, packed->get());
    if (state.version == slot.version) state.entries.push_back({part, to, packed});
  }
  data_ = packed->get();
  owner_ = std::move(packed);
}

}  // namespace fl::dnn
