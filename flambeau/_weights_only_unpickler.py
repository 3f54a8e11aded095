"""Unpickling without trust: `load(weights_only=True)`.

A pickle is a program for a small stack machine. This is such a machine with the dangerous instructions left out: it
finds only names on a list, calls only what the list says may be called, and sets attributes only on fresh objects of
listed classes. Anything else raises `UnpicklingError`. Every length is compared with what the file still holds before
memory is taken for it.
"""

from __future__ import annotations

import io
import pickle
import struct
from collections import Counter, OrderedDict
from collections.abc import Callable
from pickle import UnpicklingError
from typing import IO, Any

from ._serialization.allowed import Allowed, allowed_names


class _Mark:
    """Where a MARK instruction was."""


_MARK = _Mark()
_DAMAGE = (IndexError, KeyError, struct.error, UnicodeDecodeError, OverflowError, TypeError, ValueError)


class Unpickler:
    """The machine. `persistent_load` gives the objects that the file names by key."""

    def __init__(self, file: IO[bytes], *, encoding: str = "bytes"):
        self._file = file
        self._encoding = encoding
        self._allowed = allowed_names()
        self._buildable = {entry.value for entry in self._allowed.values() if entry.build}
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}
        self._fresh: dict[int, Any] = {}  # objects this pickle made, whose state it may set
        self.persistent_load: Callable[[Any], Any] = self._no_storages
        start = file.tell()
        self._end = file.seek(0, io.SEEK_END)
        file.seek(start)

    @staticmethod
    def _no_storages(key: Any) -> Any:
        raise UnpicklingError("load: the file names a storage where none can be")

    def load(self) -> Any:
        """Runs the pickle; returns the object it describes. Raises UnpicklingError, EOFError."""
        instructions, read = _INSTRUCTIONS, self._file.read
        try:
            while True:
                code = read(1)
                if not code:
                    raise EOFError("load: the pickle in the file is cut off")
                if code == pickle.STOP:
                    return _plain(self._pop())
                instruction = instructions.get(code)
                if instruction is None:
                    raise UnpicklingError(f"load: pickle instruction {code!r} is not allowed with weights_only=True")
                instruction(self)
        except _DAMAGE as error:
            raise UnpicklingError(
                f"load: the pickle in the file is damaged ({type(error).__name__}: {error})"
            ) from error

    # ---- reading

    def _take(self, size: int) -> bytes:
        if size < 0 or size > self._end - self._file.tell():
            raise UnpicklingError(f"load: the pickle claims {size} more bytes than the file has")
        data = self._file.read(size)
        if len(data) != size:
            raise EOFError("load: the pickle in the file is cut off")
        return data

    def _number(self, form: str) -> int:
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def _line(self) -> str:
        line = self._file.readline(1 << 16)
        if not line.endswith(b"\n"):
            raise UnpicklingError("load: a name in the pickle does not end")
        return line[:-1].decode("utf-8")

    # ---- the stack

    def _push(self, value: Any) -> None:
        self._stack.append(value)

    def _pop(self) -> Any:
        value = self._stack.pop()
        if value is _MARK:
            raise UnpicklingError("load: the pickle in the file is damaged (a mark where a value is due)")
        return value

    def _top(self) -> Any:
        if self._stack[-1] is _MARK:
            raise UnpicklingError("load: the pickle in the file is damaged (a mark where a value is due)")
        return self._stack[-1]

    def _since_mark(self) -> list[Any]:
        stack = self._stack
        for at in range(len(stack) - 1, -1, -1):
            if stack[at] is _MARK:
                values = stack[at + 1 :]
                del stack[at:]
                return values
        raise UnpicklingError("load: the pickle in the file is damaged (a mark is missing)")

    # ---- names, calls and states

    def _global(self, module: str, name: str) -> None:
        entry = self._allowed.get(f"{module}.{name}")
        if entry is None:
            raise UnpicklingError(_refusal(f"{module}.{name}"))
        self._push(entry)

    def _callable(self, value: Any) -> Any:
        if not isinstance(value, Allowed) or not value.call:
            raise UnpicklingError(f"load: the file calls {_show(value)}, which weights_only=True does not allow")
        return value

    def _made(self, entry: Allowed, value: Any) -> Any:
        if entry.build or type(value) in self._buildable:
            self._fresh[id(value)] = value
        return value

    def _reduce(self) -> None:
        arguments, function = self._pop(), self._callable(self._pop())
        if type(arguments) is not tuple:
            raise UnpicklingError("load: the pickle in the file is damaged (arguments are not a tuple)")
        arguments = tuple(_plain(argument) for argument in arguments)
        self._push(self._made(function, function.value(*arguments)))

    def _new(self, named: bool = False) -> None:
        keywords = self._pop() if named else {}
        arguments, entry = self._pop(), self._callable(self._pop())
        if not isinstance(entry.value, type) or type(arguments) is not tuple or type(keywords) is not dict:
            raise UnpicklingError(f"load: the file makes an object of {_show(entry)}, which is not an allowed class")
        self._push(self._made(entry, entry.value.__new__(entry.value, *map(_plain, arguments), **keywords)))

    def _build(self) -> None:
        state, target = self._pop(), self._top()
        if id(target) not in self._fresh:
            raise UnpicklingError(
                f"load: the file sets the state of {_show(target)}, which weights_only=True does not allow"
            )
        setstate = getattr(target, "__setstate__", None)
        if setstate is not None:
            setstate(state)
        else:
            _set_state(target, state)

    # ---- containers

    def _append(self) -> None:
        value = self._pop()
        self._list().append(_plain(value))

    def _appends(self) -> None:
        values = self._since_mark()
        self._list().extend(map(_plain, values))

    def _list(self) -> list:
        target = self._top()
        if type(target) is not list:
            raise UnpicklingError(f"load: the file appends to {_show(target)}, which is no list")
        return target

    def _set_items(self, pairs: list[Any]) -> None:
        target = self._top()
        if not isinstance(target, (dict, OrderedDict, Counter)):
            raise UnpicklingError(f"load: the file sets items of {_show(target)}, which is no dict")
        if len(pairs) % 2:
            raise UnpicklingError("load: the pickle in the file is damaged (a key without a value)")
        for at in range(0, len(pairs), 2):
            target[_plain(pairs[at])] = _plain(pairs[at + 1])

    def _setitem(self) -> None:
        value, key = self._pop(), self._pop()
        self._set_items([key, value])

    def _additems(self) -> None:
        values, target = self._since_mark(), self._top()
        if type(target) is not set:
            raise UnpicklingError(f"load: the file adds items to {_show(target)}, which is no set")
        target.update(values)

    def _dict(self) -> None:
        pairs = self._since_mark()
        self._push({})
        self._set_items(pairs)

    def _tuple(self, values: list[Any]) -> None:
        self._push(tuple(map(_plain, values)))

    def _last(self, count: int) -> list[Any]:
        values = [self._pop() for _ in range(count)]
        return values[::-1]

    # ---- scalars, text, memo

    def _text(self, size: int) -> None:
        self._push(str(self._take(size), "utf-8", "surrogatepass"))

    def _old_string(self, size: int) -> None:
        data = self._take(size)
        self._push(data if self._encoding == "bytes" else data.decode(self._encoding))

    def _put(self, index: int) -> None:
        self._memo[index] = self._top()

    def _persistent(self) -> None:
        key = self._pop()
        if type(key) is not tuple:
            raise UnpicklingError(f"load: the file names a storage by {_show(key)}, expected a tuple")
        self._push(self.persistent_load(key))

    def _protocol(self) -> None:
        version = self._number("<B")
        if version > pickle.HIGHEST_PROTOCOL:
            raise UnpicklingError(f"load: the pickle uses protocol {version}, which is unknown")


