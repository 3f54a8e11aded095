"""Saving and loading: `torch.save` and `torch.load`.

The files are PyTorch's, both ways: a zip archive with one pickle, `data.pkl`, and one record for each storage that the
pickle names. `load` also reads the two older formats. By default it reads the pickle on a machine that can do no more
than build tensors and containers (see `_weights_only_unpickler`), so a file cannot run code.
"""

from __future__ import annotations

import io
import os
import pickle
import sys
from enum import Enum
from mmap import MAP_PRIVATE, MAP_SHARED
from typing import IO, Any, TypeAlias

from . import _weights_only_unpickler, storage
from ._serialization import allowed, legacy
from ._serialization.archive import ArchiveReader, ArchiveWriter, is_archive
from ._serialization.files import is_path, replacing
from ._serialization.locations import (
    default_restore_location,
    location_tag,
    register_package,
    restorer,
    validate_cuda_device,
)
from ._serialization.pickling import pickle_with_storages, root, unpickle_with_storages

__all__ = [
    "LoadEndianness",
    "SourceChangeWarning",
    "add_safe_globals",
    "clear_safe_globals",
    "default_restore_location",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "location_tag",
    "register_package",
    "safe_globals",
    "save",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "validate_cuda_device",
]

DEFAULT_PROTOCOL = 2
FileLike: TypeAlias = str | os.PathLike | IO[bytes]
MAP_LOCATION: TypeAlias = Any  # a function, a device, its name, a dict from places to places, or None
_FORMAT_VERSION = b"3\n"


class SourceChangeWarning(Warning):
    """The source of a module has changed since it was saved."""


class LoadEndianness(Enum):
    """The byte order of files that do not say theirs."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


class _Options:
    checksums = True
    mmap_flags = MAP_PRIVATE
    endianness: LoadEndianness | None = None


def get_crc32_options() -> bool:
    """Whether checksums are compared on loading."""
    return _Options.checksums


def set_crc32_options(compute_crc32: bool) -> None:
    """Sets whether `load` compares checksums (default True). Files always get them.

    Files that PyTorch wrote with this option off have none that fit: turn it off to read them.
    """
    _Options.checksums = bool(compute_crc32)


def get_default_mmap_options() -> int:
    """The flags with which `load(mmap=True)` maps files."""
    return _Options.mmap_flags


class set_default_mmap_options:
    """Sets the flags for `load(mmap=True)`: `mmap.MAP_PRIVATE` (default: writes stay in memory) or `mmap.MAP_SHARED`
    (writes reach the file). As a context manager it puts the old flags back. Raises ValueError for others.
    """

    def __init__(self, flags: int):
        if flags not in (MAP_PRIVATE, MAP_SHARED):
            raise ValueError(f"set_default_mmap_options: expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, got {flags!r}")
        self._previous = _Options.mmap_flags
        _Options.mmap_flags = flags

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: Any) -> None:
        _Options.mmap_flags = self._previous


def get_default_load_endianness() -> LoadEndianness | None:
    """The byte order assumed for archives that do not name theirs; None: this machine's."""
    return _Options.endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Sets the byte order assumed for archives that do not name theirs. Raises TypeError for anything else."""
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError(f"set_default_load_endianness: expected a LoadEndianness, got {type(endianness).__name__}")
    _Options.endianness = endianness


# ---- names that files may ask for


def add_safe_globals(safe_globals: list) -> None:
    """Allows files loaded with ``weights_only=True`` to use these classes and functions.

    An entry is an object, or a pair (object, "module.name") for one that files know by another name.

    >>> torch.serialization.add_safe_globals([MyConfig])
    """
    allowed.add_safe_globals(safe_globals)


def get_safe_globals() -> list:
    """What was allowed by `add_safe_globals`."""
    return allowed.get_safe_globals()


def clear_safe_globals() -> None:
    """Takes back all of `add_safe_globals`."""
    allowed.clear_safe_globals()


class safe_globals:
    """Context manager: `add_safe_globals` inside the block only.

    >>> with torch.serialization.safe_globals([MyConfig]):
    ...     checkpoint = torch.load("checkpoint.pt")
    """

    def __init__(self, safe_globals: list):
        self._entries = safe_globals

    def __enter__(self) -> None:
        self._before = get_safe_globals()
        add_safe_globals(self._entries)

    def __exit__(self, *error: Any) -> None:
        allowed.restore_safe_globals(self._before)


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """The names a file asks for that ``weights_only=True`` would refuse. Raises ValueError for older formats."""
    with _opened(f) as file:
        if not is_archive(file):
            raise ValueError("get_unsafe_globals_in_checkpoint: expected a file in the zip format")
        names = _weights_only_unpickler.names_asked_for(io.BytesIO(ArchiveReader(file).read("data.pkl")))
    return sorted(names - set(allowed.allowed_names()))


def _get_layout(name: str) -> Any:
    """Called by files that hold layouts."""
    short = name.removeprefix("torch.")
    layout = getattr(root(), short, None)
    if not isinstance(layout, root().layout):
        raise pickle.UnpicklingError(f"load: {name!r} is not a layout")
    return layout


# ---- saving


def save(
    obj: object,
    f: FileLike,
    pickle_module: Any = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Writes an object and the tensors in it to a file that `load` and PyTorch read.

    Args:
        obj: anything picklable; tensors that share memory share it again when loaded.
        f: a path, or a file-like object with `write`. A path is replaced only when all is on disk: a save that fails
            leaves what was there.
        pickle_module: the module that pickles what is not a tensor.
        pickle_protocol: its protocol.

    Of a large storage only the part is written that the saved tensors look at. Raises RuntimeError when the directory
    does not exist, AttributeError when `f` cannot be written to, and what pickle raises for what it cannot pickle.

    >>> torch.save({"weight": torch.ones(2)}, "checkpoint.pt")
    """
    if is_path(f):
        with replacing(f) as file:
            _write(obj, file, os.fspath(f), pickle_module, pickle_protocol, _use_new_zipfile_serialization)
        return
    if not hasattr(f, "write"):
        raise AttributeError(f"save: expected a path or an object with a 'write' method, got a {type(f).__name__}")
    _write(obj, f, None, pickle_module, pickle_protocol, _use_new_zipfile_serialization)


