"""Meta's accelerators, which are not here: `is_available()` is False. What needs a device raises RuntimeError."""

from __future__ import annotations

from .._absent_device import refusing

globals().update(refusing(__name__, "current_device current_stream default_stream synchronize", RuntimeError, "device"))


def is_available() -> bool:
    """Whether there is such a device: False."""
    return False


def is_initialized() -> bool:
    """Whether the device has started: False."""
    return False


def device_count() -> int:
    """The number of such devices: 0."""
    return 0


def manual_seed(seed: int) -> None:
    """Seeds the device; without one nothing happens."""
    int(seed)


def manual_seed_all(seed: int) -> None:
    """Seeds all devices; without any nothing happens."""
    int(seed)
