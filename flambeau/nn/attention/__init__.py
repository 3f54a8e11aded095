"""Which implementation scaled dot product attention uses. There is one on the CPU; the choice is kept and checked."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from enum import IntEnum

__all__ = ["SDPBackend", "WARN_FOR_UNFUSED_KERNELS", "sdpa_kernel"]

WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(IntEnum):
    """The implementations by name."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __repr__(self):
        return f"<SDPBackend.{self.name}: {self.value}>"


_default = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH, SDPBackend.CUDNN_ATTENTION]
_enabled = list(_default)


def _cur_sdpa_kernel_backends(with_priority: bool = False) -> list[SDPBackend]:
    return list(_enabled)


@contextlib.contextmanager
def sdpa_kernel(backends: SDPBackend | Iterable[SDPBackend], set_priority: bool = False):
    """Inside the block only these implementations may be used.

    Raises TypeError for something that is no SDPBackend.

    >>> with sdpa_kernel(SDPBackend.MATH): pass
    """
    global _enabled
    chosen = [backends] if isinstance(backends, SDPBackend) else list(backends)
    for backend in chosen:
        if not isinstance(backend, SDPBackend):
            raise TypeError(f"sdpa_kernel: expected an SDPBackend, got {type(backend).__name__}")
    previous = _enabled
    _enabled = list(dict.fromkeys(chosen))
    try:
        yield {}
    finally:
        _enabled = previous
