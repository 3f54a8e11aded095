"""Losses of classifiers: cross entropies and margins."""

from __future__ import annotations

import sys

from .._op import namespace, op
from .nn_reduce import reduced, reduction_of

root = sys.modules[__package__.partition(".")[0]]

_elements = namespace("_C")
_LEGACY = "bool? size_average=None, bool? reduce=None, str reduction='mean'"


@op(f"nn.binary_cross_entropy(Tensor input, Tensor target, Tensor? weight=None, {_LEGACY}) -> Tensor")
def binary_cross_entropy(input, target, weight, size_average, reduce, reduction):
    """-(target · log(input) + (1 - target) · log(1 - input)) of probabilities; logarithms are at least -100.

    Raises ValueError for unequal shapes, RuntimeError for a probability outside [0, 1].

    >>> nn.functional.binary_cross_entropy(flambeau.tensor([0.5]), flambeau.ones(1))
    tensor(0.6931)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is "
            "deprecated. "
            "Please ensure they have the same size."
        )
    if not input.is_meta and not bool(((input >= 0) & (input <= 1)).all()):
        raise RuntimeError("binary_cross_entropy: all elements of input should be between 0 and 1")
    loss = _elements["_binary_cross_entropy_element"](input, target)
    if weight is not None:
        loss = loss * weight
    return reduced(loss, reduction)


@op(
    "nn.binary_cross_entropy_with_logits(Tensor input, Tensor target, Tensor? weight=None, "
    f"{_LEGACY}, Tensor? pos_weight=None) -> Tensor"
)
def binary_cross_entropy_with_logits(input, target, weight, size_average, reduce, reduction, pos_weight):
    """Binary cross entropy of sigmoid(input), without overflow; `pos_weight` multiplies the part of positive targets.

    Raises ValueError for unequal shapes.

    >>> nn.functional.binary_cross_entropy_with_logits(flambeau.zeros(1), flambeau.ones(1))
    tensor(0.6931)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    log_sigmoid = root.nn.functional.logsigmoid(input)
    if pos_weight is not None:
        log_sigmoid = log_sigmoid * ((pos_weight - 1) * target + 1)
    loss = (1 - target) * input - log_sigmoid
    if weight is not None:
        loss = loss * weight
    return reduced(loss, reduction)


@op(
    "_C._cross_entropy_general(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, "
    "int ignore_index=-100, bool? reduce=None, str reduction='mean', float label_smoothing=0.0) -> Tensor"
)
def cross_entropy(input, target, weight, size_average, ignore_index, reduce, reduction, label_smoothing):
    """`cross_entropy` with class probabilities or label smoothing; the core has the common case of classes alone."""
    reduction = reduction_of(size_average, reduce, reduction)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    class_dim = 0 if input.dim() == 1 else 1
    if input.dim() == 0:
        raise RuntimeError("cross_entropy: expected an input with a class dimension, got a 0-dimensional tensor")
    log_probs = root.nn.functional.log_softmax(input, class_dim)
    if target.is_floating_point() and target.shape == input.shape:
        return _soft_cross_entropy(log_probs, target, weight, ignore_index, reduction, label_smoothing, class_dim)
    nll = root.nn.functional.nll_loss(log_probs, target, weight=weight, ignore_index=ignore_index, reduction=reduction)
    if label_smoothing == 0.0:
        return nll
    return (1 - label_smoothing) * nll + label_smoothing * _uniform_part(
        log_probs, target, weight, ignore_index, reduction, class_dim
    )


def _per_class(weight, log_probs, class_dim):
    """`weight` (C), shaped to multiply `log_probs`."""
    if weight.dim() != 1 or weight.size(0) != log_probs.size(class_dim):
        raise RuntimeError(
            f"cross_entropy: weight must be 1-dimensional of length {log_probs.size(class_dim)} (the number "
            "of classes), "
            f"got shape {tuple(weight.shape)}"
        )
    return weight.view([-1 if d == class_dim else 1 for d in range(log_probs.dim())])


