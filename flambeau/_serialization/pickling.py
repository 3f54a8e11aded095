"""Pickles whose storages stand outside.

The pickle of a checkpoint names each storage by a key; the bytes are kept beside it. A tensor that looks at a small
part of a large storage takes only the span with it that the saved tensors look at, all of them together.
"""

from __future__ import annotations

import io
import pickle
import sys
import types
from typing import Any, ClassVar

from .. import _tensor, _utils, storage
from .locations import location_tag

_PACKAGE = __package__.partition(".")[0]
_FILE_NAME = "torch"  # what files call this package, whatever name it was imported by
# Leaving out less than this is not worth a second pass over the objects.
_WORTH_TRIMMING = 1 << 16


def root() -> Any:
    """The package itself."""
    return sys.modules[_PACKAGE]


def name_in_file(module: str) -> str:
    """The module name to write for a module of ours."""
    if module == _PACKAGE or module.startswith(_PACKAGE + "."):
        return _FILE_NAME + module[len(_PACKAGE) :]
    return module


def name_here(module: str) -> str:
    """The module to look in for a name that a file has."""
    if module == _FILE_NAME or module.startswith(_FILE_NAME + "."):
        return _PACKAGE + module[len(_FILE_NAME) :]
    return module


class _Part:
    """Stands in a pickle for a storage: `dtype` is None for an untyped one."""

    def __init__(self, untyped: Any, dtype: Any):
        self.untyped = untyped
        self.dtype = dtype


class _Span:
    """Which bytes of a storage the saved tensors look at."""

    def __init__(self, key: str, untyped: Any):
        self.key = key
        self.untyped = untyped
        self.begin, self.end = untyped.nbytes(), 0
        self.width = 1  # spans begin at a multiple of the widest element

    def include(self, begin: int, end: int, width: int) -> None:
        self.width = max(self.width, width)
        self.begin = min(self.begin, begin) // self.width * self.width
        self.end = min(max(self.end, end), self.untyped.nbytes())

    def include_all(self) -> None:
        self.begin, self.end = 0, self.untyped.nbytes()

    @property
    def left_out(self) -> int:
        return self.untyped.nbytes() - max(0, self.end - self.begin)

    def saved(self) -> memoryview:
        return storage.bytes_of(self.untyped)[self.begin : max(self.begin, self.end)]


class StorageTable:
    """The storages met while pickling, by identity."""

    def __init__(self, *, legacy: bool):
        self.spans: dict[int, _Span] = {}
        self.trimming = False
        self._legacy = legacy
        self._dtypes: dict[int, Any] = {}

    def span(self, untyped: Any) -> _Span:
        identity = untyped._cdata
        if identity not in self.spans:
            key = str(identity) if self._legacy else str(len(self.spans))
            self.spans[identity] = _Span(key, untyped)
        return self.spans[identity]

    def element_size(self, span: _Span) -> int:
        return self._dtypes[span.untyped._cdata].itemsize

    def worth_trimming(self) -> bool:
        return any(span.left_out >= _WORTH_TRIMMING for span in self.spans.values())

    def describe(self, part: _Part) -> tuple:
        """The persistent id of a storage."""
        span = self.span(part.untyped)
        begin, end = (span.begin, max(span.begin, span.end)) if self.trimming else (0, part.untyped.nbytes())
        self._check_one_dtype(part)
        location = location_tag(part.untyped)
        if part.dtype is None:
            kind, count = storage.UntypedStorage, end - begin
            if self._legacy:  # a format from before untyped storages
                kind = storage.legacy_class(root().uint8)
        else:
            kind, count = storage.legacy_class(part.dtype), (end - begin) // part.dtype.itemsize
        if self._legacy:
            return ("storage", kind, span.key, location, count, None)
        return ("storage", kind, span.key, location, count)

    def _check_one_dtype(self, part: _Part) -> None:
        dtype = root().uint8 if part.dtype is None else part.dtype
        first = self._dtypes.setdefault(part.untyped._cdata, dtype)
        if first != dtype:
            raise RuntimeError(
                f"save: the same memory is seen as {first} and as {dtype}; the file can hold one element type for a "
                "storage, so clone one of the tensors first"
            )


