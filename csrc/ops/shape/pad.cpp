// Padding with a constant; negative padding crops.
#include "autograd/record.h"
#include "ops/api.h"

namespace fl {
namespace {

Tensor constant_pad(const Tensor& input, IntList pad, const Scalar& value) {
  FL_CHECK(pad.size() % 2 == 0, "constant_pad_nd: length of pad must be even but instead it equals ", pad.size());
  int64_t pairs = static_cast<int64_t>(pad.size()) / 2, n = input.dim();
  FL_CHECK(pairs <= n,
           "constant_pad_nd: length of pad should be no more than twice the number of dimensions of the input. Pad "
           "length is ",
           pad.size(), " while the input has ", n, " dimensions");
  Dims sizes(input.sizes()), kept(input.sizes()), to(n), from(n);
  for (int64_t k = 0; k < pairs; k++) {
    int64_t d = n - 1 - k, before = pad[2 * k], after = pad[2 * k + 1];
    FL_CHECK(!__builtin_add_overflow(sizes[d], before, &sizes[d]) &&
                 !__builtin_add_overflow(sizes[d], after, &sizes[d]) && sizes[d] >= 0,
             "constant_pad_nd: the input size ", input->sizes[d], ", plus negative padding ", before, " and ", after,
             " resulted in a negative output size at dimension ", d);
    to[d] = std::max<int64_t>(before, 0);
    from[d] = std::max<int64_t>(-before, 0);
    kept[d] = std::max<int64_t>(input->sizes[d] - from[d] - std::max<int64_t>(-after, 0), 0);
  }
  Tensor out = empty(sizes, input.dtype(), input.device(), suggest_memory_format(input));
  if (out.is_meta() || out.numel() == 0) return out;
  int64_t inside = 1, a = out.offset(), b = input.offset();
  for (int64_t d = 0; d < n; d++) {
    inside *= kept[d];
    a += to[d] * out->strides[d];
    b += from[d] * input->strides[d];
  }
  if (inside != out.numel()) raw_fill(out, value);
  if (inside) raw_copy(alias(out, kept, out.strides(), a), alias(input, kept, input.strides(), b));
  return out;
}

const Op pad_of("constant_pad_nd");

const Declare ops([] {
  Define("torch.constant_pad_nd(Tensor input, int[] pad, Scalar value=0) -> Tensor")
      .kernel<constant_pad>()
      .vjp("",
           [](Vjp& v) {
             if (!v.needs(0)) return;
             Dims back(v.ints(1));
             for (int64_t& p : back) p = -p;
             v.set(0, pad_of(v.grad(), back, Scalar(0)));
           })
      .doc(
          "Puts a value around input: pad holds pairs of widths, before and after, from the last dimension on; "
          "negative ones crop.");
});

}  // namespace
}  // namespace fl
