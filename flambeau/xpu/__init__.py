"""Intel's GPUs, which are not here: `is_available()` is False. What needs a device raises AssertionError."""

from __future__ import annotations

from typing import Any

from .._absent_device import refusing, refusing_class

_NEEDS_DEVICE = (
    "init current_device current_stream get_device_capability get_device_name get_device_properties get_rng_state "
    "set_device set_stream initial_seed synchronize mem_get_info"
)
globals().update(refusing(__name__, _NEEDS_DEVICE, AssertionError, "XPU device"))
Stream = refusing_class(__name__, "Stream", RuntimeError, "XPU device")
Event = refusing_class(__name__, "Event", RuntimeError, "XPU device")
default_generators: tuple[Any, ...] = ()


def is_available() -> bool:
    """Whether there is an XPU device: False."""
    return False


def device_count() -> int:
    """The number of XPU devices: 0."""
    return 0


def is_initialized() -> bool:
    """Whether the device has started: False."""
    return False


def is_tf32_supported() -> bool:
    """Whether the device computes in TF32: False, there is none."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the device computes in bfloat16: False, there is none."""
    return False


def manual_seed(seed: int) -> None:
    """Seeds the current device; without one nothing happens."""
    int(seed)


def manual_seed_all(seed: int) -> None:
    """Seeds all devices; without any nothing happens."""
    int(seed)


def seed() -> None:
    """Seeds the current device at random; without one nothing happens."""


def seed_all() -> None:
    """Seeds all devices at random; without any nothing happens."""


def get_rng_state_all() -> list[Any]:
    """The generator states of all devices: an empty list."""
    return []


def empty_cache() -> None:
    """Gives back memory that is not in use: there is none."""


def memory_stats(device: Any = None) -> dict[str, Any]:
    """Figures of the allocator: none."""
    from collections import OrderedDict

    return OrderedDict()


def reset_peak_memory_stats(device: Any = None) -> None:
    """Starts the highest figures anew: there are none."""


def memory_allocated(device: Any = None) -> int:
    """Bytes in use by tensors: 0."""
    return 0


memory_reserved = max_memory_allocated = max_memory_reserved = memory_allocated
