"""Functions of Python numbers that programs use where sizes might be symbols; here sizes are always ints."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def sym_int(a: Any) -> int:
    """``a`` rounded towards zero.

    >>> import flambeau as torch
    >>> torch.sym_int(3.7)
    3
    """
    return int(a)


def sym_float(a: Any) -> float:
    """``a`` as a float."""
    return float(a)


def sym_max(a: Any, b: Any) -> Any:
    """The larger number, a float when either is one."""
    return _like_both(max(a, b), a, b)


def sym_min(a: Any, b: Any) -> Any:
    """The smaller number, a float when either is one."""
    return _like_both(min(a, b), a, b)


def sym_not(a: Any) -> bool:
    """Logical negation."""
    return not a


def sym_ite(b: bool, t: Any, f: Any) -> Any:
    """``t`` if ``b``, else ``f``."""
    return t if b else f


def sym_sum(args: Iterable) -> Any:
    """The sum of the numbers."""
    return sum(args)


def _like_both(value: Any, a: Any, b: Any) -> Any:
    return float(value) if isinstance(a, float) or isinstance(b, float) else value
