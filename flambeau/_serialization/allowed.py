"""The names that a file may use with ``weights_only=True``, and what it may do with them."""

from __future__ import annotations

from collections import Counter, OrderedDict
from pickle import UnpicklingError
from typing import Any

from .pickling import name_in_file

_PACKAGE = __package__.partition(".")[0]

# Names in files, below this package, that build tensors and their parts.
_BUILDERS = (
    "_utils._rebuild_tensor",
    "_utils._rebuild_tensor_v2",
    "_utils._rebuild_tensor_v3",
    "_utils._rebuild_parameter",
    "_utils._rebuild_parameter_with_state",
    "_utils._rebuild_meta_tensor_no_storage",
    "_utils._rebuild_device_tensor_from_numpy",
    "_utils._rebuild_device_tensor_from_cpu_tensor",
    "_utils._rebuild_sparse_tensor",
    "_tensor._rebuild_from_type_v2",
    "Size",
    "device",
    "serialization._get_layout",
)
_PARAMETER_CLASSES = ("nn.parameter.Parameter", "nn.Parameter", "nn.parameter.Buffer")
_DTYPES = (
    "float64 float32 float16 bfloat16 float half double int64 int32 int16 int8 uint8 uint16 uint32 uint64 bool long "
    "int short complex64 complex128 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz"
)
_STORAGES = (
    "DoubleStorage FloatStorage HalfStorage BFloat16Storage LongStorage IntStorage ShortStorage CharStorage "
    "ByteStorage BoolStorage ComplexDoubleStorage ComplexFloatStorage TypedStorage UntypedStorage storage.TypedStorage "
    "storage.UntypedStorage"
)
_MEMORY_LAYOUTS = "strided sparse_coo contiguous_format channels_last channels_last_3d preserve_format"


class Allowed:
    """What may be done with a listed object besides holding it."""

    __slots__ = ("build", "call", "value")

    def __init__(self, value: Any, *, call: bool = False, build: bool = False):
        self.value = value
        self.call = call
        self.build = build


def _resolve(dotted: str) -> Any:
    from importlib import import_module

    parts = dotted.split(".")
    module = f"{_PACKAGE}." + ".".join(parts[:-1]) if len(parts) > 1 else _PACKAGE
    try:
        return getattr(import_module(module), parts[-1])
    except (ImportError, AttributeError):
        return None


def _own_names() -> dict[str, Allowed]:
    allowed: dict[str, Allowed] = {}

    def add(names: tuple[str, ...] | list[str], **may: bool) -> None:
        for name in names:
            value = _resolve(name)
            if value is not None:
                allowed[f"torch.{name}"] = Allowed(value, **may)

    add([*_DTYPES.split(), *_STORAGES.split(), *_MEMORY_LAYOUTS.split()])
    add(_BUILDERS, call=True)
    add(_PARAMETER_CLASSES, call=True, build=True)
    add(["Tensor"], build=True)  # not to be called: Tensor(n) takes n elements of memory
    return allowed


def _encode(text: str, encoding: str = "latin1") -> bytes:
    """`_codecs.encode` as pickles of protocol 2 use it, to carry bytes."""
    if encoding not in ("latin1", "latin-1") or not isinstance(text, str):
        raise UnpicklingError(f"load: bytes in the file use encoding {encoding!r}, expected latin1")
    return text.encode("latin1")


def _bytearray(data: Any = b"", encoding: str = "latin1") -> bytearray:
    """`bytearray` as pickles use it; a number would ask for that much memory."""
    if not isinstance(data, (bytes, str)):
        raise UnpicklingError(f"load: the file makes a bytearray of a {type(data).__name__}, expected bytes")
    return bytearray(data if isinstance(data, bytes) else _encode(data, encoding))


def _default_names() -> dict[str, Allowed]:
    allowed = _own_names()
    allowed["collections.OrderedDict"] = Allowed(OrderedDict, call=True, build=True)
    allowed["collections.Counter"] = Allowed(Counter, call=True)
    allowed["_codecs.encode"] = Allowed(_encode, call=True)
    for module in ("builtins", "__builtin__"):
        allowed[f"{module}.bytearray"] = Allowed(_bytearray, call=True)
        for kind in (set, frozenset, complex):
            allowed[f"{module}.{kind.__name__}"] = Allowed(kind, call=True)
    return allowed


_defaults: dict[str, Allowed] = {}
_user: dict[str, Any] = {}


def _own_name(value: Any) -> str | None:
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    return None if module is None or name is None else f"{name_in_file(module)}.{name}"


def _name_of(entry: Any) -> tuple[str, Any]:
    if isinstance(entry, tuple):
        if len(entry) != 2 or not isinstance(entry[1], str):
            raise ValueError(f"add_safe_globals: expected (object, 'module.name'), got {entry!r}")
        return entry[1], entry[0]
    name = _own_name(entry)
    if name is None:
        raise TypeError(f"add_safe_globals: {entry!r} has no name of its own; give (object, 'module.name')")
    return name, entry


def add_safe_globals(entries: list) -> None:
    """Puts classes and functions on the list; an entry is an object or (object, full name)."""
    _user.update(_name_of(entry) for entry in entries)


def get_safe_globals() -> list:
    """What was put on the list and is still there."""
    return [value if name == _own_name(value) else (value, name) for name, value in _user.items()]


def clear_safe_globals() -> None:
    """Takes everything that was added off the list."""
    _user.clear()


def restore_safe_globals(entries: list) -> None:
    """Makes `entries` the additions to the list."""
    clear_safe_globals()
    add_safe_globals(entries)


def allowed_names() -> dict[str, Allowed]:
    """The list in force: full name in file to object."""
    if not _defaults:
        _defaults.update(_default_names())
    if not _user:
        return _defaults
    added = {name: Allowed(value, call=callable(value), build=isinstance(value, type)) for name, value in _user.items()}
    return {**_defaults, **added}
