// The caching allocator of CPU memory.
//
// Small blocks (up to 64 KiB) come from per-thread free lists of fixed size classes. Large blocks are kept after use
// and handed out again, since on fresh pages a memory-bound op spends most of its time in page faults; they are aligned
// to and backed by huge pages where the system has them. What stays unused is given back by age and by total size.
#pragma once
#include <cstddef>
#include <cstdint>

namespace fl {

inline constexpr size_t kAlignment = 64;
inline constexpr size_t kSmallLimit = 64 * 1024;

// A block of at least `bytes` bytes; throws OutOfMemory. `capacity` is what must be given back to free_block.
void* allocate_block(size_t bytes, size_t* capacity);
void free_block(void* block, size_t capacity);

struct MemoryStats {
  int64_t allocated, peak, cached, limit, allocations, reused;
};
MemoryStats memory_stats();
void reset_peak_memory();
void empty_cache();
void set_memory_limit(int64_t bytes);  // 0: what the machine or its control group has

}  // namespace fl
