// The kernel and the derivative that all pointwise ops share.
#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "autograd/record.h"
#include "ops/api.h"
#include "tile/pointwise_info.h"

namespace fl {

PointwiseInfo& pointwise_info(const char* schema) {
  static auto* all = new std::map<std::string, std::unique_ptr<PointwiseInfo>>;
  auto& p = (*all)[schema];
  if (!p) p = std::make_unique<PointwiseInfo>();
  return *p;
}

namespace {

DType fallback(const PointwiseInfo& info, DType t) {
  auto has = [&](DType d) { return info.loops[static_cast<int>(d)] != nullptr; };
  if (has(t)) return t;
  if ((t == DType::Half || t == DType::BFloat16) && has(DType::Float)) return DType::Float;
  if (is_integral(t, true)) {
    if (t == DType::Bool && has(DType::UInt8)) return DType::UInt8;
    if (item_size(t) <= 2 && has(DType::Int32)) return DType::Int32;
    if (has(DType::Int64)) return DType::Int64;
  }
  return t;
}

[[noreturn]] void refuse_type(const Entry& entry, DType t) {
  fail(ErrorKind::NotImplemented, "\"", entry.public_name, "\" not implemented for '", info(t).name,
       "': choose another dtype for its arguments");
}

Param make_param(const Scalar& s) {
  auto c = s.to_complex();
  return {s.to_double(), c.imag(), s.to_int()};
}

// A tensor or a number.
struct Operand {
  const Tensor* tensor = nullptr;
  DType dtype = DType::Float;
  Scalar number;
  alignas(16) char value[16];

  Tensor copy;  // when the tensor's memory is interleaved with what is written to

