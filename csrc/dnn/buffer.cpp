#include "dnn/buffer.h"

#include <algorithm>
#include <vector>

namespace fl::dnn {
namespace {

constexpr size_t kKeptBuffers = 6;
constexpr size_t kKeptBytes = size_t{64} << 20;  // a thread's idle buffers together

struct Idle {
  std::vector<Buffer> buffers;
  size_t bytes = 0;
};
thread_local Idle idle;

}  // namespace

Scratch::Scratch(size_t bytes) : bytes_(bytes) {
  // The smallest that is large enough, unless it is much too large.
  auto best = idle.buffers.end();
  for (auto it = idle.buffers.begin(); it != idle.buffers.end(); ++it) {
    const bool fits = it->size() >= bytes && it->size() / 8 <= bytes + 4096;
    if (fits && (best == idle.buffers.end() || it->size() < best->size())) best = it;
  }
  if (best == idle.buffers.end()) {
    buffer_ = Buffer(bytes);
    return;
  }
  buffer_ = std::move(*best);
  idle.bytes -= buffer_.size();
  idle.buffers.erase(best);
}

Scratch::~Scratch() {
  if (buffer_.size() == 0 || buffer_.size() > kKeptBytes) return;
  while (!idle.buffers.empty() && (idle.buffers.size() >= kKeptBuffers || idle.bytes + buffer_.size() > kKeptBytes)) {
    idle.bytes -= idle.buffers.front().size();
    idle.buffers.erase(idle.buffers.begin());
  }
  idle.bytes += buffer_.size();
  idle.buffers.push_back(std::move(buffer_));
}

}  // namespace fl::dnn
