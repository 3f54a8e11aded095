"""Metal (Apple's GPUs), which is not here: `is_available()` is False. What needs a device raises RuntimeError."""

from __future__ import annotations

from .._absent_device import refusing, refusing_class

_NEEDS_DEVICE = (
    "synchronize empty_cache get_rng_state set_rng_state seed current_allocated_memory driver_allocated_memory "
    "recommended_max_memory set_per_process_memory_fraction compile_shader"
)
globals().update(refusing(__name__, _NEEDS_DEVICE, RuntimeError, "Metal device"))
Event = refusing_class(__name__, "Event", RuntimeError, "Metal device")


def is_available() -> bool:
    """Whether there is a Metal device: False."""
    return False


def device_count() -> int:
    """The number of Metal devices: 0."""
    return 0


def manual_seed(seed: int) -> None:
    """Seeds the device; without one nothing happens."""
    int(seed)
