"""Storages: the memory behind tensors, as Python sees it.

`UntypedStorage` is the C type, a flat run of bytes; the methods here are attached to it. `TypedStorage` and the classes
named after element types (`FloatStorage` ...) are older faces of the same memory, which checkpoints still name.
"""

from __future__ import annotations

import sys

from . import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["TypedStorage", "UntypedStorage"]

UntypedStorage = _C.StorageBase
_StorageBase = UntypedStorage
_ROOT = __package__


def _root() -> Any:
    return sys.modules[_ROOT]


def bytes_of(storage: Any) -> memoryview:
    """The memory of an untyped storage, without a copy; writable unless the storage is read-only."""
    return memoryview(storage)


def _as_bytes_tensor(storage: Any) -> Any:
    root = _root()
    return root.empty(0, dtype=root.uint8, device=storage.device).set_(storage)


class _UntypedMethods:
    """Attached to the C type below."""

    def __len__(self):
        return self.nbytes()

    def __getitem__(self, index):
        if isinstance(index, slice):
            return bytes_view_storage(self, index)
        return _as_bytes_tensor(self)[index].item()

    def __setitem__(self, index, value):
        _as_bytes_tensor(self)[index] = value

    def __iter__(self):
        return iter(self.tolist())

    def __copy__(self):
        return self.clone()

    def __deepcopy__(self, memo):
        copies = memo.setdefault(f"{_ROOT}.storages", {})
        if self._cdata not in copies:
            copies[self._cdata] = self.clone()
            memo.setdefault(id(memo), []).append(self)  # an address means something only while its owner lives
        return copies[self._cdata]

    def __reduce__(self):
        from io import BytesIO

        buffer = BytesIO()
        _root().serialization.save(self, buffer, _use_new_zipfile_serialization=False)
        return _load_from_bytes, (buffer.getvalue(),)

    def __repr__(self):
        shown = [f" {byte}" for byte in self.tolist()] if self.device.type != "meta" else ["..."]
        return "\n".join([*shown, f"[torch.storage.UntypedStorage(device={self.device}) of size {len(self)}]"])

    def __sizeof__(self):
        return object.__sizeof__(self) + self.nbytes()

    def size(self):
        """Number of bytes."""
        return self.nbytes()

    def element_size(self):
        """Always 1: elements are bytes."""
        return 1

    def untyped(self):
        return self

    def tolist(self):
        """The bytes as a list of integers."""
        return list(bytes_of(self))

    def clone(self):
        """A new storage with the same bytes."""
        copy = UntypedStorage(self.nbytes(), device=self.device)
        return copy.copy_(self) if self.device.type != "meta" else copy

    def fill_(self, value):
        """Sets every byte to `value`."""
        _as_bytes_tensor(self).fill_(value)
        return self

    def cpu(self):
        """This storage, or a copy in CPU memory."""
        return self if self.device.type == "cpu" else UntypedStorage(self.nbytes())

    def byteswap(self, dtype):
        """Reverses the bytes of each element in place, as between big- and little-endian machines."""
        swap_bytes(bytes_of(self), dtype)

    @property
    def is_cuda(self):
        return self.device.type == "cuda"

    def is_pinned(self, device="cuda"):
        return False

    def get_device(self):
        return -1


def bytes_view_storage(storage: Any, index: slice) -> Any:
    """The bytes selected by a slice of step 1, as a storage over the same memory."""
    begin, end, step = index.indices(storage.nbytes())
    if step != 1:
        raise RuntimeError(f"UntypedStorage: slices have step 1, not {step}")
    root = _root()
    return root.frombuffer(bytes_of(storage)[begin:end], dtype=root.uint8).untyped_storage()


for _name, _value in list(vars(_UntypedMethods).items()):
    if _name not in ("__module__", "__qualname__", "__dict__", "__weakref__", "__doc__") and _name not in vars(
        UntypedStorage
    ):
        setattr(UntypedStorage, _name, _value)


def swap_bytes(data: memoryview, dtype: Any) -> None:
    """Reverses each element of `data` in place; complex elements are two numbers."""
    width = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
    lanes = [bytes(data[lane::width]) for lane in range(width)]
    for lane in range(width):
        data[lane::width] = lanes[width - 1 - lane]


# Class names in checkpoints, by element type. Types that came later are saved as untyped storages with the dtype apart.
_LEGACY_NAMES = {
    "DoubleStorage": "float64",
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
    "ComplexDoubleStorage": "complex128",
    "ComplexFloatStorage": "complex64",
}


def _dtype_of_legacy_name(name: str) -> Any:
    return getattr(_root(), _LEGACY_NAMES[name])


def legacy_class(dtype: Any) -> type | None:
    """The storage class that checkpoints name for an element type; None for the newer types."""
    wanted = str(dtype).rpartition(".")[2]
    return next((_named_class(name) for name, own in _LEGACY_NAMES.items() if own == wanted), None)


class _TypedStorageType(type):
    """`FloatStorage` and the like: an instance of one is any typed storage of that element type."""

    def __instancecheck__(cls, instance):
        if not type.__instancecheck__(TypedStorage, instance):
            return False
        return cls is TypedStorage or instance.dtype == cls.dtype

    @property
    def dtype(cls):
        return _dtype_of_legacy_name(cls.__name__) if cls.__name__ in _LEGACY_NAMES else None


