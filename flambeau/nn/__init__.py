"""Neural networks: layers, losses, containers and what belongs to them."""

from __future__ import annotations

from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter  # isort: skip
from . import functional as functional
from . import init as init
from . import modules as modules
from .modules import *  # noqa: F403
from .modules import __all__ as _layers

__all__ = list(_layers)
__all__ += ["Buffer", "DataParallel", "Parameter", "UninitializedBuffer", "UninitializedParameter"]  # noqa: F405

_SUBMODULES = ("attention", "common_types", "grad", "parallel", "utils")


def factory_kwargs(kwargs):
    """`device`, `dtype` and `memory_format` out of `kwargs`, merged with its entry `factory_kwargs`.

    Raises TypeError for any other key, and for one that is given twice.

    >>> factory_kwargs({"device": "cpu", "factory_kwargs": {}})
    {'device': 'cpu'}
    """
    if kwargs is None:
        return {}
    simple = {"device", "dtype", "memory_format"}
    unexpected = kwargs.keys() - simple - {"factory_kwargs"}
    if unexpected:
        raise TypeError(f"unexpected kwargs {unexpected}")
    merged = dict(kwargs.get("factory_kwargs", {}))
    for key in sorted(simple & kwargs.keys()):
        if key in merged:
            raise TypeError(f"{key} specified twice, in **kwargs and in factory_kwargs")
        merged[key] = kwargs[key]
    return merged


def __getattr__(name: str):
    if name in _SUBMODULES:
        from importlib import import_module

        return import_module(f"{__name__}.{name}")
    if name == "DataParallel":
        from .parallel import DataParallel

        return DataParallel
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
