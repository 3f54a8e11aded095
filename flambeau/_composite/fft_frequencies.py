"""The frequencies of transforms, and their order."""

from __future__ import annotations

import sys

from .._op import op

root = sys.modules[__package__.partition(".")[0]]

_OPTIONS = (
    "dtype? dtype=None, layout? layout=None, device? device=None, bool requires_grad=False, bool pin_memory=False"
)


def _scaled(positions, n, d, requires_grad):
    result = positions * (1.0 / (n * d))
    return result.requires_grad_() if requires_grad else result


def _check_type(name, dtype):
    if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(f"{name}: requires a floating point or complex dtype, got {dtype}")
    return root.get_default_dtype() if dtype is None else dtype


@op(f"fft.fftfreq(int n, float d=1.0, *, {_OPTIONS}) -> Tensor", out=True)
def fftfreq(n, d, dtype, layout, device, requires_grad, pin_memory):
    """The frequencies of fft's results for n points at distance d: 0, 1, ..., then the negative ones, over n * d.

    >>> torch.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    positions = root.arange(n, dtype=_check_type("fftfreq", dtype), layout=layout, device=device, pin_memory=pin_memory)
    half = n // 2
    if half:
        positions[-half:] = root.arange(-half, 0, dtype=positions.dtype, device=device)
    return _scaled(positions, n, d, requires_grad)


@op(f"fft.rfftfreq(int n, float d=1.0, *, {_OPTIONS}) -> Tensor", out=True)
def rfftfreq(n, d, dtype, layout, device, requires_grad, pin_memory):
    """The frequencies of rfft's results for n points at distance d: 0, 1, ..., n // 2 over n * d.

    >>> torch.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    kind = _check_type("rfftfreq", dtype)
    positions = root.arange(n // 2 + 1, dtype=kind, layout=layout, device=device, pin_memory=pin_memory)
    return _scaled(positions, n, d, requires_grad)


def _rolled(input, dim, shift):
    dims = tuple(range(input.dim())) if dim is None else tuple(dim)
    return input.roll([shift(input.size(each)) for each in dims], dims)


@op("fft.fftshift(Tensor input, int[1]? dim=None) -> Tensor")
def fftshift(input, dim):
    """Moves the frequency 0 to the middle.

    >>> torch.fft.fftshift(torch.tensor([0, 1, -2, -1]))
    tensor([-2, -1,  0,  1])
    """
    return _rolled(input, dim, lambda size: size // 2)


@op("fft.ifftshift(Tensor input, int[1]? dim=None) -> Tensor")
def ifftshift(input, dim):
    """The inverse of fftshift."""
    return _rolled(input, dim, lambda size: (size + 1) // 2)
