"""`FloatTensor` and the like: names for "a tensor of this dtype" from before tensors had a dtype argument."""

from __future__ import annotations

import sys
from typing import Any

_DTYPES = {
    "DoubleTensor": "float64",
    "FloatTensor": "float32",
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "LongTensor": "int64",
    "IntTensor": "int32",
    "ShortTensor": "int16",
    "CharTensor": "int8",
    "ByteTensor": "uint8",
    "BoolTensor": "bool",
}


def _root() -> Any:
    return sys.modules[__package__]


class tensortype:
    """The kind of tensors with one dtype: makes them when called, and `isinstance` knows them.

    Called with sizes it makes uninitialised memory, with a sequence a tensor of its values.

    >>> torch.FloatTensor([1, 2])
    tensor([1., 2.])
    >>> isinstance(torch.ones(1), torch.FloatTensor)
    True
    """

    is_cuda = False
    is_sparse = False

    def __init__(self, name: str):
        self.__name__ = self.__qualname__ = name
        self.__module__ = __package__
        self.dtype = getattr(_root(), _DTYPES[name])
        self.layout = _root().strided

    def __repr__(self) -> str:
        return f"<class 'torch.{self.__name__}'>"

    def __reduce__(self) -> str:
        return self.__name__

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, _root().Tensor) and instance.dtype == self.dtype and instance.device.type == "cpu"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(_root().Tensor, name)

    def __call__(self, *args: Any, device: Any = None) -> Any:
        root = _root()
        if device is not None and root.device(device).type != "cpu":
            raise RuntimeError(f"{self.__name__}: makes tensors on the CPU, got device {device}")
        if len(args) != 1 or isinstance(args[0], (int, root.Size)):
            sizes = args[0] if len(args) == 1 and isinstance(args[0], root.Size) else args
            if any(not isinstance(size, int) for size in sizes):
                raise TypeError(f"{self.__name__}: expected sizes or one sequence, got {args!r}")
            return root.empty(sizes or (0,), dtype=self.dtype)
        return self._from(args[0])

    def _from(self, data: Any) -> Any:
        root = _root()
        if isinstance(data, root.Tensor):
            if data.dtype != self.dtype:
                raise TypeError(f"{self.__name__}: expected a tensor of {self.dtype}, got one of {data.dtype}")
            return data.detach()
        if isinstance(data, (root.TypedStorage, root.UntypedStorage)):
            return root.empty(0, dtype=self.dtype).set_(data.untyped())
        if isinstance(data, str) or not hasattr(data, "__len__"):
            raise TypeError(f"{self.__name__}: expected sizes or a sequence, got a {type(data).__name__}")
        return root.tensor(data, dtype=self.dtype)


def __getattr__(name: str) -> Any:
    if name not in _DTYPES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = tensortype(name)
    return value
