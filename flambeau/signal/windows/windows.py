"""Window functions of ``M`` points.

Each is symmetric, or with ``sym=False`` periodic: a symmetric one of ``M + 1`` points without its last. All take the
dtype (float32 or float64), layout, device and requires_grad of factory functions, and raise ValueError for bad ones.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from math import pi
from typing import Any

_ROOT = __package__.partition(".")[0]


def _root() -> Any:
    return sys.modules[_ROOT]


class _Points:
    """The points of a window, after the checks that all windows share."""

    def __init__(self, name: str, count: int, sym: bool, dtype: Any, layout: Any, device: Any, requires_grad: bool):
        root = _root()
        if count < 0:
            raise ValueError(f"{name} requires non-negative window length, got M={count}")
        if layout is not None and layout is not root.strided:
            raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
        dtype = dtype or root.get_default_dtype()
        if dtype not in (root.float32, root.float64):
            raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
        self.count, self.dtype, self.device, self.requires_grad = count, dtype, device, requires_grad
        self.intervals = count if not sym else count - 1

    def index(self) -> Any:
        """0 to ``count - 1``, in float64."""
        root = _root()
        return root.arange(self.count, dtype=root.float64, device=self.device)

    def finish(self, window: Any) -> Any:
        return window.to(self.dtype).requires_grad_(self.requires_grad)

    def trivial(self) -> Any:
        """The window of no or one point; None for longer ones."""
        if self.count > 1:
            return None
        return self.finish(_root().ones((self.count,), dtype=self.dtype, device=self.device))


def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """``exp(-|n - center| / tau)``. The center of a symmetric window is its middle and can't be given.

    >>> import flambeau as torch
    >>> torch.signal.windows.exponential(3)
    tensor([0.3679, 1.0000, 0.3679])
    """
    points = _Points("exponential", M, sym, dtype, layout, device, requires_grad)
    if tau <= 0:
        raise ValueError(f"exponential: tau must be positive, got {tau}")
    if sym and center is not None:
        raise ValueError("exponential: center must be None for symmetric windows")
    trivial = points.trivial()
    if trivial is not None:
        return trivial
    middle = points.intervals / 2 if center is None else center
    return points.finish((-(points.index() - middle).abs() / tau).exp())


def cosine(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """Half a period of a sine.

    >>> import flambeau as torch
    >>> torch.signal.windows.cosine(3)
    tensor([0.5000, 1.0000, 0.5000])
    """
    points = _Points("cosine", M, sym, dtype, layout, device, requires_grad)
    trivial = points.trivial()
    if trivial is not None:
        return trivial
    return points.finish(((points.index() + 0.5) * (pi / (points.intervals + 1))).sin())


def gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """The normal curve of standard deviation ``std`` points.

    >>> import flambeau as torch
    >>> torch.signal.windows.gaussian(3)
    tensor([0.6065, 1.0000, 0.6065])
    """
    points = _Points("gaussian", M, sym, dtype, layout, device, requires_grad)
    if std <= 0:
        raise ValueError(f"gaussian: standard deviation must be positive, got {std}")
    trivial = points.trivial()
    if trivial is not None:
        return trivial
    distance = (points.index() - points.intervals / 2) / std
    return points.finish((distance * distance * -0.5).exp())


def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """The Kaiser window with the shape parameter ``beta``.

    >>> import flambeau as torch
    >>> torch.signal.windows.kaiser(3, beta=0.0)
    tensor([1., 1., 1.])
    """
    points = _Points("kaiser", M, sym, dtype, layout, device, requires_grad)
    if beta < 0:
        raise ValueError(f"kaiser: beta must be non-negative, got {beta}")
    trivial = points.trivial()
    if trivial is not None:
        return trivial
    return points.finish(_root().kaiser_window(M, not sym, beta, dtype=_root().float64, device=device))


def general_cosine(
    M: int,
    *,
    a: Iterable,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """A sum of cosines with the coefficients ``a``, their signs alternating.

    >>> import flambeau as torch
    >>> torch.signal.windows.general_cosine(3, a=[0.5, 0.5])
    tensor([0., 1., 0.])
    """
    points = _Points("general_cosine", M, sym, dtype, layout, device, requires_grad)
    if not isinstance(a, Iterable):
        raise TypeError(f"general_cosine: the coefficients must be a list or tuple, not {type(a).__name__}")
    coefficients = [float(value) for value in a]
    if not coefficients:
        raise ValueError("general_cosine: the coefficients cannot be empty")
    trivial = points.trivial()
    if trivial is not None:
        return trivial
    angle = points.index() * (2 * pi / points.intervals)
    window = _root().zeros_like(angle)
    for times, coefficient in enumerate(coefficients):
        window += (angle * times).cos() * (coefficient * (-1) ** times)
    return points.finish(window)


def general_hamming(
    M: int,
    *,
    alpha: float = 0.54,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """``alpha - (1 - alpha) cos``.

    >>> import flambeau as torch
    >>> torch.signal.windows.general_hamming(3, alpha=0.5)
    tensor([0., 1., 0.])
    """
    options = {"sym": sym, "dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return general_cosine(M, a=[alpha, 1.0 - alpha], **options)


def hamming(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """`general_hamming` with ``alpha`` 0.54.

    >>> import flambeau as torch
    >>> torch.signal.windows.hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
    options = {"sym": sym, "dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return general_hamming(M, **options)


def hann(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """`general_hamming` with ``alpha`` 0.5: a raised cosine.

    >>> import flambeau as torch
    >>> torch.signal.windows.hann(3)
    tensor([0., 1., 0.])
    """
    options = {"sym": sym, "dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return general_hamming(M, alpha=0.5, **options)


def blackman(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """`general_cosine` with the coefficients 0.42, 0.5 and 0.08."""
    options = {"sym": sym, "dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return general_cosine(M, a=[0.42, 0.5, 0.08], **options)


def bartlett(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """A triangle that begins and ends at zero.

    >>> import flambeau as torch
    >>> torch.signal.windows.bartlett(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    points = _Points("bartlett", M, sym, dtype, layout, device, requires_grad)
    trivial = points.trivial()
    if trivial is not None:
        return trivial
    return points.finish(1 - (points.index() * (2 / points.intervals) - 1).abs())


def nuttall(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """`general_cosine` with Nuttall's four coefficients, whose side lobes are low."""
    options = {"sym": sym, "dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], **options)
