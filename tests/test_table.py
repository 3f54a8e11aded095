"""What must hold of every entry of the op table, from the entry and one line of sample arguments at most."""

from __future__ import annotations

import re
import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest
from table.entries import Entry, table
from table.known import KNOWN, UNIQUE_RESULTS
from table.samples import Maker

import flambeau as fl

torch = pytest.importorskip("torch")

# Results that are whatever the memory held, or objects of a kind of their own.
UNDEFINED = re.compile(r"empty|data_ptr|_C\.|resize|set_")
DTYPES = ["float32", "float64", "bfloat16", "int64", "int32", "uint8", "bool", "complex64"]
NAMESPACES = {"nn": torch.nn.functional, "linalg": torch.linalg, "fft": torch.fft, "special": torch.special}
ENTRIES = [entry for entry in table() if not UNDEFINED.search(entry.id)]
LAYOUTS = {
    "scalar": lambda t: t.flatten()[0] if t.numel() else t,
    "empty": lambda t: t[:0] if t.dim() else t,
    "transposed": lambda t: t.transpose(0, -1).clone().transpose(0, -1) if t.dim() > 1 else t,
    "strided": lambda t: t.repeat_interleave(2, -1)[..., ::2] if t.dim() else t,
    "expanded": lambda t: t[..., :1].expand(t.shape) if t.dim() and t.numel() else t,
    "nonfinite": lambda t: t * 0 + t / (t - t.flatten()[0]) if t.is_floating_point() and t.numel() else t,
}


def oracle(op: Entry) -> Any:
    """PyTorch's function or method for an op; None where it has none."""
    if op.namespace in NAMESPACES:
        return getattr(NAMESPACES[op.namespace], op.public_name, None)
    if op.namespace == "Tensor":
        return getattr(torch.Tensor, op.public_name, None)
    return getattr(torch, op.public_name, None)


def run(function: Any, library: Any, op: Entry, **how: Any) -> Any:
    """The result of a call with the op's sample arguments; an exception that says no is the result."""
    library.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            args, keywords = Maker(library, **how).arguments(op)
            return function(*args, **keywords)
        except (
            RuntimeError,
            TypeError,
            ValueError,
            IndexError,
            NotImplementedError,
            AttributeError,
            AssertionError,
        ) as error:
            return error


@cache
def accepted() -> frozenset[str]:
    """Entries whose sample arguments PyTorch takes."""
    return frozenset(op.id for op in ENTRIES if (f := oracle(op)) and not isinstance(run(f, torch, op), Exception))


def main_form(op: Entry) -> Any:
    return op.callable("function" if "function" in op.forms else "method")


def flatten(result: Any) -> list[Any]:
    if isinstance(result, (tuple, list)):
        return [x for item in result for x in flatten(item)]
    return [result]


def array(t: Any) -> np.ndarray[Any, Any]:
    t = t.detach()
    return (t.float() if "bfloat16" in str(t.dtype) else t).resolve_conj().resolve_neg().numpy(force=True)


def assert_same(ours: Any, theirs: Any, exact: bool = False) -> None:
    ours, theirs = flatten(ours), flatten(theirs)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        if not hasattr(b, "dtype") or not hasattr(b, "numel"):
            assert str(a) == str(b) or a == b or a == pytest.approx(b, nan_ok=True)
            continue
        assert tuple(a.shape) == tuple(b.shape)
        assert str(a.dtype) == str(b.dtype)
        wide = any(n in str(b.dtype) for n in ("float64", "complex128"))
        tolerance = 0.0 if exact else 2e-2 if "bfloat16" in str(b.dtype) else 1e-9 if wide else 2e-4
        np.testing.assert_allclose(array(a), array(b), rtol=tolerance, atol=tolerance)


def ids(entries: list[Entry]) -> list[str]:
    return [entry.id for entry in entries]


def of(trait: str) -> Any:
    chosen = [e for e in ENTRIES if e.id in accepted() and (trait == "any" or trait in e.traits or trait in e.forms)]
    return pytest.mark.parametrize("op", chosen, ids=ids(chosen))


@pytest.fixture(autouse=True)
def known_difference(request):
    """A test in the table of known differences runs, and may fail."""
    parameters = request.node.callspec.params
    case = parameters.get("dtype", parameters.get("layout", ""))
    reason = KNOWN.get((request.node.originalname, case, parameters["op"].id))
    if reason:
        request.applymarker(pytest.mark.xfail(reason=reason))


def assert_as_in_torch(op: Entry, **how: Any) -> None:
    theirs = run(oracle(op), torch, op, **how)
    if isinstance(theirs, Exception):
        return
    ours = run(main_form(op), fl, op, **how)
    assert not isinstance(ours, Exception), repr(ours)
    unique = UNIQUE_RESULTS.get(op.id)
    assert_same(ours[:unique] if unique else ours, theirs[:unique] if unique else theirs)


