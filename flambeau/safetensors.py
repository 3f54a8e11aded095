"""Reading and writing safetensors files: named tensors and nothing else.

A file is the length of its header (8 bytes, little-endian), the header (JSON: for each name dtype, shape and the place
of its bytes) and the bytes. The functions have the names and arguments of the `safetensors.torch` package.
"""

from __future__ import annotations

import io
import os
import sys
from typing import IO, Any, NamedTuple

from ._serialization.files import replacing
from .storage import bytes_of, swap_bytes

__all__ = ["load", "load_file", "read_metadata", "save", "save_file"]

_DTYPE_NAMES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U64": "uint64",
    "U32": "uint32",
    "U16": "uint16",
    "U8": "uint8",
    "BOOL": "bool",
    "C64": "complex64",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
}
_CODES = {name: code for code, name in _DTYPE_NAMES.items()}
_LONGEST_HEADER = 100_000_000
_METADATA = "__metadata__"


class _Entry(NamedTuple):
    name: str
    dtype: Any
    shape: tuple[int, ...]
    begin: int
    end: int


def _root() -> Any:
    return sys.modules[__package__]


def save(tensors: dict[str, Any], metadata: dict[str, str] | None = None) -> bytes:
    """Returns named tensors as the bytes of a safetensors file.

    Raises TypeError for what is not a dict of tensors, ValueError for a tensor that the format cannot hold.

    >>> load(save({"weight": torch.ones(2)}))["weight"]
    tensor([1., 1.])
    """
    buffer = io.BytesIO()
    _write(tensors, metadata, buffer)
    return buffer.getvalue()


def save_file(tensors: dict[str, Any], filename: str | os.PathLike, metadata: dict[str, str] | None = None) -> None:
    """Writes named tensors to a file, which is replaced only when all is on disk.

    Each tensor is written for itself: tensors that share memory do not share it when loaded.

    >>> save_file({"weight": torch.ones(2)}, "model.safetensors")
    """
    with replacing(filename) as file:
        _write(tensors, metadata, file)


def _write(tensors: dict[str, Any], metadata: dict[str, str] | None, file: IO[bytes]) -> None:
    import json

    if not isinstance(tensors, dict):
        raise TypeError(f"safetensors: expected a dict of tensors, got a {type(tensors).__name__}")
    header: dict[str, Any] = {}
    if metadata is not None:
        if any(not isinstance(text, str) for pair in metadata.items() for text in pair):
            raise TypeError("safetensors: metadata maps strings to strings")
        header[_METADATA] = metadata
    flat, offset = [], 0
    # The widest elements first, so that all of them are aligned.
    for name, tensor in sorted(tensors.items(), key=lambda item: (-_checked(*item).dtype.itemsize, item[0])):
        data = tensor.detach().resolve_conj().contiguous()
        code = _CODES[str(data.dtype).rpartition(".")[2]]
        size = data.numel() * data.dtype.itemsize
        header[name] = {"dtype": code, "shape": list(data.shape), "data_offsets": [offset, offset + size]}
        flat.append(data)
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little"))
    file.write(text)
    for data in flat:
        begin = data.storage_offset() * data.dtype.itemsize
        part = bytes_of(data.untyped_storage())[begin : begin + data.numel() * data.dtype.itemsize]
        if sys.byteorder == "big":
            part = memoryview(bytearray(part))
            swap_bytes(part, data.dtype)
        file.write(part)


def _checked(name: Any, tensor: Any) -> Any:
    if not isinstance(name, str) or not isinstance(tensor, _root().Tensor):
        raise TypeError(f"safetensors: expected a dict of tensors, got {name!r}: {type(tensor).__name__}")
    if name == _METADATA:
        raise ValueError(f"safetensors: a tensor cannot be named {_METADATA!r}")
    if str(tensor.dtype).rpartition(".")[2] not in _CODES:
        raise ValueError(f"safetensors: tensor {name!r} is {tensor.dtype}, which the format does not have")
    if tensor.device.type == "meta":
        raise ValueError(f"safetensors: tensor {name!r} is on the meta device and has no values")
    return tensor


