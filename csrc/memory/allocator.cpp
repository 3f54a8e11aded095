#include "memory/allocator.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

#include "base/error.h"

namespace fl {
namespace {

// Classes are multiples of 64 up to 512, then powers of two and the three quarters between them: past 512 at most a
// fifth of a block is unused.
constexpr int kClasses = 8 + 4 * 7;
constexpr size_t kPerClassBytes = 1 << 20;
constexpr size_t kHuge = 2 << 20;

inline int class_of(size_t bytes) {
  if (bytes <= 512) return bytes == 0 ? 0 : static_cast<int>((bytes - 1) / 64);
  int log = 63 - __builtin_clzll(bytes - 1);  // 2^log < bytes <= 2^(log+1)
  return 8 + (log - 9) * 4 + static_cast<int>((bytes - 1 - (size_t(1) << log)) >> (log - 2));
}
inline size_t class_bytes(int c) {
  if (c < 8) return 64 * (c + 1);
  int log = 9 + (c - 8) / 4, step = (c - 8) % 4 + 1;
  return (size_t(1) << log) + step * (size_t(1) << (log - 2));
}

struct FreeNode {
  FreeNode* next;
};

std::atomic<int64_t> allocated{0}, peak{0}, cached{0}, allocations{0}, reused{0};
std::atomic<int64_t> user_limit{0};

struct ThreadCache {
  FreeNode* head[kClasses] = {};
  uint32_t count[kClasses] = {};
  ~ThreadCache() { clear(); }
  void clear() {
    for (int c = 0; c < kClasses; c++) {
      while (FreeNode* n = head[c]) {
        head[c] = n->next;
        std::free(n);
        cached -= static_cast<int64_t>(class_bytes(c));
      }
      count[c] = 0;
    }
  }
};
thread_local ThreadCache thread_cache;

struct LargeBlock {
  void* data;
  int64_t stamp;
};
std::mutex large_mutex;
std::multimap<size_t, LargeBlock>& large_cache() {
  static auto* cache = new std::multimap<size_t, LargeBlock>;  // outlives static destruction
  return *cache;
}
int64_t large_stamp = 0, large_cached = 0;

int64_t machine_memory() {
  static const int64_t bytes = [] {
    int64_t total = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
    for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
      if (FILE* f = std::fopen(path, "r")) {
        long long limit = 0;
        if (std::fscanf(f, "%lld", &limit) == 1 && limit > 0) total = std::min<int64_t>(total, limit);
        std::fclose(f);
      }
    }
    return total;
  }();
  return bytes;
}
int64_t limit() { return user_limit ? user_limit.load() : machine_memory(); }

[[noreturn]] void out_of_memory(size_t bytes) {
  fail(ErrorKind::OutOfMemory, "not enough memory: tried to allocate ", bytes, " bytes; ", allocated.load(),
       " bytes are held by tensors, ", cached.load() + large_cached, " by the cache, the limit is ", limit(), " bytes");
}

size_t large_capacity(size_t bytes) {
  size_t unit = bytes >= kHuge ? kHuge : 4096;
  return (bytes + unit - 1) / unit * unit;
}

void unmap(void* data, size_t capacity) { munmap(data, capacity); }

void* map_fresh(size_t capacity) {
  // Over-allocate by one huge page to align, then return what is outside.
  size_t slack = capacity >= kHuge ? kHuge : 0;
  void* raw = mmap(nullptr, capacity + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  if (!slack) return raw;
  uintptr_t start = (reinterpret_cast<uintptr_t>(raw) + kHuge - 1) / kHuge * kHuge;
  size_t before = start - reinterpret_cast<uintptr_t>(raw);
  if (before) munmap(raw, before);
  if (slack > before) munmap(reinterpret_cast<void*>(start + capacity), slack - before);
  madvise(reinterpret_cast<void*>(start), capacity, MADV_HUGEPAGE);
  return reinterpret_cast<void*>(start);
}

// Gives back cached large blocks: those unused for `age` large allocations, then the oldest until `keep` bytes remain.
void trim_large(int64_t age, int64_t keep) {
  auto& cache = large_cache();
  for (auto it = cache.begin(); it != cache.end();) {
    if (large_stamp - it->second.stamp > age || large_cached > keep) {
      unmap(it->second.data, it->first);
      large_cached -= static_cast<int64_t>(it->first);
      it = cache.erase(it);
    } else {
      ++it;
    }
  }
}

void* allocate_large(size_t bytes, size_t* capacity) {
  size_t want = large_capacity(bytes);
  *capacity = want;
  {
    std::lock_guard lock(large_mutex);
    large_stamp++;
    auto& cache = large_cache();
    auto it = cache.lower_bound(want);
    if (it != cache.end() && it->first <= want + want / 4) {
      void* data = it->second.data;
      *capacity = it->first;
      large_cached -= static_cast<int64_t>(it->first);
      cache.erase(it);
      reused++;
      return data;
    }
    if (large_stamp % 64 == 0) trim_large(1024, INT64_MAX);
    if (allocated + large_cached + static_cast<int64_t>(want) > limit()) trim_large(-1, 0);
  }
  if (allocated + static_cast<int64_t>(want) > limit()) out_of_memory(bytes);
  void* data = map_fresh(want);
  if (!data) {
    empty_cache();
    data = map_fresh(want);
  }
  if (!data) out_of_memory(bytes);
  return data;
}

inline void count_allocation(int64_t bytes) {
  int64_t now = allocated.load(std::memory_order_relaxed) + bytes;
  allocated.store(now, std::memory_order_relaxed);  // tensors are made and freed under the interpreter's lock
  if (now > peak.load(std::memory_order_relaxed)) peak.store(now, std::memory_order_relaxed);
}

}  // namespace

void* allocate_block(size_t bytes, size_t* capacity) {
  if (bytes <= kSmallLimit) {
    int c = class_of(bytes);
    *capacity = class_bytes(c);
    count_allocation(static_cast<int64_t>(*capacity));
    if (FreeNode* n = thread_cache.head[c]) {
      thread_cache.head[c] = n->next;
      thread_cache.count[c]--;
      cached.store(cached.load(std::memory_order_relaxed) - static_cast<int64_t>(*capacity), std::memory_order_relaxed);
      return n;
    }
    void* data = std::aligned_alloc(kAlignment, *capacity);
    if (!data) out_of_memory(bytes);
    return data;
  }
  if (bytes > static_cast<size_t>(INT64_MAX / 2)) out_of_memory(bytes);
  void* data = allocate_large(bytes, capacity);
  allocations++;
  count_allocation(static_cast<int64_t>(*capacity));
  return data;
}

void free_block(void* block, size_t capacity) {
  allocated.store(allocated.load(std::memory_order_relaxed) - static_cast<int64_t>(capacity),
                  std::memory_order_relaxed);
  if (capacity <= kSmallLimit) {
    int c = class_of(capacity);
    if (thread_cache.count[c] * capacity < kPerClassBytes) {
      auto* n = static_cast<FreeNode*>(block);
      n->next = thread_cache.head[c];
      thread_cache.head[c] = n;
      thread_cache.count[c]++;
      cached.store(cached.load(std::memory_order_relaxed) + static_cast<int64_t>(capacity), std::memory_order_relaxed);
    } else {
      std::free(block);
    }
    return;
  }
  std::lock_guard lock(large_mutex);
  large_cache().emplace(capacity, LargeBlock{block, large_stamp});
  large_cached += static_cast<int64_t>(capacity);
  // Keep no more unused than is in use, but always enough for a small model's working set.
  int64_t keep = std::max<int64_t>(int64_t(256) << 20, std::min<int64_t>(peak, limit() / 4));
  if (large_cached > keep) trim_large(64, keep);
}

MemoryStats memory_stats() { return {allocated, peak, cached + large_cached, limit(), allocations, reused}; }
void reset_peak_memory() { peak = allocated.load(); }
void set_memory_limit(int64_t bytes) { user_limit = bytes; }
void empty_cache() {
  thread_cache.clear();
  std::lock_guard lock(large_mutex);
  trim_large(-1, 0);
}

}  // namespace fl
