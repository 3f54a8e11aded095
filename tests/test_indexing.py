"""x[...] and x[...] = value against PyTorch, for every mix of indices; index ops with repeated and bad positions."""

import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import flambeau

SHAPES = st.lists(st.integers(0, 4), min_size=0, max_size=4)


def ours(value):
    """An index with torch's tensors replaced by ours."""
    if isinstance(value, torch.Tensor):
        return flambeau.from_numpy(value.numpy().copy())
    if isinstance(value, tuple):
        return tuple(ours(part) for part in value)
    return value


@st.composite
def positions(draw, size, shape):
    """Integers for one dimension, as a list, an array or a tensor of some type; now and then out of bounds."""
    low, high = (-size, size - 1) if size else (0, 0)
    wrong = draw(st.integers(0, 30)) == 0
    count = int(np.prod(shape))
    values = draw(st.lists(st.integers(low - wrong, high + wrong), min_size=count, max_size=count))
    array = np.array(values, dtype=np.int64).reshape(shape)
    kind = draw(st.sampled_from(["list", "array", "int64", "int32"]))
    if kind == "list":
        return array.tolist()
    if kind == "array":
        return array
    return torch.from_numpy(array.astype(kind))


@st.composite
def keys(draw, shape):
    together = draw(st.sampled_from([(2,), (1,), (3,), (2, 1), (2, 3), (0,), ()]))
    key, dim, ellipsis = [], 0, False
    while dim < len(shape) or draw(st.booleans()):
        kind = draw(st.sampled_from(["int", "slice", "slice", "none", "ellipsis", "positions", "mask", "bool", "stop"]))
        if kind == "stop":
            break
        if kind == "none":
            key.append(None)
        elif kind == "bool" and draw(st.integers(0, 3)) == 0:
            key.append(draw(st.booleans()))
        elif kind == "ellipsis" and not ellipsis:
            key.append(Ellipsis)
            ellipsis = True
            skipped = draw(st.integers(0, len(shape) - dim)) if dim < len(shape) else 0
            dim += skipped
        elif dim >= len(shape):
            break
        elif kind == "int":
            size = shape[dim]
            key.append(draw(st.integers(-size, size - 1)) if size else 0)
            dim += 1
        elif kind == "slice":
            part = st.none() | st.integers(-6, 6)
            key.append(slice(draw(part), draw(part), draw(st.none() | st.integers(1, 3))))
            dim += 1
        elif kind == "positions":
            key.append(draw(positions(shape[dim], together)))
            dim += 1
        elif kind == "mask":
            covered = draw(st.integers(1, len(shape) - dim))
            part = shape[dim : dim + covered]
            bits = draw(st.lists(st.booleans(), min_size=int(np.prod(part)), max_size=int(np.prod(part))))
            key.append(torch.tensor(bits, dtype=torch.bool).reshape(part))
            dim += covered
    return tuple(key) if len(key) != 1 or draw(st.booleans()) else key[0]


@st.composite
def tensors_and_keys(draw):
    shape = draw(SHAPES)
    x = torch.arange(int(np.prod(shape)), dtype=torch.float64).reshape(shape)
    if draw(st.booleans()) and len(shape) > 1:
        x = x.transpose(0, -1)
    return x, draw(keys(tuple(x.shape)))


def outcome(function):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function()
        except Exception as error:
            return type(error)


def assert_same(expected, got, *context):
    if isinstance(expected, type):
        assert got is expected, context
        return
    assert not isinstance(got, type), (got, context)
    assert tuple(got.shape) == tuple(expected.shape), context
    assert got.tolist() == expected.tolist(), context


def mirror(x):
    copy = flambeau.empty_strided(tuple(x.shape), x.stride(), dtype=flambeau.float64)
    copy.copy_(flambeau.from_numpy(x.numpy()))
    return copy


@settings(max_examples=300, deadline=None)
@given(tensors_and_keys())
def test_reading(case):
    x, key = case
    y = mirror(x)
    expected = outcome(lambda: x[key])
    got = outcome(lambda: y[ours(key)])
    assert_same(expected, got, x.shape, key)
    if not isinstance(expected, type):
        assert (expected._base is None) == (got._base is None), key


