"""The discrete Fourier transforms of `fft`: over one, two or any dimensions; of complex, real and Hermitian signals.

`n` and `s` cut the signal or pad it with zeros; `norm` is "backward" (the inverse divides by n), "ortho" (both by its
root) or "forward". An unknown norm, a size below 1 and a wrong type are a RuntimeError.
"""

from __future__ import annotations

from .._op import op
from .fft_core import (
    check_points,
    complex_to_complex,
    complex_to_real,
    factor,
    many_dims,
    one_dim,
    promote,
    real_to_complex,
    resize,
)


def _complex_1d(name, input, n, dim, norm, forward):
    input = promote(name, input, True)
    dim = one_dim(name, input, dim)
    n = check_points(name, input.size(dim) if n is None else n)
    return complex_to_complex(resize(input, [(dim, n)]), (dim,), forward, factor(name, norm, forward, n))


def _real_1d(name, input, n, dim, norm, forward):
    """The first half of the transform of a real signal; of the inverse transform with `forward` False."""
    input = promote(name, input, False)
    dim = one_dim(name, input, dim)
    n = check_points(name, input.size(dim) if n is None else n)
    result = real_to_complex(resize(input, [(dim, n)]), (dim,), factor(name, norm, forward, n))
    return result if forward else result.conj().resolve_conj()