def load(data: bytes) -> dict[str, Any]:
    """Returns the tensors in the bytes of a safetensors file. Raises ValueError when they are not one.

    >>> load(save({"n": torch.arange(2)}))
    {'n': tensor([0, 1])}
    """
    return _read(io.BytesIO(data), "cpu")


def load_file(filename: str | os.PathLike, device: Any = "cpu") -> dict[str, Any]:
    """Reads the tensors of a file. Raises FileNotFoundError; ValueError when it is not a safetensors file.

    >>> load_file("model.safetensors")["weight"]
    tensor([1., 1.])
    """
    with open(filename, "rb") as file:
        return _read(file, device)


def read_metadata(filename: str | os.PathLike) -> dict[str, str]:
    """The text that was saved with a file's tensors.

    >>> save_file({}, "model.safetensors", {"format": "pt"})
    >>> read_metadata("model.safetensors")
    {'format': 'pt'}
    """
    with open(filename, "rb") as file:
        header, _ = _read_header(file)
    return header.get(_METADATA, {})


def _bad(what: str) -> ValueError:
    return ValueError(f"safetensors: not a valid file: {what}")


def _read_header(file: IO[bytes]) -> tuple[dict[str, Any], int]:
    """The header and the number of bytes behind it, where the file then stands."""
    import json

    total = file.seek(0, io.SEEK_END)
    file.seek(0)
    length = int.from_bytes(file.read(8), "little")
    if total < 8 or length > min(_LONGEST_HEADER, total - 8):
        raise _bad(f"a header of {length} bytes in a file of {total}")
    try:
        header = json.loads(file.read(length))
    except (ValueError, RecursionError) as error:
        raise _bad(f"its header is not JSON ({error})") from None
    if not isinstance(header, dict):
        raise _bad("its header is not an object")
    return header, total - 8 - length


def _entries(header: dict[str, Any], available: int) -> list[_Entry]:
    """The tensors by place in the file. They must fill it without gaps or overlaps."""
    entries = [_entry(name, value) for name, value in header.items() if name != _METADATA]
    entries.sort(key=lambda entry: (entry.begin, entry.end))
    at = 0
    for entry in entries:
        if entry.begin != at:
            raise _bad(f"tensor {entry.name!r} begins at {entry.begin}, expected {at}")
        at = entry.end
    if at != available:
        raise _bad(f"its tensors take {at} bytes, it has {available}")
    return entries


def _entry(name: str, value: Any) -> _Entry:
    try:
        dtype = getattr(_root(), _DTYPE_NAMES[value["dtype"]])
        shape, (begin, end) = tuple(value["shape"]), value["data_offsets"]
        numbers = (*shape, begin, end)
    except (KeyError, TypeError, ValueError):
        raise _bad(f"the entry of tensor {name!r} is {value!r}") from None
    if any(type(number) is not int or number < 0 for number in numbers):
        raise _bad(f"the entry of tensor {name!r} is {value!r}")
    size = dtype.itemsize
    for length in shape:
        size *= length
    if end - begin != size:
        raise _bad(f"tensor {name!r} of shape {list(shape)} needs {size} bytes and has {end - begin}")
    return _Entry(name, dtype, shape, begin, end)


def _read(file: IO[bytes], device: Any) -> dict[str, Any]:
    header, available = _read_header(file)
    root, tensors = _root(), {}
    for entry in _entries(header, available):
        tensor = root.empty(entry.shape, dtype=entry.dtype)
        target = bytes_of(tensor.untyped_storage())[: entry.end - entry.begin]
        if file.readinto(target) != len(target):  # type: ignore[attr-defined]
            raise _bad("it is cut off")
        if sys.byteorder == "big":
            swap_bytes(target, entry.dtype)
        tensors[entry.name] = tensor if str(device) == "cpu" else tensor.to(device)
    return {name: tensors[name] for name in header if name != _METADATA}
