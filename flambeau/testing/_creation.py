"""`make_tensor`: random tensors of any dtype."""

from __future__ import annotations

import math
import sys
from typing import Any


def _root() -> Any:
    return sys.modules[__package__.rpartition(".")[0]]


def _limits(dtype: Any) -> tuple[float, float]:
    """The lowest and highest bound that values of a dtype may be drawn between."""
    root = _root()
    if dtype == root.bool:
        return 0, 2
    if dtype.is_floating_point or dtype.is_complex:
        info = root.finfo(dtype)
        return info.min, info.max
    info = root.iinfo(dtype)
    return info.min, info.max if info.bits == 64 else info.max + 1


def _bounds(low: float | None, high: float | None, dtype: Any) -> tuple[Any, Any]:
    """The bounds to draw between: those given or the defaults for the dtype, brought into its range."""
    root = _root()
    floating = dtype.is_floating_point or dtype.is_complex
    default_low, default_high = (0, 2) if dtype == root.bool else (-9, 9) if floating else (-9, 10)
    low = default_low if low is None else low
    high = default_high if high is None else high
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"make_tensor: low and high must be numbers, got low={low} and high={high}")
    if low > high or (low == high and not floating):
        raise ValueError(f"make_tensor: low must be below high, got low={low} and high={high}")
    lowest, highest = _limits(dtype)
    if low >= highest or high < lowest:
        raise ValueError(f"make_tensor: no {dtype} lies between low={low} and high={high}")
    low, high = max(low, lowest), min(high, highest)
    return (low, high) if floating else (math.ceil(low), math.ceil(high))


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Any:
    """Makes a tensor of uniformly distributed random values from [low, high).

    Bounds default to -9 and 9 (integers: up to 9 inclusive, unsigned ones from 0; bool: either value) and are brought
    into the range of the dtype. `noncontiguous` leaves gaps between the elements, `exclude_zero` replaces zeros by the
    smallest positive value. Raises ValueError for bounds in the wrong order and for arguments that exclude each other.

    >>> torch.testing.make_tensor(2, 3, dtype=torch.float32, device="cpu").shape
    torch.Size([2, 3])
    """
    root = _root()
    if len(shape) == 1 and not isinstance(shape[0], int):
        shape = tuple(shape[0])
    floating = dtype.is_floating_point or dtype.is_complex
    if noncontiguous and memory_format is not None:
        raise ValueError("make_tensor: noncontiguous and memory_format exclude each other")
    if requires_grad and not floating:
        raise ValueError(f"make_tensor: a tensor of {dtype} cannot require a gradient")
    low, high = _bounds(low, high, dtype)
    drawn = (*shape[:-1], shape[-1] * 2) if noncontiguous and shape and math.prod(shape) > 1 else shape
    if not floating:
        result = root.randint(low, high, drawn, dtype=dtype, device=device)
    else:
        result = root.empty(drawn, dtype=dtype, device=device)
        (root.view_as_real(result) if dtype.is_complex else result).uniform_(low, high)
    if drawn is not shape:
        result = result[..., 1::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = root.finfo(dtype).tiny if floating else 1
    return result.requires_grad_() if requires_grad else result
