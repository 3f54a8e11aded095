"""Batch normalisation folded into the layer before it, for evaluation."""

from __future__ import annotations

import copy

from ... import rsqrt, zeros_like
from ..parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def fuse_conv_bn_eval(conv, bn, transpose: bool = False):
    """A copy of `conv` that computes what `conv` and then `bn` compute in evaluation."""
    if conv.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("fuse_conv_bn_eval: the batch normalisation keeps no running statistics")
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose: bool = False):
    """(weight, bias) of a convolution that includes the normalisation."""
    bias = zeros_like(bn_rm) if conv_b is None else conv_b
    scale = rsqrt(bn_rv + bn_eps)
    if bn_w is not None:
        scale = scale * bn_w
    shape = [1] * conv_w.dim()
    shape[1 if transpose else 0] = -1
    weight = (conv_w * scale.reshape(shape)).to(conv_w.dtype)
    bias = (bias - bn_rm) * scale
    if bn_b is not None:
        bias = bias + bn_b
    bias_dtype = conv_w.dtype if conv_b is None else conv_b.dtype
    requires_grad = conv_b.requires_grad if conv_b is not None else conv_w.requires_grad
    return Parameter(weight, conv_w.requires_grad), Parameter(bias.to(bias_dtype), requires_grad)


def fuse_linear_bn_eval(linear, bn):
    """A copy of `linear` that computes what `linear` and then `bn` compute in evaluation."""
    if linear.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1")
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    """(weight, bias) of a linear layer that includes the normalisation."""
    bias = zeros_like(bn_rm) if linear_b is None else linear_b
    scale = bn_w * rsqrt(bn_rv + bn_eps)
    weight = (linear_w * scale.unsqueeze(-1)).to(linear_w.dtype)
    bias = ((bias - bn_rm) * scale + bn_b).to(linear_w.dtype if linear_b is None else linear_b.dtype)
    requires_grad = linear_b.requires_grad if linear_b is not None else linear_w.requires_grad
    return Parameter(weight, linear_w.requires_grad), Parameter(bias, requires_grad)
