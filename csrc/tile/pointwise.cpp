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
    if (has(DType::Int64)) return DType::Int64;
  }
  return t;
}

[[noreturn]] void refuse_type(const Entry& entry, DType t) {
  fail(ErrorKind::NotImplemented, "\"", entry.public_name, "\" not implemented for '", info(t).name, "': choose another dtype for its arguments");
}

Param make_param(const Scalar& s) {
  auto c = s.to_complex();
  return {s.to_double(), c.imag(), s.to_int()};
}

struct Types {
  DType compute, loop_result, result;
};

Types decide_types(const Entry& entry, const PointwiseInfo& p, DType common) {
  if ((p.rule == Rule::Float || p.rule == Rule::FloatReal) && is_integral(common, true)) common = default_dtype();
  if (p.refuses_bool && common == DType::Bool)
    fail(entry.public_name, ": not supported for bool tensors; use a logical or bitwise op instead");
  if (p.refuses_complex && is_complex(common)) refuse_type(entry, common);
  DType compute = fallback(p, common);
  if (!p.loops[static_cast<int>(compute)]) refuse_type(entry, common);
  bool mask = p.gives_bool[static_cast<int>(compute)];
  Types t{compute, mask ? DType::Bool : compute, common};
  if (mask || p.rule == Rule::Boolean) t.result = DType::Bool;
  if (p.rule == Rule::Real || p.rule == Rule::FloatReal) t.result = real_of(common);
  return t;
}

// Small dense operands of one floating type, or one and a number: no decisions to make.
bool quick_binary(const PointwiseInfo& p, const Value* args, Tensor* result) {
  constexpr int64_t kElements = 4096, kNumberElements = 64;
  const TensorObject* a = args[0].tensor;
  int type = static_cast<int>(a->dtype);
  Loop loop = p.loops[type];
  if (!loop || !is_floating(a->dtype) || p.rule > Rule::Boolean || p.params || p.mask_inputs || !(a->flags & kContiguous) || (a->flags & kWrappedNumber) ||
      !a->data || a->numel > kElements)
    return false;
  DType result_type = p.gives_bool[type] ? DType::Bool : a->dtype;
  if (p.rule == Rule::Boolean && result_type != DType::Bool) return false;
  const char* in[2] = {a->data, nullptr};
  alignas(64) char number[kNumberElements * 8];
  if (args[1].is_tensor() && !(args[1].tensor->flags & kWrappedNumber)) {
    const TensorObject* b = args[1].tensor;
    if (b->dtype != a->dtype || !(b->flags & kContiguous) || !b->data || !equal({a->sizes, a->ndim}, {b->sizes, b->ndim})) return false;
    in[1] = b->data;
  } else {
    if (a->numel > kNumberElements) return false;
    Value v = args[1];
    if (v.is_tensor()) {
      const TensorObject* b = v.tensor;
      if (b->dtype != DType::Double || b->ndim) return false;
      v = Value(*reinterpret_cast<const double*>(b->data));
    }
    if (v.tag != Tag::Float && v.tag != Tag::Int) return false;
    double value = v.to_double();
    if (a->dtype == DType::Float) std::fill_n(reinterpret_cast<float*>(number), a->numel, static_cast<float>(value));
    else std::fill_n(reinterpret_cast<double*>(number), a->numel, value);
    in[1] = number;
  }
  *result = empty({a->sizes, a->ndim}, result_type);
  loop(result->bytes(), in, a->numel, nullptr);
  return true;
}

}  // namespace

