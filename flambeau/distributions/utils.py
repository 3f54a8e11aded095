"""Broadcasting of parameters, and probabilities by their logarithms."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import Any

from .. import broadcast_tensors, finfo, get_default_dtype, tensor
from .._C import Tensor
from ..nn import functional

__all__ = ["broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits"]


def broadcast_all(*values: Any) -> tuple:
    """Numbers and tensors as tensors of one shape. Raises ValueError for anything else."""
    if not all(isinstance(each, (Tensor, Number)) for each in values):
        raise ValueError("Input arguments must all be instances of Number, torch.Tensor or objects implementing it.")
    like = next((each for each in values if isinstance(each, Tensor)), None)
    options = {"dtype": get_default_dtype()} if like is None else {"dtype": like.dtype, "device": like.device}
    return broadcast_tensors(*(each if isinstance(each, Tensor) else tensor(each, **options) for each in values))


def logits_to_probs(logits: Any, is_binary: bool = False) -> Any:
    """Probabilities of log-odds, or of logarithms of relative weights in the last dimension."""
    return logits.sigmoid() if is_binary else functional.softmax(logits, -1)


def clamp_probs(probs: Any) -> Any:
    """Probabilities kept from 0 and 1 by the precision of their type."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Any, is_binary: bool = False) -> Any:
    """The inverse of `logits_to_probs`."""
    clamped = clamp_probs(probs)
    return clamped.log() - (-clamped).log1p() if is_binary else clamped.log()


class lazy_property:
    """A property computed on first use and then kept as an attribute."""

    def __init__(self, wrapped: Callable) -> None:
        self.wrapped = wrapped
        self.__doc__ = wrapped.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value
