"""Imported by Python before the program: makes `import torch` find flambeau, then hands over.

This directory stands in front of ``PYTHONPATH`` only to be found here. It leaves `sys.path` again, so the program sees
the path that Python would have given it, and the `sitecustomize` that it hid is run in its place.
"""

import os
import sys


def _hand_over() -> None:
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    import flambeau_alias

    flambeau_alias.install()
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_hand_over()
