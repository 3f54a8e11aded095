// A storage: bytes that one or more tensors look at. Reference counts are plain integers: they change only under the
// interpreter's lock.
#pragma once
#include <cstdint>
#include <utility>

#include "base/device.h"

namespace fl {

struct Storage {
  int32_t references;
  uint32_t version;  // writes that autograd must see
  uint32_t writes;   // every write, also through `.data`: what caches of derived data are keyed by
  Device device;
  bool resizable, read_only;
  char* data;  // null on the meta device
  int64_t bytes;
  size_t header;              // capacity of the block this header stands in, with small data behind it
  size_t capacity;            // of the separate block at `data`, if it has one
  void (*release)(Storage*);  // how `data` is given back; null: it stands behind this header
  void* owner;                // for foreign memory: what keeps it alive
  void* cache;                // data derived from the bytes, valid for one value of `writes`
  void (*release_cache)(void*);
};

// Memory of our own, not initialised. On the meta device only the size is kept.
Storage* new_storage(int64_t bytes, Device device = {});
// Memory of somebody else; `release` is called with the storage when nobody looks at it any more.
Storage* adopt_storage(void* data, int64_t bytes, void* owner, void (*release)(Storage*), bool read_only = false);
// Grows or shrinks in place, keeping the contents; throws for foreign memory.
void resize_storage(Storage* storage, int64_t bytes);
void destroy_storage(Storage* storage);

inline void retain(Storage* s) { s->references++; }
inline void release(Storage* s) {
  if (--s->references == 0) destroy_storage(s);
}

// Owning pointer.
class StorageRef {
 public:
  StorageRef() = default;
  static StorageRef take(Storage* s) {
    StorageRef r;
    r.p_ = s;
    return r;
  }
  static StorageRef share(Storage* s) {
    if (s) retain(s);
    return take(s);
  }
  StorageRef(const StorageRef& o) : p_(o.p_) {
    if (p_) retain(p_);
  }
  StorageRef(StorageRef&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  StorageRef& operator=(StorageRef o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~StorageRef() {
    if (p_) release(p_);
  }
  Storage* get() const { return p_; }
  Storage* operator->() const { return p_; }
  Storage* detach() { return std::exchange(p_, nullptr); }
  explicit operator bool() const { return p_; }

 private:
  Storage* p_ = nullptr;
};

}  // namespace fl
