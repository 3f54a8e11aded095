"""Gradients of convolutions, called directly."""

from __future__ import annotations

from .. import Tensor, empty
from . import functional as F


def _convolution(dims: int):
    return getattr(F, f"conv{dims}d")


def _input_gradient(dims, input_size, weight, grad_output, stride, padding, dilation, groups) -> Tensor:
    from ..autograd import grad

    # A convolution is linear: its gradient depends on where it is taken only by the shape.
    input = empty(1, dtype=weight.dtype, device=weight.device).expand(input_size).detach().requires_grad_()
    output = _convolution(dims)(input, weight.detach(), None, stride, padding, dilation, groups)
    return grad(output, input, grad_output)[0]


def _weight_gradient(dims, input, weight_size, grad_output, stride, padding, dilation, groups) -> Tensor:
    from ..autograd import grad

    weight = empty(1, dtype=input.dtype, device=input.device).expand(weight_size).detach().requires_grad_()
    output = _convolution(dims)(input.detach(), weight, None, stride, padding, dilation, groups)
    return grad(output, weight, grad_output)[0]


def conv1d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1) -> Tensor:
    """The gradient of conv1d with respect to its input of that size."""
    return _input_gradient(1, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv1d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1) -> Tensor:
    """The gradient of conv1d with respect to its weight of that size."""
    return _weight_gradient(1, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv2d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1) -> Tensor:
    """The gradient of conv2d with respect to its input of that size."""
    return _input_gradient(2, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv2d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1) -> Tensor:
    """The gradient of conv2d with respect to its weight of that size."""
    return _weight_gradient(2, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv3d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1) -> Tensor:
    """The gradient of conv3d with respect to its input of that size."""
    return _input_gradient(3, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv3d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1) -> Tensor:
    """The gradient of conv3d with respect to its weight of that size."""
    return _weight_gradient(3, input, weight_size, grad_output, stride, padding, dilation, groups)
