"""oneDNN, which computes convolutions and large products. It was called MKL-DNN once."""

import functools
import os
import sys

from ._switches import settings

VERBOSE_OFF = 0
VERBOSE_ON = 1
VERBOSE_ON_CREATION = 2

enabled = True
deterministic = False
allow_tf32 = True
fp32_precision = "none"


@functools.cache
def is_available() -> bool:
    """Whether oneDNN is here: bundled with the package or installed on the system."""
    from ctypes.util import find_library

    bundled = os.path.join(os.path.dirname(os.path.dirname(__file__)), "lib")
    names = os.listdir(bundled) if os.path.isdir(bundled) else []
    return any(name.startswith("libdnnl") for name in names) or find_library("dnnl") is not None


def is_acl_available() -> bool:
    """Whether oneDNN computes through the Arm Compute Library: False."""
    return False


class verbose:
    """Context manager in which oneDNN would report its calls; set ONEDNN_VERBOSE in the environment instead."""

    def __init__(self, level):
        self.level = level

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


def set_flags(_enabled=None, _deterministic=None, _allow_tf32=None, _fp32_precision=None):
    """Sets the switches; returns the old ones."""
    before = (enabled, deterministic, allow_tf32, fp32_precision)
    given = {
        "enabled": _enabled,
        "deterministic": _deterministic,
        "allow_tf32": _allow_tf32,
        "fp32_precision": _fp32_precision,
    }
    settings(sys.modules[__name__], **{name: value for name, value in given.items() if value is not None})
    return before


def flags(enabled=False, deterministic=False, allow_tf32=True, fp32_precision="none"):
    """Context manager that sets the switches."""
    return settings(
        sys.modules[__name__],
        enabled=enabled,
        deterministic=deterministic,
        allow_tf32=allow_tf32,
        fp32_precision=fp32_precision,
    )
