"""The faces of devices that are not here.

Programs ask `torch.cuda` and its like whether there is a device, and seed, synchronise or measure it without asking.
Questions are answered truthfully, what makes sense for no devices does nothing, and what needs a device says that
there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def refusing(module: str, names: str, kind: type[Exception], device: str) -> dict[str, Callable]:
    """Functions of these names that raise: there is no such device.

    >>> functions = refusing("torch.cuda", "current_device", AssertionError, "CUDA device")
    """

    def make(name: str) -> Callable:
        def function(*args: Any, **kwargs: Any) -> Any:
            raise kind(f"{module}.{name}: there is no {device} here; flambeau computes on the CPU")

        function.__name__ = function.__qualname__ = name
        function.__module__ = module
        function.__doc__ = f"Raises {kind.__name__}: there is no {device}."
        return function

    return {name: make(name) for name in names.split()}


def refusing_class(module: str, name: str, kind: type[Exception], device: str) -> type:
    """A class that can be named and tested for, and of which there are no objects."""

    def new(cls: type, *args: Any, **kwargs: Any) -> Any:
        raise kind(f"{module}.{name}: there is no {device} here; flambeau computes on the CPU")

    return type(name, (), {"__module__": module, "__doc__": f"Cannot be made: there is no {device}.", "__new__": new})
