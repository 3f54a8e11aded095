"""Copying batches to page-locked memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .... import Tensor


def pin_memory_or_none(device: str = "") -> Callable[[Any], Any] | None:
    """`pin_memory` where there is an accelerator to copy to, otherwise None, with a warning."""
    from .... import cuda

    if cuda.is_available():
        return pin_memory
    import warnings

    warnings.warn("DataLoader: pin_memory=True has no effect: there is no accelerator", stacklevel=4)
    return None


def pin_memory(data: Any, device: Any = None) -> Any:
    """``data`` with every tensor in it pinned; objects with a ``pin_memory`` method pin themselves."""
    if isinstance(data, Tensor):
        return data.pin_memory()
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, Mapping):
        return type(data)({key: pin_memory(value) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(pin_memory(value) for value in data))
    if isinstance(data, tuple):
        return tuple(pin_memory(value) for value in data)
    if isinstance(data, Sequence):
        return [pin_memory(value) for value in data]
    return data