class TypedStorage(metaclass=_TypedStorageType):
    """A storage seen as elements of one dtype. Kept for checkpoints and older programs; prefer `UntypedStorage`.

    Made from a number of elements, a sequence of values, or (`wrap_storage`) an untyped storage.

    >>> TypedStorage([1.0, 2.0], dtype=torch.float32).tolist()
    [1.0, 2.0]
    """

    is_sparse = False

    def __init__(self, *args: Any, wrap_storage: Any = None, dtype: Any = None, device: Any = None, _internal=False):
        own: Any = type(self).dtype  # type: ignore[assignment]
        dtype = dtype or own or _root().get_default_dtype()
        if len(args) > 1:
            raise RuntimeError(f"{type(self).__name__}: expected one size or sequence, got {len(args)} arguments")
        if wrap_storage is not None:
            if not isinstance(wrap_storage, UntypedStorage):
                raise TypeError(f"{type(self).__name__}: wrap_storage is a {type(wrap_storage).__name__}, not untyped")
            untyped = wrap_storage
        elif args and not isinstance(args[0], int):
            if isinstance(args[0], (TypedStorage, UntypedStorage)):
                untyped = args[0].untyped()
            else:
                untyped = _root().tensor(args[0], dtype=dtype).untyped_storage()
        else:
            untyped = UntypedStorage((args[0] if args else 0) * dtype.itemsize, device=device or "cpu")
        self._untyped_storage = untyped
        self._dtype = dtype

    @property
    def dtype(self):
        return self._dtype

    @property
    def device(self):
        return self._untyped_storage.device

    @property
    def is_cuda(self):
        return self.device.type == "cuda"

    @property
    def _cdata(self):
        return self._untyped_storage._cdata

    def _tensor(self) -> Any:
        return _root().empty(0, dtype=self._dtype, device=self.device).set_(self._untyped_storage)

    def _same_kind(self, untyped: Any) -> TypedStorage:
        return TypedStorage(wrap_storage=untyped, dtype=self._dtype, _internal=True)

    def untyped(self):
        return self._untyped_storage

    def __len__(self):
        return self.size()

    def size(self):
        """Number of elements."""
        return self.nbytes() // self._dtype.itemsize

    _size = size

    def nbytes(self):
        return self._untyped_storage.nbytes()

    _nbytes = nbytes

    def element_size(self):
        return self._dtype.itemsize

    def data_ptr(self):
        return self._untyped_storage.data_ptr()

    _data_ptr = data_ptr

    def __getitem__(self, index):
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return self._tensor()[index].item()

    def __setitem__(self, index, value):
        self._tensor()[index] = value

    def __iter__(self):
        return iter(self.tolist())

    def tolist(self):
        return self._tensor().tolist()

    def fill_(self, value):
        self._tensor().fill_(value)
        return self

    def copy_(self, source, non_blocking=False):
        """Copies the elements of a storage of the same length, converting them to this dtype."""
        self._tensor().copy_(source._tensor() if isinstance(source, TypedStorage) else _as_bytes_tensor(source))
        return self

    def clone(self):
        return self._same_kind(self._untyped_storage.clone())

    def resize_(self, size):
        self._untyped_storage.resize_(size * self._dtype.itemsize)
        return self

    def cpu(self):
        return self._same_kind(self._untyped_storage.cpu())

    def type(self, dtype=None):
        """The name of this kind of storage, or (`dtype` given) a copy converted to it."""
        if dtype is None:
            kind = legacy_class(self._dtype)
            return f"torch.{kind.__name__}" if kind is not None else "torch.storage.TypedStorage"
        target = dtype.dtype if isinstance(dtype, _TypedStorageType) else dtype
        return TypedStorage(wrap_storage=self._tensor().to(target).untyped_storage(), dtype=target, _internal=True)

    def float(self):
        return self.type(_root().float32)

    def double(self):
        return self.type(_root().float64)

    def half(self):
        return self.type(_root().float16)

    def long(self):
        return self.type(_root().int64)

    def int(self):
        return self.type(_root().int32)

    def __copy__(self):
        return self.clone()

    def __deepcopy__(self, memo):
        return self._same_kind(self._untyped_storage.__deepcopy__(memo))

    def __eq__(self, other):
        if not isinstance(other, TypedStorage):
            return NotImplemented
        return self._cdata == other._cdata and self._dtype == other._dtype

    __hash__ = object.__hash__

    def __reduce__(self):
        from io import BytesIO

        buffer = BytesIO()
        _root().serialization.save(self, buffer, _use_new_zipfile_serialization=False)
        return _load_from_bytes, (buffer.getvalue(),)

    def __repr__(self):
        lines = [f" {value}" for value in self.tolist()] if self.device.type != "meta" else ["..."]
        about = f"dtype={self._dtype}, device={self.device}"
        return "\n".join([*lines, f"[torch.storage.TypedStorage({about}) of size {len(self)}]"])


def _load_from_bytes(data: bytes) -> Any:
    """What pickled storages call; unpickling may run code anyway, so nothing is gained by restricting this part."""
    from io import BytesIO

    return _root().serialization.load(BytesIO(data), weights_only=False)


_named_classes: dict[str, type] = {}


def _named_class(name: str) -> type:
    """`FloatStorage` and the like, made when first asked for."""
    if name not in _named_classes:
        body = {"__module__": _ROOT, "__doc__": f"A `TypedStorage` of {_LEGACY_NAMES[name]} elements."}
        _named_classes[name] = _TypedStorageType(name, (TypedStorage,), body)
    return _named_classes[name]


def __getattr__(name: str) -> Any:
    if name in _LEGACY_NAMES:
        return _named_class(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
