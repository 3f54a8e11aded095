// Declaring pointwise ops. A file of declarations is compiled once for each instruction set: every object brings its
// loops, and the primary one also declares the op with its schema and derivative.
//
//   FL_POINTWISE(exponentials) {
//     Pointwise<1>("exp(Tensor input) -> Tensor", Rule::Float)
//         .body<kFloat | kComplex>([](auto x) { return exp(x); })
//         .grad<kResult>([](auto g, auto, auto y) { return g * conj(y); });
//   }
//
// A body is a generic lambda over Vec<T>. A derivative is a generic lambda over (gradient, inputs..., result,
// parameters...): instantiated with Tensor it is differentiable itself; with fused_grad it also becomes one loop over
// vectors.
#pragma once
#include "math/math.h"
#include "tile/isa.h"
#include "tile/pointwise_info.h"

#if FL_PRIMARY
#include "autograd/record.h"
#include "ops/api.h"
#endif

namespace fl {

// The types a body is compiled for. Other types are computed in the nearest of these: 16-bit floats in float, small
// integers in int32 or int64. A kBool body works on bytes of 0 and 1.
enum Kinds : unsigned { kFloat = 1, kInt = 2, kComplex = 4, kByte = 8, kUInt64 = 16, kInt32 = 32, kBool = 64 };
enum Reads : unsigned { kNothing = 0, kFirst = 1, kSecond = 2, kThird = 4, kResult = 128 };

#if FL_PRIMARY
void pointwise_declare(const char* schema, PointwiseInfo& info, const PointwiseForms& forms);
Tensor pointwise_grad_input(Vjp& v, int k);
// The gradient, part of the graph if what it was computed from is, even where it doesn't depend on that: relu's, for
// one.
Tensor pointwise_connected(Vjp& v, unsigned reads, Tensor gradient);
Result pointwise_kernel(const Entry& entry, const Value* args, const Destination* out);
#endif

namespace FL_ISA {

template <class T>
FL_INLINE Vec<T> param_as(const Param& p) {
  if constexpr (std::is_integral_v<T>)
    return Vec<T>(static_cast<T>(p.integer));
  else if constexpr (std::is_floating_point_v<T>)
    return Vec<T>(static_cast<T>(p.real));
  else
    return Vec<T>(T(static_cast<decltype(T::real)>(p.real), static_cast<decltype(T::real)>(p.imag)));
}

template <class T>
FL_INLINE void store_value(char* out, int64_t i, Vec<T> v) {
  v.store(reinterpret_cast<T*>(out) + i);
}
template <class T>
FL_INLINE void store_value(char* out, int64_t i, Mask<T> m) {
  m.store_bool(reinterpret_cast<uint8_t*>(out) + i);
}
template <class V>
struct Stored;
template <class T>
struct Stored<Vec<T>> {
  static constexpr size_t size = sizeof(T);
  static constexpr bool mask = false;
};
template <class T>
struct Stored<Mask<T>> {
  static constexpr size_t size = 1;
  static constexpr bool mask = true;
};

template <class T, unsigned masks, int k>
FL_INLINE auto load_input(const char* p, int64_t i) {
  if constexpr (masks >> k & 1)
    return Mask<T>::load_bool(reinterpret_cast<const uint8_t*>(p) + i);
  else
    return Vec<T>::load(reinterpret_cast<const T*>(p) + i);
}
template <class T, unsigned masks, int k>
inline constexpr size_t input_size = (masks >> k & 1) ? 1 : sizeof(T);

template <class T, class F, unsigned masks, size_t... K, size_t... P>
FL_INLINE void run_loop(char* out, const char* const* in, int64_t n, const Param* params, std::index_sequence<K...>,
                        std::index_sequence<P...>) {
  constexpr int lanes = Vec<T>::N;
  const F f{};
  const auto given = [&] {
    if constexpr (sizeof...(P) > 0) {
      struct {
        Vec<T> p[sizeof...(P)];
      } all{{param_as<T>(params[P])...}};
      return all;
    } else {
      return 0;
    }
  }();
  auto apply = [&](const char* const* from, int64_t i) {
    if constexpr (sizeof...(P) > 0)
      return f(load_input<T, masks, K>(from[K], i)..., given.p[P]...);
    else
      return f(load_input<T, masks, K>(from[K], i)...);
  };
  using R = Stored<decltype(apply(in, 0))>;
  // The tail runs as a full vector too, so that an element's value never depends on its place: a second round over
  // padded copies. One loop serves both, for the body is expanded once.
  constexpr size_t kRegister = FL_VECTOR_BYTES < 16 ? 16 : FL_VECTOR_BYTES;
  alignas(64) char padded[sizeof...(K)][kRegister];
  alignas(64) char result[kRegister];
  const char* from[sizeof...(K)] = {in[K]...};
  char* to = out;
  int64_t count = n / lanes * lanes, rest = n - count;
  bool in_tail = false;
  while (true) {
    for (int64_t i = 0; i < count; i += lanes) store_value(to, i, apply(from, i));
    if (in_tail || rest == 0) break;
    memset(padded, 0, sizeof(padded));
    (memcpy(padded[K], in[K] + count * input_size<T, masks, K>, rest * input_size<T, masks, K>), ...);
    ((from[K] = padded[K]), ...);
    to = result;
    count = lanes;
    in_tail = true;
  }
  if (in_tail) memcpy(out + (n - rest) * R::size, result, rest * R::size);
}

template <class T, class F, int inputs, int count, unsigned masks>
void loop(char* out, const char* const* in, int64_t n, const Param* params) {
  run_loop<T, F, masks>(out, in, n, params, std::make_index_sequence<inputs>(), std::make_index_sequence<count>());
}

// (gradient, saved...) -> gradient of the single input; what isn't saved is passed as the gradient and not read.
template <class T, class F, unsigned reads, size_t... P>
FL_INLINE void run_grad_loop(char* out, const char* const* in, int64_t n, const Param* params,
                             std::index_sequence<P...>) {
  struct Body {
    FL_INLINE auto operator()(Vec<T> g, Vec<T> saved, std::conditional_t<true, Vec<T>, decltype(P)>... p) const {
      return F{}(g, (reads & kFirst) ? saved : g, (reads & kResult) ? saved : g, p...);
    }
  };
  run_loop<T, Body, 0>(out, in, n, params, std::make_index_sequence<2>(), std::index_sequence<P...>());
}
template <class T, class F, unsigned reads, int count>
void grad_loop(char* out, const char* const* in, int64_t n, const Param* params) {
  run_grad_loop<T, F, reads>(out, in, n, params, std::make_index_sequence<count>());
}

template <class F, class T, unsigned masks, class K, class P>
struct Callable;
template <class F, class T, unsigned masks, size_t... K, size_t... P>
struct Callable<F, T, masks, std::index_sequence<K...>, std::index_sequence<P...>> {
  template <size_t k>
  using In = std::conditional_t<(masks >> k & 1) != 0, Mask<T>, Vec<T>>;
  template <size_t>
  using Par = Vec<T>;
  static constexpr bool value = std::is_invocable_v<F, In<K>..., Par<P>...>;
};

// A zero gradient stays zero even where the derivative is infinite: the branch that where() didn't take sends none.
template <class T>
FL_INLINE Vec<T> zero_stays(Vec<T> g, Vec<T> product) {
  return where(g == Vec<T>(0), g, product);
}

template <int inputs, unsigned masks = 0>
class Pointwise {
 public:
  Pointwise(const char* schema, Rule rule, const char* doc = "")
      : schema_(schema), info_(pointwise_info(schema)), doc_(doc) {
    info_.rule = rule;
    info_.inputs = inputs;
    info_.mask_inputs = masks;
  }
  ~Pointwise() {
#if FL_PRIMARY
    pointwise_declare(schema_, info_, {in_place_, out_, function_only_, method_only_, node_, doc_});
#endif
  }
  template <unsigned kinds, class F>
  Pointwise& body(F) {
    if (machine_isa() < FL_THIS_ISA) return *this;
    if constexpr (kinds & kFloat) set<float, F>(DType::Float), set<double, F>(DType::Double);
    if constexpr (kinds & kInt) set<int64_t, F>(DType::Int64);
    if constexpr (kinds & kInt32) set<int32_t, F>(DType::Int32);
    if constexpr (kinds & kByte) set<uint8_t, F>(DType::UInt8);
    if constexpr (kinds & kBool) set<uint8_t, F>(DType::Bool);
    if constexpr (kinds & kUInt64) set<uint64_t, F>(DType::UInt64);
    if constexpr (kinds & kComplex)
      set<Complex<float>, F>(DType::ComplexFloat), set<Complex<double>, F>(DType::ComplexDouble);
    return *this;
  }
  // The derivative of input k, in ops.
  template <unsigned reads, int k = 0, class F>
  Pointwise& grad(F) {
#if FL_PRIMARY
    info_.grad_reads[k] = reads;
    info_.grads[k] = tensor_grad<F, reads, k>;
#endif
    return *this;
  }
  // Also as one loop, for a single input of a floating type.
  template <unsigned reads, class F>
  Pointwise& fused_grad(F f) {
    static_assert(inputs == 1);
    if (machine_isa() >= FL_THIS_ISA) {
      constexpr int count = param_count<float, F, reads>();
      info_.fused[static_cast<int>(DType::Float)] = grad_loop<float, F, reads, count>;
      info_.fused[static_cast<int>(DType::Double)] = grad_loop<double, F, reads, count>;
    }
    return grad<reads>(f);
  }
  Pointwise& no_in_place() {
    in_place_ = false;
    return *this;
  }
  Pointwise& no_out() {
    out_ = false;
    return *this;
  }
  Pointwise& refuses_bool(const char* why) {
    info_.bool_refusal = why;
    return *this;
  }
  Pointwise& lacks_bool() {
    info_.lacks_bool = true;
    return *this;
  }
  Pointwise& lacks_complex() {
    info_.lacks_complex = true;
    return *this;
  }
  Pointwise& refuses_zero_divisor() {
    info_.refuses_zero_divisor = true;
    return *this;
  }
  // Looks at the arguments once the type to compute in is known, and fails where the op is not defined for them.
  Pointwise& check(void (*f)(const Value* args, DType compute)) {
    info_.check = f;
    return *this;
  }
  Pointwise& by_value() {
    info_.by_value = true;
    return *this;
  }
  Pointwise& equal_types() {
    info_.equal_types = true;
    return *this;
  }
  Pointwise& exact_out() {
    info_.exact_out = true;
    return *this;
  }
  Pointwise& bool_as_int() {
    info_.bool_as_int = true;
    return *this;
  }
  Pointwise& method_only() {
    method_only_ = true;
    return *this;
  }
  Pointwise& substitute(const PointwiseInfo* (*f)(const Value*)) {
    info_.substitute = f;
    return *this;
  }
  // The whole name, with all its overloads, is also known as `name`.
  Pointwise& alias([[maybe_unused]] const char* name) {
#if FL_PRIMARY
    declare_alias(name, schema_);
#endif
    return *this;
  }
  Pointwise& function_only() {
    function_only_ = true;
    return *this;
  }
  Pointwise& node(const char* name) {
    node_ = name;
    return *this;
  }
  Pointwise& cost(int c) {
    info_.cost = static_cast<uint8_t>(c);
    return *this;
  }

