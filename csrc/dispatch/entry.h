// The table of ops. An op is one entry: its schema, how it is computed, its derivative and its documentation.
// Everything else (function, method, in-place and out= forms, argument errors, stubs, tests) follows from the entry.
#pragma once
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "dispatch/schema.h"

namespace fl {

struct Entry;
class Vjp;

// Where a result should be written, for the in-place and out= forms of ops that can write directly.
struct Destination {
  Tensor tensor;
  bool may_resize;
};

using Kernel = Result (*)(const Entry& entry, const Value* args, const Destination* out);
// Writes into args[0].
using InPlaceKernel = void (*)(const Entry& entry, const Value* args);

struct PointwiseInfo;

struct Entry {
  Schema schema;
  std::string id;           // "sum.dim"
  std::string public_name;  // last part of the name, for messages: "softplus"
  Kernel kernel = nullptr;
  InPlaceKernel in_place = nullptr;
  PointwiseInfo* pointwise = nullptr;
  bool composite = false;  // made of other ops: records through them
  bool view = false;       // the result looks at args[0]'s memory
  bool mutates = false;    // always writes into args[0] and returns it: copy_, normal_
  bool has_in_place = false, has_out = false;
  bool out_apart = false;   // out= may not share memory with an argument
  bool any_device = false;  // takes tensors of the meta device beside others
  bool no_function = false, no_method = false;
  void (*vjp)(Vjp&) = nullptr;
  uint32_t saves_args = 0, saves_outputs = 0;
  uint32_t constant_outputs = 0;  // outputs no gradient flows to: indices, masks
  std::string node_name;          // "AddBackward0"
  PyTypeObject* node_type = nullptr;
  PyObject* python = nullptr;  // of a composite written in Python
  const char* doc = "";
  const char* forward_id = nullptr;  // of a form with an `inplace` argument: the op it stands for
  const Entry* forward = nullptr;
  bool returns_self_ok = false;  // may return args[0] itself (contiguous, to)
};

// All overloads of one name, in the order they are tried.
struct OpGroup {
  std::string name;
  std::vector<Entry*> overloads;
  PyObject* callables[4] = {};  // function, method, in-place function, in-place method; made by the binding
};

// ---- typed functions to boxed kernels

namespace detail {
template <class T>
struct Unbox;
template <>
struct Unbox<const Tensor&> {
  static const Tensor& get(const Value& v) {
    static const Tensor none;
    return v.is_tensor() ? borrow(v.tensor) : none;
  }
};
template <>
struct Unbox<Tensor> : Unbox<const Tensor&> {};
template <>
struct Unbox<int64_t> {
  static int64_t get(const Value& v) { return v.i; }
};
template <>
struct Unbox<bool> {
  static bool get(const Value& v) { return v.i != 0; }
};
template <>
struct Unbox<double> {
  static double get(const Value& v) { return v.to_double(); }
};
template <>
struct Unbox<Scalar> {
  static Scalar get(const Value& v) { return v.scalar(); }
};
template <>
struct Unbox<const Scalar&> : Unbox<Scalar> {};
template <>
struct Unbox<IntList> {
  static IntList get(const Value& v) { return v.int_list(); }
};
template <>
struct Unbox<TensorList> {
  static TensorList get(const Value& v) { return v.tensor_list(); }
};
template <>
struct Unbox<std::span<const double>> {
  static std::span<const double> get(const Value& v) { return {v.floats, v.length}; }
};
template <>
struct Unbox<std::string_view> {
  static std::string_view get(const Value& v) { return v.string(); }
};
template <>
struct Unbox<DType> {
  static DType get(const Value& v) { return static_cast<DType>(v.i); }
};
template <>
struct Unbox<Device> {
  static Device get(const Value& v) { return v.device; }
};
template <>
struct Unbox<MemoryFormat> {
  static MemoryFormat get(const Value& v) { return static_cast<MemoryFormat>(v.i); }
};
template <>
struct Unbox<Generator*> {
  static Generator* get(const Value& v) { return v.is_none() ? nullptr : v.generator; }
};
template <>
struct Unbox<const Value&> {
  static const Value& get(const Value& v) { return v; }
};
template <class T>
struct Unbox<std::optional<T>> {
  static std::optional<T> get(const Value& v) {
    return v.is_none() ? std::nullopt : std::optional<T>(Unbox<T>::get(v));
  }
};

inline Result box(Tensor t) { return Result(std::move(t)); }
inline Result box(std::vector<Tensor> v) { return Result(Result::Kind::List, std::move(v)); }
template <class... T>
Result box(std::tuple<T...> t) {
  return std::apply(
      [](auto&... x) {
        std::vector<Tensor> v;
        v.reserve(sizeof...(x));
        (v.push_back(std::move(x)), ...);
        return Result(Result::Kind::Tuple, std::move(v));
      },
      t);
}
inline Result box(Scalar s) {
  Result r;
  r.kind = Result::Kind::Number;
  r.number = s;
  return r;
}

template <auto F>
struct Boxed;
template <class R, class... A, R (*F)(A...)>
struct Boxed<F> {
  template <size_t... I>
  static Result run(const Value* args, std::index_sequence<I...>) {
    if constexpr (std::is_void_v<R>) {
      F(Unbox<A>::get(args[I])...);
      return Result();
    } else {
      return box(F(Unbox<A>::get(args[I])...));
    }
  }
  static Result call(const Entry&, const Value* args, const Destination*) {
    return run(args, std::index_sequence_for<A...>());
  }
  static void call_in_place(const Entry&, const Value* args) { run(args, std::index_sequence_for<A...>()); }
  static constexpr size_t arity = sizeof...(A);
};
}  // namespace detail

// ---- declaring entries

class Define {
 public:
  explicit Define(const char* schema);
  // The body, as a typed C++ function whose parameters follow the schema.
  template <auto F>
  Define& kernel() {
    check_arity(detail::Boxed<F>::arity);
    entry_->kernel = detail::Boxed<F>::call;
    return *this;
  }
  // Like kernel, but written in other ops, which record themselves.
  template <auto F>
  Define& composite() {
    entry_->composite = true;
    return kernel<F>();
  }
  Define& raw_kernel(Kernel k) {
    entry_->kernel = k;
    return *this;
  }
  // A body that writes into its first argument; the functional form copies first.
  template <auto F>
  Define& in_place_kernel() {
    check_arity(detail::Boxed<F>::arity);
    entry_->in_place = detail::Boxed<F>::call_in_place;
    if (!entry_->kernel) entry_->kernel = copy_then_in_place;
    entry_->has_in_place = true;
    return *this;
  }
  // The derivative; `saves` names what it reads: arguments, and "result" or "result1" for outputs.
  Define& vjp(const char* saves, void (*f)(Vjp&));
  Define& view() {
    entry_->view = true;
    return *this;
  }
  Define& mutates() {
    entry_->mutates = true;
    return *this;
  }
  Define& in_place() {
    entry_->has_in_place = true;
    return *this;
  }
  Define& any_device() {
    entry_->any_device = true;
    return *this;
  }
  Define& out() {
    entry_->has_out = true;
    return *this;
  }
  Define& out_apart() {
    entry_->out_apart = true;
    return out();
  }
  Define& function_only() {
    entry_->no_method = true;
    return *this;
  }
  Define& method_only() {
    entry_->no_function = true;
    return *this;
  }
  Define& constant_outputs(uint32_t mask) {
    entry_->constant_outputs = mask;
    return *this;
  }
  Define& node(const char* name) {
    entry_->node_name = name;
    return *this;
  }
  Define& returns_self() {
    entry_->returns_self_ok = true;
    return *this;
  }
  // The whole name, with all its overloads, is also known as `name`.
  Define& alias(const char* name);
  Define& doc(const char* text) {
    entry_->doc = text;
    return *this;
  }
  Entry* entry() { return entry_; }

 private:
  void check_arity(size_t n);
  static Result copy_then_in_place(const Entry&, const Value* args, const Destination*);
  Entry* entry_;
};

// Runs a function of declarations when the extension is loaded:  static const Declare ops([] { Define("...")...; });
struct Declare {
  explicit Declare(void (*f)()) { f(); }
};

// Another name for all overloads of the op of `schema`; it exists once connect_entries has run, when everything is
// declared.
void declare_alias(const char* alias, const char* schema);
void connect_entries();

const std::vector<OpGroup*>& all_groups();
OpGroup* find_group(std::string_view name);    // by schema name: "nn.softplus"
const Entry* find_entry(std::string_view id);  // "sum.dim"; null when there is none
Entry* define_python(const char* schema, PyObject* function, bool in_place, bool out);

}  // namespace fl
