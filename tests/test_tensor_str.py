"""Printing, compared with PyTorch over random values, dtypes and options."""

import random

import pytest

import flambeau

torch = pytest.importorskip("torch")

FLOATING = ["float32", "float64", "float16", "bfloat16", "complex64", "complex128"]
DTYPES = [*FLOATING, "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]


def random_values(rng: random.Random, count: int) -> list[float]:
    scale = 10 ** rng.uniform(-6, 9)
    values = [rng.gauss(0, 1) * scale for _ in range(count)]
    kind = rng.random()
    if kind < 0.3:
        values = [float(round(value)) for value in values]
    elif kind < 0.4:
        values = [0.0] * count
    if rng.random() < 0.3:
        for _ in range(min(count, 3)):
            values[rng.randrange(count)] = rng.choice([float("nan"), float("inf"), -float("inf"), 0.0, -0.0])
    return values


def random_case(rng: random.Random) -> tuple[list, list[int], str]:
    dtype = rng.choice(DTYPES)
    shape = [rng.choice([1, 2, 3, 5, 7, 11]) for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 4]))]
    if shape and rng.random() < 0.2:
        shape[rng.randrange(len(shape))] = rng.choice([0, 30, 200])
    count = 1
    for size in shape:
        count *= size
    values = random_values(rng, count)
    if dtype.startswith("complex"):
        values = [complex(a, b) for a, b in zip(values, random_values(rng, count), strict=True)]
    elif "float" not in dtype:
        whole = [int(value) if abs(value) < 1e9 else 1 for value in values]  # nan compares false: becomes 1
        low, high = (0, 2) if dtype == "bool" else (0, 256) if dtype.startswith("u") else (-128, 128)
        values = [min(max(value, low), high - 1) for value in whole]
    return values, shape, dtype


def random_options(rng: random.Random) -> dict:
    return {
        "precision": rng.choice([0, 1, 2, 4, 8]),
        "threshold": rng.choice([0, 5, 10, 1000]),
        "edgeitems": rng.choice([0, 1, 2, 3]),
        "linewidth": rng.choice([20, 40, 80, 120]),
        "sci_mode": rng.choice([None, True, False]),
        "profile": rng.choice([None, "short", "full", "default"]),
    }


def build(library, values, shape, dtype, gradient):
    tensor = library.tensor(values, dtype=getattr(library, dtype)).reshape(shape)
    if gradient and ("float" in dtype or "complex" in dtype):
        tensor = tensor.requires_grad_() if gradient == "leaf" else tensor.requires_grad_() * 1
    return tensor


@pytest.fixture(autouse=True)
def default_options():
    yield
    for library in (torch, flambeau):
        library.set_printoptions(profile="default")


@pytest.mark.parametrize("seed", range(8))
def test_random_tensors_print_as_pytorch_prints_them(seed):
    rng = random.Random(seed)
    for _ in range(150):
        values, shape, dtype = random_case(rng)
        gradient = rng.choice([None, None, "leaf", "result"])
        options = random_options(rng) if rng.random() < 0.4 else {}
        for library in (torch, flambeau):
            library.set_printoptions(profile="default")
            library.set_printoptions(**options)
        expected = repr(build(torch, values, shape, dtype, gradient))
        assert repr(build(flambeau, values, shape, dtype, gradient)) == expected, (options, shape, dtype)


def test_default_dtype_decides_about_the_suffix():
    for name in ("float64", "float32"):
        for library in (torch, flambeau):
            library.set_default_dtype(getattr(library, name))
        try:
            for dtype in ("float32", "float64", "complex64", "complex128"):
                ours = repr(flambeau.ones(2, dtype=getattr(flambeau, dtype)))
                assert ours == repr(torch.ones(2, dtype=getattr(torch, dtype)))
        finally:
            for library in (torch, flambeau):
                library.set_default_dtype(library.float32)


@pytest.mark.parametrize(
    "make",
    [
        lambda t: t.empty(2, 3, device="meta", dtype=t.float64),
        lambda t: t.nn.Parameter(t.ones(2)),
        lambda t: t.zeros(0, 3, dtype=t.int64),
        lambda t: type("Mine", (t.Tensor,), {})._make_subclass(type("Mine", (t.Tensor,), {}), t.ones(2)),
        lambda t: t.arange(2000.0).reshape(40, 50),
    ],
)
def test_kinds_of_tensors(make):
    assert repr(make(flambeau)) == repr(make(torch))


def test_contents_can_be_replaced():
    assert flambeau.ones(2).__repr__(tensor_contents="[mine]") == "tensor([mine])"


def test_printoptions_restores_on_exit():
    before = flambeau._tensor_str.get_printoptions()
    with pytest.raises(KeyError), flambeau._tensor_str.printoptions(precision=1, sci_mode=True):
        assert repr(flambeau.tensor(0.25)) == "tensor(2.5e-01)"
        raise KeyError
    assert flambeau._tensor_str.get_printoptions() == before
