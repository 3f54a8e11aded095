"""cuDNN, which is not here. Its switches can be set and have no effect."""

import sys

from ._switches import settings

enabled = True
benchmark = False
benchmark_limit = 10
deterministic = False
allow_tf32 = True
fp32_precision = "none"


def is_available() -> bool:
    """Whether cuDNN is here: False."""
    return False


def version() -> int | None:
    """The version of cuDNN: None."""
    return None


def is_acceptable(tensor) -> bool:
    """Whether cuDNN takes a tensor: False."""
    return False


def _given(values):
    return {name: value for name, value in values.items() if value is not None}


def set_flags(
    _enabled=None,
    _benchmark=None,
    _benchmark_limit=None,
    _deterministic=None,
    _allow_tf32=None,
    _fp32_precision=None,
):
    """Sets the switches; returns the old ones."""
    before = (enabled, benchmark, benchmark_limit, deterministic, allow_tf32, fp32_precision)
    given = {
        "enabled": _enabled,
        "benchmark": _benchmark,
        "benchmark_limit": _benchmark_limit,
        "deterministic": _deterministic,
        "allow_tf32": _allow_tf32,
        "fp32_precision": _fp32_precision,
    }
    settings(sys.modules[__name__], **_given(given))
    return before


def flags(
    enabled=False, benchmark=False, benchmark_limit=10, deterministic=False, allow_tf32=True, fp32_precision="none"
):
    """Context manager that sets the switches."""
    return settings(
        sys.modules[__name__],
        enabled=enabled,
        benchmark=benchmark,
        benchmark_limit=benchmark_limit,
        deterministic=deterministic,
        allow_tf32=allow_tf32,
        fp32_precision=fp32_precision,
    )