 private:
  template <class T, class F>
  static constexpr int body_params() {
    using K = std::make_index_sequence<inputs>;
    if constexpr (Callable<F, T, masks, K, std::make_index_sequence<0>>::value)
      return 0;
    else if constexpr (Callable<F, T, masks, K, std::make_index_sequence<1>>::value)
      return 1;
    else if constexpr (Callable<F, T, masks, K, std::make_index_sequence<2>>::value)
      return 2;
    else if constexpr (Callable<F, T, masks, K, std::make_index_sequence<3>>::value)
      return 3;
    else
      return 4;
  }
  template <class T, class F, unsigned>
  static constexpr int param_count() {
    using K = std::make_index_sequence<3>;
    if constexpr (Callable<F, T, 0, K, std::make_index_sequence<0>>::value)
      return 0;
    else if constexpr (Callable<F, T, 0, K, std::make_index_sequence<1>>::value)
      return 1;
    else if constexpr (Callable<F, T, 0, K, std::make_index_sequence<2>>::value)
      return 2;
    else
      return 3;
  }
  template <class T, class F>
  void set(DType compute) {
    constexpr int count = body_params<T, F>();
    info_.params = count;
    info_.loops[static_cast<int>(compute)] = loop<T, F, inputs, count, masks>;
    info_.gives_bool[static_cast<int>(compute)] =
        result_is_mask<T, F>(std::make_index_sequence<inputs>(), std::make_index_sequence<count>());
  }
  template <class T, class F, size_t... K, size_t... P>
  static constexpr bool result_is_mask(std::index_sequence<K...>, std::index_sequence<P...>) {
    using C = Callable<F, T, masks, std::index_sequence<K...>, std::index_sequence<P...>>;
    return Stored<std::invoke_result_t<F, typename C::template In<K>..., typename C::template Par<P>...>>::mask;
  }
#if FL_PRIMARY
  template <class F, unsigned reads, int k>
  static void tensor_grad(Vjp& v) {
    run_tensor_grad<F, reads, k>(v, std::make_index_sequence<inputs>());
  }
  template <class F, unsigned reads, int k, size_t... I>
  static void run_tensor_grad(Vjp& v, std::index_sequence<I...>) {
    Tensor g = v.grad(), y = (reads & kResult) ? v.output() : Tensor();
    auto in = [&](int i) { return (reads >> i & 1) ? pointwise_grad_input(v, i) : Tensor(); };
    auto p = [&](int i) { return v.scalar(inputs + i); };
    Tensor r;
    if constexpr (std::is_invocable_v<F, Tensor, decltype((void)I, Tensor())..., Tensor>)
      r = F{}(g, in(I)..., y);
    else if constexpr (std::is_invocable_v<F, Tensor, decltype((void)I, Tensor())..., Tensor, Scalar>)
      r = F{}(g, in(I)..., y, p(0));
    else if constexpr (std::is_invocable_v<F, Tensor, decltype((void)I, Tensor())..., Tensor, Scalar, Scalar>)
      r = F{}(g, in(I)..., y, p(0), p(1));
    else
      r = F{}(g, in(I)..., y, p(0), p(1), p(2));
    v.set(k, pointwise_connected(v, reads, std::move(r)));
  }
#endif
  const char* schema_;
  PointwiseInfo& info_;
  const char* doc_;
  const char* node_ = nullptr;
  bool in_place_ = true, out_ = true, function_only_ = false, method_only_ = false;
};

struct DeclarePointwise {
  explicit DeclarePointwise(void (*f)()) { f(); }
};
#define FL_POINTWISE(name)                                       \
  static void declare_##name();                                  \
  static const DeclarePointwise name##_declared(declare_##name); \
  static void declare_##name()

}  // namespace FL_ISA
}  // namespace fl
