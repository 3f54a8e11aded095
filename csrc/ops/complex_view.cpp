// The parts of complex tensors as views.
#include "autograd/record.h"
#include "ops/api.h"
#include "tensor/view.h"

namespace fl {
namespace {

// The same memory as numbers of another type.
Tensor reinterpret(const Tensor& input, IntList sizes, IntList strides, int64_t offset, DType dtype) {
  Storage* s = input.storage();
  Tensor r = from_storage(StorageRef::share(s), sizes, strides, offset, dtype);
  r->base = input->base ? input->base : input.get();
  Py_INCREF(reinterpret_cast<PyObject*>(r->base));
  r->view_version = s->version;
  r->flags |= (input->flags & (kOwnVersion | kInference)) | (grad_enabled() ? 0 : kNoGradView);
  return r;
}

Tensor view_as_real(const Tensor& input) {
  FL_CHECK(input.is_complex(), "view_as_real: only complex tensors have a real and an imaginary part to view, got ",
           info(input.dtype()).name);
  Dims sizes(input.sizes()), strides;
  for (int64_t s : input.strides()) strides.push_back(2 * s);
  sizes.push_back(2);
  strides.push_back(1);
  return reinterpret(input, sizes, strides, 2 * input.offset(), real_of(input.dtype()));
}

Tensor view_as_complex(const Tensor& input) {
  FL_CHECK(input.dtype() == DType::Float || input.dtype() == DType::Double,
           "view_as_complex: only float32 and float64 tensors can be seen as complex, got ", info(input.dtype()).name);
  FL_CHECK(input.dim() > 0 && input.sizes().back() == 2,
           "view_as_complex: the last dimension must be of size 2, got sizes ", shape_text(input.sizes()));
  FL_CHECK(input.strides().back() == 1, "view_as_complex: the last dimension must have stride 1, got strides ",
           shape_text(input.strides()));
  FL_CHECK(input.offset() % 2 == 0, "view_as_complex: the storage offset must be even, got ", input.offset());
  Dims sizes(input.sizes()), strides(input.strides());
  sizes.pop_back();
  strides.pop_back();
  for (int64_t& s : strides) {
    FL_CHECK(s % 2 == 0, "view_as_complex: all strides but the last must be even, got ", shape_text(input.strides()));
    s /= 2;
  }
  return reinterpret(input, sizes, strides, input.offset() / 2, complex_of(input.dtype()));
}

Tensor real_op(const Tensor& input) {
  static const Op parts("view_as_real");
  return input.is_complex() ? select(parts(input), -1, 0) : input;
}
Tensor imag_op(const Tensor& input) {
  static const Op parts("view_as_real");
  FL_CHECK(input.is_complex(), "imag: not implemented for tensors of real dtypes, got ", info(input.dtype()).name);
  return select(parts(input), -1, 1);
}

const Declare ops([] {
  Define("view_as_real(Tensor input) -> Tensor")
      .kernel<view_as_real>()
      .view()
      .vjp("",
           [](Vjp& v) {
             static const Op back("view_as_complex");
             if (v.needs(0)) v.set(0, back(contiguous(v.grad())));
           })
      .doc(
          "A view of a complex tensor with a last dimension for the real and the imaginary part.\n\n"
          ">>> torch.view_as_real(torch.tensor([1 + 2j]))\ntensor([[1., 2.]])");
  Define("view_as_complex(Tensor input) -> Tensor")
      .kernel<view_as_complex>()
      .view()
      .vjp("",
           [](Vjp& v) {
             static const Op back("view_as_real");
             if (v.needs(0)) v.set(0, back(v.grad()));
           })
      .doc(
          "A view of a real tensor whose last dimension, of size 2, holds real and imaginary parts.\n\n"
          ">>> torch.view_as_complex(torch.tensor([[1.0, 2.0]]))\ntensor([1.+2.j])");
  Define("real(Tensor input) -> Tensor")
      .composite<real_op>()
      .returns_self()
      .doc(
          "A view of the real part; the tensor itself when it is real.\n\n>>> torch.real(torch.tensor([1 + "
          "2j]))\ntensor([1.])");
  Define("imag(Tensor input) -> Tensor")
      .composite<imag_op>()
      .doc(
          "A view of the imaginary part. Raises RuntimeError for real tensors.\n\n>>> torch.imag(torch.tensor([1 + "
          "2j]))\ntensor([2.])");
});

}  // namespace
}  // namespace fl
