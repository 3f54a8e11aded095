"""Rectified Adam."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import Tensor
from ._arguments import check_at_least_zero, check_betas, check_learning_rate
from .optimizer import (
    Optimizer,
    ParamsT,
    _call_closure,
    _new_buffer,
    _to_scalar,
    _use_grad_for_differentiable,
    _view_as_real,
    _zero_step,
)

__all__ = ["RAdam", "radam"]


class RAdam(Optimizer):
    """Adam that first takes plain momentum steps, until the mean square has seen enough to divide by.

    Reference: Liu et al., 2020.

    >>> w = torch.nn.Parameter(torch.ones(2))
    >>> optimizer = torch.optim.RAdam([w], lr=0.5)
    >>> w.sum().backward(); optimizer.step(); w.tolist()
    [0.5, 0.5]
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_learning_rate("RAdam", lr)
        check_at_least_zero("RAdam", eps=eps, weight_decay=weight_decay)
        check_betas("RAdam", betas)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _init_state(self, state: dict[str, Any], param: Tensor, group: dict[str, Any]) -> None:
        state["step"] = _zero_step(param, group["capturable"])
        state["exp_avg"] = _new_buffer(param)
        state["exp_avg_sq"] = _new_buffer(param)

    @_use_grad_for_differentiable
    def step(self, closure: Callable | None = None) -> Any:
        """Update the parameters once; see `Optimizer.step`."""
        loss = _call_closure(closure)
        for group in self.param_groups:
            params, grads, states = self._parameters_with_gradients(group)
            beta1, beta2 = group["betas"]
            radam(
                params,
                grads,
                [s["exp_avg"] for s in states],
                [s["exp_avg_sq"] for s in states],
                [s["step"] for s in states],
                decoupled_weight_decay=group["decoupled_weight_decay"],
                maximize=group["maximize"],
                beta1=beta1,
                beta2=beta2,
                lr=group["lr"],
                weight_decay=group["weight_decay"],
                eps=group["eps"],
            )
        return loss


def radam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor],
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: float,
    weight_decay: float,
    eps: float,
) -> None:
    """One RAdam step over lists, all updated in place."""
    lr = _to_scalar(lr)
    # The length of an infinite moving average, and (below) of the one so far.
    longest = 2 / (1 - beta2) - 1
    for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
        mean, mean_square = exp_avgs[i], exp_avg_sqs[i]
        if maximize:
            grad = -grad
        state_steps[i] += 1
        step = state_steps[i].item()
        if weight_decay != 0:
            if decoupled_weight_decay:
                param.mul_(1 - lr * weight_decay)
            else:
                grad = grad.add(param, alpha=weight_decay)
        if param.is_complex():
            param, grad, mean, mean_square = _view_as_real(param, grad, mean, mean_square)
        mean.lerp_(grad, 1 - beta1)
        mean_square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        step_size = lr / (1 - beta1**step)
        correction = 1 - beta2**step
        length = longest - 2 * step * beta2**step / correction
        if length > 5.0:
            rectified = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
            param.addcdiv_(mean, mean_square.sqrt().add_(eps), value=-step_size * (rectified * correction) ** 0.5)
        else:
            param.add_(mean, alpha=-step_size)
