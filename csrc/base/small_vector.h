// A vector of trivially copyable elements that keeps the first N in place: sizes, strides and index lists.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <span>
#include <type_traits>

namespace fl {

template <class T, size_t N>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  SmallVector() : data_(inline_) {}
  explicit SmallVector(size_t n, T fill = T{}) : SmallVector() { resize(n, fill); }
  SmallVector(std::initializer_list<T> list) : SmallVector(list.begin(), list.end()) {}
  SmallVector(std::span<const T> s) : SmallVector(s.data(), s.data() + s.size()) {}
  SmallVector(const T* first, const T* last) : SmallVector() {
    reserve(last - first);
    size_ = last - first;
    if (size_) std::memcpy(data_, first, size_ * sizeof(T));
  }
  SmallVector(const SmallVector& o) : SmallVector(o.begin(), o.end()) {}
  SmallVector(SmallVector&& o) noexcept : SmallVector() { take(o); }
  ~SmallVector() { release(); }
  SmallVector& operator=(const SmallVector& o) {
    if (this != &o) {
      size_ = 0;
      reserve(o.size_);
      size_ = o.size_;
      if (size_) std::memcpy(data_, o.data_, size_ * sizeof(T));
    }
    return *this;
  }
  SmallVector& operator=(SmallVector&& o) noexcept {
    if (this != &o) {
      release();
      data_ = inline_;
      take(o);
    }
    return *this;
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }
  void push_back(T v) {
    if (size_ == capacity_) reserve(capacity_ * 2);
    data_[size_++] = v;
  }
  void pop_back() { --size_; }
  void insert(size_t at, T v) {
    push_back(v);
    for (size_t i = size_ - 1; i > at; i--) data_[i] = data_[i - 1];
    data_[at] = v;
  }
  void erase(size_t at) {
    for (size_t i = at; i + 1 < size_; i++) data_[i] = data_[i + 1];
    --size_;
  }
  void resize(size_t n, T fill = T{}) {
    reserve(n);
    for (size_t i = size_; i < n; i++) data_[i] = fill;
    size_ = n;
  }
  void clear() { size_ = 0; }
  void reserve(size_t n) {
    if (n <= capacity_) return;
    T* grown = static_cast<T*>(std::malloc(n * sizeof(T)));
    if (size_) std::memcpy(grown, data_, size_ * sizeof(T));
    release();
    data_ = grown;
    capacity_ = n;
  }
  operator std::span<const T>() const { return {data_, size_}; }
  bool operator==(const SmallVector& o) const {
    return size_ == o.size_ && (size_ == 0 || std::memcmp(data_, o.data_, size_ * sizeof(T)) == 0);
  }

 private:
  void release() {
    if (data_ != inline_) std::free(data_);
    capacity_ = N;
  }
  void take(SmallVector& o) {
    if (o.data_ == o.inline_) {
      std::memcpy(inline_, o.inline_, o.size_ * sizeof(T));
    } else {
      data_ = o.data_;
      capacity_ = o.capacity_;
      o.data_ = o.inline_;
      o.capacity_ = N;
    }
    size_ = o.size_;
    o.size_ = 0;
  }
  T* data_;
  size_t size_ = 0, capacity_ = N;
  T inline_[N];
};

using Dims = SmallVector<int64_t, 6>;
using IntList = std::span<const int64_t>;

inline bool equal(IntList a, IntList b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(int64_t)) == 0);
}

}  // namespace fl