def _to_real_1d(name, input, n, dim, norm, forward):
    input = promote(name, input, True)
    dim = one_dim(name, input, dim)
    n = check_points(name, 2 * (input.size(dim) - 1) if n is None else n)
    input = resize(input, [(dim, n // 2 + 1)])
    return complex_to_real(input.conj() if forward else input, (dim,), n, factor(name, norm, forward, n))


@op("fft.fft(Tensor input, int? n=None, int dim=-1, str? norm=None) -> Tensor", out=True)
def fft(input, n, dim, norm):
    """The Fourier transform along a dimension.

    >>> torch.fft.fft(torch.tensor([1.0, 0.0]))
    tensor([1.+0.j, 1.+0.j])
    """
    return _complex_1d("fft", input, n, dim, norm, True)


@op("fft.ifft(Tensor input, int? n=None, int dim=-1, str? norm=None) -> Tensor", out=True)
def ifft(input, n, dim, norm):
    """The inverse of fft."""
    return _complex_1d("ifft", input, n, dim, norm, False)


@op("fft.rfft(Tensor input, int? n=None, int dim=-1, str? norm=None) -> Tensor", out=True)
def rfft(input, n, dim, norm):
    """The n // 2 + 1 frequencies that determine the transform of a real signal."""
    return _real_1d("rfft", input, n, dim, norm, True)


@op("fft.irfft(Tensor input, int? n=None, int dim=-1, str? norm=None) -> Tensor", out=True)
def irfft(input, n, dim, norm):
    """The real signal of n points (default: 2 * (size - 1)) that has the given half of frequencies."""
    return _to_real_1d("irfft", input, n, dim, norm, False)


@op("fft.hfft(Tensor input, int? n=None, int dim=-1, str? norm=None) -> Tensor", out=True)
def hfft(input, n, dim, norm):
    """The real transform of a Hermitian signal, of which the first half is given."""
    return _to_real_1d("hfft", input, n, dim, norm, True)


@op("fft.ihfft(Tensor input, int? n=None, int dim=-1, str? norm=None) -> Tensor", out=True)
def ihfft(input, n, dim, norm):
    """The inverse of hfft: the first half of the Hermitian signal that a real spectrum stands for."""
    return _real_1d("ihfft", input, n, dim, norm, False)


def _product(numbers):
    result = 1
    for number in numbers:
        result *= number
    return result


def _fit(name, input, dims, sizes):
    """The input cut and padded to sizes, and these with -1 replaced."""
    sizes = [check_points(name, input.size(dim) if size == -1 else size) for dim, size in zip(dims, sizes, strict=True)]
    return resize(input, list(zip(dims, sizes, strict=True))), sizes


def _complex_nd(name, input, s, dim, norm, forward):
    input = promote(name, input, True)
    dims, sizes = many_dims(name, input, s, dim)
    input, sizes = _fit(name, input, dims, sizes)
    return complex_to_complex(input, tuple(dims), forward, factor(name, norm, forward, _product(sizes)))


def _at_least_one(name, dims):
    if not dims:
        raise RuntimeError(f"{name}: must transform at least one axis")


def _real_nd(name, input, s, dim, norm, forward):
    input = promote(name, input, False)
    dims, sizes = many_dims(name, input, s, dim)
    _at_least_one(name, dims)
    input, sizes = _fit(name, input, dims, sizes)
    result = real_to_complex(input, tuple(dims), factor(name, norm, forward, _product(sizes)))
    return result if forward else result.conj().resolve_conj()


def _to_real_nd(name, input, s, dim, norm, forward):
    input = promote(name, input, True)
    dims, sizes = many_dims(name, input, s, dim)
    _at_least_one(name, dims)
    last = 2 * (input.size(dims[-1]) - 1) if sizes[-1] == -1 else sizes[-1]
    check_points(name, last)
    input, sizes = _fit(name, input, dims, [*sizes[:-1], last // 2 + 1])
    scale = factor(name, norm, forward, _product(sizes[:-1]) * last)
    return complex_to_real(input.conj() if forward else input, tuple(dims), last, scale)


@op("fft.fftn(Tensor input, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", out=True)
def fftn(input, s, dim, norm):
    """The transform over several dimensions, by default all (or the last len(s))."""
    return _complex_nd("fftn", input, s, dim, norm, True)


@op("fft.ifftn(Tensor input, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", out=True)
def ifftn(input, s, dim, norm):
    """The inverse of fftn."""
    return _complex_nd("ifftn", input, s, dim, norm, False)


@op("fft.rfftn(Tensor input, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", out=True)
def rfftn(input, s, dim, norm):
    """fftn of a real signal, with the first half of the frequencies in the last dimension."""
    return _real_nd("rfftn", input, s, dim, norm, True)


@op("fft.irfftn(Tensor input, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", out=True)
def irfftn(input, s, dim, norm):
    """The inverse of rfftn."""
    return _to_real_nd("irfftn", input, s, dim, norm, False)


@op("fft.hfftn(Tensor input, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", out=True)
def hfftn(input, s, dim, norm):
    """The real transform of a signal that is Hermitian over several dimensions, half of the last given."""
    return _to_real_nd("hfftn", input, s, dim, norm, True)


@op("fft.ihfftn(Tensor input, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", out=True)
def ihfftn(input, s, dim, norm):
    """The inverse of hfftn."""
    return _real_nd("ihfftn", input, s, dim, norm, False)


@op("fft.fft2(Tensor input, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", out=True)
def fft2(input, s, dim, norm):
    """fftn over two dimensions."""
    return _complex_nd("fft2", input, s, dim, norm, True)


@op("fft.ifft2(Tensor input, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", out=True)
def ifft2(input, s, dim, norm):
    """The inverse of fft2."""
    return _complex_nd("ifft2", input, s, dim, norm, False)


@op("fft.rfft2(Tensor input, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", out=True)
def rfft2(input, s, dim, norm):
    """rfftn over two dimensions."""
    return _real_nd("rfft2", input, s, dim, norm, True)


@op("fft.irfft2(Tensor input, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", out=True)
def irfft2(input, s, dim, norm):
    """The inverse of rfft2."""
    return _to_real_nd("irfft2", input, s, dim, norm, False)


@op("fft.hfft2(Tensor input, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", out=True)
def hfft2(input, s, dim, norm):
    """hfftn over two dimensions."""
    return _to_real_nd("hfft2", input, s, dim, norm, True)


@op("fft.ihfft2(Tensor input, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", out=True)
def ihfft2(input, s, dim, norm):
    """The inverse of hfft2."""
    return _real_nd("ihfft2", input, s, dim, norm, False)
