"""DLPack: exchanging tensors with other libraries without copies."""

from .._dlpack import DLDeviceType as DLDeviceType
from .._dlpack import from_dlpack as from_dlpack
from .._dlpack import to_dlpack as to_dlpack

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]
