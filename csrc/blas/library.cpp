#include "blas/library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <vector>

namespace fl::blas {
namespace {

std::mutex mutex;
std::string path_from_python;
void* library = nullptr;

// The package scipy_openblas32 prefixes every symbol, so that it can't be mixed up with another BLAS in the process.
constexpr char kPrefix[] = "scipy_";
constexpr char kInstalled[] = "scipy_openblas32/lib/libscipy_openblas.so";

std::string beside_this_extension() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&set_library_path), &info) == 0 || info.dli_fname == nullptr) return {};
  const std::string extension = info.dli_fname;
  const size_t slash = extension.rfind('/');
  return (slash == std::string::npos ? "." : extension.substr(0, slash)) + "/../" + kInstalled;
}

std::vector<std::string> candidates() {
  if (const char* named = std::getenv("FLAMBEAU_OPENBLAS"); named != nullptr && *named != 0) return {named};
  std::vector<std::string> paths;
  if (!path_from_python.empty()) paths.push_back(path_from_python);
  if (std::string path = beside_this_extension(); !path.empty()) paths.push_back(path);
  return paths;
}

// OpenBLAS starts its own threads when it is loaded, one for each processor, unless the environment says otherwise. We
// give it one and share out the work ourselves: its way of sharing depends on the number of threads, and so would the
// bits of the result.
void* open_single_threaded(const std::string& path) {
  constexpr char kVariable[] = "OPENBLAS_NUM_THREADS";
  const char* before = std::getenv(kVariable);
  const std::string kept = before == nullptr ? "" : before;
  setenv(kVariable, "1", 1);
  void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (before == nullptr) {
    unsetenv(kVariable);
  } else {
    setenv(kVariable, kept.c_str(), 1);
  }
  return handle;
}

void* load() {
  std::string failures;
  for (const std::string& path : candidates()) {
    void* handle = open_single_threaded(path);
    if (handle == nullptr) {
      failures += std::string("\n  ") + dlerror();
      continue;
    }
    using SetThreads = void(int);
    auto* set_threads = reinterpret_cast<SetThreads*>(dlsym(handle, "scipy_openblas_set_num_threads"));
    if (set_threads != nullptr) {
      set_threads(1);
      return handle;
    }
    failures += "\n  " + path + ": not the library of the package scipy-openblas32";
    dlclose(handle);
  }
  throw std::runtime_error(
      "matrix products and linear algebra need the package scipy-openblas32 (or FLAMBEAU_OPENBLAS naming its library); "
      "tried:" +
      (failures.empty() ? std::string(" nothing") : failures));
}

}  // namespace

void set_library_path(const char* path) {
  std::lock_guard<std::mutex> lock(mutex);
  path_from_python = path == nullptr ? "" : path;
}

void* symbol(const std::string& name) {
  std::lock_guard<std::mutex> lock(mutex);
  if (library == nullptr) library = load();
  void* address = dlsym(library, (kPrefix + name).c_str());
  if (address == nullptr) throw std::runtime_error("the BLAS library lacks the routine " + name);
  return address;
}

}  // namespace fl::blas
