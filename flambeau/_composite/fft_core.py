"""The three transforms that all others are made of, by NumPy's pocketfft, with their derivatives.

Each runs over a tuple of dimensions with the exponent's sign given and multiplies by a factor, such as a normalisation.
The derivatives are transforms again, so they can be differentiated themselves.
"""

from __future__ import annotations

import sys

from .. import _C
from ..autograd.function import Function

root = sys.modules[__package__.partition(".")[0]]


def _numpy_transform(array, dims, forward):
    from numpy import fft

    for dim in dims:
        array = fft.fft(array, axis=dim) if forward else fft.ifft(array, axis=dim, norm="forward")
    return array


def _as_tensor(array, like, scale):
    """NumPy's result as a fresh contiguous tensor, in the precision of the input."""
    from numpy import ascontiguousarray

    single = like.dtype in (_C.float32, _C.complex64)
    kind = (
        ("complex64" if single else "complex128") if array.dtype.kind == "c" else ("float32" if single else "float64")
    )
    array = ascontiguousarray(array, dtype=kind)
    if not array.flags.writeable:
        array = array.copy()
    result = _C._from_array(array)
    return result if scale == 1 else result.mul_(scale)


def _array(tensor):
    return tensor.detach().numpy()


def _apply(function, *args):
    if _C._is_grad_enabled() and args[0].requires_grad:
        return function.apply(*args)
    return function.forward(None, *args)


class _FftC2C(Function):
    @staticmethod
    def forward(ctx, input, dims, forward, scale):
        if ctx:
            ctx.settings = dims, not forward, scale
        if input.is_meta or not dims:
            return input.to(input.dtype.to_complex(), copy=True)
        return _as_tensor(_numpy_transform(_array(input), dims, forward), input, scale)

    @staticmethod
    def backward(ctx, grad):
        return complex_to_complex(grad, *ctx.settings), None, None, None


class _FftR2C(Function):
    @staticmethod
    def forward(ctx, input, dims, scale):
        last = dims[-1]
        if ctx:
            ctx.settings = dims, scale, input.size(last)
        if input.is_meta:
            shape = list(input.shape)
            shape[last] = shape[last] // 2 + 1
            return input.new_empty(shape, dtype=input.dtype.to_complex())
        from numpy import fft

        half = fft.rfft(_array(input), axis=last)
        return _as_tensor(_numpy_transform(half, dims[:-1], True), input, scale)

    @staticmethod
    def backward(ctx, grad):
        dims, scale, size = ctx.settings
        return complex_to_complex(resize(grad, [(dims[-1], size)]), dims, False, scale).real, None, None


class _FftC2R(Function):
    @staticmethod
    def forward(ctx, input, dims, size, scale):
        if ctx:
            ctx.settings = dims, size, scale
        if input.is_meta:
            shape = list(input.shape)
            shape[dims[-1]] = size
            return input.new_empty(shape, dtype=input.dtype.to_real())
        from numpy import fft

        array = _numpy_transform(_array(input), dims[:-1], False)
        return _as_tensor(fft.irfft(array, size, axis=dims[-1], norm="forward"), input, scale)

    @staticmethod
    def backward(ctx, grad):
        dims, size, scale = ctx.settings
        half = real_to_complex(grad, dims, scale)
        # The middle frequencies stand for their mirror images, too.
        twice = half.new_ones(half.size(dims[-1]), dtype=grad.dtype)
        twice[1 : size - half.size(dims[-1]) + 1] = 2
        shape = [1] * half.dim()
        shape[dims[-1]] = -1
        return half * twice.reshape(shape), None, None, None


def complex_to_complex(input, dims, forward, scale):
    return _apply(_FftC2C, input, dims, forward, scale)


def real_to_complex(input, dims, scale):
    """Forward, keeping the first half of the last of `dims`."""
    return _apply(_FftR2C, input, dims, scale)


def complex_to_real(input, dims, size, scale):
    """Backward, from the first half of the last of `dims` to `size` real values."""
    return _apply(_FftC2R, input, dims, size, scale)


def resize(input, sizes):
    """Cuts or pads with zeros at the end: sizes by dimension."""
    for dim, size in sizes:
        present = input.size(dim)
        if size < present:
            input = input.narrow(dim, 0, size)
        elif size > present:
            shape = list(input.shape)
            shape[dim] = size - present
            input = root.cat([input, input.new_zeros(shape)], dim)
    return input


def promote(name, input, to_complex):
    """The input in a type that can be transformed: whole numbers become the default floating type.

    What is real stays so, because NumPy is faster then, unless the graph has to know of the complex value.
    """
    if not (input.is_floating_point() or input.is_complex()):
        input = input.to(_C.get_default_dtype())
    if input.dtype not in (_C.float32, _C.float64, _C.complex64, _C.complex128):
        raise RuntimeError(f"{name}: unsupported dtype {input.dtype}")
    if to_complex and not input.is_complex():
        return input.to(input.dtype.to_complex()) if input.requires_grad else input
    if not to_complex and input.is_complex():
        raise RuntimeError(f"{name}: expected a real input tensor, got {input.dtype}")
    return input


def factor(name, norm, forward, count):
    """What a transform of `count` points is multiplied by."""
    if norm not in (None, "forward", "backward", "ortho"):
        raise RuntimeError(f'{name}: Invalid normalization mode: "{norm}"')
    if norm == "ortho":
        return count**-0.5
    return 1 / count if (norm == "forward") == forward else 1


def one_dim(name, input, dim):
    if not -input.dim() <= dim < input.dim():
        raise IndexError(f"{name}: dimension {dim} of a tensor with {input.dim()} dimensions")
    return dim % input.dim()


def check_points(name, size):
    if size < 1:
        raise RuntimeError(f"{name}: Invalid number of data points ({size}) specified")
    return size


def many_dims(name, input, s, dim):
    """The dimensions to transform and their sizes, -1 for as they are."""
    if dim is not None:
        dims = [one_dim(name, input, each) for each in dim]
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"{name}: FFT dims must be unique, got {tuple(dim)}")
        if s is not None and len(s) != len(dims):
            raise RuntimeError(f"{name}: dim and s must have the same length, got {tuple(dim)} and {tuple(s)}")
    elif s is not None:
        if len(s) > input.dim():
            raise RuntimeError(f"{name}: got {len(s)} sizes, but the input has {input.dim()} dimensions")
        dims = list(range(input.dim() - len(s), input.dim()))
    else:
        dims = list(range(input.dim()))
    sizes = [-1] * len(dims) if s is None else list(s)
    return dims, sizes
