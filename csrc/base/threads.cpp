#include "base/threads.h"

#include <omp.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace fl {
namespace {

constexpr int kMostThreads = 1024;

int affinity_count() {
  // A fixed cpu_set_t holds 1024 processors; larger machines answer EINVAL until the mask is big enough.
  for (int processors = CPU_SETSIZE; processors <= 1 << 16; processors *= 2) {
    cpu_set_t* set = CPU_ALLOC(processors);
    if (set == nullptr) break;
    const size_t bytes = CPU_ALLOC_SIZE(processors);
    const bool known = sched_getaffinity(0, bytes, set) == 0;
    const int count = known ? CPU_COUNT_S(bytes, set) : 0;
    const bool too_small = !known && errno == EINVAL;
    CPU_FREE(set);
    if (count > 0) return count;
    if (!too_small) break;
  }
  return std::max(1u, std::thread::hardware_concurrency());
}

// The paths of this process's cgroups that govern the processor: v2 ("0::/path") and v1 ("4:cpu,cpuacct:/path").
struct CgroupPaths {
  std::string unified, cpu;
};

CgroupPaths cgroup_paths() {
  CgroupPaths paths;
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    if (controllers == ",,") paths.unified = line.substr(second + 1);
    if (controllers.find(",cpu,") != std::string::npos) paths.cpu = line.substr(second + 1);
  }
  return paths;
}

int threads_for(double quota, double period) {
  if (quota <= 0 || period <= 0) return kMostThreads;
  return std::clamp(static_cast<int>((quota + period - 1) / period), 1, kMostThreads);
}

int quota_v2(const std::string& directory) {
  std::ifstream file(directory + "/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max") return kMostThreads;
  return threads_for(std::strtod(quota.c_str(), nullptr), period);
}

int quota_v1(const std::string& directory) {
  std::ifstream quota_file(directory + "/cpu.cfs_quota_us"), period_file(directory + "/cpu.cfs_period_us");
  double quota = 0, period = 0;
  if (!(quota_file >> quota) || !(period_file >> period)) return kMostThreads;
  return threads_for(quota, period);
}

// A limit may be set on any ancestor. Inside a container the path of /proc may not exist below the mount, whose root is
// then our cgroup.
template <class Quota>
int tightest_quota(const std::string& mount, std::string path, Quota quota) {
  int threads = quota(mount);
  while (path.size() > 1) {
    threads = std::min(threads, quota(mount + path));
    path.resize(path.rfind('/'));
  }
  return threads;
}

int available_threads() {
  const CgroupPaths paths = cgroup_paths();
  const int unified = tightest_quota("/sys/fs/cgroup", paths.unified, quota_v2);
  const int legacy = tightest_quota("/sys/fs/cgroup/cpu", paths.cpu, quota_v1);
  return std::min({affinity_count(), unified, legacy});
}

int environment_threads() {
  const char* text = std::getenv("OMP_NUM_THREADS");
  if (text == nullptr) return 0;
  const long n = std::strtol(text, nullptr, 10);
  return n < 1 ? 0 : static_cast<int>(std::min<long>(n, kMostThreads));
}

std::atomic<int> requested_threads{0};

// More threads than this never run at once; asking OpenMP for them can fail, and it would end the process.
int pool_limit() {
  static const int limit = std::max(16, available_threads());
  return limit;
}

int pool_threads() { return std::min(max_threads(), pool_limit()); }

// Set in a forked child whose copy of the pool has no threads behind it: a parallel region there would wait for ever.
std::atomic<bool> pool_is_dead{false};
std::atomic<bool> pool_was_released{true};

// The forking thread's pool is released before the fork, so that parent and child each build a new one when they next
// need it. Pools of other threads don't matter: those threads don't exist in the child. Inside a parallel region the
// pool can't be released.
void before_fork() { pool_was_released = omp_in_parallel() == 0 && omp_pause_resource_all(omp_pause_hard) == 0; }

void after_fork_in_child() {
  if (!pool_was_released) pool_is_dead = true;
}

const int fork_handlers = pthread_atfork(before_fork, nullptr, after_fork_in_child);

thread_local int serial_scopes = 0;

class FirstException {
 public:
  bool any() const { return any_.load(std::memory_order_relaxed); }
  void capture(int64_t chunk) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (any() && chunk >= chunk_) return;
    exception_ = std::current_exception();
    chunk_ = chunk;
    any_.store(true, std::memory_order_relaxed);
  }
  void rethrow() const {
    if (exception_) std::rethrow_exception(exception_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr exception_;
  int64_t chunk_ = 0;
  std::atomic<bool> any_{false};
};

}  // namespace

int max_threads() {
  int threads = requested_threads.load(std::memory_order_relaxed);
  if (threads == 0) {
    threads = environment_threads();
    if (threads == 0) threads = available_threads();
    int unset = 0;
    if (!requested_threads.compare_exchange_strong(unset, threads)) threads = unset;
  }
  return threads;
}

void set_num_threads(int n) { requested_threads = std::clamp(n, 1, kMostThreads); }

bool in_parallel_region() { return omp_in_parallel() != 0; }

SerialScope::SerialScope() {
  ++serial_scopes;
  adopt_num_threads();
}

SerialScope::~SerialScope() {
  --serial_scopes;
  adopt_num_threads();
}

int adopt_num_threads() {
  const bool serial = serial_scopes > 0 || in_parallel_region() || pool_is_dead.load(std::memory_order_relaxed);
  const int threads = serial ? 1 : pool_threads();
  if (omp_get_max_threads() != threads) omp_set_num_threads(threads);
  return threads;
}

namespace detail {

void run_chunks(int64_t begin, int64_t end, int64_t grain, ChunkFunction function, const void* context) {
  const int64_t chunks = (end - begin + grain - 1) / grain;
  const auto run = [=](int64_t chunk) {
    const int64_t first = begin + chunk * grain;
    function(context, first, std::min(first + grain, end));
  };
  const int threads = static_cast<int>(std::min<int64_t>(adopt_num_threads(), chunks));
  if (threads == 1) {
    for (int64_t chunk = 0; chunk < chunks; ++chunk) run(chunk);
    return;
  }
  FirstException exception;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    if (exception.any()) continue;
    try {
      run(chunk);
    } catch (...) {
      exception.capture(chunk);
    }
  }
  exception.rethrow();
}

}  // namespace detail
}  // namespace fl
