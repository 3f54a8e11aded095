"""Exchanging tensors with other libraries through DLPack, without copies."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from . import _C


class DLDeviceType(IntEnum):
    """Kinds of devices as DLPack numbers them."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14


def device(tensor: Any) -> tuple[DLDeviceType, int]:
    """`Tensor.__dlpack_device__`. Raises ValueError for devices without memory."""
    if tensor.device.type != "cpu":
        raise ValueError(f"__dlpack_device__: DLPack knows no device of type {tensor.device.type}")
    return DLDeviceType.kDLCPU, 0


def export(tensor: Any, stream: Any, max_version: Any, dl_device: Any, copy: bool | None) -> Any:
    """`Tensor.__dlpack__`: a capsule over the memory of the tensor, or over a copy.

    Raises BufferError for what can't be shared: tensors that require grad, meta tensors.
    """
    if stream is not None and not isinstance(stream, int):
        raise TypeError(f"__dlpack__: stream must be an int or None, not {type(stream).__name__}")
    if stream not in (None, -1):
        raise AssertionError("__dlpack__: stream should be None for tensors on the CPU")
    if dl_device is not None and tuple(dl_device) != (1, 0):
        raise NotImplementedError(
            f"__dlpack__: can't move the tensor to device {tuple(dl_device)}, only to (1, 0), the CPU"
        )
    if copy and not tensor.requires_grad and not tensor.is_meta:
        tensor = tensor.clone()
    versioned = max_version is not None and max_version[0] >= 1
    return _C._to_dlpack(tensor, versioned, bool(copy))


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Any:
    """A tensor over the memory of an object with ``__dlpack__``, or of a DLPack capsule.

    Raises BufferError when the memory can't be shared and RuntimeError for what is no capsule or was used before.

    >>> import flambeau as torch
    >>> torch.from_dlpack(torch.arange(3))
    tensor([0, 1, 2])
    """
    if hasattr(ext_tensor, "__dlpack__"):
        ext_tensor.__dlpack_device__()
        options = {} if copy is None else {"copy": copy}
        try:
            capsule = ext_tensor.__dlpack__(max_version=(1, 0), **options)
        except TypeError:  # exporters from before version 1 know no such argument
            capsule = ext_tensor.__dlpack__()
    else:
        capsule = ext_tensor
    tensor = _C._from_dlpack(capsule)
    if device is not None and _C.device(device).type != "cpu":
        raise BufferError(f"from_dlpack: can't share CPU memory with device {device}")
    return tensor


def to_dlpack(tensor: Any) -> Any:
    """A DLPack capsule over the memory of ``tensor``; see `Tensor.__dlpack__`."""
    return _C._to_dlpack(tensor, False, False)
