"""The Python side of autograd: modes, backward and grad, custom functions, graph hooks, checks, checkpoints."""

import pytest

import flambeau
from flambeau import autograd
from flambeau.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential


@pytest.fixture
def x():
    return flambeau.tensor([1.0, 2.0, 3.0], requires_grad=True)


def test_modes_restore_what_was():
    assert flambeau.is_grad_enabled()
    with flambeau.no_grad():
        assert not flambeau.is_grad_enabled()
        with flambeau.enable_grad():
            assert flambeau.is_grad_enabled()
    with flambeau.inference_mode():
        assert flambeau.is_inference_mode_enabled()
    with pytest.raises(ZeroDivisionError), flambeau.set_grad_enabled(False):
        raise ZeroDivisionError
    assert flambeau.is_grad_enabled()


def test_modes_as_decorators():
    @flambeau.no_grad
    def function():
        return flambeau.is_grad_enabled()

    @flambeau.no_grad()
    def generator():
        received = yield flambeau.is_grad_enabled()
        yield received, flambeau.is_grad_enabled()

    @flambeau.set_grad_enabled(False)
    def other():
        return flambeau.is_grad_enabled()

    assert not function()
    assert not other()
    assert flambeau.is_grad_enabled()
    iterator = generator()
    assert next(iterator) is False
    assert flambeau.is_grad_enabled()
    assert iterator.send("hello") == ("hello", False)


def test_grad_arguments(x):
    y = flambeau.ones(2, requires_grad=True)
    assert autograd.grad((x * x).sum(), x)[0].tolist() == [2.0, 4.0, 6.0]
    assert list(autograd.grad((x * x).sum(), {"x": x})) == ["x"]
    assert autograd.grad(x * x, [x, y], flambeau.ones(3), allow_unused=True)[1] is None
    assert autograd.grad(x * x, [x, y], flambeau.ones(3), materialize_grads=True)[1].tolist() == [0.0, 0.0]
    batched = autograd.grad(x * 2, x, flambeau.eye(3), is_grads_batched=True)[0]
    assert batched.tolist() == [[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: autograd.grad(x * x, x), RuntimeError, "scalar"),
        (lambda x: autograd.backward([x, x], [x]), RuntimeError, "1 gradients"),
        (lambda x: autograd.grad(x * x, x, flambeau.ones(2)), RuntimeError, "shape"),
        (lambda x: autograd.backward((x * x).sum(), inputs=[]), RuntimeError, "empty"),
        (lambda x: autograd.grad((x * x).sum(), x, ["no"]), TypeError, "str"),
        (lambda x: autograd.grad(x.sum(), x, allow_unused=False, materialize_grads=True), ValueError, "allow_unused"),
    ],
)
def test_refuses(x, call, error, text):
    with pytest.raises(error, match=text):
        call(x)