class _PicklerMixin:
    """Adds tensors and storages to a pickler class."""

    table: StorageTable
    protocol_in_use: int

    def persistent_id(self, obj: Any) -> tuple | None:
        if isinstance(obj, _Part):
            return self.table.describe(obj)
        if isinstance(obj, storage.TypedStorage):
            self.table.span(obj.untyped()).include_all()
            return self.table.describe(_Part(obj.untyped(), obj.dtype))
        if isinstance(obj, storage.UntypedStorage):
            self.table.span(obj).include_all()
            return self.table.describe(_Part(obj, None))
        return None

    def reducer_override(self, obj: Any) -> Any:
        if not isinstance(obj, root().Tensor):
            return NotImplemented
        kind = type(obj)
        if kind is root().Tensor:
            function, arguments = _tensor.reduce_ex(obj, self.protocol_in_use)
        else:
            reduced = obj.__reduce_ex__(self.protocol_in_use)
            if not isinstance(reduced, tuple) or len(reduced) != 2:
                return reduced
            function, arguments = reduced
        if function is _tensor._rebuild_from_type_v2 and arguments[0] in _TENSOR_BUILDERS:
            inner, kind, inner_arguments, state = arguments
            return function, (inner, kind, self._with_part(obj, inner_arguments), state)
        if function in _TENSOR_BUILDERS:
            return function, self._with_part(obj, arguments)
        return function, arguments

    def _with_part(self, tensor: Any, arguments: tuple) -> tuple:
        """Puts a `_Part` for the storage into the arguments of a tensor builder, and moves the offset with it."""
        given, offset, *rest = arguments
        typed = isinstance(given, storage.TypedStorage)
        untyped = given.untyped() if typed else given
        span, width = self.table.span(untyped), tensor.dtype.itemsize
        if self.table.trimming:
            offset -= span.begin // width
        else:
            begin, end = _touched(tensor)
            span.include(begin * width, end * width, width)
        return (_Part(untyped, tensor.dtype if typed else None), offset, *rest)


_TENSOR_BUILDERS = (_utils._rebuild_tensor_v2, _utils._rebuild_tensor_v3)


def _touched(tensor: Any) -> tuple[int, int]:
    """The elements of its storage that a tensor looks at, as (first, one past the last)."""
    begin = tensor.storage_offset()
    if tensor.numel() == 0:
        return begin, begin
    reach = sum((size - 1) * step for size, step in zip(tensor.size(), tensor.stride(), strict=True))
    return begin, begin + reach + 1


class _FastPickler(_PicklerMixin, pickle.Pickler):
    """For the package under its file name: the pickler written in C already writes the right names."""


class _RenamingPickler(_PicklerMixin, pickle._Pickler):  # type: ignore[name-defined]
    """Writes the names of our modules as files have them."""

    def save_global(self, obj: Any, name: str | None = None) -> None:
        module = getattr(obj, "__module__", None)
        qualified = name or getattr(obj, "__qualname__", None)
        if not isinstance(module, str) or name_in_file(module) == module or qualified is None:
            super().save_global(obj, name)
            return
        found: Any = sys.modules.get(module)
        for part in qualified.split("."):
            found = getattr(found, part, None)
        if found is not obj:
            raise pickle.PicklingError(f"save: {obj!r} is not found as {module}.{qualified}")
        self.write(pickle.GLOBAL + f"{name_in_file(module)}\n{qualified}\n".encode())
        self.memoize(obj)

    dispatch: ClassVar[Any] = {**pickle._Pickler.dispatch, types.FunctionType: save_global}  # type: ignore


def _pickler_class(pickle_module: Any) -> type:
    if pickle_module is pickle or pickle_module is None:
        return _FastPickler if _PACKAGE == _FILE_NAME else _RenamingPickler
    return type("_ForeignPickler", (_PicklerMixin, pickle_module.Pickler), {"reducer_override": _foreign_reducer})


def _foreign_reducer(self: Any, obj: Any) -> Any:
    """Another module's pickler may have an override of its own, which comes second."""
    reduced = _PicklerMixin.reducer_override(self, obj)
    if reduced is NotImplemented:
        own = getattr(super(_PicklerMixin, self), "reducer_override", None)
        return NotImplemented if own is None else own(obj)
    return reduced


def _dump(obj: Any, table: StorageTable, pickle_module: Any, protocol: int) -> bytes:
    buffer = io.BytesIO()
    pickler = _pickler_class(pickle_module)(buffer, protocol=protocol)
    pickler.table, pickler.protocol_in_use = table, protocol
    pickler.dump(obj)
    return buffer.getvalue()


def pickle_with_storages(
    obj: Any, pickle_module: Any, protocol: int, *, legacy: bool = False
) -> tuple[bytes, StorageTable]:
    """Pickles `obj`; returns the pickle and the storages that it names."""
    table = StorageTable(legacy=legacy)
    data = _dump(obj, table, pickle_module, protocol)
    if not table.worth_trimming():
        for span in table.spans.values():
            span.include_all()
        return data, table
    table.trimming = True
    return _dump(obj, table, pickle_module, protocol), table


def unpickle_with_storages(file: Any, pickle_module: Any, persistent_load: Any, arguments: dict[str, Any]) -> Any:
    """Unpickles without restrictions: the file may run code."""

    class Unpickler(pickle_module.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            return super().find_class(name_here(module), name)

    unpickler = Unpickler(file, **arguments)
    unpickler.persistent_load = persistent_load
    return unpickler.load()
