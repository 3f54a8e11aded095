// Temporary memory, aligned to cache lines.
#pragma once

#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

namespace fl::dnn {

class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(size_t bytes) : size_(bytes) {
    if (bytes == 0) return;
    data_.reset(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
    if (!data_) throw std::bad_alloc();
  }

  void* get() const { return data_.get(); }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_.get());
  }
  size_t size() const { return size_; }

  Buffer(Buffer&& other) noexcept : data_(std::move(other.data_)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    data_ = std::move(other.data_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

 private:
  struct Free {
    void operator()(void* data) const { std::free(data); }
  };
  std::unique_ptr<void, Free> data_;
  size_t size_ = 0;
};

// A buffer lent by the calling thread, which keeps it for the next call: fresh memory from the system costs as much as
// the work done in it. Any number can be on loan at once.
class Scratch {
 public:
  explicit Scratch(size_t bytes);
  ~Scratch();
  Scratch(Scratch&& other) noexcept { swap(other); }
  Scratch& operator=(Scratch&& other) noexcept {
    swap(other);
    return *this;
  }
  void swap(Scratch& other) noexcept {
    std::swap(buffer_, other.buffer_);
    std::swap(bytes_, other.bytes_);
  }

  void* get() const { return buffer_.get(); }
  template <class T>
  T* as() const {
    return buffer_.as<T>();
  }
  // As asked for; the buffer may be larger.
  size_t size() const { return bytes_; }

 private:
  Buffer buffer_;
  size_t bytes_ = 0;
};

}  // namespace fl::dnn
