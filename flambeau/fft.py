"""Discrete Fourier transforms.

>>> import flambeau as torch
>>> torch.fft.rfft(torch.tensor([1.0, 1.0]))
tensor([2.+0.j, 0.+0.j])
"""

from __future__ import annotations

from . import _composite, _op

_composite.load("fft")
globals().update(_op.namespace("fft"))

__all__ = sorted(_op.namespace("fft"))  # noqa: PLE0605
