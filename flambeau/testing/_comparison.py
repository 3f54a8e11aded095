"""`assert_close`: equal up to rounding, or an error that says where and by how much not."""

from __future__ import annotations

import cmath
import math
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex32": (1e-3, 1e-5),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}
_OLD_TOLERANCES = {"float16": (1e-3, 1e-3), "float32": (1e-4, 1e-5), "float64": (1e-5, 1e-8)}


def _root() -> Any:
    return sys.modules[__package__.rpartition(".")[0]]


class _Mismatch(Exception):
    """Two parts differ, or cannot be compared: the error to raise, without the place."""

    def __init__(self, message: str, kind: type[Exception] = AssertionError):
        self.message = message
        self.kind = kind
        self.path: list[Any] = []


def _dtype_name(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


def default_tolerances(*dtypes: Any) -> tuple[float, float]:
    """The looser (rtol, atol) of those for some dtypes; integers compare exactly."""
    pairs = [_TOLERANCES.get(_dtype_name(dtype), (0.0, 0.0)) for dtype in dtypes]
    return max(rtol for rtol, _ in pairs), max(atol for _, atol in pairs)


class _Comparison:
    """One call's settings, applied to every pair of leaves."""

    def __init__(self, allow_subclasses: bool, rtol: Any, atol: Any, equal_nan: bool, **checks: bool):
        if (rtol is None) != (atol is None):
            given, missing = ("rtol", "atol") if atol is None else ("atol", "rtol")
            raise ValueError(f"assert_close: rtol and atol go together, got {given} without {missing}")
        self.allow_subclasses = allow_subclasses
        self.rtol, self.atol, self.equal_nan = rtol, atol, equal_nan
        self.checks = checks

    def tolerances(self, *dtypes: Any) -> tuple[float, float]:
        return default_tolerances(*dtypes) if self.rtol is None else (self.rtol, self.atol)

    # ---- containers

    def compare(self, actual: Any, expected: Any) -> None:
        if _is_sequence(actual) and _is_sequence(expected):
            if len(actual) != len(expected):
                raise _Mismatch(f"The lengths of the sequences differ: {len(actual)} and {len(expected)}")
            for index, (one, other) in enumerate(zip(actual, expected, strict=True)):
                self._inside(index, one, other)
        elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
            missing, extra = expected.keys() - actual.keys(), actual.keys() - expected.keys()
            if missing or extra:
                raise _Mismatch(
                    "The keys of the mappings differ:\n"
                    f"Missing in the actual mapping: {sorted(missing, key=str)}\n"
                    f"Only in the actual mapping: {sorted(extra, key=str)}"
                )
            for key in sorted(expected.keys(), key=str):
                self._inside(key, actual[key], expected[key])
        else:
            self._leaves(actual, expected)

    def _inside(self, key: Any, actual: Any, expected: Any) -> None:
        try:
            self.compare(actual, expected)
        except _Mismatch as mismatch:
            mismatch.path.insert(0, key)
            raise

    # ---- leaves

    def _leaves(self, actual: Any, expected: Any) -> None:
        if actual is None or expected is None:
            if actual is not expected:
                raise _Mismatch(f"{actual} is not {expected}")
        elif _is_bool(actual) and _is_bool(expected):
            if bool(actual) is not bool(expected):
                raise _Mismatch(f"{bool(actual)} is not {bool(expected)}")
        elif _is_number(actual) and _is_number(expected):
            self._numbers(actual, expected)
        elif self._are_tensors(actual, expected):
            self._tensors(_root().as_tensor(actual), _root().as_tensor(expected))
        else:
            raise _Mismatch(
                f"assert_close: cannot compare a {type(actual).__name__} with a {type(expected).__name__}; expected "
                "two tensors, two arrays, two numbers, or two containers of them",
                TypeError,
            )

    def _are_tensors(self, actual: Any, expected: Any) -> bool:
        related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
        if not related or (not self.allow_subclasses and type(actual) is not type(expected)):
            return False
        if isinstance(actual, _root().Tensor):
            return True
        return all(hasattr(value, "__array__") for value in (actual, expected))

    def _numbers(self, actual: Any, expected: Any) -> None:
        kinds = [_number_type(value) for value in (actual, expected)]
        if self.checks["dtype"] and kinds[0] is not kinds[1]:
            raise _Mismatch(f"The types of the numbers differ: {kinds[0].__name__} and {kinds[1].__name__}")
        root = _root()
        rtol, atol = self.tolerances(
            *({int: root.int64, float: root.float64, complex: root.complex128}[kind] for kind in kinds)
        )
        difference = abs(actual - expected)
        if actual == expected or difference <= atol + rtol * abs(expected) < math.inf:
            return
        if self.equal_nan and cmath.isnan(actual) and cmath.isnan(expected):
            return
        relative = difference / abs(expected) if expected != 0 else math.inf
        raise _Mismatch(
            f"Scalars are not {_word(rtol, atol)}!\n\nExpected {expected} but got {actual}.\n"
            f"Absolute difference: {difference}{_allowed(atol, rtol, atol)}\n"
            f"Relative difference: {relative}{_allowed(rtol, rtol, atol)}"
        )

    def _tensors(self, actual: Any, expected: Any) -> None:
        self._attribute("shape", tuple(actual.shape), tuple(expected.shape))
        for name, enabled in self.checks.items():
            if not enabled:
                continue
            if name == "stride":
                self._attribute("stride()", actual.stride(), expected.stride())
            else:
                self._attribute(name, getattr(actual, name), getattr(expected, name))
        root = _root()
        rtol, atol = self.tolerances(actual.dtype, expected.dtype)
        if "meta" in (actual.device.type, expected.device.type):
            return
        actual, expected = actual.detach(), expected.detach()
        if actual.dtype != expected.dtype:
            common = root.promote_types(actual.dtype, expected.dtype)
            actual, expected = actual.to(common), expected.to(common)
        matches = root.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=self.equal_nan)
        if bool(matches.all()):
            return
        if actual.dim() == 0:
            relaxed = _Comparison(True, rtol, atol, self.equal_nan, dtype=False)
            relaxed._numbers(_as_number(actual), _as_number(expected))
        raise _Mismatch(_statistics(actual, expected, matches, rtol, atol))

    @staticmethod
    def _attribute(name: str, actual: Any, expected: Any) -> None:
        if actual != expected:
            raise _Mismatch(f"The tensors differ in {name}: {actual} and {expected}")


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _is_bool(value: Any) -> bool:
    return type(value).__name__ in ("bool", "bool_")  # Python's and NumPy's


