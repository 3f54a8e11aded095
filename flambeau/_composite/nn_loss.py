"""Losses that compare a prediction with a target, element by element or sample by sample."""

from __future__ import annotations

import math
import sys

from .._op import namespace, op
from .nn_distance import pairwise_distance
from .nn_reduce import flag_broadcast, reduced, reduction_of

root = sys.modules[__package__.partition(".")[0]]

_elements = namespace("_C")
_LEGACY = "bool? size_average=None, bool? reduce=None, str reduction='mean'"


@op(f"nn.l1_loss(Tensor input, Tensor target, {_LEGACY}, Tensor? weight=None) -> Tensor")
def l1_loss(input, target, size_average, reduce, reduction, weight):
    """|input - target|, reduced; `weight` multiplies each element (the mean is then divided by its sum).

    >>> nn.functional.l1_loss(flambeau.zeros(2), flambeau.ones(2))
    tensor(1.)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    flag_broadcast("l1_loss", input, target)
    return _weighted((input - target).abs(), weight, reduction)


@op(f"nn.mse_loss(Tensor input, Tensor target, {_LEGACY}, Tensor? weight=None) -> Tensor")
def mse_loss(input, target, size_average, reduce, reduction, weight):
    """(input - target)², reduced; `weight` multiplies each element (the mean is then divided by its sum).

    >>> nn.functional.mse_loss(flambeau.zeros(2), flambeau.ones(2))
    tensor(1.)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    flag_broadcast("mse_loss", input, target)
    difference = input - target
    return _weighted(difference * difference, weight, reduction)


@op("nn.huber_loss(Tensor input, Tensor target, str reduction='mean', float delta=1.0, Tensor? weight=None) -> Tensor")
def huber_loss(input, target, reduction, delta, weight):
    """x²/2 of the difference x, and delta · (|x| - delta/2) where |x| > delta.

    >>> nn.functional.huber_loss(flambeau.zeros(1), flambeau.ones(1))
    tensor(0.5000)
    """
    reduction = reduction_of(None, None, reduction)
    if delta <= 0:
        raise RuntimeError(f"huber_loss: expected delta to be greater than 0, got {delta}")
    flag_broadcast("huber_loss", input, target)
    return _weighted(_elements["_huber_element"](input - target, delta), weight, reduction)


def _weighted(loss, weight, reduction):
    if weight is None:
        return reduced(loss, reduction)
    if weight.shape != loss.shape:
        raise ValueError(
            f"Inputs and weights must have the same size, got {tuple(loss.shape)} and {tuple(weight.shape)}"
        )
    loss = loss * weight
    if reduction == "mean":
        return loss.sum() / weight.sum()
    return reduced(loss, reduction)


@op(f"nn.smooth_l1_loss(Tensor input, Tensor target, {_LEGACY}, float beta=1.0) -> Tensor")
def smooth_l1_loss(input, target, size_average, reduce, reduction, beta):
    """|x| - beta/2 of the difference x, and x²/(2 beta) where |x| < beta."""
    reduction = reduction_of(size_average, reduce, reduction)
    if beta < 0:
        raise RuntimeError(f"smooth_l1_loss does not support negative values for beta, got {beta}")
    flag_broadcast("smooth_l1_loss", input, target)
    if beta == 0:
        return reduced((input - target).abs(), reduction)
    return reduced(_elements["_smooth_l1_element"](input - target, beta), reduction)


@op(f"nn.soft_margin_loss(Tensor input, Tensor target, {_LEGACY}) -> Tensor")
def soft_margin_loss(input, target, size_average, reduce, reduction):
    """log(1 + exp(-target · input)) for targets ±1."""
    reduction = reduction_of(size_average, reduce, reduction)
    return reduced((-target * input).exp().log1p(), reduction)


@op(f"nn.kl_div(Tensor input, Tensor target, {_LEGACY}, bool log_target=False) -> Tensor")
def kl_div(input, target, size_average, reduce, reduction, log_target):
    """target · (log(target) - input) for log-probabilities `input`; "batchmean" divides the sum by the batch size."""
    batchmean = reduction == "batchmean" and size_average is None and reduce is None
    reduction = "sum" if batchmean else reduction_of(size_average, reduce, reduction)
    if reduction == "mean":
        import warnings

        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
            "'mean' will be changed to behave the same as 'batchmean' in the next major release.",
            stacklevel=2,
        )
    if log_target:
        loss = target.exp() * (target - input)
    else:
        loss = root.xlogy(target, target) - target * input
    total = reduced(loss, reduction)
    return total / input.size(0) if batchmean and input.dim() > 0 else total


@op(
    "nn.poisson_nll_loss(Tensor input, Tensor target, bool log_input=True, bool full=False, "
    "bool? size_average=None, float eps=1e-8, bool? reduce=None, str reduction='mean') -> Tensor"
)
def poisson_nll_loss(input, target, log_input, full, size_average, eps, reduce, reduction):
    """exp(input) - target · input, or with `log_input=False` input - target · log(input + eps).

    `full` adds Stirling's approximation of log(target!).
    """
    reduction = reduction_of(size_average, reduce, reduction)
    flag_broadcast("poisson_nll_loss", input, target)
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        # log(1) = 0 is right for targets 0 and 1, and keeps the logarithm away from 0.
        large = root.where(target > 1, target, root.ones_like(target))
        stirling = large * large.log() - large + 0.5 * (2 * math.pi * large).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return reduced(loss, reduction)


