"""Special functions: every op of the table's `special.` namespace.

>>> import flambeau as torch
>>> torch.special.expit(torch.tensor([0.0]))
tensor([0.5000])
"""

from __future__ import annotations

from . import _composite, _op

_composite.load("special")
globals().update(_op.namespace("special"))

__all__ = sorted(_op.namespace("special"))  # noqa: PLE0605
