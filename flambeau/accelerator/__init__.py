"""The accelerator of this machine, whatever its kind: none. What needs one raises RuntimeError."""

from __future__ import annotations

from typing import Any

from .._absent_device import refusing

_NEEDS_DEVICE = (
    "current_device_idx current_device_index current_stream set_stream set_device_idx set_device_index synchronize "
    "empty_cache empty_host_cache get_device_capability get_memory_info memory_allocated memory_reserved memory_stats "
    "max_memory_allocated max_memory_reserved reset_accumulated_memory_stats reset_peak_memory_stats"
)
globals().update(refusing(__name__, _NEEDS_DEVICE, RuntimeError, "accelerator"))


def is_available() -> bool:
    """Whether there is an accelerator: False."""
    return False


def device_count() -> int:
    """The number of accelerators: 0."""
    return 0


def current_accelerator(check_available: bool = False) -> Any:
    """The kind of accelerator: None."""
    return None


class device_index:
    """Context manager that makes an accelerator the current one; None does nothing."""

    def __init__(self, device: int | None, /):
        self.idx = device

    def __enter__(self) -> None:
        if self.idx is not None:
            raise RuntimeError("torch.accelerator.device_index: there is no accelerator here")

    def __exit__(self, *error: Any) -> None:
        pass
