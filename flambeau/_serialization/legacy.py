"""The formats of older files: one stream of pickles followed by raw storages, and before that a tar archive.

The stream is still what pickled storages hold, because it is smaller than an archive for small tensors.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from typing import IO, Any

from .. import _utils, storage
from .pickling import pickle_with_storages, root

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001
_SYSTEM = {"protocol_version": PROTOCOL_VERSION, "little_endian": True, "type_sizes": {"short": 2, "int": 4, "long": 4}}

Unpickle = Callable[[Any, Any], Any]  # unpickle(file, persistent_load)
Restore = Callable[[Any, str], Any]  # restore(storage, location)


def _bad(what: str) -> RuntimeError:
    return RuntimeError(f"load: the file is not a valid checkpoint: {what}")


def write(obj: Any, file: IO[bytes], pickle_module: Any, protocol: int) -> None:
    """Writes the stream format."""
    data, table = pickle_with_storages(obj, pickle_module, protocol, legacy=True)
    for header in (MAGIC_NUMBER, PROTOCOL_VERSION, _SYSTEM):
        pickle_module.dump(header, file, protocol=protocol)
    file.write(data)
    spans = sorted(table.spans.values(), key=lambda span: span.key)
    pickle_module.dump([span.key for span in spans], file, protocol=protocol)
    for span in spans:
        file.write(struct.pack("<q", len(span.saved()) // table.element_size(span)))
        file.write(span.saved())


class _Storages:
    """The storages of a stream, made when first named; their bytes follow later."""

    def __init__(self, restore: Restore, available: int):
        self._restore = restore
        self._available = available
        self.by_key: dict[str, tuple[Any, int, Any]] = {}
        self._views: dict[str, Any] = {}

    def persistent_load(self, identity: tuple) -> Any:
        kind = identity[0] if identity else None
        if kind in ("module", b"module"):
            return identity[1]
        if kind not in ("storage", b"storage") or len(identity) != 6:
            raise _bad(f"unknown reference {kind!r}")
        _, storage_type, key, location, count, view = identity
        key, location = _text(key), _text(location)
        dtype = dtype_of(storage_type)
        if type(count) is not int or count < 0:
            raise _bad(f"storage {key!r} has {count!r} elements")
        if key not in self.by_key:
            size = count * dtype.itemsize
            self._available -= size
            if self._available < 0:
                raise _bad(f"storage {key!r} claims {size} bytes, more than the file has")
            self.by_key[key] = (self._restore(storage.UntypedStorage(size), location), size, dtype)
        untyped = self.by_key[key][0]
        if view is not None:
            view_key, offset, length = view
            untyped = self._view(_text(view_key), untyped, offset * dtype.itemsize, length * dtype.itemsize)
        return storage.TypedStorage(wrap_storage=untyped, dtype=dtype, _internal=True)

    def _view(self, key: str, untyped: Any, begin: int, size: int) -> Any:
        if not 0 <= begin <= begin + size <= untyped.nbytes():
            raise _bad(f"view {key!r} does not lie inside its storage")
        if key not in self._views:
            self._views[key] = untyped[begin : begin + size]
        return self._views[key]

    def fill(self, key: str, file: IO[bytes]) -> None:
        """Reads the bytes of a storage from the place where the file stands."""
        if key not in self.by_key:
            raise _bad(f"storage {key!r} is stored and never named")
        untyped, size, dtype = self.by_key[key]
        (count,) = struct.unpack("<q", _exactly(file, 8))
        if count * dtype.itemsize != size:
            raise _bad(f"storage {key!r} has {count} elements, its name says {size // dtype.itemsize}")
        if untyped.device.type == "cpu" and untyped.nbytes() == size:
            _read_into(file, storage.bytes_of(untyped))
        else:
            file.seek(size, io.SEEK_CUR)  # map_location sent it where there is no memory to fill


def dtype_of(storage_type: Any) -> Any:
    """The element type that a storage class in a file stands for."""
    if storage_type is storage.UntypedStorage:
        return root().uint8
    dtype = getattr(storage_type, "dtype", None)
    if not isinstance(dtype, root().dtype):
        raise _bad(f"{storage_type!r} is not a storage class")
    return dtype


def _text(value: Any) -> str:
    return value.decode("ascii") if isinstance(value, bytes) else str(value)


def _exactly(file: IO[bytes], size: int) -> bytes:
    data = file.read(size)
    if len(data) != size:
        raise _bad("it is cut off")
    return data


def _read_into(file: IO[bytes], target: memoryview) -> None:
    at, step = 0, 1 << 24
    while at < len(target):
        data = file.read(min(step, len(target) - at))
        if not data:
            raise _bad("it is cut off")
        target[at : at + len(data)] = data
        at += len(data)


def _remaining(file: IO[bytes]) -> int:
    here = file.tell()
    end = file.seek(0, io.SEEK_END)
    file.seek(here)
    return end - here


def read(file: IO[bytes], unpickle: Unpickle, restore: Restore) -> Any:
    """Reads the stream format from the place where the file stands."""

    def no_storage(identity: Any) -> Any:
        raise _bad("its header names a storage")

    if unpickle(file, no_storage) != MAGIC_NUMBER:
        raise _bad("it does not start with the number that marks checkpoints")
    version = unpickle(file, no_storage)
    if version != PROTOCOL_VERSION:
        raise _bad(f"its format is version {version!r}, expected {PROTOCOL_VERSION}")
    unpickle(file, no_storage)  # about the machine that wrote it
    storages = _Storages(restore, _remaining(file))
    _utils.unfinished = []
    try:
        result = unpickle(file, storages.persistent_load)
        keys = unpickle(file, no_storage)
        if not isinstance(keys, list):
            raise _bad("the list of its storages is missing")
        for key in keys:
            storages.fill(_text(key), file)
    finally:
        _utils.finish_tensors()
    return result


def is_tar(file: IO[bytes]) -> bool:
    """Whether the file is of the oldest format."""
    start = file.tell()
    head = file.read(512)
    file.seek(start)
    return head[257:262] == b"ustar"


def read_tar(file: IO[bytes], unpickle: Unpickle, restore: Restore) -> Any:
    """Reads the oldest format: a tar archive of storages, tensors over them and the pickle."""
    import tarfile

    with tarfile.open(fileobj=file, mode="r:") as archive:

        def member(name: str) -> Any:
            try:
                opened = archive.extractfile(name)
            except KeyError:
                opened = None
            if opened is None:
                raise _bad(f"it has no part {name!r}")
            return opened

        objects: dict[Any, Any] = {}
        with member("storages") as part:
            _read_tar_storages(part, unpickle, restore, objects)
        with member("tensors") as part:
            _read_tar_tensors(part, unpickle, objects)
        with member("pickle") as part:

            def persistent_load(identity: Any) -> Any:
                if isinstance(identity, tuple):  # a module's class with its source
                    return identity[0]
                return objects[int(identity)]

            return unpickle(part, persistent_load)


def _no_references(identity: Any) -> Any:
    raise _bad("a header names an object")


def _read_tar_storages(part: Any, unpickle: Unpickle, restore: Restore, objects: dict) -> None:
    for _ in range(unpickle(part, _no_references)):
        key, location, storage_type = unpickle(part, _no_references)
        dtype = dtype_of(storage_type)
        (count,) = struct.unpack("<q", _exactly(part, 8))
        if not 0 <= count * dtype.itemsize <= _remaining(part):
            raise _bad(f"storage {key!r} claims {count} elements, more than the file has")
        untyped = storage.UntypedStorage(count * dtype.itemsize)
        _read_into(part, storage.bytes_of(untyped))
        objects[key] = storage.TypedStorage(wrap_storage=restore(untyped, _text(location)), dtype=dtype, _internal=True)
    for target, base, offset, size in unpickle(part, _no_references):
        typed = objects[base]
        width = typed.dtype.itemsize
        untyped = typed.untyped()[offset * width : (offset + size) * width]
        objects[target] = storage.TypedStorage(wrap_storage=untyped, dtype=typed.dtype, _internal=True)


def _read_tar_tensors(part: Any, unpickle: Unpickle, objects: dict) -> None:
    from .._utils import _rebuild_tensor

    for _ in range(unpickle(part, _no_references)):
        key, storage_key, _ = unpickle(part, _no_references)
        (dims,) = struct.unpack("<i", _exactly(part, 4))
        if not 0 <= dims <= 64:
            raise _bad(f"tensor {key!r} has {dims} dimensions")
        _exactly(part, 4)
        size = struct.unpack(f"<{dims}q", _exactly(part, 8 * dims))
        stride = struct.unpack(f"<{dims}q", _exactly(part, 8 * dims))
        (offset,) = struct.unpack("<q", _exactly(part, 8))
        objects[key] = _rebuild_tensor(objects[storage_key], offset, size, stride)
