"""Adam with decoupled weight decay."""

from __future__ import annotations

from typing import Any

from .. import Tensor
from .adam import Adam, adam
from .optimizer import ParamsT

__all__ = ["AdamW", "adamw"]


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameters directly: ``p *= 1 - lr * weight_decay`` before each step.

    Reference: Loshchilov and Hutter, 2019.

    >>> w = torch.nn.Parameter(torch.ones(2))
    >>> optimizer = torch.optim.AdamW([w], lr=0.5, weight_decay=0)
    >>> w.sum().backward(); optimizer.step(); w.tolist()
    [0.5, 0.5]
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        # State dicts saved by versions that lack the option, and Adam's own, must not switch it off.
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True


def adamw(*args: Any, **kwargs: Any) -> None:
    """One AdamW step over lists: `adam.adam` with decoupled weight decay."""
    adam(*args, **kwargs, decoupled_weight_decay=True)
