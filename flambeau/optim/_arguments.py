"""Checks of hyperparameters, shared by the constructors. Each raises ValueError with the name and the value given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import Tensor


def check_learning_rate(optimizer: str, lr: Any) -> None:
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError(f"{optimizer}: a tensor lr must hold one element, got shape {list(lr.shape)}")
    check_at_least_zero(optimizer, lr=lr)


def check_at_least_zero(optimizer: str, **values: Any) -> None:
    for name, value in values.items():
        # Written so that NaN is refused as well.
        if not value >= 0.0:
            raise ValueError(f"{optimizer}: {name} must be at least 0, got {value}")


def check_fraction(optimizer: str, **values: Any) -> None:
    for name, value in values.items():
        if not 0.0 <= value < 1.0:
            raise ValueError(f"{optimizer}: {name} must be in [0, 1), got {value}")


def check_betas(optimizer: str, betas: Sequence[Any]) -> None:
    for i in range(2):
        if not 0.0 <= betas[i] < 1.0:
            raise ValueError(f"{optimizer}: betas[{i}] must be in [0, 1), got {betas[i]}")


def check_implementation(optimizer: str, foreach: bool | None, fused: bool | None, differentiable: bool) -> None:
    """Refuse the combinations of implementation switches that contradict each other (RuntimeError)."""
    if fused and differentiable:
        raise RuntimeError(f"{optimizer}: fused=True does not support differentiable=True")
    if fused and foreach:
        raise RuntimeError(f"{optimizer}: fused=True and foreach=True exclude each other")