  IntList sizes() const { return tensor ? tensor->sizes() : IntList(); }
  char* data() { return tensor ? tensor->bytes() : value; }
};

void set_number(Operand& o, const Scalar& s) {
  o.number = s;
  o.dtype = s.natural_dtype();
  visit_dtype(o.dtype, [&]<class T>() { *reinterpret_cast<T*>(o.value) = s.to<T>(); });
}

bool holds(DType t, int64_t v) {
  if (t == DType::Int64) return true;
  if (t == DType::UInt64) return v >= 0;
  int bits = 8 * static_cast<int>(item_size(t)) - (info(t).is_signed ? 1 : 0);
  return t == DType::Bool ? v == 0 || v == 1
                          : v >= (info(t).is_signed ? -(int64_t(1) << bits) : 0) && v < (int64_t(1) << bits);
}

// For comparing values: a type that holds both, also where promotion has none.
DType integer_type_of_both(DType a, DType b) {
  auto wide_unsigned = [](DType t) { return t == DType::UInt16 || t == DType::UInt32 || t == DType::UInt64; };
  if (a == b) return a;
  return wide_unsigned(a) || wide_unsigned(b) ? DType::Int64 : promote(a, b);
}

struct Types {
  DType common, compute, loop_result, result;
};

Types decide_types(const Entry& entry, const PointwiseInfo& p, const Operand* in, DType common) {
  if (p.bool_refusal)
    for (int i = 0; i < p.inputs; i++) FL_CHECK(in[i].dtype != DType::Bool, entry.public_name, ": ", p.bool_refusal);
  if ((p.rule == Rule::Float || p.rule == Rule::FloatReal) && is_integral(common, true)) common = default_dtype();
  if ((p.lacks_bool && common == DType::Bool) || (p.lacks_complex && is_complex(common))) refuse_type(entry, common);
  if (p.bool_as_int && common == DType::Bool) common = DType::Int64;
  DType wide = common;
  if (p.by_value && is_integral(common, true)) {
    for (int i = 0; i < p.inputs; i++)
      if (in[i].tensor && in[i].dtype != common && !(p.mask_inputs >> i & 1))
        wide = integer_type_of_both(wide, in[i].dtype);
    for (int i = 0; i < p.inputs; i++)
      if (!in[i].tensor && !holds(wide, in[i].number.to_int())) wide = DType::Int64;
  }
  if (p.rule == Rule::ToComplex) {
    if (common != DType::Float && common != DType::Double && common != DType::Half) refuse_type(entry, common);
    common = wide = complex_of(common);
  }
  DType compute = fallback(p, wide);
  if (!p.loops[static_cast<int>(compute)]) refuse_type(entry, common);
  bool mask = p.gives_bool[static_cast<int>(compute)];
  Types t{common, compute, mask ? DType::Bool : compute, common};
  if (mask || p.rule == Rule::Boolean) t.result = DType::Bool;
  if (p.rule == Rule::Real || p.rule == Rule::FloatReal) t.result = real_of(common);
  return t;
}

void check_param(const Entry& entry, const PointwiseInfo& p, const Types& t, int i, const Scalar& s) {
  const std::string& name = entry.schema.args[p.inputs + i].name;
  FL_CHECK(is_complex(t.compute) || !s.is_complex(), entry.public_name, ": argument ", name, " must be real, got ", s);
  if (name != "alpha" && !(name == "value" && p.inputs == 3)) return;
  FL_CHECK(s.type != Scalar::Type::Bool || t.common == DType::Bool || name != "alpha", entry.public_name,
           ": a bool alpha needs bool operands, got ", info(t.common).name);
  FL_CHECK(!is_integral(t.common, true) || s.is_integral(), entry.public_name,
           ": for integral input tensors, argument ", name, " must not be a floating point number");
}

void check_divisor(const Entry& entry, const Operand& divisor) {
  bool zero = false;
  if (!divisor.tensor) {
    zero = divisor.number.to_int() == 0;
  } else if (divisor.tensor->numel() && !divisor.tensor->is_meta()) {
    Tensor dense = divisor.tensor->is_contiguous() ? *divisor.tensor : raw_clone(*divisor.tensor);
    visit_dtype(dense.dtype(), [&]<class T>() {
      if constexpr (std::is_integral_v<T>) {
        const T* values = dense.data<T>();
        for (int64_t i = 0, n = dense.numel(); i < n; i++) zero |= values[i] == 0;
      }
    });
  }
  FL_CHECK(!zero, "ZeroDivisionError: ", entry.public_name, " of integers by zero");
}

constexpr int64_t kSmall = 4096;
constexpr int64_t kFillTile = 512;

// Few elements of one type in dense order, perhaps with a number: no decisions to make. False where that isn't so.
bool run_small(const PointwiseInfo& p, const Value* args, Tensor& out) {
  if (!args[0].is_tensor() || p.inputs > 2) return false;
  const TensorObject* a = args[0].tensor;
  int type = static_cast<int>(a->dtype);
  if (!p.direct[type] || a->numel > kSmall || !(a->flags & kContiguous) || !address(a) || (a->flags & kWrappedNumber))
    return false;
  const TensorObject* b = nullptr;
  Value number;
  if (p.inputs == 2) {
    number = args[1];
    if (number.is_tensor() && (number.tensor->flags & kWrappedNumber) && number.tensor->dtype == DType::Double &&
        number.tensor->ndim == 0)
      number = Value(*reinterpret_cast<const double*>(address(number.tensor)));
    if (number.is_tensor()) {
      b = number.tensor;
      if (b->dtype != a->dtype || !(b->flags & kContiguous) || (b->flags & kWrappedNumber) || !address(b) ||
          !equal({a->sizes, a->ndim}, {b->sizes, b->ndim}))
        return false;
    } else if (number.tag == Tag::Complex ||
               !(fl::is_floating(a->dtype) ||
                 (number.tag == Tag::Int && a->dtype != DType::Bool && holds(a->dtype, number.i)))) {
      return false;
    }
  }
  Param params[4];
  for (int i = 0; i < p.params; i++) {
    const Value& v = args[p.inputs + i];
    if (!fl::is_floating(a->dtype) || v.tag == Tag::Complex || v.tag == Tag::Bool || !v.is_number()) return false;
    params[i] = {v.to_double(), 0, 0};
  }
  out = empty({a->sizes, a->ndim}, p.gives_bool[type] ? DType::Bool : a->dtype);
  Loop loop = p.loops[type];
  if (p.inputs == 1 || b) {
    const char* in[2] = {address(a), b ? address(b) : nullptr};
    loop(out.bytes(), in, a->numel, params);
    return true;
  }
  alignas(64) char value[16], tile[kFillTile * 8];
  Scalar s = number.scalar();
  visit_dtype(a->dtype, [&]<class T>() { *reinterpret_cast<T*>(value) = s.to<T>(); });
  int64_t item = item_size(a->dtype), out_item = out.item_size();
  tile_kernels.fill[size_index(item)](value, tile, std::min(kFillTile, a->numel));
  for (int64_t i = 0; i < a->numel; i += kFillTile) {
    const char* in[2] = {address(a) + i * item, tile};
    loop(out.bytes() + i * out_item, in, std::min(kFillTile, a->numel - i), params);
  }
  return true;
}

Tensor make_output(const PointwiseInfo& p, const Operand* in, IntList shape, DType dtype, Device device) {
  for (int i = 0; i < p.inputs; i++) {
    if (!in[i].tensor || !equal(in[i].tensor->sizes(), shape)) continue;
    if (in[i].tensor->is_contiguous()) break;
    return empty_like(*in[i].tensor, dtype);
  }
  return empty(shape, dtype, device);
}

// Makes the destination ready to be written to, or says why it can't be; until then it is as it was.
void prepare_destination(const Entry& entry, const PointwiseInfo& p, Operand* in, const Types& t, IntList shape,
                         const Destination& dest) {
  const Tensor& out = dest.tensor;
  const char* tail = dest.may_resize ? "" : "_";
  bool resize = dest.may_resize && !equal(out.sizes(), shape);
  for (int i = 0; i < p.inputs; i++) resize &= !in[i].tensor || !in[i].tensor->is(out);
  FL_CHECK(resize || equal(out.sizes(), shape), entry.public_name, tail, ": output with shape ",
           shape_text(out.sizes()), " doesn't match the broadcast shape ", shape_text(shape));
  FL_CHECK(can_cast(t.result, out.dtype()), entry.public_name, tail, ": result type ", info(t.result).name,
           " can't be cast to the desired output type ", info(out.dtype()).name);
  FL_CHECK(!p.exact_out || t.result == out.dtype(), entry.public_name, ": expected out of dtype ", info(t.result).name,
           ", got ", info(out.dtype()).name);
  FL_CHECK(dest.may_resize || !(is_complex(t.common) && (p.rule == Rule::Real || p.rule == Rule::FloatReal)),
           entry.public_name, "_: the result of complex numbers is real and can't be written in place");
  for (int i = 0; i < p.inputs; i++)
    FL_CHECK(
        !in[i].tensor || overlap(out, *in[i].tensor) != Overlap::Partial || !is_dense(out) || !is_dense(*in[i].tensor),
        entry.public_name, tail,
        ": some elements of an input tensor and the written-to tensor refer to a single memory location; clone() the "
        "input first");
  if (resize) resize_tensor(out, shape);
  for (int i = 0; i < p.inputs; i++) {
    if (!in[i].tensor || overlap(out, *in[i].tensor) != Overlap::Partial) continue;
    // Columns of one matrix lie between each other without meeting. Telling that from a real overlap is hard, copying
    // is safe.
    in[i].copy = raw_clone(*in[i].tensor);
    in[i].tensor = &in[i].copy;
  }
}

}  // namespace

Result pointwise_kernel(const Entry& entry, const Value* args, const Destination* dest) {
  const PointwiseInfo& p = *entry.pointwise;
  Tensor out;
  if (!dest && run_small(p, args, out)) return Result(std::move(out));
  TypePromoter promoter;
  Operand in[4];
  Dims shape;
  Device device;
  for (int i = 0; i < p.inputs; i++) {
    Operand& o = in[i];
    bool mask = p.mask_inputs >> i & 1;
    if (args[i].is_tensor()) {
      o.tensor = &borrow(args[i].tensor);
      o.dtype = o.tensor->dtype();
      if (o.tensor->is_meta()) device = {DeviceType::Meta};
      if (!mask) promoter.add(*o.tensor);
    } else {
      set_number(o, args[i].scalar());
      if (!mask) promoter.add(o.number);
    }
    FL_CHECK(!mask || o.dtype == DType::Bool || (o.dtype == DType::UInt8 && p.rule == Rule::First), entry.public_name,
             ": expected the condition to be a bool tensor, got ", info(o.dtype).name);
    FL_CHECK(!p.equal_types || !o.tensor || o.dtype == in[0].dtype, entry.public_name, ": expected ",
             info(in[0].dtype).name, " for `", entry.schema.args[i].name, "` as for the others, got ",
             info(o.dtype).name);
    if (i == 0)
      shape = Dims(o.sizes());
    else if (o.tensor && !equal(shape, o.sizes()))
      shape = broadcast(shape, o.sizes(), entry.public_name.c_str());
  }
  Types t = decide_types(entry, p, in, p.rule == Rule::First ? in[0].dtype : promoter.result());
  if (p.refuses_zero_divisor && is_integral(t.compute, true)) check_divisor(entry, in[1]);
  if (p.check) p.check(args, t.compute);
  Param params[4];
  for (int i = 0; i < p.params; i++) {
    Scalar s = args[p.inputs + i].scalar();
    check_param(entry, p, t, i, s);
    params[i] = make_param(s);
  }
  if (dest) {
    out = dest->tensor;
    FL_CHECK(out.is_meta() == (device.type == DeviceType::Meta), entry.public_name,
             ": expected the tensor written to to be on ", device_text(device), ", got ", device_text(out.device()));
    prepare_destination(entry, p, in, t, shape, *dest);
  } else {
    out = make_output(p, in, shape, t.result, device);
  }
  if (out.is_meta() || device.type == DeviceType::Meta || out.numel() == 0) return Result(std::move(out));
  TileProgram program;
  Step step{p.loops[static_cast<int>(t.compute)], params, 0, {}};
  if (p.substitute)
    if (const PointwiseInfo* other = p.substitute(args))
      if (Loop loop = other->loops[static_cast<int>(t.compute)]) step.loop = loop;
  int64_t strides[5][kMaxDims];
  int n = static_cast<int>(shape.size());
  auto fill_strides = [&](const Tensor& x, int64_t* to) {
    int lead = n - static_cast<int>(x.dim());
    for (int d = 0; d < n; d++) to[d] = d < lead || x->sizes[d - lead] == 1 ? 0 : x->strides[d - lead] * x.item_size();
  };
  fill_strides(out, strides[0]);
  program.operands[0] = {out.bytes(), out.dtype(), t.loop_result, strides[0]};
  for (int i = 0; i < p.inputs; i++) {
    if (in[i].tensor)
      fill_strides(*in[i].tensor, strides[i + 1]);
    else
      std::fill(strides[i + 1], strides[i + 1] + n, 0);
    DType as = (p.mask_inputs >> i & 1) ? DType::Bool : t.compute;
    program.operands[i + 1] = {in[i].data(), in[i].dtype, as, strides[i + 1]};
    step.in[i] = static_cast<uint8_t>(i + 1);
  }
  program.steps = &step;
  program.step_count = 1;
  program.operand_count = p.inputs + 1;
  program.sizes = shape.data();
  program.ndim = n;
  program.cost = p.cost;
  run_program(program);
  return Result(std::move(out));
}

namespace {

// One loop over the gradient and what was saved, when nothing needs recording.
bool run_fused(Vjp& v, const PointwiseInfo& p) {
  if (grad_enabled() || !v.needs(0) || p.inputs != 1) return false;
  Tensor g = v.grad();
  DType compute = g.dtype() == DType::Half || g.dtype() == DType::BFloat16 ? DType::Float : g.dtype();
  Loop loop = p.fused[static_cast<int>(compute)];
  unsigned reads = p.grad_reads[0];
  if (!loop || g.is_meta()) return false;
  Tensor saved = reads & 128 ? v.output() : reads & 1 ? v.input(0) : g;
  if (saved.dtype() != g.dtype() || !equal(saved.sizes(), g.sizes()) || v.dtype(0) != g.dtype()) return false;
  Tensor out = empty_like(saved);
  Param params[4];
  for (int i = 0; i < p.params; i++) params[i] = make_param(v.scalar(1 + i));
  if (compute == g.dtype() && out.numel() <= kSmall && g.is_contiguous() && saved.is_contiguous()) {
    const char* in[2] = {g.bytes(), saved.bytes()};
    if (out.numel()) loop(out.bytes(), in, out.numel(), params);
    v.set(0, std::move(out));
    return true;
  }
  Step step{loop, params, 0, {1, 2}};
  int64_t strides[3][kMaxDims];
  const Tensor* all[3] = {&out, &g, &saved};
  TileProgram program;
  for (int k = 0; k < 3; k++) {
    for (int64_t d = 0; d < out.dim(); d++)
      strides[k][d] = (*all[k])->sizes[d] == 1 ? 0 : (*all[k])->strides[d] * g.item_size();
    program.operands[k] = {all[k]->bytes(), g.dtype(), compute, strides[k]};
  }
  program.steps = &step;
  program.step_count = 1;
  program.operand_count = 3;
  program.sizes = out->sizes;
  program.ndim = static_cast<int>(out.dim());
  program.cost = p.cost;
  if (out.numel()) run_program(program);
  v.set(0, std::move(out));
  return true;
}

void pointwise_vjp(Vjp& v) {
  const PointwiseInfo& p = *v.entry().pointwise;
  if (run_fused(v, p)) return;
  for (int k = 0; k < p.inputs; k++)
    if (p.grads[k] && v.needs(k)) p.grads[k](v);
}

}  // namespace

Tensor pointwise_grad_input(Vjp& v, int k) {
  if (v.is_tensor(k)) return v.input(k);
  Scalar s = v.scalar(k);
  return scalar_tensor(s, s.natural_dtype(), true);
}

Tensor pointwise_connected(Vjp& v, unsigned reads, Tensor gradient) {
  if (!grad_enabled() || gradient.requires_grad()) return gradient;
  static const Op follow("_C.follow");
  if (reads & 128)
    if (Tensor y = v.output(); y.requires_grad()) return follow(gradient, y);
  for (int i = 0; i < v.entry().pointwise->inputs; i++)
    if ((reads >> i & 1) && v.is_tensor(i))
      if (Tensor x = v.input(i); x.requires_grad()) return follow(gradient, x);
  return gradient;
}

namespace {

Tensor follow(const Tensor& input, const Tensor&) { return alias(input); }
const Declare ops([] {
  Define("_C.follow(Tensor input, Tensor other) -> Tensor").kernel<follow>().vjp("", [](Vjp& v) {
    if (v.needs(0)) v.set(0, v.grad());
    if (v.needs(1)) v.set(1, zeros(v.sizes(1), v.dtype(1)));
  });
});

}  // namespace

void pointwise_declare(const char* schema, PointwiseInfo& info, const PointwiseForms& forms) {
  Define d(schema);
  d.raw_kernel(pointwise_kernel).doc(forms.doc);
  Entry* e = d.entry();
  e->pointwise = &info;
  info.name = e->public_name.c_str();
  if (forms.in_place) d.in_place();
  if (forms.out) d.out();
  if (forms.function_only) d.function_only();
  if (forms.method_only) d.method_only();
  if (forms.node) d.node(forms.node);
  bool differentiable = false;
  for (int k = 0; k < info.inputs; k++) {
    if (!info.grads[k]) continue;
    differentiable = true;
    for (int i = 0; i < info.inputs; i++)
      if (info.grad_reads[k] >> i & 1) e->saves_args |= 1u << i;
    if (info.grad_reads[k] & 128) e->saves_outputs |= 1;
  }
  if (differentiable)
    e->vjp = pointwise_vjp;
  else if (info.rule == Rule::Boolean)
    e->constant_outputs = ~0u;
  for (int t = 0; t < kNumDTypes; t++) {
    DType type = static_cast<DType>(t);
    bool changes_type = (is_complex(type) && (info.rule == Rule::Real || info.rule == Rule::FloatReal)) ||
                        info.rule == Rule::First || info.rule == Rule::ToComplex ||
                        (info.rule == Rule::Boolean && !info.gives_bool[t]) ||
                        (type == DType::Bool && info.bool_as_int);
    bool refused = ((info.bool_refusal || info.lacks_bool) && type == DType::Bool) ||
                   (info.lacks_complex && is_complex(type)) || (info.refuses_zero_divisor && is_integral(type, true));
    info.direct[t] = info.loops[t] && !changes_type && !refused && !info.mask_inputs && !info.substitute && !info.check;
  }
}

}  // namespace fl
