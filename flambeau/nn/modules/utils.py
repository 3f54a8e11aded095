"""Small conversions that the layers share."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from typing import Any

__all__ = ["consume_prefix_in_state_dict_if_present"]


def _ntuple(n: int, name: str = "parse"):
    """A function that makes a tuple of its argument: an iterable as it is, anything else repeated `n` times."""

    def parse(x):
        return tuple(x) if isinstance(x, Iterable) else tuple(repeat(x, n))

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t, n: int) -> tuple:
    """(a, b) -> (b, b, a, a) for n = 2: padding per dimension as `functional.pad` wants it."""
    return tuple(x for x in reversed(t) for _ in range(n))


def _list_with_default(out_size: list[int | None], defaults: list[int]) -> list[int]:
    """`out_size` with each None replaced by the entry of `defaults` that ends at the same place."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    return [size if size is not None else d for size, d in zip(out_size, defaults[-len(out_size) :], strict=True)]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Strip `prefix` from the keys of `state_dict` that begin with it, in place, and from its metadata.

    >>> d = {"module.w": 1}; consume_prefix_in_state_dict_if_present(d, "module."); d
    {'w': 1}
    """
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is not None:
        for key in list(metadata):
            # The prefix without its dot names the wrapper itself; "" would then be the wrapped module.
            if key == prefix.replace(".", ""):
                metadata[""] = metadata.pop(key)
            elif key.startswith(prefix):
                metadata[key[len(prefix) :]] = metadata.pop(key)
