"""Pointwise ops, compared with PyTorch: values, dtypes, gradients, in-place forms and errors."""

import pytest

import flambeau

torch = pytest.importorskip("torch")

VALUES = [-2.5, -1.0, -0.5, 0.0, 0.25, 1.0, 3.0]
UNARY = [
    "abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "deg2rad", "digamma", "erf", "erfc", "erfinv", "exp", "exp2",
    "expm1", "floor", "frac", "isfinite", "lgamma", "log", "log10", "log1p", "log2", "logical_not", "neg", "rad2deg",
    "reciprocal", "relu", "round", "rsqrt", "sgn", "sigmoid", "sign", "signbit", "sin", "sinc", "sinh", "sqrt",
    "square", "tan", "tanh", "trunc",
]  # fmt: skip
BINARY = [
    "add", "atan2", "copysign", "div", "eq", "floor_divide", "fmax", "fmin", "fmod", "ge", "gt", "hypot", "le",
    "logaddexp", "logical_and", "lt", "maximum", "minimum", "mul", "ne", "pow", "remainder", "sub", "xlogy",
]  # fmt: skip
DTYPES = ["float32", "float64", "float16", "int64", "uint8", "bool", "complex64"]


def make(library, values, dtype):
    kind = getattr(library, dtype)
    if dtype == "uint8":
        values = [abs(v) for v in values]
    return library.tensor(values, dtype=library.float64).to(kind)


def outcome(call):
    try:
        result = call()
    except Exception as error:
        return type(error)
    return str(result.dtype).rpartition(".")[2], result.tolist()


def close(ours, theirs, tolerance):
    if isinstance(ours, type) and isinstance(theirs, type):
        return issubclass(ours, theirs)
    if isinstance(ours, type) or isinstance(theirs, type):
        return False
    if ours[0] != theirs[0]:
        return False
    a, b = torch.tensor(ours[1], dtype=torch.complex128), torch.tensor(theirs[1], dtype=torch.complex128)
    return torch.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY)
def test_unary(name, dtype):
    ours = outcome(lambda: getattr(flambeau, name)(make(flambeau, VALUES, dtype)))
    theirs = outcome(lambda: getattr(torch, name)(make(torch, VALUES, dtype)))
    assert close(ours, theirs, 2e-2 if dtype == "float16" else 1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BINARY)
def test_binary(name, dtype):
    others = list(reversed(VALUES))
    ours = outcome(lambda: getattr(flambeau, name)(make(flambeau, VALUES, dtype), make(flambeau, others, dtype)))
    theirs = outcome(lambda: getattr(torch, name)(make(torch, VALUES, dtype), make(torch, others, dtype)))
    assert close(ours, theirs, 2e-2 if dtype == "float16" else 1e-5)


@pytest.mark.parametrize("name", [n for n in UNARY if n not in ("isfinite", "logical_not", "sgn", "signbit")])
def test_gradient(name):
    gradients = []
    for library in (flambeau, torch):
        x = library.tensor([0.125, 0.25, 0.75], dtype=library.float64, requires_grad=True)
        y = getattr(library, name)(x)
        (first,) = library.autograd.grad(y.sum(), x, create_graph=True)
        gradients.append(first.tolist())
    assert gradients[0] == pytest.approx(gradients[1], rel=1e-9)


@pytest.mark.parametrize("kind", ["int64", "uint8", "float32"])
def test_in_place_keeps_the_dtype(kind):
    x = make(flambeau, [1.0, 2.0], kind)
    assert outcome(lambda: x.add_(1)) == (kind, [2, 3])
    if kind != "float32":
        with pytest.raises(RuntimeError):
            x.add_(0.5)


def test_integers_divide_as_in_python():
    a, b = [-7, 7, -7, 7], [2, 2, -2, -2]
    x, y = flambeau.tensor(a), flambeau.tensor(b)
    assert (x // y).tolist() == [i // j for i, j in zip(a, b, strict=True)]
    assert (x % y).tolist() == [i % j for i, j in zip(a, b, strict=True)]
    with pytest.raises(RuntimeError):
        x // 0


def test_numbers_are_compared_as_numbers():
    u = flambeau.tensor([1, 255], dtype=flambeau.uint8)
    assert (u > flambeau.tensor(-19, dtype=flambeau.int8)).tolist() == [True, True]
    assert (u < 300).tolist() == [True, True]
    assert u.clamp(min=-129, max=300).tolist() == [1, 255]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.sqrt(),
        lambda x: x.log(),
        lambda x: x * x.log(),
        lambda x: 1 / x,
        lambda x: x / x,
        lambda x: x**-0.5,
        lambda x: (1000 / x).exp(),
    ],
)
def test_the_branch_not_taken_sends_no_gradient(function):
    x = flambeau.tensor([-1.0, 0.0, 4.0], requires_grad=True)
    flambeau.where(x > 5, function(x), flambeau.zeros(3)).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]


def test_broadcast_rows_equal_expanded_rows():
    x = flambeau.tensor([[float(i * 300 + j) for j in range(300)] for i in range(5)])
    column = flambeau.tensor([[float(i)] for i in range(5)])
    assert (x + column).tolist() == [[v + i for v in row] for i, row in enumerate(x.tolist())]