@settings(max_examples=300, deadline=None)
@given(tensors_and_keys(), st.sampled_from(["number", "scalar", "full", "row", "ones", "wrong"]))
def test_writing(case, kind):
    x, key = case
    x = x.clone()
    y = mirror(x)
    part = outcome(lambda: x[key])
    shape = () if isinstance(part, type) else tuple(part.shape)
    value = {
        "number": lambda: 7.5,
        "scalar": lambda: torch.tensor(7.5, dtype=torch.float64),
        "full": lambda: torch.arange(int(np.prod(shape)), dtype=torch.float64).reshape(shape) + 100,
        "row": lambda: torch.arange(float(shape[-1]) if shape else 1, dtype=torch.float64) + 100,
        "ones": lambda: torch.full((1, 1, *shape), 3, dtype=torch.float64),
        "wrong": lambda: torch.ones(7, 5, dtype=torch.float64),
    }[kind]()

    def write(tensor, index, given):
        tensor[index] = given
        return tensor

    # Where a position occurs twice PyTorch leaves open which value stays.
    if kind in ("full", "row") and not isinstance(part, type):
        numbered = torch.arange(x.numel()).reshape(x.shape)[key] if x.numel() else torch.zeros(0)
        if numbered.unique().numel() != numbered.numel():
            value = 7.5
    expected = outcome(lambda: write(x, key, value))
    got = outcome(lambda: write(y, ours(key), ours(value)))
    assert_same(expected, got, x.shape, key, kind)


@settings(max_examples=100, deadline=None)
@given(tensors_and_keys())
def test_gradient(case):
    x, key = case
    part = outcome(lambda: x[key])
    if isinstance(part, type):
        return
    x = x.clone().requires_grad_()
    y = mirror(x.detach()).requires_grad_()
    weights = torch.arange(part.numel(), dtype=torch.float64).reshape(part.shape) + 1
    (expected,) = torch.autograd.grad((x[key] ** 2 * weights).sum(), x, create_graph=True)
    (got,) = flambeau.autograd.grad((y[ours(key)] ** 2 * ours(weights)).sum(), y, create_graph=True)
    assert got.tolist() == expected.tolist(), key
    (expected,) = torch.autograd.grad((expected**2).sum(), x)
    (got,) = flambeau.autograd.grad((got**2).sum(), y)
    assert got.tolist() == expected.tolist(), key


def test_indices_follow_the_dimensions_they_replace():
    x = flambeau.zeros(2, 3, 4, 5)
    assert x[:, [0, 1], [0, 1]].shape == (2, 2, 5)
    assert x[[0, 1], :, [0, 1]].shape == (2, 3, 5)
    assert x[:, flambeau.ones(3, 4, dtype=flambeau.bool), [0]].shape == (2, 12)


@pytest.mark.parametrize("key", [5, -3, [0, 5], (0, [3]), (slice(None), [-4, 0])])
def test_nothing_is_written_when_an_index_is_out_of_bounds(key):
    x = flambeau.zeros(2, 3)
    with pytest.raises(IndexError):
        x[key] = 1
    assert x.sum() == 0


@pytest.mark.parametrize("name", ["scatter_", "scatter_add_", "scatter_reduce_"])
def test_scatter_checks_before_it_writes(name):
    x = flambeau.zeros(3)
    index = flambeau.tensor([0, 1, 3])
    extra = ("sum",) if name == "scatter_reduce_" else ()
    with pytest.raises(RuntimeError):
        getattr(x, name)(0, index, flambeau.ones(3), *extra)
    assert x.sum() == 0


def test_writing_into_an_expanded_tensor_is_refused():
    x = flambeau.zeros(1, 3).expand(4, 3)
    for key in (slice(None), [0, 1]):
        with pytest.raises(RuntimeError):
            x[key] = 1


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "bool", "complex64"])
@pytest.mark.parametrize("threads", [1, 2])
def test_accumulation_is_the_same_at_any_number_of_threads(dtype, threads):
    generator = np.random.default_rng(0)
    values = generator.standard_normal((5000, 16)).astype(np.float32)
    index = generator.integers(0, 50, 5000)
    before = flambeau.get_num_threads()
    flambeau.set_num_threads(threads)
    try:
        v = flambeau.from_numpy(values).to(getattr(flambeau, dtype))
        got = flambeau.zeros(50, 16, dtype=v.dtype).index_put((flambeau.from_numpy(index),), v, accumulate=True)
    finally:
        flambeau.set_num_threads(before)
    flambeau.set_num_threads(1)
    try:
        expected = flambeau.zeros(50, 16, dtype=v.dtype).index_add(0, flambeau.from_numpy(index), v)
    finally:
        flambeau.set_num_threads(before)
    assert got.tolist() == expected.tolist()


def test_values_convert_only_without_index_tensors():
    x = flambeau.zeros(2, 2)
    x[0] = flambeau.tensor([1, 2])
    assert x[0].tolist() == [1.0, 2.0]
    with pytest.raises(RuntimeError):
        x[[0]] = flambeau.tensor([1, 2])
    with pytest.raises(TypeError):
        x[0] = [1, 2]


def test_positions_are_checked_only_where_there_is_something_to_read():
    assert flambeau.zeros(0, 3)[False, [0]].shape == (0, 3)
    assert flambeau.zeros(3, 0)[[5]].shape == (1, 0)
    with pytest.raises(IndexError):
        flambeau.zeros(0, 3)[[0]]