def _write(obj: Any, file: Any, path: Any, pickle_module: Any, protocol: int, as_archive: bool) -> None:
    if not as_archive:
        legacy.write(obj, file, pickle_module, protocol)
        return
    data, table = pickle_with_storages(obj, pickle_module, protocol)
    writer = ArchiveWriter(file, _archive_name(path))
    writer.write("data.pkl", data)
    writer.write(".format_version", b"1")
    writer.write(".storage_alignment", b"64")
    writer.write("byteorder", sys.byteorder.encode())
    for span in table.spans.values():
        writer.write(f"data/{span.key}", span.saved())
    writer.write("version", _FORMAT_VERSION)
    writer.finish()


def _archive_name(path: Any) -> str:
    """The folder inside the archive: the file's name without its extension, where it can be one."""
    if path is None:
        return "archive"
    name = os.path.basename(os.fsdecode(path))
    stem = name.rpartition(".")[0] or name
    return stem if stem.isprintable() and stem.isascii() else "archive"


# ---- loading


def load(
    f: FileLike,
    map_location: MAP_LOCATION = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Reads an object that `save` or PyTorch's `torch.save` wrote.

    Args:
        f: a path, or a seekable file-like object with `read`.
        map_location: where storages go: a device or its name, a dict from places in the file to places, or a function
            (storage, place) that returns a storage or None. Default: the place the file names.
        pickle_module: the module that unpickles; only with ``weights_only=False``.
        weights_only: build tensors, containers and numbers only, and never run what the file says (default). With
            False the file may run any code: only for files you trust.
        mmap: map the file into memory instead of reading it; pages are read when they are used. Paths only.

    Raises UnpicklingError when the file asks for more than is allowed, RuntimeError when it is damaged or names a
    device that is not there, FileNotFoundError, EOFError.

    >>> torch.load("checkpoint.pt")["weight"]
    tensor([1., 1.])
    """
    restricted = _is_restricted(weights_only, pickle_module)
    if mmap and not is_path(f):
        raise ValueError("load: mmap=True needs a path, got a " + type(f).__name__)
    pickle_load_args.setdefault("encoding", "utf-8")

    def unpickle(file: Any, persistent_load: Any) -> Any:
        if not restricted:
            return unpickle_with_storages(file, pickle_module or pickle, persistent_load, pickle_load_args)
        machine = _weights_only_unpickler.Unpickler(file, encoding=pickle_load_args["encoding"])
        machine.persistent_load = persistent_load
        return machine.load()

    restore = restorer(map_location)
    with _opened(f) as file:
        if is_archive(file):
            return _read_archive(file, unpickle, restore, mapped=bool(mmap))
        if mmap:
            raise RuntimeError("load: mmap=True needs a file in the zip format; load it without and save it again")
        if legacy.is_tar(file):
            return legacy.read_tar(file, unpickle, restore)
        return legacy.read(file, unpickle, restore)


def _is_restricted(weights_only: bool | None, pickle_module: Any) -> bool:
    forced_on, forced_off = _flag("TORCH_FORCE_WEIGHTS_ONLY_LOAD"), _flag("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    if forced_on and forced_off:
        raise RuntimeError("load: TORCH_FORCE_WEIGHTS_ONLY_LOAD and TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD are both set")
    if forced_on:
        weights_only = True
    elif forced_off and weights_only is None:
        weights_only = False
    if weights_only and pickle_module is not None:
        raise RuntimeError("load: a pickle_module of your own runs what the file says; it needs weights_only=False")
    return pickle_module is None if weights_only is None else weights_only


def _flag(name: str) -> bool:
    return os.environ.get(name, "").lower() in ("1", "y", "yes", "true")


class _opened:
    """The file to read: opened and closed for a path, as it is for a file-like object."""

    def __init__(self, source: Any):
        self._own = is_path(source)
        if self._own:
            self._file = open(source, "rb")  # noqa: SIM115 - closed on exit
            return
        self._file = source
        try:
            source.seek(source.tell())
        except (io.UnsupportedOperation, AttributeError) as error:
            raise type(error)(
                f"load: a {type(source).__name__} cannot seek; read it into an io.BytesIO and load that"
            ) from None

    def __enter__(self) -> Any:
        return self._file

    def __exit__(self, *error: Any) -> None:
        if self._own:
            self._file.close()


def _read_archive(file: Any, unpickle: legacy.Unpickle, restore: legacy.Restore, *, mapped: bool) -> Any:
    archive = ArchiveReader(file, verify=_Options.checksums)
    if "constants.pkl" in archive:
        raise RuntimeError("load: the file holds a TorchScript program (torch.jit.save); save its state_dict() instead")
    return unpickle(io.BytesIO(archive.read("data.pkl")), _ArchiveStorages(file, archive, restore, mapped).load)


class _ArchiveStorages:
    """Makes the storages that the pickle of an archive names, each once."""

    def __init__(self, file: Any, archive: ArchiveReader, restore: legacy.Restore, mapped: bool):
        self._archive = archive
        self._restore = restore
        self._loaded: dict[str, Any] = {}
        self._swap = _byte_order(archive) != sys.byteorder
        self._map = _map_file(file) if mapped else None
        if self._swap and mapped:
            raise RuntimeError("load: the file has the byte order of another machine, so it cannot be mapped")

    def load(self, identity: tuple) -> Any:
        """The storage of a persistent id ("storage", class, key, location, number of elements)."""
        if len(identity) != 5 or identity[0] not in ("storage", b"storage"):
            raise RuntimeError(f"load: unknown reference {identity!r} in the file")
        _, storage_type, key, location, count = identity
        if key not in self._loaded:
            dtype = legacy.dtype_of(storage_type)
            name, size = f"data/{key}", self._checked_size(key, dtype, count)
            untyped = self._restore(self._read(name, size, location), str(location))
            if self._swap and untyped.device.type == "cpu":
                storage.swap_bytes(storage.bytes_of(untyped), dtype)
            self._loaded[key] = storage.TypedStorage(wrap_storage=untyped, dtype=dtype, _internal=True)
        return self._loaded[key]

    def _checked_size(self, key: str, dtype: Any, count: Any) -> int:
        there = self._archive.size(f"data/{key}")
        if type(count) is not int or count < 0 or count * dtype.itemsize > there:
            raise RuntimeError(
                f"load: storage {key!r} is to have {count!r} elements of {dtype}; its record, {there} bytes"
            )
        return count * dtype.itemsize

    def _read(self, name: str, size: int, location: Any) -> Any:
        span = self._archive.span(name)
        if self._map is not None and size > 0:
            if span is None:
                raise RuntimeError(f"load: record {name!r} is compressed, so the file cannot be mapped")
            part = memoryview(self._map)[span[0] : span[0] + size]
            return root().frombuffer(part, dtype=root().uint8).untyped_storage()
        if location == "meta":
            return storage.UntypedStorage(size)
        if span is None:  # a compressed record proves its size only by unpacking
            data = self._archive.read(name)
            untyped = storage.UntypedStorage(size)
            storage.bytes_of(untyped)[:] = data[:size]
            return untyped
        untyped = storage.UntypedStorage(size)
        if size:
            self._archive.read_into(name, storage.bytes_of(untyped))
        return untyped


def _byte_order(archive: ArchiveReader) -> str:
    if "byteorder" in archive:
        order = archive.read("byteorder").decode("ascii", "replace")
        if order not in ("little", "big"):
            raise RuntimeError(f"load: the file names an unknown byte order {order!r}")
        return order
    assumed = _Options.endianness
    if assumed is None:
        return "little"
    return sys.byteorder if assumed is LoadEndianness.NATIVE else assumed.name.lower()


def _map_file(file: Any) -> Any:
    import mmap

    protection = mmap.PROT_READ | mmap.PROT_WRITE
    if _Options.mmap_flags == MAP_PRIVATE:
        return mmap.mmap(file.fileno(), 0, flags=MAP_PRIVATE, prot=protection)
    with open(file.name, "r+b") as writable:  # a shared mapping that can be written needs a file that can
        return mmap.mmap(writable.fileno(), 0, flags=MAP_SHARED, prot=protection)