def _plain(value: Any) -> Any:
    return value.value if type(value) is Allowed else value


def _show(value: Any) -> str:
    value = _plain(value)
    name = getattr(value, "__qualname__", None)
    return name if name is not None else f"a {type(value).__name__}"


def _refusal(name: str) -> str:
    return (
        f"load: the file asks for {name}, which is not on the list of names that weights_only=True allows. If you "
        f"trust it, allow it: torch.serialization.add_safe_globals([{name}]), or safe_globals(...) for a block. "
        "If you trust the whole file: torch.load(..., weights_only=False), which lets the file run any code"
    )


def _set_state(target: Any, state: Any) -> None:
    attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    for part in (attributes, slots):
        if part is not None and not isinstance(part, dict):
            raise UnpicklingError(
                f"load: the state of a {type(target).__name__} is a {type(part).__name__}, not a dict"
            )
    if attributes:
        vars(target).update(attributes)
    for name, value in (slots or {}).items():
        setattr(target, name, value)


def _long(machine: Unpickler, size: int) -> None:
    machine._push(int.from_bytes(machine._take(size), "little", signed=True))


_INSTRUCTIONS: dict[bytes, Callable[[Unpickler], None]] = {
    pickle.PROTO: Unpickler._protocol,
    pickle.FRAME: lambda m: (m._number("<Q"), None)[1],
    pickle.MARK: lambda m: m._push(_MARK),
    pickle.POP: lambda m: (m._stack.pop(), None)[1],
    pickle.POP_MARK: lambda m: (m._since_mark(), None)[1],
    pickle.DUP: lambda m: m._push(m._top()),
    pickle.NONE: lambda m: m._push(None),
    pickle.NEWTRUE: lambda m: m._push(True),
    pickle.NEWFALSE: lambda m: m._push(False),
    pickle.BININT: lambda m: m._push(m._number("<i")),
    pickle.BININT1: lambda m: m._push(m._number("<B")),
    pickle.BININT2: lambda m: m._push(m._number("<H")),
    pickle.LONG1: lambda m: _long(m, m._number("<B")),
    pickle.LONG4: lambda m: _long(m, m._number("<i")),
    pickle.BINFLOAT: lambda m: m._push(m._number(">d")),
    pickle.BINUNICODE: lambda m: m._text(m._number("<I")),
    pickle.SHORT_BINUNICODE: lambda m: m._text(m._number("<B")),
    pickle.BINUNICODE8: lambda m: m._text(m._number("<Q")),
    pickle.BINSTRING: lambda m: m._old_string(m._number("<i")),
    pickle.SHORT_BINSTRING: lambda m: m._old_string(m._number("<B")),
    pickle.BINBYTES: lambda m: m._push(m._take(m._number("<I"))),
    pickle.SHORT_BINBYTES: lambda m: m._push(m._take(m._number("<B"))),
    pickle.BINBYTES8: lambda m: m._push(m._take(m._number("<Q"))),
    pickle.BYTEARRAY8: lambda m: m._push(bytearray(m._take(m._number("<Q")))),
    pickle.EMPTY_LIST: lambda m: m._push([]),
    pickle.EMPTY_DICT: lambda m: m._push({}),
    pickle.EMPTY_SET: lambda m: m._push(set()),
    pickle.EMPTY_TUPLE: lambda m: m._push(()),
    pickle.TUPLE1: lambda m: m._tuple(m._last(1)),
    pickle.TUPLE2: lambda m: m._tuple(m._last(2)),
    pickle.TUPLE3: lambda m: m._tuple(m._last(3)),
    pickle.TUPLE: lambda m: m._tuple(m._since_mark()),
    pickle.LIST: lambda m: m._push([_plain(value) for value in m._since_mark()]),
    pickle.DICT: Unpickler._dict,
    pickle.FROZENSET: lambda m: m._push(frozenset(m._since_mark())),
    pickle.APPEND: Unpickler._append,
    pickle.APPENDS: Unpickler._appends,
    pickle.SETITEM: Unpickler._setitem,
    pickle.SETITEMS: lambda m: m._set_items(m._since_mark()),
    pickle.ADDITEMS: Unpickler._additems,
    pickle.BINPUT: lambda m: m._put(m._number("<B")),
    pickle.LONG_BINPUT: lambda m: m._put(m._number("<I")),
    pickle.MEMOIZE: lambda m: m._put(len(m._memo)),
    pickle.BINGET: lambda m: m._push(m._memo[m._number("<B")]),
    pickle.LONG_BINGET: lambda m: m._push(m._memo[m._number("<I")]),
    pickle.GLOBAL: lambda m: m._global(m._line(), m._line()),
    pickle.STACK_GLOBAL: lambda m: m._global(*m._last(2)),
    pickle.REDUCE: Unpickler._reduce,
    pickle.NEWOBJ: Unpickler._new,
    pickle.NEWOBJ_EX: lambda m: m._new(named=True),
    pickle.BUILD: Unpickler._build,
    pickle.BINPERSID: Unpickler._persistent,
}


def load(file: IO[bytes], *, encoding: str = "bytes") -> Any:
    """Unpickles a file that names no storages."""
    return Unpickler(file, encoding=encoding).load()


def names_asked_for(file: IO[bytes]) -> set[str]:
    """The full names a pickle refers to, without running it."""
    import pickletools

    names: set[str] = set()
    strings: list[str] = []
    for instruction, argument, _ in pickletools.genops(file):
        if instruction.name == "GLOBAL":
            names.add(str(argument).replace(" ", "."))
        elif instruction.name == "STACK_GLOBAL" and len(strings) >= 2:
            names.add(f"{strings[-2]}.{strings[-1]}")
        elif isinstance(argument, str):
            strings.append(argument)
    return names
