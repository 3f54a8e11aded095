// A short list of tensors, in place up to four: the gradients that pass through a node.
#pragma once
#include <vector>

#include "tensor/tensor.h"

namespace fl {

class TensorArray {
 public:
  TensorArray() = default;
  explicit TensorArray(size_t n) { resize(n); }
  size_t size() const { return size_; }
  void resize(size_t n) {
    if (n > kInline && more_.size() < n) {
      more_.resize(n);
      if (size_ <= kInline)
        for (size_t i = 0; i < size_; i++) more_[i] = std::move(few_[i]);
    }
    size_ = n;
  }
  void clear() {
    for (Tensor& t : *this) t = Tensor();
    size_ = 0;
  }
  Tensor* data() { return size_ > kInline ? more_.data() : few_; }
  Tensor* begin() { return data(); }
  Tensor* end() { return data() + size_; }
  Tensor& operator[](size_t i) { return data()[i]; }

 private:
  static constexpr size_t kInline = 4;
  size_t size_ = 0;
  Tensor few_[kInline];
  std::vector<Tensor> more_;
};

}  // namespace fl
