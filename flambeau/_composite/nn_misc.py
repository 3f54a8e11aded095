"""The remaining functions of `nn` that are compositions."""

from __future__ import annotations

import math
import sys

from .._op import op

root = sys.modules[__package__.partition(".")[0]]


@op("nn.softmin(Tensor input, int? dim=None, int _stacklevel=3, dtype? dtype=None) -> Tensor")
def softmin(input, dim, _stacklevel, dtype):
    """softmax(-x) along `dim`."""
    return root.nn.functional.softmax(-input, dim, _stacklevel + 1, dtype)


@op("nn.gumbel_softmax(Tensor logits, float tau=1, bool hard=False, float eps=1e-10, int dim=-1) -> Tensor")
def gumbel_softmax(logits, tau, hard, eps, dim):
    """A sample of the Gumbel-softmax distribution; `hard` makes it one-hot, with the soft sample's gradient."""
    if eps != 1e-10:
        import warnings

        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    noise = -root.empty_like(logits, memory_format=root.contiguous_format).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one_hot = root.zeros_like(logits, memory_format=root.contiguous_format).scatter_(dim, index, 1.0)
    return one_hot - soft.detach() + soft


@op("nn.local_response_norm(Tensor input, int size, float alpha=1e-4, float beta=0.75, float k=1.0) -> Tensor")
def local_response_norm(input, size, alpha, beta, k):
    """Divides each element by (k + alpha · the mean square of `size` neighbouring channels) to the power beta."""
    dim = input.dim()
    if dim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {dim} dimensions)")
    if input.numel() == 0:
        return input
    if size <= 0:
        raise RuntimeError(f"local_response_norm: size must be positive, got {size}")
    before, after = size // 2, (size - 1) // 2
    pads = (0, 0) * (dim - 2) + (before, after)
    squares = root.constant_pad_nd(input * input, pads, 0.0)
    channels = input.size(1)
    total = squares.narrow(1, 0, channels)
    for shift in range(1, size):
        total = total + squares.narrow(1, shift, channels)
    mean = total / size if input.is_floating_point() else total.div(size, rounding_mode="trunc")
    return input / (mean * alpha + k).pow(beta)


@op("nn.bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor")
def bilinear(input1, input2, weight, bias):
    """input1 @ weight[k] @ input2 + bias[k] for every output k: (*, in1), (*, in2), (out, in1, in2) -> (*, out)."""
    if input1.dim() != input2.dim() or input1.shape[:-1] != input2.shape[:-1]:
        raise RuntimeError(
            f"bilinear(): input batch dimensions do not match: got {tuple(input1.shape)} and {tuple(input2.shape)}"
        )
    if weight.dim() != 3 or input1.size(-1) != weight.size(1) or input2.size(-1) != weight.size(2):
        raise RuntimeError(
            f"bilinear(): input sizes {input1.size(-1)} and {input2.size(-1)} do not match the weight's "
            f"{tuple(weight.shape)}"
        )
    if bias is not None and bias.size(0) != weight.size(0):
        raise RuntimeError(f"bilinear(): bias size {bias.size(0)} does not match weight size {weight.size(0)}")
    outputs, first, second = weight.shape
    rows = math.prod(input1.shape[:-1])
    half = input1.reshape(rows, first) @ weight.permute(1, 0, 2).reshape(first, outputs * second)
    result = (half.view(rows, outputs, second) @ input2.reshape(rows, second, 1)).squeeze(-1)
    if bias is not None:
        result = result + bias
    return result.view(*input1.shape[:-1], outputs)


def _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, dims):
    pool = getattr(root.nn.functional, f"avg_pool{dims}d")
    count = math.prod(kernel_size)
    mean = pool(input.pow(norm_type), kernel_size, kernel_size if stride is None else stride, 0, ceil_mode)
    # An odd power can be negative, and has no root: its sign decides, and keeps the gradient finite.
    return (mean.sign() * mean.abs().relu() * count).pow(1.0 / norm_type)


@op(
    "nn.lp_pool1d(Tensor input, float norm_type, int[1] kernel_size, int[1]? stride=None, bool "
    "ceil_mode=False) -> Tensor"
)
def lp_pool1d(input, norm_type, kernel_size, stride, ceil_mode):
    """The p-norm of each window of (N, C, L)."""
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, 1)


@op(
    "nn.lp_pool2d(Tensor input, float norm_type, int[2] kernel_size, int[2]? stride=None, bool "
    "ceil_mode=False) -> Tensor"
)
def lp_pool2d(input, norm_type, kernel_size, stride, ceil_mode):
    """The p-norm of each window of (N, C, H, W)."""
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, 2)


@op(
    "nn.lp_pool3d(Tensor input, float norm_type, int[3] kernel_size, int[3]? stride=None, bool "
    "ceil_mode=False) -> Tensor"
)
def lp_pool3d(input, norm_type, kernel_size, stride, ceil_mode):
    """The p-norm of each window of (N, C, D, H, W)."""
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, 3)


@op("nn.conv_tbc(Tensor input, Tensor weight, Tensor bias, int pad=0) -> Tensor")
def conv_tbc(input, weight, bias, pad):
    """Convolution over time of (time, batch, channels), with a weight (width, in, out)."""
    if input.dim() != 3 or weight.dim() != 3 or bias.dim() != 1:
        raise RuntimeError(
            f"conv_tbc: input and weight must have 3 dimensions and bias 1, got {input.dim()}, {weight.dim()} "
            f"and {bias.dim()}"
        )
    result = root.nn.functional.conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, 1, pad)
    return result.permute(2, 0, 1)
