// scatter_reduce and index_reduce.
#include "autograd/record.h"
#include "ops/api.h"
#include "ops/indexing/gather.h"
#include "ops/indexing/places.h"

namespace fl {
namespace {

enum class Reduce { Sum, Prod, Mean, Max, Min };

Reduce reduce_named(std::string_view name) {
  if (name == "sum") return Reduce::Sum;
  if (name == "prod") return Reduce::Prod;
  if (name == "mean") return Reduce::Mean;
  if (name == "amax") return Reduce::Max;
  if (name == "amin") return Reduce::Min;
  fail("scatter_reduce: reduce argument must be either sum, prod, mean, amax or amin, got ", name);
}
Combine combine_of(Reduce r) {
  return r == Reduce::Prod  ? Combine::Mul
         : r == Reduce::Max ? Combine::Max
         : r == Reduce::Min ? Combine::Min
                            : Combine::Add;
}

// What leaves any other element as it is.
void fill_identity(const Tensor& one, Reduce r) {
  if (r == Reduce::Sum || r == Reduce::Mean || r == Reduce::Prod)
    return raw_fill(one, Scalar(r == Reduce::Prod ? 1 : 0));
  visit_dtype(one.dtype(), [&]<class T>() {
    T& v = *one.data<T>();
    bool low = r == Reduce::Max;
    if constexpr (std::is_same_v<T, Bool>)
      v = T(!low);
    else if constexpr (std::is_integral_v<T>)
      v = low ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
    else if constexpr (!combine::is_complex_type<T>)
      v = T(low ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity());
  });
}

template <class T>
T divided(T sum, int64_t count) {
  if constexpr (std::is_same_v<T, Bool>) {
    return sum;
  } else if constexpr (combine::is_complex_type<T>) {
    return T(sum.real / count, sum.imag / count);
  } else if constexpr (std::is_integral_v<T>) {
    if constexpr (std::is_unsigned_v<T>)
      return static_cast<T>(sum / static_cast<uint64_t>(count));
    else
      return static_cast<T>(sum / count - (sum % count != 0 && sum < 0 ? 1 : 0));
  } else {
    return T(sum / static_cast<T>(static_cast<float>(count)));
  }
}

Tensor scatter_reduce_op(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                         std::string_view reduce, bool include_self) {
  Reduce r = reduce_named(reduce);
  FL_CHECK(!((r == Reduce::Max || r == Reduce::Min) && self.is_complex()), ErrorKind::NotImplemented,
           "scatter_reduce: ", reduce, " is not implemented for ", info(self.dtype()).name);
  FL_CHECK(!(r == Reduce::Mean && self.dtype() == DType::Bool), ErrorKind::NotImplemented,
           "scatter_reduce: mean is not implemented for bool");
  Tensor counts;
  if (r == Reduce::Mean && !self.is_meta()) {
    counts = full(self.sizes(), Scalar(include_self ? 1 : 0), DType::Int64);
    // Checks the sizes before anything is written, too.
    scatter_value(counts, dim, index, Scalar(1), Combine::Add, "scatter_reduce");
  }
  if (!include_self && !self.is_meta()) {
    Tensor identity = empty(Dims(), self.dtype());
    fill_identity(identity, r);
    Tensor spread = src.dim() && index.numel() ? alias(identity, index.sizes(), Dims(index.dim(), 0), 0) : identity;
    scatter_tensor(self, dim, index, spread, Combine::Assign, "scatter_reduce");
  }
  scatter_tensor(self, dim, index, src, combine_of(r), "scatter_reduce");
  if (!counts.defined() || self.numel() == 0) return self;
  Walk<2> walk;
  for (int64_t d = 0; d < self.dim(); d++) walk.add(self->sizes[d], {self->strides[d], counts->strides[d]});
  visit_dtype(self.dtype(), [&]<class T>() {
    walk.run_parallel([&](const Walk<2>::Offsets& at, int64_t n) {
      T* x = self.data<T>() + at[0];
      const int64_t* c = counts.data<int64_t>() + at[1];
      for (int64_t i = 0; i < n; i++) {
        int64_t count = c[i * walk.step(1)];
        if (count > 1) x[i * walk.step(0)] = divided(x[i * walk.step(0)], count);
      }
    });
  });
  return self;
}

const Op gather("gather"), scatter("scatter.value"), scatter_add("scatter_add"), scatter_reduce("scatter_reduce");

Tensor ones_of(IntList sizes, const Tensor& like) { return full(sizes, Scalar(1), like.dtype(), like.device()); }

void reduce_back(Vjp& v) {
  Tensor g = v.grad(), self = v.input(0), index = v.input(2), src = v.input(3);
  Value dim = v.value(1);
  std::string_view reduce = v.string(4);
  bool include_self = v.flag(5);
  Tensor to_self, to_src;
  switch (reduce_named(reduce)) {
    case Reduce::Sum:
      to_self = g;
      to_src = gather(g, dim, index);
      break;
    case Reduce::Mean: {
      Tensor counts = full(self.sizes(), Scalar(include_self ? 1 : 0), g.dtype(), g.device());
      counts = maximum(real(scatter_add(counts, dim, index, ones_of(src.sizes(), g))),
                       full(Dims(), Scalar(1), real_of(g.dtype())));
      to_self = g / counts;
      to_src = gather(to_self, dim, index);
      break;
    }
    case Reduce::Prod: {
      // Factors that are zero are left out of their own product instead of being divided out of it.
      Tensor result = v.output();
      if (v.needs(0)) {
        Tensor factor = where(self == 0, 1, self);
        to_self = g * conj(scatter_reduce(factor, dim, index, src, reduce, include_self) / factor);
      }
      if (v.needs(3)) {
        Tensor is_zero = src == 0, flags = to_dtype(is_zero, g.dtype());
        Tensor zeros_there =
            gather(scatter_add(fl::zeros(self.sizes(), g.dtype(), g.device()), dim, index, flags), dim, index);
        Tensor alone = logical_and(is_zero, zeros_there == 1);
        Tensor others = scatter_reduce(self, dim, index, where(alone, 1, src), reduce, include_self);
        Tensor there = gather(g, dim, index);
        to_src =
            there * conj(where(alone, gather(others, dim, index), gather(result, dim, index) / where(is_zero, 1, src)));
      }
      break;
    }
    case Reduce::Max:
    case Reduce::Min: {
      // Equal extremes share the gradient.
      Tensor result = v.output();
      Tensor self_wins = to_dtype(self == result, g.dtype()),
             src_wins = to_dtype(src == gather(result, dim, index), g.dtype());
      if (!include_self) self_wins = scatter(self_wins, dim, index, Scalar(0));
      Tensor winners = scatter_add(self_wins, dim, index, src_wins);
      Tensor share = g / where(winners == 0, 1, winners);
      to_self = share * self_wins;
      to_src = gather(share, dim, index) * src_wins;
      break;
    }
  }
  if (v.needs(0)) v.set(0, include_self ? to_self : scatter(to_self, dim, index, Scalar(0)));
  if (v.needs(3)) {
    // Elements of src beyond the index took no part.
    if (!equal(to_src.sizes(), src.sizes())) {
      Tensor whole = fl::zeros(src.sizes(), g.dtype(), g.device()), part = whole;
      static const Op copy("copy_");
      for (int64_t d = 0; d < to_src.dim(); d++) part = narrow(part, d, 0, to_src->sizes[d]);
      copy.run(part, to_src);
      to_src = whole;
    }
    v.set(3, to_src);
  }
}

Tensor index_reduce_op(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& source,
                       std::string_view reduce, bool include_self) {
  FL_CHECK(reduce == "prod" || reduce == "mean" || reduce == "amax" || reduce == "amin",
           "index_reduce(): expected reduce to be one of prod, mean, amax or amin but got ", reduce);
  FL_CHECK(index.dim() <= 1, ErrorKind::Index, "index_reduce_(): index should have dimension 1 or 0 (got ", index.dim(),
           ")");
  FL_CHECK(index.dtype() == DType::Int64 || index.dtype() == DType::Int32,
           "index_reduce_(): expected dtype int32/int64 for index, got ", info(index.dtype()).name);
  FL_CHECK(input.dtype() == source.dtype(), "index_reduce_(): self (", info(input.dtype()).name, ") and source (",
           info(source.dtype()).name, ") must have the same dtype");
  int64_t d = wrap_dim(dim, input.dim(), "index_reduce");
  bool fits = source.dim() == input.dim() || (input.dim() <= 1 && source.dim() <= 1);
  for (int64_t k = 0; fits && k < input.dim() && k < source.dim(); k++)
    fits = k == d || input->sizes[k] == source->sizes[k];
  int64_t count = source.dim() > d ? source->sizes[d] : 1;
  FL_CHECK(fits && index.numel() == count, "index_reduce_(): source of sizes ", shape_text(source.sizes()), " with ",
           index.numel(), " indices doesn't fit sizes ", shape_text(input.sizes()), " along dimension ", d);
  checked_positions(index, input.dim() ? input->sizes[d] : 1, d, "index_reduce_: ", false, ErrorKind::Index);
  Dims shape(source.dim(), 1);
  if (source.dim()) shape[d] = index.numel();
  return scatter_reduce(input, d, expand(reshape(index, shape), source.sizes()), source, reduce, include_self);
}

const Declare ops([] {
  Define(
      "scatter_reduce(Tensor input, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> "
      "Tensor")
      .in_place_kernel<scatter_reduce_op>()
      .out()
      .vjp("input index src result", reduce_back)
      .doc(
          "Reduces the elements of src that index sends to one place along dim: 'sum', 'prod', 'mean', 'amax' or "
          "'amin', with what is there\n"
          "already unless include_self is false.");
  Define(
      "index_reduce(Tensor input, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> "
      "Tensor")
      .composite<index_reduce_op>()
      .in_place()
      .out()
      .doc("Reduces the slices of source that index sends to one place along dim: 'prod', 'mean', 'amax' or 'amin'.");
});

}  // namespace
}  // namespace fl
