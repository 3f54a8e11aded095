#include "memory/shared.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace fl {
namespace {

// Keeps the file open as long as the storage lives, so that it can be sent at any time.
struct SharedFile {
  int descriptor;
  void* start;
  size_t length;
  ~SharedFile() {
    munmap(start, length);
    close(descriptor);
  }
};

void release_shared(Storage* s) { delete static_cast<SharedFile*>(s->owner); }

// Takes the descriptor.
SharedFile* map(int descriptor, int64_t bytes) {
  size_t length = static_cast<size_t>(std::max<int64_t>(bytes, 1));
  void* start = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (start == MAP_FAILED) {
    close(descriptor);
    fail(ErrorKind::OutOfMemory, "shared memory: can't map ", bytes, " bytes: ", std::strerror(errno));
  }
  return new SharedFile{descriptor, start, length};
}

}  // namespace

bool is_shared(const Storage* s) { return s->release == release_shared; }

int shared_descriptor(const Storage* s) {
  FL_CHECK(is_shared(s), "this storage is not in shared memory; call share_memory_() first");
  return static_cast<SharedFile*>(s->owner)->descriptor;
}

void share_storage(Storage* s) {
  if (is_shared(s) || s->device.type != DeviceType::CPU) return;
  FL_CHECK(s->resizable,
           "share_memory_: this storage belongs to memory of another library (NumPy, DLPack, a buffer) and can't be "
           "moved; clone() it first");
  int descriptor = memfd_create("tensor", MFD_CLOEXEC);
  FL_CHECK(descriptor >= 0, "share_memory_: can't make shared memory: ", std::strerror(errno));
  // Reserved now: running out of memory later would end the process.
  int error = s->bytes ? posix_fallocate(descriptor, 0, s->bytes) : 0;
  if (error) {
    close(descriptor);
    fail(ErrorKind::OutOfMemory, "share_memory_: can't reserve ", s->bytes,
         " bytes of shared memory: ", std::strerror(error));
  }
  SharedFile* file = map(descriptor, s->bytes);
  if (s->bytes) std::memcpy(file->start, s->data, s->bytes);
  if (s->release) s->release(s);
  s->data = static_cast<char*>(file->start);
  s->owner = file;
  s->release = release_shared;
  s->resizable = false;
}

Storage* open_shared(int descriptor, int64_t bytes) {
  struct stat about;
  FL_CHECK(bytes >= 0 && fstat(descriptor, &about) == 0 && about.st_size >= bytes, "shared memory: descriptor ",
           descriptor, " has no ", bytes, " bytes");
  int own = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  FL_CHECK(own >= 0, "shared memory: can't keep descriptor ", descriptor, ": ", std::strerror(errno));
  SharedFile* file = map(own, bytes);
  return adopt_storage(file->start, bytes, file, release_shared);
}

}  // namespace fl
