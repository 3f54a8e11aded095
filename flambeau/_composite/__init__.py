"""Ops written in ops: one module for each family.

A module's name begins with the namespace its ops live in (``nn_loss``, ``linalg_solve``); one without such a beginning
holds ops of the package itself. A namespace's modules are loaded with the namespace.
"""

from __future__ import annotations

from importlib import import_module
from os import listdir
from os.path import dirname

_NAMESPACES = ("nn", "linalg", "fft", "special")


def load(namespace: str) -> None:
    """Declare the ops of ``namespace``; ``""`` stands for the package."""
    for file in sorted(listdir(dirname(__file__))):
        name, _, kind = file.partition(".")
        if kind != "py" or name == "__init__":
            continue
        first = name.split("_")[0]
        if (first if first in _NAMESPACES else "") == namespace:
            import_module("." + name, __name__)
