// Storages that several processes look at: anonymous files mapped into memory. A descriptor of such a file can travel
// to another process, which maps the same pages.
#pragma once
#include "memory/storage.h"

namespace fl {

// Moves the bytes into shared memory, where they stay; nothing happens to a storage that is there already.
void share_storage(Storage* storage);
bool is_shared(const Storage* storage);
// The descriptor of the file behind a shared storage; it stays the storage's.
int shared_descriptor(const Storage* storage);
// Maps `bytes` bytes of the file behind a descriptor, which stays the caller's.
Storage* open_shared(int descriptor, int64_t bytes);

}  // namespace fl
