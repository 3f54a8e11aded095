"""The order of contractions in `einsum`: from left to right. `opt_einsum` is not asked for another."""

import sys

from ._switches import settings

enabled = False
strategy = None


def is_available() -> bool:
    """Whether contractions are ordered by the `opt_einsum` package: False."""
    return False


def get_opt_einsum() -> object | None:
    """The package in use: None."""
    return None


def set_flags(_enabled=None, _strategy=None):
    """Sets the switches; returns the old ones."""
    before = (enabled, strategy)
    settings(sys.modules[__name__], **_given(_enabled, _strategy))
    return before


def flags(enabled=None, strategy=None):
    """Context manager that sets the switches."""
    return settings(sys.modules[__name__], **_given(enabled, strategy))


def _given(enabled, strategy):
    return {name: value for name, value in (("enabled", enabled), ("strategy", strategy)) if value is not None}