@op(
    "nn.gaussian_nll_loss(Tensor input, Tensor target, any var, bool full=False, float eps=1e-6, "
    "str reduction='mean') -> Tensor"
)
def gaussian_nll_loss(input, target, var, full, eps, reduction):
    """(log(var) + (input - target)² / var) / 2, with var at least eps; `full` adds log(2π)/2.

    Raises ValueError for a negative variance and for one whose shape does not suit the input's.
    """
    if isinstance(var, (int, float)) and not isinstance(var, bool):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * root.ones_like(input)
    elif not isinstance(var, root.Tensor):
        raise TypeError(f"gaussian_nll_loss: var must be a tensor or a number, not {type(var).__name__}")
    elif bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    if var.size() != input.size():
        if input.size()[:-1] == var.size():
            var = var.unsqueeze(-1)
        elif input.dim() != var.dim() or any(v not in (1, i) for v, i in zip(var.size(), input.size(), strict=True)):
            raise ValueError(f"var is of incorrect size: {tuple(var.shape)} for an input {tuple(input.shape)}")
    reduction = reduction_of(None, None, reduction)
    # The floor is not seen by the gradient: a variance below it is still pushed.
    clamped = var + (var.detach().clamp(min=eps) - var.detach())
    loss = 0.5 * (clamped.log() + (input - target) ** 2 / clamped)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduced(loss, reduction)


@op(f"nn.hinge_embedding_loss(Tensor input, Tensor target, float margin=1.0, {_LEGACY}) -> Tensor")
def hinge_embedding_loss(input, target, margin, size_average, reduce, reduction):
    """input where target is 1, max(0, margin - input) where it is -1."""
    reduction = reduction_of(size_average, reduce, reduction)
    hinge = root.where(target != 1, (margin - input).clamp(min=0), root.zeros_like(input))
    same = root.where(target != -1, input, root.zeros_like(input))
    return reduced(hinge + same, reduction)


@op(f"nn.margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0, {_LEGACY}) -> Tensor")
def margin_ranking_loss(input1, input2, target, margin, size_average, reduce, reduction):
    """max(0, -target · (input1 - input2) + margin)."""
    reduction = reduction_of(size_average, reduce, reduction)
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
            f"{input1.size()}, "
            f"input2: {input2.size()}, target: {target.size()} "
        )
    return reduced((-target * (input1 - input2) + margin).clamp(min=0), reduction)


@op(f"nn.cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0, {_LEGACY}) -> Tensor")
def cosine_embedding_loss(input1, input2, target, margin, size_average, reduce, reduction):
    """1 - cos where target is 1, max(0, cos - margin) where it is -1; inputs (N, D), targets (N), or (D) and ()."""
    reduction = reduction_of(size_average, reduce, reduction)
    if target.dim() not in (0, 1):
        raise RuntimeError(f"cosine_embedding_loss: 0D or 1D target tensor expected, got {target.dim()}D")
    if target.dim() == 1 and (input1.dim() != 2 or input2.dim() != 2):
        raise RuntimeError(
            f"cosine_embedding_loss: 1D target tensor expects 2D input tensors, but found inputs with sizes "
            f"{tuple(input1.shape)} and {tuple(input2.shape)}."
        )
    if target.dim() == 0 and (input1.dim() != 1 or input2.dim() != 1):
        raise RuntimeError(
            f"cosine_embedding_loss: 0D target tensor expects 1D input tensors, but found inputs with sizes "
            f"{tuple(input1.shape)} and {tuple(input2.shape)}."
        )
    cosine = _cosine(input1, input2, target.dim())
    zero = root.zeros_like(cosine)
    loss = root.where(target == 1, 1 - cosine, zero) + root.where(target == -1, (cosine - margin).clamp(min=0), zero)
    return reduced(loss, reduction)


def _cosine(x, y, dim):
    """The cosine with both squared norms raised by 1e-12, as this loss defines it."""
    product = (x * y).sum(dim)
    return product / (((x * x).sum(dim) + 1e-12) * ((y * y).sum(dim) + 1e-12)).sqrt()


@op(
    "nn.triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2, "
    f"float eps=1e-6, bool swap=False, {_LEGACY}) -> Tensor"
)
def triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, size_average, reduce, reduction):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin); `swap` lets d(positive, negative) stand "
    "in when nearer."""
    reduction = reduction_of(size_average, reduce, reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.dim()}D, positive {positive.dim()}D, and negative {negative.dim()}D inputs"
        )
    return reduced(_triplet(anchor, positive, negative, margin, swap, p, eps), reduction)


def _triplet(anchor, positive, negative, margin, swap, p, eps):
    to_positive = pairwise_distance(anchor, positive, p, eps, False)
    to_negative = pairwise_distance(anchor, negative, p, eps, False)
    if swap:
        to_negative = root.minimum(to_negative, pairwise_distance(positive, negative, p, eps, False))
    return (margin + to_positive - to_negative).clamp(min=0)


@op(
    "nn.triplet_margin_with_distance_loss(Tensor anchor, Tensor positive, Tensor negative, *, "
    "any distance_function=None, float margin=1.0, bool swap=False, str reduction='mean') -> Tensor"
)
def triplet_margin_with_distance_loss(anchor, positive, negative, distance_function, margin, swap, reduction):
    """`triplet_margin_loss` with a distance of your own (default: pairwise_distance)."""
    reduction = reduction_of(None, None, reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.dim()}D, positive {positive.dim()}D, and negative {negative.dim()}D inputs"
        )
    if distance_function is None:
        return reduced(_triplet(anchor, positive, negative, margin, swap, 2.0, 1e-6), reduction)
    to_positive = distance_function(anchor, positive)
    to_negative = distance_function(anchor, negative)
    if swap:
        to_negative = root.minimum(to_negative, distance_function(positive, negative))
    return reduced((margin + to_positive - to_negative).clamp(min=0), reduction)
