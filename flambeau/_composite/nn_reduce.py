"""What the losses share: the reduction at their end and the look at the shapes at their beginning."""

from __future__ import annotations

import warnings


def reduction_of(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction to use: `reduction`, or what the deprecated arguments ask for. Raises ValueError for another."""
    if size_average is not None or reduce is not None:
        from ..nn._reduction import legacy_get_string

        return legacy_get_string(size_average, reduce)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction!r} is not a valid value for reduction: expected 'none', 'mean' or 'sum'")
    return reduction


def reduced(loss, reduction: str):
    """`loss` itself, its mean or its sum."""
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    return loss


def flag_broadcast(name: str, input, target) -> None:
    """Warn when a loss is about to compare every element with every other: hardly ever what was meant."""
    if input.shape != target.shape:
        warnings.warn(
            f"{name}: using a target size ({target.size()}) that is different to the input size ({input.size()}). "
            "This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size.",
            stacklevel=3,
        )
