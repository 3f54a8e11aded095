"""The finder behind ``import torch``.

The package is loaded under the name ``torch``: its classes then say ``torch.nn...``, as programs, pickles and packages
expect. ``flambeau`` and everything below it are second names of the same module objects. A process has one copy of
each module, and of the C extension.

This file runs at the start of every Python process of a program, so it imports next to nothing.
"""

import os
import sys
from importlib.machinery import ModuleSpec

_ALIAS = "torch"
_OWN = "flambeau"


class _SameModuleLoader:
    """Loads ``flambeau.x`` by importing ``torch.x`` and entering that object under the second name."""

    def __init__(self, real_name, real_spec):
        self._real_name = real_name
        self._real_spec = real_spec

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        from importlib import import_module

        # The import system takes the module from sys.modules after this call, so a replacement counts.
        sys.modules[module.__name__] = import_module(self._real_name)

    def get_code(self, name):
        return self._real_spec.loader.get_code(self._real_name)  # asked by `python -m flambeau.x`


class TorchFinder:
    """Answers for ``torch`` and its distribution, and for ``flambeau`` as the same modules."""

    def __init__(self, package):
        self._package = package

    def find_spec(self, name, path=None, target=None):
        if name == _ALIAS:
            from importlib.util import spec_from_file_location

            init = os.path.join(self._package, "__init__.py")
            return spec_from_file_location(name, init, submodule_search_locations=[self._package])
        if name == _OWN or name.startswith(_OWN + "."):
            return self._second_name(name)
        return None  # modules below torch are found on the package's own path

    def _second_name(self, name):
        from importlib.util import find_spec

        real_name = _ALIAS + name[len(_OWN) :]
        real = find_spec(real_name)
        if real is None:
            return None
        spec = ModuleSpec(name, _SameModuleLoader(real_name, real), origin=real.origin)
        spec.submodule_search_locations = real.submodule_search_locations
        return spec

    def find_distributions(self, context):
        """Part of importlib.metadata's protocol: what it asks of every finder."""
        from .distribution import TorchDistribution

        if context.name is None or context.name.lower() == _ALIAS:
            yield TorchDistribution(self._package)

    def invalidate_caches(self):
        pass


def install():
    """Puts the finder in front of all others, once."""
    if not any(isinstance(finder, TorchFinder) for finder in sys.meta_path):
        package = os.path.abspath(__file__)
        for _ in range(4):  # <package>/_launcher/startup/flambeau_alias/__init__.py
            package = os.path.dirname(package)
        sys.meta_path.insert(0, TorchFinder(package))