Result pointwise_kernel(const Entry& entry, const Value* args, const Destination* dest) {
  const PointwiseInfo& p = *entry.pointwise;
  Tensor quick;
  if (!dest && p.inputs == 2 && args[0].is_tensor() && quick_binary(p, args, &quick)) return Result(std::move(quick));
  TypePromoter promoter;
  Tensor converted[4];  // numbers as operands
  const Tensor* inputs[4];
  Dims shape;
  bool first = true;
  Device device;
  for (int i = 0; i < p.inputs; i++) {
    if (args[i].is_tensor()) {
      inputs[i] = &borrow(args[i].tensor);
      if (inputs[i]->is_meta()) device = {DeviceType::Meta};
    } else {
      Scalar s = args[i].scalar();
      converted[i] = scalar_tensor(s, s.natural_dtype(), true);
      inputs[i] = &converted[i];
    }
    if (!(p.mask_inputs >> i & 1)) promoter.add(*inputs[i]);
    else FL_CHECK(inputs[i]->dtype() == DType::Bool || inputs[i]->dtype() == DType::UInt8, entry.public_name, ": expected the condition to be a bool tensor, got ", info(inputs[i]->dtype()).name);
    if (first) shape = Dims(inputs[i]->sizes());
    else if (!equal(shape, inputs[i]->sizes())) shape = broadcast(shape, inputs[i]->sizes(), entry.public_name.c_str());
    first = false;
  }
  DType common = promoter.result();
  Types t = decide_types(entry, p, common);
  Param params[4];
  for (int i = 0; i < p.params; i++) {
    const Value& v = args[p.inputs + i];
    Scalar s = v.scalar();
    FL_CHECK(is_complex(t.compute) || !s.is_complex(), entry.public_name, ": argument ", entry.schema.args[p.inputs + i].name, " must be real, got ", s);
    FL_CHECK(!(is_integral(t.compute, true) && s.is_floating() && p.rule != Rule::Boolean), entry.public_name,
             ": for integral tensors argument ", entry.schema.args[p.inputs + i].name, " must not be a floating point number");
    params[i] = make_param(s);
  }
  Tensor out;
  if (dest) {
    out = dest->tensor;
    if (dest->may_resize) resize_tensor(out, shape);
    FL_CHECK(equal(out.sizes(), shape), entry.public_name, dest->may_resize ? "" : "_", ": output with shape ", shape_text(out.sizes()),
             " doesn't match the broadcast shape ", shape_text(shape));
    FL_CHECK(can_cast(t.result, out.dtype()), entry.public_name, dest->may_resize ? "" : "_", ": result type ", info(t.result).name,
             " can't be cast to the desired output type ", info(out.dtype()).name);
    for (int i = 0; i < p.inputs; i++)
      FL_CHECK(overlap(out, *inputs[i]) != Overlap::Partial, entry.public_name, dest->may_resize ? "" : "_",
               ": some elements of an input tensor and the written-to tensor refer to a single memory location; clone() the input first");
  } else {
    const Tensor* model = nullptr;
    for (int i = 0; i < p.inputs && !model; i++)
      if (!inputs[i]->is_contiguous() && equal(inputs[i]->sizes(), shape)) model = inputs[i];
    bool plain = true;
    for (int i = 0; i < p.inputs; i++) plain &= !(equal(inputs[i]->sizes(), shape) && inputs[i]->is_contiguous() && inputs[i]->dim() > 1);
    out = model && plain ? empty_like(*model, t.result) : empty(shape, t.result, device);
  }
  if (out.is_meta() || device.type == DeviceType::Meta || out.numel() == 0) return Result(std::move(out));
  TileProgram program;
  Step step{p.loops[static_cast<int>(t.compute)], params, 0, {}};
  int64_t strides[5][kMaxDims];
  int n = static_cast<int>(shape.size());
  auto fill_strides = [&](const Tensor& x, int64_t* to) {
    int lead = n - static_cast<int>(x.dim());
    for (int d = 0; d < n; d++) to[d] = d < lead || x->sizes[d - lead] == 1 ? 0 : x->strides[d - lead] * x.item_size();
  };
  fill_strides(out, strides[0]);
  program.operands[0] = {out.bytes(), out.dtype(), t.loop_result, strides[0]};
  // A complex result that should be real is converted on the way out; bool results of comparisons may go anywhere.
  for (int i = 0; i < p.inputs; i++) {
    fill_strides(*inputs[i], strides[i + 1]);
    DType as = (p.mask_inputs >> i & 1) ? DType::Bool : t.compute;
    program.operands[i + 1] = {inputs[i]->bytes(), inputs[i]->dtype(), as, strides[i + 1]};
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
  Loop loop = p.fused[static_cast<int>(g.dtype())];
  unsigned reads = p.grad_reads[0];
  if (!loop || g.is_meta()) return false;
  Tensor saved = reads & 128 ? v.output() : reads & 1 ? v.input(0) : g;
  if (saved.dtype() != g.dtype() || !equal(saved.sizes(), g.sizes()) || v.dtype(0) != g.dtype()) return false;
  Tensor out = empty_like(saved);
  Param params[4];
  for (int i = 0; i < p.params; i++) params[i] = make_param(v.scalar(1 + i));
  Step step{loop, params, 0, {1, 2}};
  int64_t strides[3][kMaxDims];
  const Tensor* all[3] = {&out, &g, &saved};
  TileProgram program;
  for (int k = 0; k < 3; k++) {
    for (int64_t d = 0; d < out.dim(); d++) strides[k][d] = (*all[k])->sizes[d] == 1 ? 0 : (*all[k])->strides[d] * g.item_size();
    program.operands[k] = {all[k]->bytes(), g.dtype(), g.dtype(), strides[k]};
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

void pointwise_declare(const char* schema, PointwiseInfo& info, bool in_place, bool out, const char* doc) {
  Define d(schema);
  d.raw_kernel(pointwise_kernel).doc(doc);
  Entry* e = d.entry();
  e->pointwise = &info;
  info.name = e->public_name.c_str();
  if (in_place) d.in_place();
  if (out) d.out();
  bool differentiable = false;
  for (int k = 0; k < info.inputs; k++) {
    if (!info.grads[k]) continue;
    differentiable = true;
    for (int i = 0; i < info.inputs; i++)
      if (info.grad_reads[k] >> i & 1) e->saves_args |= 1u << i;
    if (info.grad_reads[k] & 128) e->saves_outputs |= 1;
  }
  if (differentiable) e->vjp = pointwise_vjp;
  else if (info.rule == Rule::Boolean || info.rule == Rule::Integral) e->constant_outputs = ~0u;
}

}  // namespace fl
