"""The bases of data pipes, and the registration of steps as methods."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, TypeVar

from ..dataset import Dataset, IterableDataset

_T_co = TypeVar("_T_co", covariant=True)


class _StepMethods:
    """Finds registered steps as methods: ``pipe.map(fn)`` is ``Mapper(pipe, fn)``."""

    functions: ClassVar[dict[str, Callable]] = {}

    def __getattr__(self, name: str) -> Any:
        step = type(self).functions.get(name)
        if step is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute or registered step {name!r}")
        return functools.partial(step, self)

    @classmethod
    def register_function(cls, function_name: str, function: Callable) -> None:
        """Make ``function(pipe, ...)`` the method ``function_name``."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(
        cls, function_name: str, cls_to_register: type, enable_df_api_tracing: bool = False
    ) -> None:
        """Make the step ``cls_to_register`` the method ``function_name``. Raises Exception if the name is taken."""
        if function_name in cls.functions:
            raise Exception(f"a data pipe step named {function_name} is already registered")
        cls.functions[function_name] = cls_to_register

    def __repr__(self) -> str:
        return type(self).__qualname__

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *type(self).functions})


class IterDataPipe(_StepMethods, IterableDataset[_T_co]):
    """A step of a pipeline that is iterated over: define ``__iter__``.

    >>> pipe = torch.utils.data.datapipes.iter.IterableWrapper(range(5)).map(lambda x: x * 10).batch(2)
    >>> list(pipe)
    [[0, 10], [20, 30], [40]]
    """

    functions: ClassVar[dict[str, Callable]] = {}

    def __iter__(self) -> Iterator[_T_co]:
        return self

    def reset(self) -> None:
        """Called by steps with a state of their own, to begin again."""


class MapDataPipe(_StepMethods, Dataset[_T_co]):
    """A step of a pipeline that is indexed: define ``__getitem__`` and ``__len__``."""

    functions: ClassVar[dict[str, Callable]] = {}


class functional_datapipe:
    """Class decorator: registers a step as a method of all data pipes of its kind.

    Raises TypeError for other classes.
    """

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name = name

    def __call__(self, cls: type) -> type:
        for base in (IterDataPipe, MapDataPipe):
            if isinstance(cls, type) and issubclass(cls, base):
                base.register_datapipe_as_function(self.name, cls)
                return cls
        raise TypeError(f"functional_datapipe: expected a subclass of IterDataPipe or MapDataPipe, got {cls!r}")
