"""Adamax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import Tensor, maximum
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

__all__ = ["Adamax", "adamax"]


class Adamax(Optimizer):
    """Adam with the infinity norm: steps divided by a decaying maximum of the gradient's absolute value.

    Reference: Kingma and Ba, 2015.

    >>> w = torch.nn.Parameter(torch.ones(2))
    >>> optimizer = torch.optim.Adamax([w], lr=0.5)
    >>> w.sum().backward(); optimizer.step(); w.tolist()
    [0.5, 0.5]
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_learning_rate("Adamax", lr)
        check_at_least_zero("Adamax", eps=eps, weight_decay=weight_decay)
        check_betas("Adamax", betas)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _init_state(self, state: dict[str, Any], param: Tensor, group: dict[str, Any]) -> None:
        state["step"] = _zero_step(param, group["capturable"])
        state["exp_avg"] = _new_buffer(param)
        state["exp_inf"] = _new_buffer(param)

    @_use_grad_for_differentiable
    def step(self, closure: Callable | None = None) -> Any:
        """Update the parameters once; see `Optimizer.step`."""
        loss = _call_closure(closure)
        for group in self.param_groups:
            params, grads, states = self._parameters_with_gradients(group)
            beta1, beta2 = group["betas"]
            adamax(
                params,
                grads,
                [s["exp_avg"] for s in states],
                [s["exp_inf"] for s in states],
                [s["step"] for s in states],
                maximize=group["maximize"],
                eps=group["eps"],
                beta1=beta1,
                beta2=beta2,
                lr=group["lr"],
                weight_decay=group["weight_decay"],
            )
        return loss


def adamax(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_infs: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    eps: float,
    beta1: float,
    beta2: float,
    lr: float,
    weight_decay: float,
) -> None:
    """One Adamax step over lists, all updated in place."""
    lr = _to_scalar(lr)
    for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
        mean, largest = exp_avgs[i], exp_infs[i]
        if maximize:
            grad = -grad
        state_steps[i] += 1
        if weight_decay != 0:
            grad = grad.add(param, alpha=weight_decay)
        if param.is_complex():
            param, grad, mean, largest = _view_as_real(param, grad, mean, largest)
        mean.lerp_(grad, 1 - beta1)
        largest.copy_(maximum(largest.mul_(beta2), grad.abs().add_(eps)))
        step_size = lr / (1 - beta1 ** state_steps[i].item())
        param.addcdiv_(mean, largest, value=-step_size)