def _is_number(value: Any) -> bool:
    from numbers import Number

    return isinstance(value, Number) and not hasattr(value, "requires_grad")


def _number_type(value: Any) -> type:
    for kind in (int, float, complex):
        if isinstance(value, kind):
            return kind
    return type(value.item())  # a NumPy scalar


def _as_number(tensor: Any) -> Any:
    value = tensor.item()
    return int(value) if isinstance(value, bool) else value


def _word(rtol: float, atol: float) -> str:
    return "equal" if rtol == 0 and atol == 0 else "close"


def _allowed(tolerance: float, rtol: float, atol: float) -> str:
    return "" if _word(rtol, atol) == "equal" else f" (up to {tolerance} allowed)"


def _statistics(actual: Any, expected: Any, matches: Any, rtol: float, atol: float) -> str:
    root = _root()
    if not actual.is_floating_point() and not actual.is_complex():
        actual, expected = actual.to(root.int64), expected.to(root.int64)
    total, wrong = matches.numel(), matches.numel() - int(matches.sum())
    absolute = (actual - expected).abs()
    relative = absolute / expected.abs()
    lines = [
        f"Tensor-likes are not {_word(rtol, atol)}!\n",
        f"Mismatched elements: {wrong} / {total} ({wrong / total:.1%})",
    ]
    for name, difference, tolerance in (("absolute", absolute, atol), ("relative", relative, rtol)):
        counted = difference.masked_fill(matches, 0)  # equal infinities differ by nan
        flat = int(counted.argmax())
        value, index = counted.reshape(-1)[flat].item(), _position(flat, tuple(counted.shape))
        lines.append(f"Greatest {name} difference: {value} at index {index}{_allowed(tolerance, rtol, atol)}")
    return "\n".join(lines)


def _position(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    index: list[int] = []
    for size in reversed(shape):
        flat, at = divmod(flat, size)
        index.insert(0, at)
    return tuple(index)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Asserts that two values are equal up to ``atol + rtol * abs(expected)``.

    Tensors, arrays and numbers are compared by value; sequences and mappings item by item. By default integers must be
    equal, and floating-point values agree to what their dtype can be expected to hold. `equal_nan` lets NaN equal NaN;
    the `check_*` arguments also compare device, dtype, layout and strides. `msg` replaces the error text, or is called
    with it.

    Raises AssertionError with the number of elements that differ and the largest differences; TypeError for what
    cannot be compared; ValueError when only one of `rtol` and `atol` is given.

    >>> torch.testing.assert_close(torch.tensor([1.0]), torch.tensor([1.0 + 1e-7]))
    """
    __tracebackhide__ = True
    checks = {"device": check_device, "dtype": check_dtype, "layout": check_layout, "stride": check_stride}
    comparison = _Comparison(allow_subclasses, rtol, atol, equal_nan, **checks)
    try:
        comparison.compare(actual, expected)
        return
    except _Mismatch as mismatch:
        failure = mismatch
    message = failure.message
    if failure.path:
        place = "".join(f"[{key!r}]" for key in failure.path)
        message += f"\n\nThe failure occurred for item {place}"
    if failure.kind is AssertionError and msg is not None:
        message = msg(message) if callable(msg) else msg
    raise failure.kind(message)


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """An older form of `assert_close`: other default tolerances, dtypes may differ, NaN equals NaN."""
    warnings.warn("assert_allclose is deprecated: use assert_close", FutureWarning, stacklevel=2)
    root = _root()
    actual = actual if isinstance(actual, root.Tensor) else root.tensor(actual)
    expected = expected if isinstance(expected, root.Tensor) else root.tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        pairs = [_OLD_TOLERANCES.get(_dtype_name(tensor.dtype), (0.0, 0.0)) for tensor in (actual, expected)]
        rtol, atol = max(pair[0] for pair in pairs), max(pair[1] for pair in pairs)
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None)
