"""`finfo` and `iinfo`: what numbers a dtype can hold."""

from __future__ import annotations

from typing import Any

from . import _C

__all__ = ["finfo", "iinfo"]

# Bits of the significand behind the point, least and greatest exponent, decimal digits that survive.
_FORMATS = {
    "float64": (52, -1022, 1023, 15),
    "float32": (23, -126, 127, 6),
    "float16": (10, -14, 15, 3),
    "bfloat16": (7, -126, 127, 2),
}
_PARTS = {"complex64": "float32", "complex128": "float64"}


def _name(dtype: Any, function: str) -> str:
    if not isinstance(dtype, _C.dtype):
        raise TypeError(f"{function}: expected a torch.dtype, got {dtype!r}")
    return str(dtype).rpartition(".")[2]


class _Info:
    """Attributes by name, printed on one line."""

    _shown: tuple[str, ...] = ()

    def __repr__(self) -> str:
        values = (getattr(self, name) for name in self._shown)
        texts = (value if isinstance(value, str) else f"{value:g}" for value in values)
        return f"{type(self).__name__}({', '.join(f'{n}={t}' for n, t in zip(self._shown, texts, strict=True))})"

    def __eq__(self, other: Any) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.dtype == other.dtype

    __hash__ = None  # type: ignore[assignment]
    dtype: str


class finfo(_Info):
    """The limits of a floating-point dtype (of the parts, for a complex one); default: the default dtype.

    Attributes: ``bits``, ``eps`` (from 1 to the next number), ``max``, ``min``, ``tiny`` (the least normal number, also
    ``smallest_normal``), ``resolution``, ``dtype`` (its name). Raises TypeError for other dtypes.

    >>> torch.finfo(torch.float32).max
    3.4028234663852886e+38
    """

    __module__ = __package__
    _shown = ("resolution", "min", "max", "eps", "smallest_normal", "tiny", "dtype")

    def __init__(self, type: Any = None):
        name = _name(_C.get_default_dtype() if type is None else type, "finfo")
        name = _PARTS.get(name, name)
        if name not in _FORMATS:
            raise TypeError(f"finfo: torch.{name} is not a floating-point dtype; iinfo is for integers")
        significand, least, greatest, digits = _FORMATS[name]
        self.dtype = name
        self.bits = {"float64": 64, "float32": 32}.get(name, 16)
        self.eps = 2.0**-significand
        self.max = (2.0 - self.eps) * 2.0**greatest
        self.min = -self.max
        self.tiny = self.smallest_normal = 2.0**least
        self.resolution = float(f"1e-{digits}")


class iinfo(_Info):
    """The limits of an integer dtype: ``bits``, ``min``, ``max``, ``dtype`` (its name).

    Raises TypeError for other dtypes.

    >>> torch.iinfo(torch.int8)
    iinfo(min=-128, max=127, dtype=int8)
    """

    __module__ = __package__
    _shown = ("min", "max", "dtype")

    def __init__(self, type: Any):
        name = _name(type, "iinfo")
        signed, digits = not name.startswith("uint"), name.removeprefix("u").removeprefix("int")
        if not digits.isdigit():
            raise TypeError(f"iinfo: torch.{name} is not an integer dtype; finfo is for floating-point numbers")
        self.dtype = name
        self.bits = int(digits)
        self.min = -(1 << (self.bits - 1)) if signed else 0
        self.max = (1 << (self.bits - signed)) - 1