def _uniform_part(log_probs, target, weight, ignore_index, reduction, class_dim):
    """The cross entropy with a uniform distribution, over the rows that count."""
    weighted = log_probs if weight is None else log_probs * _per_class(weight, log_probs, class_dim)
    ignored = target == ignore_index
    loss = (-weighted.sum(class_dim) / log_probs.size(class_dim)).masked_fill(ignored, 0)
    if reduction != "mean":
        return reduced(loss, reduction)
    counted = (~ignored).to(loss.dtype)
    if weight is not None:
        counted = counted * weight[target.masked_fill(ignored, 0)]
    return loss.sum() / counted.sum()


def _soft_cross_entropy(log_probs, target, weight, ignore_index, reduction, label_smoothing, class_dim):
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    if label_smoothing > 0.0:
        target = target * (1 - label_smoothing) + label_smoothing / log_probs.size(class_dim)
    # A class of probability 0 contributes nothing, even where its logarithm is -inf.
    impossible = (target == 0) & (log_probs == float("-inf"))
    product = target * log_probs.masked_fill(impossible, 0)
    if weight is not None:
        product = product * _per_class(weight, log_probs, class_dim)
    loss = -product.sum(class_dim)
    if reduction == "mean":
        rows = log_probs.numel() // max(log_probs.size(class_dim), 1)
        return loss.sum() / max(rows, 1) if rows else loss.mean()
    return reduced(loss, reduction)


@op(
    "nn.linear_cross_entropy(Tensor input, Tensor linear_weight, Tensor target, *, Tensor? linear_bias=None, "
    "Tensor? weight=None, str reduction='mean', int? ignore_index=None, float label_smoothing=0.0, "
    "any options=None) -> Tensor"
)
def linear_cross_entropy(
    input, linear_weight, target, linear_bias, weight, reduction, ignore_index, label_smoothing, options
):
    """`cross_entropy` of the linear layer's outputs: input (*, in), weight (C, *out, in), target classes (*, *out)."""
    columns = linear_weight.size(-1)
    if linear_weight.dim() > 2 and input.dim() < 2:
        raise RuntimeError(
            f"linear_cross_entropy: a linear_weight {tuple(linear_weight.shape)} of several dimensions "
            "requires batched "
            f"input, (N, {columns}), got unbatched input with shape {tuple(input.shape)}"
        )
    logits = root.nn.functional.linear(
        input, linear_weight.reshape(-1, columns), None if linear_bias is None else linear_bias.reshape(-1)
    )
    lead = input.shape[:-1]
    rows = 1
    for size in lead:
        rows *= size
    shape = linear_weight.shape[:-1]
    logits = logits.view(*lead[:1], *shape, *lead[1:]) if len(lead) <= 1 else logits.view(rows, *shape)
    soft = target.is_floating_point()
    if len(lead) > 1:
        target = target.reshape(rows, *target.shape[len(lead) :])
    return cross_entropy(
        logits,
        target,
        weight,
        None,
        -100 if ignore_index is None or (soft and ignore_index < 0) else ignore_index,
        None,
        reduction,
        label_smoothing,
    )


@op(f"nn.multilabel_soft_margin_loss(Tensor input, Tensor target, Tensor? weight=None, {_LEGACY}) -> Tensor")
def multilabel_soft_margin_loss(input, target, weight, size_average, reduce, reduction):
    """The mean over the classes (the last dimension) of the binary cross entropy of logits."""
    reduction = reduction_of(size_average, reduce, reduction)
    logsigmoid = root.nn.functional.logsigmoid
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return reduced(loss.sum(-1) / input.size(-1), reduction)


