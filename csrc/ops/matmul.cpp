// Matrix products: mm, bmm, mv, dot, their forms that add to something, matmul and linear.
#include "autograd/record.h"
#include "ops/api.h"
#include "ops/product.h"
#include "tensor/view.h"

namespace fl {
namespace {

void check_types(const Tensor& a, const Tensor& b, const char* op) {
  FL_CHECK(a.dtype() == b.dtype(), op,
           ": expected both operands to have the same dtype, but got: ", info(a.dtype()).name,
           " != ", info(b.dtype()).name);
  FL_CHECK(a.device() == b.device(), op, ": expected all tensors to be on the same device, got ",
           device_text(a.device()), " and ", device_text(b.device()));
  FL_CHECK(a.dtype() != DType::Bool, ErrorKind::NotImplemented, "\"", op,
           "\" not implemented for 'bool': convert to an integer or floating type");
}
void check_matrices(const Tensor& a, const Tensor& b, const char* op) {
  FL_CHECK(a.dim() == 2, op, ": the first operand must be a matrix, got ", a.dim(), "-D of sizes ",
           shape_text(a.sizes()));
  FL_CHECK(b.dim() == 2, op, ": the second operand must be a matrix, got ", b.dim(), "-D of sizes ",
           shape_text(b.sizes()));
  FL_CHECK(a->sizes[1] == b->sizes[0], op, ": mat1 and mat2 shapes cannot be multiplied (", a->sizes[0], "x",
           a->sizes[1], " and ", b->sizes[0], "x", b->sizes[1], ")");
  check_types(a, b, op);
}

Tensor adjoint(const Tensor& x) { return conj(transpose(x, -2, -1)); }

Tensor mm_op(const Tensor& input, const Tensor& mat2) {
  check_matrices(input, mat2, "mm");
  Tensor out = empty(Dims{input->sizes[0], mat2->sizes[1]}, input.dtype(), input.device());
  product(out, input, mat2, Scalar(1), Scalar(0));
  return out;
}

Tensor bmm_op(const Tensor& input, const Tensor& mat2) {
  FL_CHECK(input.dim() == 3 && mat2.dim() == 3, "bmm: batch1 and batch2 must be 3D tensors, got ", input.dim(),
           "D and ", mat2.dim(), "D");
  FL_CHECK(input->sizes[0] == mat2->sizes[0] && input->sizes[2] == mat2->sizes[1],
           "bmm: expected size for first two dimensions of batch2 tensor to be: [", input->sizes[0], ", ",
           input->sizes[2], "] but got: [", mat2->sizes[0], ", ", mat2->sizes[1], "]");
  check_types(input, mat2, "bmm");
  Tensor out = empty(Dims{input->sizes[0], input->sizes[1], mat2->sizes[2]}, input.dtype(), input.device());
  batched_product(out, input, mat2, Scalar(1), Scalar(0));
  return out;
}

// beta * input, broadcast to the product's sizes, in fresh memory; not read where beta is 0.
Tensor start(const Tensor& input, IntList sizes, const Tensor& like, const Scalar& beta, const char* op) {
  check_types(input, like, op);
  Dims shape = broadcast(sizes, input.sizes(), op);
  FL_CHECK(equal(shape, sizes), op, ": input of sizes ", shape_text(input.sizes()),
           " can't be expanded to the sizes of the product, ", shape_text(sizes));
  Tensor out = empty(sizes, like.dtype(), like.device());
  if (!beta.equals(0)) raw_copy(out, input);
  return out;
}

Tensor addmm_op(const Tensor& input, const Tensor& mat1, const Tensor& mat2, const Scalar& beta, const Scalar& alpha) {
  check_matrices(mat1, mat2, "addmm");
  Tensor out = start(input, Dims{mat1->sizes[0], mat2->sizes[1]}, mat1, beta, "addmm");
  product(out, mat1, mat2, alpha, beta);
  return out;
}
Tensor baddbmm_op(const Tensor& input, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
                  const Scalar& alpha) {
  FL_CHECK(batch1.dim() == 3 && batch2.dim() == 3, "baddbmm: batch1 and batch2 must be 3D tensors, got ", batch1.dim(),
           "D and ", batch2.dim(), "D");
  FL_CHECK(batch1->sizes[0] == batch2->sizes[0] && batch1->sizes[2] == batch2->sizes[1],
           "baddbmm: Expected size for first two dimensions of batch2 tensor to be: [", batch1->sizes[0], ", ",
           batch1->sizes[2], "] but got: [", batch2->sizes[0], ", ", batch2->sizes[1], "]");
  check_types(batch1, batch2, "baddbmm");
  Tensor out = start(input, Dims{batch1->sizes[0], batch1->sizes[1], batch2->sizes[2]}, batch1, beta, "baddbmm");
  batched_product(out, batch1, batch2, alpha, beta);
  return out;
}
// A vector seen as a column.
Tensor column(const Tensor& v) { return alias(v, Dims{v->sizes[0], 1}, Dims{v->strides[0], 1}, v.offset()); }
Tensor row(const Tensor& v) { return alias(v, Dims{1, v->sizes[0]}, Dims{1, v->strides[0]}, v.offset()); }

Tensor mv_op(const Tensor& input, const Tensor& vec) {
  FL_CHECK(input.dim() == 2 && vec.dim() == 1, "mv: expected a matrix and a vector, got ", input.dim(), "D and ",
           vec.dim(), "D");
  FL_CHECK(input->sizes[1] == vec->sizes[0], "mv: size mismatch, got input (", input->sizes[0], "x", input->sizes[1],
           "), vec (", vec->sizes[0], ")");
  check_types(input, vec, "mv");
  Tensor out = empty(Dims{input->sizes[0]}, input.dtype(), input.device());
  product(column(out), input, column(vec), Scalar(1), Scalar(0));
  return out;
}
Tensor addmv_op(const Tensor& input, const Tensor& mat, const Tensor& vec, const Scalar& beta, const Scalar& alpha) {
  FL_CHECK(mat.dim() == 2 && vec.dim() == 1 && input.dim() <= 1, "addmv: vector + matrix @ vector expected, got ",
           input.dim(), ", ", mat.dim(), ", ", vec.dim());
  FL_CHECK(mat->sizes[1] == vec->sizes[0], "addmv: size mismatch, got mat (", mat->sizes[0], "x", mat->sizes[1],
           "), vec (", vec->sizes[0], ")");
  check_types(mat, vec, "addmv");
  Tensor out = start(input, Dims{mat->sizes[0]}, mat, beta, "addmv");
  product(column(out), mat, column(vec), alpha, beta);
  return out;
}
Tensor addr_op(const Tensor& input, const Tensor& vec1, const Tensor& vec2, const Scalar& beta, const Scalar& alpha) {
  FL_CHECK(vec1.dim() == 1 && vec2.dim() == 1, "addr: expected 1-D arguments, got ", vec1.dim(), "D and ", vec2.dim(),
           "D");
  static const Op outer("outer");
  Tensor pair = outer(vec1, vec2);
  FL_CHECK(equal(broadcast(pair.sizes(), input.sizes(), "addr"), pair.sizes()), "addr: input of sizes ",
           shape_text(input.sizes()), " can't be expanded to ", shape_text(pair.sizes()));
  Tensor scaled = alpha.equals(1) ? pair : pair * alpha;
  if (beta.equals(0)) return scaled + zeros(Dims{}, input.dtype());
  return (beta.equals(1) ? input : input * beta) + scaled;
}
Tensor dot_op(const Tensor& input, const Tensor& tensor) {
  FL_CHECK(input.dim() == 1 && tensor.dim() == 1, "dot: 1D tensors expected, but got ", input.dim(), "D and ",
           tensor.dim(), "D tensors");
  check_types(input, tensor, "dot");
  FL_CHECK(input->sizes[0] == tensor->sizes[0], "dot: inconsistent tensor size, expected tensor [", input->sizes[0],
           "] and src [", tensor->sizes[0], "] to have the same number of elements");
  Tensor out = empty({}, input.dtype(), input.device());
  product(alias(out, Dims{1, 1}, Dims{1, 1}, 0), row(input), column(tensor), Scalar(1), Scalar(0));
  return out;
}
Tensor vdot_op(const Tensor& input, const Tensor& other) {
  static const Op dot("dot");
  return dot(conj(input), other);
}
Tensor outer_op(const Tensor& input, const Tensor& vec2) {
  FL_CHECK(input.dim() == 1, "outer: Expected 1-D argument self, but got ", input.dim(), "-D");
  FL_CHECK(vec2.dim() == 1, "outer: Expected 1-D argument vec2, but got ", vec2.dim(), "-D");
  return unsqueeze(input, 1) * vec2;
}
Tensor addbmm_op(const Tensor& input, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
                 const Scalar& alpha) {
  FL_CHECK(batch1.dim() == 3 && batch2.dim() == 3, "addbmm: batch1 and batch2 must be 3D tensors, got ", batch1.dim(),
           "D and ", batch2.dim(), "D");
  FL_CHECK(batch1->sizes[0] == batch2->sizes[0] && batch1->sizes[2] == batch2->sizes[1],
           "addbmm: Incompatible matrix sizes for bmm (", batch1->sizes[1], "x", batch1->sizes[2], " and ",
           batch2->sizes[1], "x", batch2->sizes[2], ")");
  // The sum over the batch is one product of matrices that lie side by side.
  int64_t b = batch1->sizes[0], n = batch1->sizes[1], k = batch1->sizes[2], p = batch2->sizes[2];
  static const Op addmm("addmm");
  return addmm(expand(input, Dims{n, p}), reshape(transpose(batch1, 0, 1), Dims{n, b * k}),
               reshape(batch2, Dims{b * k, p}), beta, alpha);
}

Tensor matmul_op(const Tensor& a, const Tensor& b) {
  static const Op mv("mv"), dot("dot");
  FL_CHECK(a.dim() > 0 && b.dim() > 0, "matmul: both arguments need to be at least 1D, but they are ", a.dim(),
           "D and ", b.dim(), "D");
  if (a.dim() == 2 && b.dim() == 2) return mm(a, b);
  if (a.dim() == 1 && b.dim() == 1) return dot(a, b);
  if (a.dim() == 2 && b.dim() == 1) return mv(a, b);
  if (a.dim() == 1 && b.dim() == 2) return squeeze(mm(unsqueeze(a, 0), b), 0);
  if (b.dim() <= 2 && a.dim() > 2) {
    // Leading dimensions of a are rows of one product.
    Dims lead(a.sizes());
    lead.pop_back();
    int64_t count = 1;
    for (int64_t s : lead) count *= s;
    Tensor rows = reshape(a, Dims{count, a->sizes[a.dim() - 1]});
    if (b.dim() == 1) return view(mv(rows, b), lead);
    lead.push_back(b->sizes[1]);
    return view(mm(rows, b), lead);
  }
  Tensor x = a.dim() == 1 ? unsqueeze(a, 0) : a, y = b.dim() == 1 ? unsqueeze(b, 1) : b;
  int64_t n = x->sizes[x.dim() - 2], k = x->sizes[x.dim() - 1], p = y->sizes[y.dim() - 1], k2 = y->sizes[y.dim() - 2];
  FL_CHECK(k == k2, "matmul: the inner sizes of ", shape_text(a.sizes()), " and ", shape_text(b.sizes()),
           " don't match: ", k, " and ", k2);
  Dims batch = broadcast(x.sizes().first(x.dim() - 2), y.sizes().first(y.dim() - 2), "matmul");
  int64_t count = 1;
  for (int64_t s : batch) count *= s;
  auto flat = [&](const Tensor& t, int64_t r, int64_t c) {
    Dims full(batch);
    full.push_back(r);
    full.push_back(c);
    return reshape(equal(t.sizes(), full) ? t : expand(t, full), Dims{count, r, c});
  };
  Tensor out = bmm(flat(x, n, k), flat(y, k, p));
  Dims shape(batch);
  if (a.dim() > 1) shape.push_back(n);
  if (b.dim() > 1) shape.push_back(p);
  return view(out, shape);
}

Tensor linear_op(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  FL_CHECK(weight.dim() == 2 || weight.dim() == 1, "linear: weight must be a matrix or a vector, got ", weight.dim(),
           "D");
  FL_CHECK(input.dim() >= 1, "linear: both arguments to linear need to be at least 1D, but they are ", input.dim(),
           "D and ", weight.dim(), "D");
  int64_t k = input->sizes[input.dim() - 1];
  bool vector = weight.dim() == 1;
  int64_t n = vector ? 1 : weight->sizes[0];
  FL_CHECK(weight->sizes[weight.dim() - 1] == k, "linear: mat1 and mat2 shapes cannot be multiplied (",
           k ? input.numel() / k : 0, "x", k, " and ", weight->sizes[weight.dim() - 1], "x", n, "): input sizes ",
           shape_text(input.sizes()), ", weight sizes ", shape_text(weight.sizes()));
  check_types(input, weight, "linear");
  Dims sizes(input.sizes());
  sizes.pop_back();
  if (!vector) sizes.push_back(n);
  if (bias) {
    check_types(bias, weight, "linear");
    FL_CHECK(equal(broadcast(sizes, bias.sizes(), "linear"), sizes), "linear: bias of sizes ", shape_text(bias.sizes()),
             " doesn't fit an output of sizes ", shape_text(sizes));
  }
  Tensor out = empty(sizes, input.dtype(), input.device());
  if (out.is_meta() || out.numel() == 0) return out;
  int64_t m = out.numel() / n;
  Tensor x = input.is_contiguous() || input.dim() == 2 ? input : raw_contiguous(input);
  Tensor x2 = x.dim() == 2 ? x : alias(x, Dims{m, k}, Dims{k, 1}, x.offset());
  Tensor w2 = vector ? alias(weight, Dims{1, k}, Dims{k, weight->strides[0]}, weight.offset()) : weight;
  Tensor out2 = alias(out, Dims{m, n}, Dims{n, 1}, 0);
  bool row_bias = bias && bias.dim() == 1 && bias->sizes[0] == n && !vector;
  linear_product(out2, x2, w2, row_bias ? bias : Tensor());
  if (bias && !row_bias) {
    static const Op add("add");
    add.in_place(out, bias);
  }
  return out;
}

void linear_back(Vjp& v) {
  Tensor g = v.grad();
  bool vector = v.sizes(1).size() == 1;
  int64_t k = v.sizes(1).back(), n = vector ? 1 : v.sizes(1)[0];
  int64_t m = 1;
  for (size_t d = 0; d + 1 < v.sizes(0).size(); d++) m *= v.sizes(0)[d];
  Tensor g2 = reshape(g, Dims{m, n});
  if (v.needs(0)) {
    Tensor w = v.input(1);
    v.set(0, reshape(mm(g2, conj(vector ? reshape(w, Dims{1, k}) : w)), v.sizes(0)));
  }
  if (v.needs(1)) {
    Tensor x = reshape(v.input(0), Dims{m, k});
    Tensor gw = mm(transpose(g2, 0, 1), conj(x));
    v.set(1, vector ? reshape(gw, Dims{k}) : gw);
  }
  if (v.needs(2)) v.set(2, sum_to_size(g, v.sizes(2)));
}

Tensor scaled(const Tensor& g, const Scalar& factor) {
  return factor.equals(1) ? g : g * (factor.is_complex() ? Scalar(std::conj(factor.to_complex())) : factor);
}

const Declare ops([] {
  Define("mm(Tensor input, Tensor mat2) -> Tensor")
      .kernel<mm_op>()
      .out()
      .vjp("input mat2",
           [](Vjp& v) {
             if (v.needs(0)) v.set(0, mm(v.grad(), adjoint(v.input(1))));
             if (v.needs(1)) v.set(1, mm(adjoint(v.input(0)), v.grad()));
           })
      .doc("The product of two matrices.");
  Define("bmm(Tensor input, Tensor mat2) -> Tensor")
      .kernel<bmm_op>()
      .out()
      .vjp("input mat2",
           [](Vjp& v) {
             if (v.needs(0)) v.set(0, bmm(v.grad(), adjoint(v.input(1))));
             if (v.needs(1)) v.set(1, bmm(adjoint(v.input(0)), v.grad()));
           })
      .doc("The products of two batches of matrices.");
  Define("addmm(Tensor input, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor")
      .kernel<addmm_op>()
      .in_place()
      .out()
      .vjp("mat1 mat2",
           [](Vjp& v) {
             if (v.needs(0)) v.set(0, sum_to_size(scaled(v.grad(), v.scalar(3)), v.sizes(0)));
             if (v.needs(1)) v.set(1, scaled(mm(v.grad(), adjoint(v.input(2))), v.scalar(4)));
             if (v.needs(2)) v.set(2, scaled(mm(adjoint(v.input(1)), v.grad()), v.scalar(4)));
           })
      .doc("beta * input + alpha * mat1 @ mat2.");
  Define("baddbmm(Tensor input, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor")
      .kernel<baddbmm_op>()
      .in_place()
      .out()
      .vjp("batch1 batch2",
           [](Vjp& v) {
             if (v.needs(0)) v.set(0, sum_to_size(scaled(v.grad(), v.scalar(3)), v.sizes(0)));
             if (v.needs(1)) v.set(1, scaled(bmm(v.grad(), adjoint(v.input(2))), v.scalar(4)));
             if (v.needs(2)) v.set(2, scaled(bmm(adjoint(v.input(1)), v.grad()), v.scalar(4)));
           })
      .doc("beta * input + alpha * batch1 @ batch2, for each of a batch.");
  Define("addbmm(Tensor input, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor")
      .composite<addbmm_op>()
      .in_place()
      .out()
      .doc("beta * input + alpha * the sum over the batch of batch1 @ batch2.");
  Define("mv(Tensor input, Tensor vec) -> Tensor")
      .kernel<mv_op>()
      .out()
      .vjp("input vec",
           [](Vjp& v) {
             if (v.needs(0)) v.set(0, unsqueeze(v.grad(), 1) * unsqueeze(conj(v.input(1)), 0));
             if (v.needs(1)) {
               static const Op mv("mv");
               v.set(1, mv(adjoint(v.input(0)), v.grad()));
             }
           })
      .doc("The product of a matrix and a vector.");
  Define("addmv(Tensor input, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor")
      .kernel<addmv_op>()
      .in_place()
      .out()
      .vjp("mat vec",
           [](Vjp& v) {
             if (v.needs(0)) v.set(0, sum_to_size(scaled(v.grad(), v.scalar(3)), v.sizes(0)));
             if (v.needs(1)) v.set(1, scaled(unsqueeze(v.grad(), 1) * unsqueeze(conj(v.input(2)), 0), v.scalar(4)));
             if (v.needs(2)) {
               static const Op mv("mv");
               v.set(2, scaled(mv(adjoint(v.input(1)), v.grad()), v.scalar(4)));
             }
           })
      .doc("beta * input + alpha * mat @ vec.");
  Define("addr(Tensor input, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor")
      .composite<addr_op>()
      .in_place()
      .out()
      .doc("beta * input + alpha * the outer product of vec1 and vec2.");
  Define("dot(Tensor input, Tensor tensor) -> Tensor")
      .kernel<dot_op>()
      .out()
      .vjp("input tensor",
           [](Vjp& v) {
             if (v.needs(0)) v.set(0, v.grad() * conj(v.input(1)));
             if (v.needs(1)) v.set(1, v.grad() * conj(v.input(0)));
           })
      .doc("The sum of the products of two vectors' elements.");
  Define("vdot(Tensor input, Tensor other) -> Tensor")
      .composite<vdot_op>()
      .out()
      .doc("dot, with the first vector conjugated.");
  Define("outer(Tensor input, Tensor vec2) -> Tensor")
      .composite<outer_op>()
      .out()
      .doc("All products of two vectors' elements.");
  Define("ger(Tensor input, Tensor vec2) -> Tensor").composite<outer_op>().out().doc("Another name of outer.");
  Define("matmul(Tensor input, Tensor other) -> Tensor")
      .composite<matmul_op>()
      .out()
      .doc("The product of matrices, vectors, or batches of them; leading dimensions are broadcast.");
  Define("linalg.matmul(Tensor input, Tensor other) -> Tensor")
      .composite<matmul_op>()
      .out()
      .doc("Another name of matmul.");
  Define("nn.linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor")
      .kernel<linear_op>()
      .out()
      .node("AddmmBackward0")
      .vjp("input weight", linear_back)
      .doc("input @ weight.T + bias; input (..., k), weight (n, k), bias (n), result (..., n).");
});

}  // namespace
}  // namespace fl
