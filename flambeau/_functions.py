"""Functions of the package that are no ops."""

from __future__ import annotations

from . import _C
from ._C import (
    OutOfMemoryError,
    can_cast,
    get_default_device,
    get_default_dtype,
    get_num_threads,
    promote_types,
    set_num_threads,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "OutOfMemoryError",
    "are_deterministic_algorithms_enabled",
    "can_cast",
    "from_numpy",
    "frombuffer",
    "get_default_device",
    "get_default_dtype",
    "get_deterministic_debug_mode",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "get_num_threads",
    "is_anomaly_enabled",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "is_storage",
    "is_tensor",
    "is_warn_always_enabled",
    "promote_types",
    "set_anomaly_enabled",
    "set_default_device",
    "set_default_dtype",
    "set_deterministic_debug_mode",
    "set_default_tensor_type",
    "set_float32_matmul_precision",
    "set_flush_denormal",
    "set_num_interop_threads",
    "set_num_threads",
    "set_warn_always",
    "typename",
    "use_deterministic_algorithms",
]

_settings: dict[str, Any] = {
    "matmul": "highest",
    "interop": 1,
    "warn": False,
    "deterministic": False,
    "deterministic_warn_only": False,
}


def is_tensor(obj: Any) -> bool:
    """Whether ``obj`` is a tensor.

    >>> import flambeau as torch
    >>> torch.is_tensor(torch.tensor([1, 2]))
    True
    """
    return isinstance(obj, _C.Tensor)


def is_storage(obj: Any) -> bool:
    """Whether ``obj`` is a storage, typed or not."""
    from .storage import TypedStorage

    return isinstance(obj, (_C.StorageBase, TypedStorage))


def from_numpy(ndarray: Any) -> Any:
    """A tensor over the memory of a NumPy array: writes to either show in both.

    Raises TypeError for anything but arrays of a numeric type and ValueError for negative strides.
    """
    return _C._from_array(ndarray)


def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Any:
    """A one-dimensional tensor over the memory of an object with the buffer protocol, ``offset`` bytes in."""
    tensor = _C._from_buffer(buffer, dtype, count, offset)
    return tensor.requires_grad_() if requires_grad else tensor


def set_default_dtype(d: Any) -> None:
    """Set the floating type that Python floats become; raises TypeError for other types."""
    _C._set_default_dtype(d)


def set_default_tensor_type(t: Any) -> None:
    """Set the default type by a tensor type such as ``torch.DoubleTensor`` or its name (old API)."""
    name = t if isinstance(t, str) else t.__name__
    kinds = {
        "FloatTensor": _C.float32,
        "DoubleTensor": _C.float64,
        "HalfTensor": _C.float16,
        "BFloat16Tensor": _C.bfloat16,
    }
    kind = kinds.get(name.rpartition(".")[2])
    if kind is None:
        raise TypeError(
            f"set_default_tensor_type: only floating-point types are supported as the default type, got {name}"
        )
    _C._set_default_dtype(kind)


def typename(obj: Any) -> str:
    """The full name of an object's type; of a tensor, its tensor type."""
    if isinstance(obj, _C.Tensor):
        return obj.type()
    module = getattr(obj, "__module__", "") or ""
    name = getattr(obj, "__qualname__", None) or type(obj).__qualname__
    if not module or module == "builtins":
        return name
    return f"{module}.{name}"


def is_grad_enabled() -> bool:
    """Whether ops are being recorded for backward in this thread."""
    return _C._is_grad_enabled()


def is_inference_mode_enabled() -> bool:
    """Whether inference mode is on in this thread."""
    return _C._is_inference_mode()


def is_anomaly_enabled() -> bool:
    """Whether anomaly detection is on."""
    return _C._is_anomaly_enabled()


def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    """Turn anomaly detection on or off."""
    _C._set_anomaly_enabled(mode, check_nan)


def set_default_device(device: Any) -> None:
    """Set where factory functions of this thread put new tensors; None stands for the CPU.

    >>> import flambeau as torch
    >>> with torch.device("meta"):
    ...     torch.ones(2).device
    device(type='meta')
    """
    _C._set_default_device(device)


def get_float32_matmul_precision() -> str:
    """How exact float32 matrix products are: ``"highest"``, ``"high"`` or ``"medium"``."""
    return _settings["matmul"]


def set_float32_matmul_precision(precision: str) -> None:
    """Allow float32 matrix products to be less exact; on the CPU every setting computes in float32."""
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(f"set_float32_matmul_precision: expected highest, high or medium, got {precision!r}")
    _settings["matmul"] = precision


def set_num_interop_threads(n: int) -> None:
    """Accepted for compatibility: independent ops don't run at the same time."""
    _settings["interop"] = n


def get_num_interop_threads() -> int:
    """What `set_num_interop_threads` was given."""
    return _settings["interop"]


def set_warn_always(b: bool) -> None:
    """Whether warnings that are given once repeat."""
    _settings["warn"] = bool(b)


def is_warn_always_enabled() -> bool:
    """Whether warnings that are given once repeat."""
    return _settings["warn"]


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """`use_deterministic_algorithms` by name or number: default (0), warn (1) or error (2)."""
    names = ("default", "warn", "error")
    if debug_mode not in names and debug_mode not in (0, 1, 2):
        raise RuntimeError(f"set_deterministic_debug_mode: expected default, warn, error or 0 to 2, got {debug_mode!r}")
    level = names.index(debug_mode) if isinstance(debug_mode, str) else debug_mode
    use_deterministic_algorithms(level > 0, warn_only=level == 1)


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2: see `set_deterministic_debug_mode`."""
    return int(_settings["deterministic"]) * (1 if _settings["deterministic_warn_only"] else 2)


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether `use_deterministic_algorithms` was asked for warnings only."""
    return _settings["deterministic_warn_only"]


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Accepted for compatibility: every op gives the same bits from run to run."""
    _settings["deterministic"], _settings["deterministic_warn_only"] = bool(mode), bool(warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """What `use_deterministic_algorithms` was given."""
    return _settings["deterministic"]


def set_flush_denormal(mode: bool) -> bool:
    """Denormal numbers are always kept; returns False, as where a machine can't flush them."""
    return False
