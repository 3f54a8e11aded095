#include "memory/storage.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/error.h"
#include "memory/allocator.h"

namespace fl {
namespace {

constexpr size_t kHeader = 128;  // keeps the data behind the header aligned
static_assert(sizeof(Storage) <= kHeader);

Storage* place_header(size_t bytes, Device device) {
  size_t capacity;
  void* block = allocate_block(bytes, &capacity);
  auto* s = new (block) Storage{};
  s->header = capacity;
  s->references = 1;
  s->device = device;
  s->resizable = true;
  return s;
}

void release_separate(Storage* s) { free_block(s->data, s->capacity); }

Storage* bare_header(Device device) { return place_header(kHeader, device); }

}  // namespace

Storage* new_storage(int64_t bytes, Device device) {
  if (device.type == DeviceType::Meta) {
    Storage* s = bare_header(device);
    s->bytes = bytes;
    s->release = [](Storage*) {};
    return s;
  }
  if (device.type != DeviceType::CPU) {
    FL_CHECK(device.type != DeviceType::CUDA, ErrorKind::Assertion,
             "Torch not compiled with CUDA enabled: this build has the devices cpu and meta");
    fail("this build has no device \"", device_text(device), "\": use cpu or meta");
  }
  if (bytes + static_cast<int64_t>(kHeader) <= static_cast<int64_t>(kSmallLimit)) {
    Storage* s = place_header(bytes + kHeader, device);
    s->data = reinterpret_cast<char*>(s) + kHeader;
    s->bytes = bytes;
    return s;
  }
  size_t capacity;
  void* data = allocate_block(bytes, &capacity);
  Storage* s = bare_header(device);
  s->capacity = capacity;
  s->data = static_cast<char*>(data);
  s->bytes = bytes;
  s->release = release_separate;
  return s;
}

Storage* adopt_storage(void* data, int64_t bytes, void* owner, void (*release)(Storage*), bool read_only) {
  Storage* s = bare_header({});
  s->data = static_cast<char*>(data);
  s->bytes = bytes;
  s->owner = owner;
  s->release = release;
  s->resizable = false;
  s->read_only = read_only;
  return s;
}

void resize_storage(Storage* s, int64_t bytes) {
  FL_CHECK(s->resizable,
           "resize: this storage belongs to memory of another library (NumPy, DLPack, a buffer) or to several "
           "processes, and can't be resized");
  if (s->device.type == DeviceType::Meta) {
    s->bytes = bytes;
    return;
  }
  size_t capacity;
  char* data = static_cast<char*>(allocate_block(std::max<int64_t>(bytes, 1), &capacity));
  if (s->data) std::memcpy(data, s->data, std::min(bytes, s->bytes));
  if (s->release) s->release(s);  // otherwise the old data stands behind the header and goes with it
  s->data = data;
  s->bytes = bytes;
  s->capacity = capacity;
  s->release = release_separate;
}

void destroy_storage(Storage* s) {
  if (s->cache) s->release_cache(s->cache);
  if (s->release) s->release(s);
  free_block(s, s->header);
}

}  // namespace fl
