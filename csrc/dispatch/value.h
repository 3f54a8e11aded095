// One argument or result of an op in its boxed form: 16 bytes, borrowed.
#pragma once
#include <optional>
#include <string_view>

#include "tensor/tensor.h"

namespace fl {

class Generator;

enum class Tag : uint8_t {
  None,
  Tensor,
  Bool,
  Int,
  Float,
  Complex,
  IntList,
  FloatList,
  TensorList,
  ScalarList,
  String,
  DType,
  Layout,
  Device,
  MemoryFormat,
  Generator,
  Object,
};

struct Value {
  Tag tag = Tag::None;
  bool owned_tensor = false;  // a tensor the argument parser made for this call
  uint32_t length = 0;
  union {
    TensorObject* tensor;
    int64_t i;
    double d;
    const std::complex<double>* c;
    const int64_t* ints;
    const double* floats;
    TensorObject* const* tensors;
    const Scalar* scalars;
    const char* chars;
    Generator* generator;
    PyObject* object;
    Device device;
  };

  Value() : i(0) {}
  Value(std::nullopt_t) : i(0) {}
  Value(const Tensor& t) : tag(t ? Tag::Tensor : Tag::None), tensor(t.get()) {}
  Value(bool v) : tag(Tag::Bool), i(v) {}
  Value(int v) : tag(Tag::Int), i(v) {}
  Value(int64_t v) : tag(Tag::Int), i(v) {}
  Value(double v) : tag(Tag::Float), d(v) {}
  Value(IntList v) : tag(Tag::IntList), length(static_cast<uint32_t>(v.size())), ints(v.data()) {}
  Value(const Dims& v) : Value(IntList(v)) {}
  Value(std::span<const double> v) : tag(Tag::FloatList), length(static_cast<uint32_t>(v.size())), floats(v.data()) {}
  Value(TensorList v)
      : tag(Tag::TensorList),
        length(static_cast<uint32_t>(v.size())),
        tensors(reinterpret_cast<TensorObject* const*>(v.data())) {}
  Value(const std::vector<Tensor>& v) : Value(TensorList(v)) {}
  Value(std::span<const Scalar> v) : tag(Tag::ScalarList), length(static_cast<uint32_t>(v.size())), scalars(v.data()) {}
  Value(std::string_view v) : tag(Tag::String), length(static_cast<uint32_t>(v.size())), chars(v.data()) {}
  Value(const char* v) : Value(std::string_view(v)) {}
  Value(DType v) : tag(Tag::DType), i(static_cast<int64_t>(v)) {}
  Value(Device v) : tag(Tag::Device), i(0) { device = v; }
  Value(MemoryFormat v) : tag(Tag::MemoryFormat), i(static_cast<int64_t>(v)) {}
  Value(Generator* v) : tag(v ? Tag::Generator : Tag::None), generator(v) {}
  Value(const Scalar& s) : i(0) {
    switch (s.type) {
      case Scalar::Type::Bool:
        tag = Tag::Bool;
        i = s.i;
        break;
      case Scalar::Type::Int:
        tag = Tag::Int;
        i = s.i;
        break;
      case Scalar::Type::Float:
        tag = Tag::Float;
        d = s.d;
        break;
      case Scalar::Type::Complex:
        tag = Tag::Complex;
        c = reinterpret_cast<const std::complex<double>*>(s.c);
        break;
    }
  }
  template <class T>
  Value(const std::optional<T>& v) : Value() {
    if (v) *this = Value(*v);
  }

  bool is_none() const { return tag == Tag::None; }
  bool is_tensor() const { return tag == Tag::Tensor; }
  bool is_number() const { return tag == Tag::Bool || tag == Tag::Int || tag == Tag::Float || tag == Tag::Complex; }
  Scalar scalar() const {
    switch (tag) {
      case Tag::Bool:
        return Scalar(i != 0);
      case Tag::Int:
        return Scalar(i);
      case Tag::Float:
        return Scalar(d);
      default:
        return Scalar(*c);
    }
  }
  double to_double() const { return tag == Tag::Float ? d : tag == Tag::Complex ? c->real() : static_cast<double>(i); }
  IntList int_list() const { return {ints, length}; }
  TensorList tensor_list() const { return {reinterpret_cast<const Tensor*>(tensors), length}; }
  std::string_view string() const { return {chars, length}; }
};

// What an op returns, owned.
struct Result {
  enum class Kind : uint8_t { None, Tensor, Tuple, List, Number, Object };
  Kind kind = Kind::None;
  Tensor tensor;
  std::vector<Tensor> tensors;
  Scalar number;
  PyObject* object = nullptr;  // owned

  Result() = default;
  Result(Tensor t) : kind(Kind::Tensor), tensor(std::move(t)) {}
  Result(Kind k, std::vector<Tensor> v) : kind(k), tensors(std::move(v)) {}
  Result(const Result&) = delete;
  Result(Result&& o) noexcept
      : kind(o.kind),
        tensor(std::move(o.tensor)),
        tensors(std::move(o.tensors)),
        number(o.number),
        object(std::exchange(o.object, nullptr)) {}
  Result& operator=(Result&& o) noexcept {
    kind = o.kind;
    tensor = std::move(o.tensor);
    tensors = std::move(o.tensors);
    number = o.number;
    std::swap(object, o.object);
    return *this;
  }
  ~Result() { Py_XDECREF(object); }

  // The tensors it holds, in order.
  std::span<Tensor> outputs() {
    return kind == Kind::Tensor ? std::span<Tensor>(&tensor, 1) : std::span<Tensor>(tensors);
  }
};

}  // namespace fl
