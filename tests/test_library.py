import pytest

import flambeau
from flambeau import library


def test_custom_op_with_derivative_and_shape():
    @library.custom_op("testing::scaled", mutates_args=())
    def scaled(x: flambeau.Tensor, factor: float = 2.0) -> flambeau.Tensor:
        return x.detach() * factor

    def setup(ctx, inputs, output):
        ctx.factor = inputs[1]

    scaled.register_autograd(lambda ctx, g: (g * ctx.factor, None), setup_context=setup)
    x = flambeau.ones(2, requires_grad=True)
    y = scaled(x, factor=3.0)
    y.sum().backward()
    assert y.tolist() == [3, 3] and x.grad.tolist() == [3, 3]
    scaled.register_fake(lambda x, factor=2.0: x.new_empty(x.shape))
    assert scaled(flambeau.ones(4, device="meta")).shape == (4,)


def test_schema():
    def prototype(x: flambeau.Tensor, n: int | None = None, *, name: str = "a") -> flambeau.Tensor: ...

    assert library.infer_schema(prototype, mutates_args=()) == "(Tensor x, SymInt? n=None, *, str name=a) -> Tensor"
    with pytest.raises(ValueError, match="annotation"):
        library.infer_schema(lambda x: x, mutates_args=())
    with pytest.raises(ValueError, match="namespace"):
        library.custom_op("scaled", lambda x: x, mutates_args=(), schema="(Tensor x) -> Tensor")


def test_library_of_definitions():
    lib = library.Library("testing", "FRAGMENT")
    lib.define("plus_one(Tensor x) -> Tensor")
    op = library._ops["testing::plus_one"]
    with pytest.raises(NotImplementedError):
        op(flambeau.ones(1))
    lib.impl("plus_one", lambda x: x + 1, "CPU")
    assert op(flambeau.ones(1)).tolist() == [2]
