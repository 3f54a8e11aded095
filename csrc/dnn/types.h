// What the oneDNN adapters take: raw pointers, an element type and a layout.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fl::dnn {

enum class DataType { f32, bf16, f16 };

inline size_t size_of(DataType type) { return type == DataType::f32 ? 4 : 2; }

// The order of an activation's or a weight's dimensions in memory, without gaps: as they are written (N, C, D, H, W),
// or with the channels (for weights: the input channels) innermost.
enum class Layout { contiguous, channels_last };

struct Input {
  const void* data = nullptr;
  Layout layout = Layout::contiguous;
};

struct Output {
  void* data = nullptr;
  Layout layout = Layout::contiguous;
};

}  // namespace fl::dnn
