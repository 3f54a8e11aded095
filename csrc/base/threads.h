// One thread budget for everything: our own loops, oneDNN and OpenBLAS.
//
// The pool is OpenMP's, because oneDNN brings it along and two pools that spin side by side slow each other down. Work
// is cut into chunks by shape alone, never by the number of threads, so that a result has the same bits however many
// threads there are.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace fl {

// How many threads a parallel loop may use. At first: OMP_NUM_THREADS if set, else the processors this process may run
// on, as far as its cgroup's quota pays for them.
int max_threads();

// n is clamped to 1 ... 1024.
void set_num_threads(int n);

// True while the calling thread runs a chunk of a parallel loop; loops started there run serially.
bool in_parallel_region();

// While one exists, the thread that made it runs parallel loops serially, and so do the libraries it calls.
class SerialScope {
 public:
  SerialScope();
  ~SerialScope();
  SerialScope(const SerialScope&) = delete;
  SerialScope& operator=(const SerialScope&) = delete;
};

// Tells OpenMP, whose setting is per thread, about max_threads(). To be called before code that opens parallel regions
// of its own (oneDNN) and returns how many threads such a region started by this thread will have: 1 inside a parallel
// loop.
int adopt_num_threads();

namespace detail {
using ChunkFunction = void (*)(const void* context, int64_t begin, int64_t end);
void run_chunks(int64_t begin, int64_t end, int64_t grain, ChunkFunction function, const void* context);
}  // namespace detail

// Calls f(chunk_begin, chunk_end) for [begin, end) cut into chunks of `grain` (the last may be shorter), in any order
// and from several threads at once. A range of a single chunk runs in place and never wakes the pool. If chunks throw,
// the remaining ones are skipped and the exception of the first of those that threw is passed on.
template <class F>
void parallel_for(int64_t begin, int64_t end, int64_t grain, F&& f) {
  if (begin >= end) return;
  if (grain < 1) grain = 1;
  if (end - begin <= grain) {
    f(begin, end);
    return;
  }
  using Function = std::remove_reference_t<F>;
  auto call = [](const void* context, int64_t first, int64_t last) {
    (*static_cast<Function*>(const_cast<void*>(context)))(first, last);
  };
  detail::run_chunks(begin, end, grain, call, std::addressof(f));
}

}  // namespace fl
