"""Names for type annotations."""

from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from typing import IO, Any, TypeAlias, Union

from . import Size, Tensor, device, dtype, layout
from .storage import TypedStorage, UntypedStorage

__all__ = ["Device", "FileLike", "Number", "Storage"]

_TensorOrTensors: TypeAlias = Union[Tensor, Sequence[Tensor]]  # noqa: UP007 - C types need not support |
_TensorOrOptionalTensors: TypeAlias = Union[Tensor, Sequence[Tensor | None]]  # noqa: UP007
_dtype = dtype
_device = device
_layout = layout
_size: TypeAlias = Union[Size, list[int], tuple[int, ...]]  # noqa: UP007
_int = builtins.int
_float = builtins.float
_bool = builtins.bool
_complex = builtins.complex
_str = builtins.str
_bytes = builtins.bytes

Number: TypeAlias = int | float | bool
_Number = (int, float, bool)
Device: TypeAlias = Union[device, str, int, None]  # noqa: UP007
FileLike: TypeAlias = Union[str, os.PathLike, IO[bytes]]  # noqa: UP007
Storage: TypeAlias = Union[TypedStorage, UntypedStorage]  # noqa: UP007
IntLikeType: TypeAlias = int
FloatLikeType: TypeAlias = float
BoolLikeType: TypeAlias = bool
py_sym_types: tuple[Any, ...] = ()
