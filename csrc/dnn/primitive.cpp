#include "dnn/primitive.h"

#include <list>
#include <mutex>
#include <unordered_map>

#include "base/threads.h"
#include "dnn/buffer.h"
#include "dnn/library.h"

namespace fl::dnn {
namespace {

struct KeyHash {
  size_t operator()(const Key& key) const {
    uint64_t hash = key.size();
    for (int64_t value : key) hash = (hash ^ static_cast<uint64_t>(value)) * 0x9e3779b97f4a7c15u, hash ^= hash >> 29;
    return hash;
  }
};

// The most recently used plans. Those dropped live on for as long as someone runs them.
class Cache {
 public:
  using Plan = std::shared_ptr<const void>;

  Plan find(const Key& key) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = index_.find(key);
    if (found == index_.end()) return nullptr;
    order_.splice(order_.begin(), order_, found->second);
    return found->second->second;
  }

  void insert(Key key, Plan plan) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (index_.count(key) != 0) return;
    order_.emplace_front(std::move(key), std::move(plan));
    index_[order_.front().first] = order_.begin();
    if (order_.size() <= kCapacity) return;
    index_.erase(order_.back().first);
    order_.pop_back();
  }

 private:
  static constexpr size_t kCapacity = 1024;
  std::mutex mutex_;
  std::list<std::pair<Key, Plan>> order_;
  std::unordered_map<Key, std::list<std::pair<Key, Plan>>::iterator, KeyHash> index_;
};

// Never destroyed: threads may still be running primitives while the process ends.
Cache& cache() {
  static auto* const instance = new Cache;
  return *instance;
}

dnnl::stream& stream() {
  thread_local dnnl::stream instance(engine());
  return instance;
}

}  // namespace

const dnnl::engine& engine() {
  static const dnnl::engine* const instance = [] {
    load_library();
    return new dnnl::engine(dnnl::engine::kind::cpu, 0);
  }();
  return *instance;
}

bool is_native(DataType type) {
  engine();
  if (type == DataType::f32) return true;
  static const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto needed =
      static_cast<unsigned>(type == DataType::bf16 ? dnnl::cpu_isa::avx512_core : dnnl::cpu_isa::avx512_core_fp16);
  return (isa & needed) == needed;
}

dnnl::memory::data_type native_type(DataType type) {
  switch (type) {
    case DataType::bf16:
      return dnnl::memory::data_type::bf16;
    case DataType::f16:
      return dnnl::memory::data_type::f16;
    default:
      return dnnl::memory::data_type::f32;
  }
}

std::shared_ptr<const void> cached(Key key, const std::function<std::shared_ptr<const void>()>& create) {
  if (auto found = cache().find(key)) return found;
  auto plan = create();
  cache().insert(std::move(key), plan);
  return plan;
}

dnnl::primitive_attr attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

void Primitive::run(std::initializer_list<Argument> arguments) const {
  constexpr size_t kMost = 8;
  dnnl::memory memories[kMost];
  dnnl_exec_arg_t handles[kMost];
  int count = 0;
  const auto add = [&](int name, const dnnl::memory::desc& layout, const void* data) {
    memories[count] = dnnl::memory(layout, engine(), const_cast<void*>(data));
    handles[count] = {name, memories[count].get()};
    ++count;
  };
  for (const Argument& argument : arguments) {
    if (argument.data != nullptr) add(argument.name, argument.layout, argument.data);
  }
  const Scratch scratch(scratchpad_bytes_);
  if (scratchpad_bytes_ != 0) add(DNNL_ARG_SCRATCHPAD, scratchpad_, scratch.get());
  adopt_num_threads();
  dnnl::error::wrap_c_api(dnnl_primitive_execute(primitive_.get(), stream().get(), count, handles),
                          "oneDNN could not run a primitive");
}

Reorder::Reorder(const dnnl::memory::desc& from, const dnnl::memory::desc& to) : from_(from), to_(to) {
  adopt_num_threads();
  primitive_ = Primitive(dnnl::reorder::primitive_desc(engine(), from, engine(), to, attributes()));
}

void Reorder::run(const void* source, void* target) const {
  primitive_.run({{DNNL_ARG_FROM, from_, source}, {DNNL_ARG_TO, to_, target}});
}

}  // namespace fl::dnn