@op(f"nn.multilabel_margin_loss(Tensor input, Tensor target, {_LEGACY}) -> Tensor")
def multilabel_margin_loss(input, target, size_average, reduce, reduction):
    """The hinge between every target class of a sample and every other class, divided by the number of classes.

    `input` is (N, C) or (C); `target`, of that shape, lists classes up to the first -1.
    """
    reduction = reduction_of(size_average, reduce, reduction)
    if input.dim() > 2 or (input.dim() == 2 and input.size(1) == 0) or (input.dim() == 1 and input.numel() == 0):
        raise RuntimeError(
            "multilabel_margin_loss: Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
            f"{tuple(input.shape)}"
        )
    if target.shape != input.shape and not (target.numel() == input.numel() == 1):
        raise RuntimeError(
            f"multilabel_margin_loss: inconsistent target size {tuple(target.shape)} for input of size "
            f"{tuple(input.shape)}"
        )
    single = input.dim() < 2
    scores, classes = (
        input.reshape(-1, input.size(-1) if input.dim() else 1),
        target.reshape(-1, target.size(-1) if target.dim() else 1),
    )
    count = scores.size(1)
    if bool(((classes < -1) | (classes >= count)).any()):
        raise RuntimeError(
            f"multilabel_margin_loss: argument target is out of range: classes are 0 to {count - 1}, or -1"
        )
    listed = (classes != -1).cumprod(1).bool()
    places = classes.masked_fill(~listed, 0)
    is_target = root.zeros_like(scores).scatter_add(1, places, listed.to(scores.dtype)) > 0
    pairs = 1 - scores.gather(1, places).unsqueeze(2) + scores.unsqueeze(1)
    counted = listed.unsqueeze(2) & ~is_target.unsqueeze(1)
    loss = (pairs.clamp(min=0) * counted).sum((1, 2)) / count
    if reduction == "none" and single:
        return loss.squeeze(0)
    return reduced(loss, reduction)


@op(
    "nn.multi_margin_loss(Tensor input, Tensor target, int p=1, float margin=1.0, Tensor? weight=None, "
    f"{_LEGACY}) -> Tensor"
)
def multi_margin_loss(input, target, p, margin, weight, size_average, reduce, reduction):
    """The hinge, to the power p (1 or 2), between the target class and every other, divided by the number of classes.

    `input` is (N, C) or (C), `target` (N) or ().
    """
    reduction = reduction_of(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError(f"multi_margin_loss: only p == 1 and p == 2 supported, got p={p}")
    if input.dim() > 2 or (input.dim() and input.size(-1) == 0):
        raise RuntimeError(
            "multi_margin_loss: Expected non-empty vector or matrix with optional 0-dim batch size, got "
            f"{tuple(input.shape)}"
        )
    single = input.dim() < 2
    scores = input.reshape(1, -1) if single else input
    classes = target.reshape(-1)
    if classes.size(0) != scores.size(0) or target.dim() > 1:
        raise RuntimeError(
            f"multi_margin_loss: inconsistent target size, expected {scores.size(0)} classes but got "
            f"{tuple(target.shape)}"
        )
    count = scores.size(1)
    if weight is not None and weight.dim() != 1:
        raise ValueError(f"multi_margin_loss: weight must be one-dimensional, got {weight.dim()} dimensions")
    if weight is not None and weight.size(0) != count:
        raise RuntimeError(f"multi_margin_loss: inconsistent weight size, expected {count} but got {weight.size(0)}")
    if not classes.is_meta and bool(((classes < 0) | (classes >= count)).any()):
        raise RuntimeError(f"multi_margin_loss: target out of range: classes are 0 to {count - 1}")
    index = classes.unsqueeze(1)
    hinge = (margin - scores.gather(1, index) + scores).clamp(min=0)
    if p == 2:
        hinge = hinge * hinge
    if weight is not None:
        hinge = hinge * weight[classes].unsqueeze(1)
    loss = hinge.scatter(1, index, 0).sum(1) / count
    if reduction == "none" and single and target.dim() == 0:
        return loss.squeeze(0)
    return reduced(loss, reduction)
