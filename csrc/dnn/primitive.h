// The engine, primitives, and their cache; only included by the adapters.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <utility>
#include <vector>

#include "dnn/packed_weights.h"
#include "dnn/types.h"

namespace fl::dnn {

// Loads the library on first use.
const dnnl::engine& engine();

// Whether oneDNN computes in this type at speed on this processor; otherwise the adapters compute in f32. Loads the
// library.
bool is_native(DataType type);

dnnl::memory::data_type native_type(DataType type);

// Everything a primitive depends on, as numbers. That includes the number of threads it is made for.
using Key = std::vector<int64_t>;

// What `create` made for this key, now or earlier. Creating a primitive takes 0.1 to 1.3 ms, finding one 0.1 us.
std::shared_ptr<const void> cached(Key key, const std::function<std::shared_ptr<const void>()>& create);

template <class Plan, class Create>
std::shared_ptr<const Plan> cached_plan(Key key, Create&& create) {
  return std::static_pointer_cast<const Plan>(
      cached(std::move(key), [&] { return std::make_shared<const Plan>(create()); }));
}

// A primitive ready to run, with memory for its intermediate results lent by the thread that runs it.
class Primitive {
 public:
  Primitive() = default;
  template <class Description>
  explicit Primitive(const Description& description)
      : primitive_(description.get()),
        scratchpad_(description.scratchpad_desc()),
        scratchpad_bytes_(scratchpad_.get_size()),
        implementation_(description.impl_info_str()) {}

  struct Argument {
    int name;  // DNNL_ARG_...
    const dnnl::memory::desc& layout;
    const void* data;  // null: the argument is left out
  };
  void run(std::initializer_list<Argument> arguments) const;

  const std::string& implementation() const { return implementation_; }

 private:
  dnnl::primitive primitive_;
  dnnl::memory::desc scratchpad_;
  size_t scratchpad_bytes_ = 0;
  std::string implementation_;
};

// The attributes every primitive has: intermediate results in memory of ours, as the library's own isn't safe to share
// between threads.
dnnl::primitive_attr attributes();

// Copies data from one layout or type into another.
class Reorder {
 public:
  Reorder(const dnnl::memory::desc& from, const dnnl::memory::desc& to);
  void run(const void* source, void* target) const;

 private:
  dnnl::memory::desc from_, to_;
  Primitive primitive_;
};

// True from the second call on with the same slot, part and version: then the weights are worth packing. `part` tells
// apart the uses of one parameter. Packed weights of earlier versions are dropped.
bool seen_before(WeightSlot slot, int64_t part);

// Weights in the layout a primitive wants: those passed in if they have it already, else the slot's, else reordered now
// and, if asked to `keep` them, put there.
class PreparedWeights {
 public:
  PreparedWeights(WeightSlot slot, bool keep, int64_t part, const dnnl::memory::desc& from, const void* data,
                  const dnnl::memory::desc& to);
  const void* get() const { return data_; }

 private:
  const void* data_;
  std::shared_ptr<const void> owner_;
};

}  // namespace fl::dnn
