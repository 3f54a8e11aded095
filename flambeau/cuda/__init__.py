"""CUDA, which is not here: `is_available()` is False, `device_count()` is 0.

Seeding and memory figures work as they do for no devices. What needs a device raises AssertionError.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Any

from .._absent_device import refusing, refusing_class

_NEEDS_DEVICE = (
    "init current_device current_stream default_stream current_blas_handle cudart get_device_capability "
    "get_device_name get_device_properties get_rng_state set_device set_stream initial_seed synchronize ipc_collect "
    "mem_get_info get_sync_debug_mode set_sync_debug_mode can_device_access_peer get_stream_from_external "
    "set_per_process_memory_fraction get_per_process_memory_fraction utilization temperature power_draw clock_rate "
    "memory_usage caching_allocator_alloc caching_allocator_delete make_graphed_callables"
)
globals().update(refusing(__name__, _NEEDS_DEVICE, AssertionError, "CUDA device"))
globals().update(refusing(__name__, "graph_pool_handle is_current_stream_capturing", RuntimeError, "CUDA device"))

Stream = refusing_class(__name__, "Stream", RuntimeError, "CUDA device")
ExternalStream = refusing_class(__name__, "ExternalStream", RuntimeError, "CUDA device")
Event = refusing_class(__name__, "Event", RuntimeError, "CUDA device")
CUDAGraph = refusing_class(__name__, "CUDAGraph", RuntimeError, "CUDA device")
MemPool = refusing_class(__name__, "MemPool", RuntimeError, "CUDA device")
graph = refusing_class(__name__, "graph", RuntimeError, "CUDA device")
for _name in ["Double", "Float", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool"]:
    globals()[f"{_name}Tensor"] = refusing_class(__name__, f"{_name}Tensor", TypeError, "CUDA device")
    globals()[f"{_name}Storage"] = refusing_class(__name__, f"{_name}Storage", AssertionError, "CUDA device")

default_generators: tuple[Any, ...] = ()
has_half = True
has_magma = False


class CudaError(RuntimeError):
    """An error that CUDA reports."""


class DeferredCudaCallError(Exception):
    """An error of a call that waited for CUDA to start."""


def _lazy_init() -> None:
    raise AssertionError("torch.cuda: there is no CUDA device here; flambeau computes on the CPU")


def _lazy_call(function: Any, **options: Any) -> None:
    """Calls a function once CUDA has started: never."""


def is_available() -> bool:
    """Whether there is a CUDA device: False."""
    return False


def device_count() -> int:
    """The number of CUDA devices: 0."""
    return 0


def is_initialized() -> bool:
    """Whether CUDA has started: False."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the device computes in bfloat16: False, there is none."""
    return False


def is_tf32_supported() -> bool:
    """Whether the device computes in TF32: False, there is none."""
    return False


def get_arch_list() -> list[str]:
    """The architectures that kernels were built for: none."""
    return []


def get_gencode_flags() -> str:
    """The compiler flags for these architectures: none."""
    return ""


# ---- random numbers


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


def set_rng_state_all(new_states: Any) -> None:
    """Sets the generator states of all devices. Raises AssertionError when any are given."""
    if len(list(new_states)):
        _lazy_init()


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Sets the generator state of a device when CUDA starts, which it does not."""


# ---- memory


def empty_cache() -> None:
    """Gives back memory that is not in use: there is none."""


def memory_stats(device: Any = None) -> dict[str, Any]:
    """Figures of the allocator: none."""
    from collections import OrderedDict

    return OrderedDict()


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """The figures of the allocator as text."""
    return "no CUDA device, no CUDA memory in use"


def memory_allocated(device: Any = None) -> int:
    """Bytes in use by tensors: 0."""
    return 0


def memory_reserved(device: Any = None) -> int:
    """Bytes held by the allocator: 0."""
    return 0


max_memory_allocated = memory_cached = max_memory_cached = memory_allocated
max_memory_reserved = memory_reserved


def reset_peak_memory_stats(device: Any = None) -> None:
    """Starts the highest figures anew: there are none."""


reset_max_memory_allocated = reset_max_memory_cached = reset_accumulated_memory_stats = reset_peak_memory_stats


# ---- choosing devices


class StreamContext:
    """Context manager of a stream; None stands for no stream and does nothing."""

    def __init__(self, stream: Any):
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            _lazy_init()

    def __exit__(self, *error: Any) -> None:
        pass


def stream(stream: Any) -> StreamContext:
    """The context manager of a stream."""
    return StreamContext(stream)


class device:
    """Context manager that makes a device the current one; None and negative indices do nothing.

    Raises ValueError for a device of another kind, RuntimeError for a CUDA device.
    """

    def __init__(self, device: Any):
        root = sys.modules[__package__.rpartition(".")[0]]
        if isinstance(device, str):
            device = root.device(device)
        if isinstance(device, root.device):
            if device.type != "cuda":
                raise ValueError(f"torch.cuda.device: expected a CUDA device, got {device}")
            device = device.index or 0
        self.idx = -1 if device is None else device

    def __enter__(self) -> None:
        if self.idx >= 0:
            raise RuntimeError("torch.cuda.device: there is no CUDA device here; flambeau computes on the CPU")

    def __exit__(self, *error: Any) -> None:
        pass


class device_of(device):
    """Context manager that makes the device of a tensor the current one; does nothing for tensors on the CPU."""

    def __init__(self, obj: Any):
        super().__init__(obj.get_device() if getattr(obj, "is_cuda", False) else None)


@contextlib.contextmanager
def caching_allocator_disabled():
    """Context manager without the caching allocator of CUDA memory: does nothing."""
    yield


def __getattr__(name: str) -> Any:
    if name in ("amp", "memory", "random", "streams", "graphs", "nvtx"):
        from importlib import import_module

        try:
            return import_module(f"{__name__}.{name}")
        except ModuleNotFoundError:
            pass
    if name == "OutOfMemoryError":
        return getattr(sys.modules[__package__.rpartition(".")[0]], name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
