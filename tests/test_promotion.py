"""Types and shapes of results: every pair of dtypes, with dimensions, without, and as Python numbers; broadcasting."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flambeau as fl

torch = pytest.importorskip("torch")

DTYPES = [
    "float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8",
    "uint16", "uint32", "uint64", "bool", "complex64", "complex128",
]  # fmt: skip
NUMBERS = [True, 2, 2.5, 1 + 2j]


def name(dtype):
    return (
        str(dtype).removeprefix("torch.").replace("complex32", "complex64")
    )  # half precision has no complex type here


@pytest.mark.parametrize("a", DTYPES)
def test_result_types_of_pairs(a):
    for b in DTYPES:
        promoted = []
        for library in (fl, torch):
            try:
                promoted.append(name(library.promote_types(getattr(library, a), getattr(library, b))))
            except RuntimeError:
                promoted.append("refused")
        assert promoted[0] == promoted[1], (a, b)
        assert fl.can_cast(getattr(fl, a), getattr(fl, b)) == torch.can_cast(getattr(torch, a), getattr(torch, b))


@pytest.mark.parametrize("a", DTYPES)
@pytest.mark.parametrize("shapes", [((2,), (2,)), ((2,), ()), ((), (2,)), ((), ())], ids=str)
def test_operators_promote_like_torch(a, shapes):
    for b in DTYPES:
        if {a, b} == {"float16", "complex64"} or {a, b} == {"float16", "complex128"}:
            continue  # PyTorch makes a type of them that isn't there here
        for operator in ("__mul__", "__eq__", "__truediv__"):
            results = []
            for library in (fl, torch):
                x = library.ones(shapes[0], dtype=getattr(library, a))
                y = library.ones(shapes[1], dtype=getattr(library, b))
                try:
                    results.append(name(getattr(x, operator)(y).dtype))
                except (RuntimeError, TypeError, NotImplementedError) as error:
                    results.append(type(error).__name__)
            assert results[1] in (results[0], "NotImplementedError"), (a, b, operator, shapes)


@pytest.mark.parametrize("shape", [(2,), ()], ids=str)
def test_numbers_are_weak(shape):
    for dtype, number, operator in itertools.product(DTYPES, NUMBERS, ["__add__", "__rmul__", "__truediv__", "__lt__"]):
        if dtype == "float16" and isinstance(number, complex):
            continue
        results = []
        for library in (fl, torch):
            x = library.ones(shape, dtype=getattr(library, dtype))
            try:
                results.append(name(getattr(x, operator)(number).dtype))
            except (RuntimeError, TypeError, NotImplementedError) as error:
                results.append(type(error).__name__)
        assert results[1] in (results[0], "NotImplementedError"), (dtype, number, operator)


shapes = st.lists(st.integers(0, 3), max_size=4).map(tuple)


@settings(max_examples=150, deadline=None)
@given(shapes, shapes)
def test_shapes_broadcast_like_numpy(a, b):
    try:
        expected = np.broadcast_shapes(a, b)
    except ValueError:
        with pytest.raises(RuntimeError, match="add"):
            fl.zeros(a) + fl.zeros(b)
        return
    x, y = np.arange(np.prod(a)).reshape(a), np.arange(np.prod(b)).reshape(b)
    result = fl.from_numpy(x) + fl.from_numpy(y)
    assert tuple(result.shape) == expected
    np.testing.assert_array_equal(result.numpy(), x + y)
