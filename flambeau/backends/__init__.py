"""Switches and questions about the libraries underneath. The modules load when they are first used."""

from importlib import import_module as _import_module

_MODULES = ("cpu", "cuda", "cudnn", "mha", "mkl", "mkldnn", "mps", "openmp", "opt_einsum")


def __getattr__(name):
    if name in _MODULES:
        return _import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return [*globals(), *_MODULES]