class Cube(autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 3 * x**2


class Scale(autograd.Function):
    @staticmethod
    def forward(x, factor=2.0):
        return x * factor

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.factor = inputs[1]

    @staticmethod
    @autograd.function.once_differentiable
    def backward(ctx, grad):
        return grad * ctx.factor, None


def test_custom_functions(x):
    y = Cube.apply(x)
    assert type(y.grad_fn).__name__ == "CubeBackward"
    (first,) = autograd.grad(y.sum(), x, create_graph=True)
    assert first.tolist() == [3.0, 12.0, 27.0]
    assert autograd.grad(first.sum(), x)[0].tolist() == [6.0, 12.0, 18.0]
    assert autograd.grad(Scale.apply(x).sum(), x)[0].tolist() == [2.0] * 3
    assert autograd.grad(Scale.apply(x, factor=5.0).sum(), x)[0].tolist() == [5.0] * 3
    with pytest.raises(TypeError):
        Cube.apply(x=x)


def test_once_differentiable_refuses_the_second_time(x):
    (first,) = autograd.grad(Scale.apply(x * x).pow(2).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()


def test_saved_tensor_hooks(x):
    packed = []

    def pack(tensor):
        packed.append(tensor.tolist())
        return len(packed) - 1

    with autograd.graph.saved_tensors_hooks(pack, lambda i: flambeau.tensor(packed[i])):
        y = x.exp()
    assert packed
    y.sum().backward()
    assert flambeau.allclose(x.grad, x.detach().exp())
    disabled = autograd.graph.disable_saved_tensors_hooks("not here")
    with pytest.raises(RuntimeError, match="not here"), disabled, autograd.graph.save_on_cpu():
        pass


def test_multi_grad_hook(x):
    w = flambeau.ones(2, requires_grad=True)
    calls = []
    handle = autograd.graph.register_multi_grad_hook([x, w], calls.append)
    ((x * 2).sum() + (w * 3).sum()).backward()
    (x * 2).sum().backward()
    handle.remove()
    (x * 2).sum().backward()
    assert [[None if g is None else g.tolist() for g in grads] for grads in calls] == [
        [[2.0] * 3, [3.0] * 2],
        [[2.0] * 3, None],
    ]


def test_anomaly_mode_names_the_function():
    x = flambeau.tensor([-1.0], requires_grad=True)
    with pytest.warns(UserWarning), autograd.detect_anomaly(), pytest.raises(RuntimeError, match=r"(?i)sqrt.*nan"):
        x.sqrt().sum().backward()


class Wrong(Cube):
    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x


@pytest.mark.parametrize("fast_mode", [False, True])
def test_gradcheck(fast_mode):
    x = flambeau.rand(2, 3, dtype=flambeau.float64, requires_grad=True)
    z = flambeau.randn(3, dtype=flambeau.complex128, requires_grad=True)
    for function, inputs in (
        (flambeau.sin, x),
        (lambda a: (a * a, a.exp(), a > 0), x),
        (lambda a: a * a.conj(), z),
        (lambda a: (a * a).real, z),
    ):
        assert autograd.gradcheck(function, inputs, fast_mode=fast_mode)
    assert autograd.gradgradcheck(lambda a: a.sin() * a, x, fast_mode=fast_mode)
    with pytest.raises(RuntimeError, match="Jacobian"):
        autograd.gradcheck(Wrong.apply, x, fast_mode=fast_mode)
    assert not autograd.gradcheck(Wrong.apply, x, fast_mode=fast_mode, raise_exception=False)


def test_functional():
    x = flambeau.tensor([1.0, 2.0])
    cube = lambda a: (a**3).sum()  # noqa: E731
    assert autograd.functional.jacobian(lambda a: a * a, x).tolist() == [[2.0, 0.0], [0.0, 4.0]]
    assert autograd.functional.hessian(cube, x).tolist() == [[6.0, 0.0], [0.0, 12.0]]
    v = flambeau.tensor([1.0, -1.0])
    assert autograd.functional.jvp(lambda a: a * a, x, v)[1].tolist() == [2.0, -4.0]
    assert autograd.functional.vjp(lambda a: a * a, x, v)[1].tolist() == [2.0, -4.0]
    assert autograd.functional.hvp(cube, x, v)[1].tolist() == [6.0, -12.0]
    assert autograd.functional.vhp(cube, x, v)[1].tolist() == [6.0, -12.0]


def noisy(t):
    return flambeau.nn.functional.dropout(t.sin(), 0.5, True) * t


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_checkpoint_repeats_the_random_numbers(use_reentrant):
    def gradient(run):
        flambeau.manual_seed(1)
        x = flambeau.linspace(-1, 1, 20).requires_grad_()
        y = run(x)
        flambeau.rand(3)
        y.sum().backward()
        return x.grad.tolist(), flambeau.rand(1).item()

    assert gradient(noisy) == gradient(lambda x: checkpoint(noisy, x, use_reentrant=use_reentrant))
    nested = lambda x: checkpoint(lambda t: checkpoint(noisy, t.exp(), use_reentrant=False) + 1, x, use_reentrant=False)  # noqa: E731
    assert gradient(lambda x: noisy(x.exp()) + 1) == gradient(nested)


def test_checkpoint_twice_and_second_order(x):
    y = checkpoint(lambda t: (t * t).exp(), x, use_reentrant=False).sum()
    (first,) = autograd.grad(y, x, create_graph=True)
    (second,) = autograd.grad(first.sum(), x, retain_graph=True)
    expected = (2 + 4 * x * x) * (x * x).exp()
    assert flambeau.allclose(second, expected)
    y.backward()


def test_checkpoint_notices_another_computation(x):
    calls = []

    def changing(t):
        calls.append(1)
        return (t * t).exp() if len(calls) == 1 else t * 2

    y = checkpoint(changing, x, use_reentrant=False)
    with pytest.raises(CheckpointError, match="3 tensors"):
        y.sum().backward()


def test_reentrant_checkpoint_refuses_grad(x):
    y = checkpoint(flambeau.exp, x, use_reentrant=True).sum()
    with pytest.raises(RuntimeError, match="use_reentrant"):
        autograd.grad(y, x)


def test_checkpoint_sequential(x):
    layers = flambeau.nn.Sequential(*(flambeau.nn.Linear(3, 3) for _ in range(5)))
    y = checkpoint_sequential(layers, 2, x, use_reentrant=False)
    assert flambeau.allclose(y, layers(x))