@of("any")
@pytest.mark.parametrize("dtype", DTYPES)
def test_values_and_types_are_those_of_torch(op, dtype):
    assert_as_in_torch(op, dtype=dtype)


@of("any")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_layout_of_arguments(op, layout):
    assert_as_in_torch(op, change=LAYOUTS[layout])


@of("in_place")
def test_in_place_writes_what_the_function_returns(op):
    expected = run(main_form(op), fl, op)
    args, keywords = Maker(fl).arguments(op)
    fl.manual_seed(0)
    destination = args[0]
    if isinstance(expected, fl.Tensor) and (expected.shape, expected.dtype) == (destination.shape, destination.dtype):
        assert op.callable("in_place")(*args, **keywords) is destination
        assert_same(destination, expected, exact=True)


@of("out")
def test_out_is_written_and_resized(op):
    if "function" not in op.forms:
        return
    expected = run(main_form(op), fl, op)
    args, keywords = Maker(fl).arguments(op)
    results = flatten(expected)
    outs = tuple(fl.empty(0, dtype=r.dtype) for r in results)
    fl.manual_seed(0)
    op.callable("function")(*args, **keywords, out=outs if isinstance(expected, tuple) else outs[0])
    assert_same(outs, results, exact=True)


@of("method")
def test_method_is_the_function(op):
    if "function" in op.forms:
        method = op.callable("method")
        if not callable(method):  # an attribute, like `Tensor.real`
            method = method.__get__
        assert_same(run(method, fl, op), run(op.callable("function"), fl, op), exact=True)


@of("any")
def test_meta_gives_the_shape_without_values(op):
    real = run(main_form(op), fl, op)
    with_meta = run(main_form(op), fl, op, device="meta")
    if isinstance(with_meta, Exception) and not isinstance(run(oracle(op), torch, op, device="meta"), Exception):
        raise with_meta
    if not isinstance(with_meta, Exception):
        for a, b in zip(flatten(with_meta), flatten(real), strict=True):
            if isinstance(b, fl.Tensor):
                assert (a.shape, a.dtype) == (b.shape, b.dtype)


def derivatives(function: Any, library: Any, op: Entry) -> list[Any]:
    """First derivatives of the sum of squares of the results, and the derivatives of their sum of squares.

    Second derivatives that do not exist because the first are constant are zero.
    """
    maker = Maker(library, change=lambda t: t.requires_grad_())
    library.manual_seed(0)
    args, keywords = maker.arguments(op)
    inputs = [t for t in maker.made if t.requires_grad and t.is_leaf]

    def objective(tensors: list[Any]) -> Any:
        parts = [(t * t).sum() for t in tensors if isinstance(t, library.Tensor) and t.requires_grad]
        return sum(parts[1:], parts[0]) if parts else None

    loss = objective(flatten(function(*args, **keywords)))
    if loss is None:
        return []
    first = library.autograd.grad(loss, inputs, create_graph=True, allow_unused=True)
    again = objective([g for g in first if g is not None])
    second = library.autograd.grad(again, inputs, allow_unused=True) if again is not None else [None] * len(inputs)
    second = [library.zeros_like(x) if g is None else g for g, x in zip(second, inputs, strict=True)]
    return [g for g in first if g is not None] + second


@of("differentiable")
def test_first_and_second_derivatives(op):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            theirs = derivatives(oracle(op), torch, op)
        except (RuntimeError, NotImplementedError, TypeError):
            return
        ours = derivatives(main_form(op), fl, op)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(array(a), array(b), rtol=1e-7, atol=1e-7)


@of("any")
def test_same_bits_at_one_thread_and_two(op):
    before = fl.get_num_threads()
    results = []
    fl._C._set_memory_limit(1 << 28)  # what makes pairs of all elements is refused rather than waited for
    try:
        for threads in (1, 2):
            fl.set_num_threads(threads)
            results.append(flatten(run(main_form(op), fl, op, dtype="float32", size=20_000)))
    finally:
        fl.set_num_threads(before)
        fl._C._set_memory_limit(0)
    for a, b in zip(*results, strict=True):
        if isinstance(a, fl.Tensor):
            np.testing.assert_array_equal(array(a), array(b))


@pytest.mark.parametrize("op", ENTRIES, ids=ids(ENTRIES))
def test_type_error_names_the_op_and_the_argument(op):
    required = [a for a in op.args if a.default is None]
    if "function" not in op.forms or not required or required[0].type == "any":
        return
    with pytest.raises(TypeError) as caught:
        op.callable("function")(*[object() for a in op.args if not a.keyword_only])
    assert op.public_name in str(caught.value)
    assert op.args[0].name in str(caught.value)
