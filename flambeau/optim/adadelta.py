"""Adadelta."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import Tensor
from ._arguments import check_at_least_zero, check_learning_rate
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

__all__ = ["Adadelta", "adadelta"]


class Adadelta(Optimizer):
    """Steps in proportion to the running mean of past steps over that of past gradients, both decaying by ``rho``.

    Reference: Zeiler, 2012.

    >>> w = torch.nn.Parameter(torch.ones(2))
    >>> optimizer = torch.optim.Adadelta([w])
    >>> w.sum().backward(); optimizer.step(); bool((w < 1).all())
    True
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_learning_rate("Adadelta", lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Adadelta: rho must be in [0, 1], got {rho}")
        check_at_least_zero("Adadelta", eps=eps, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _init_state(self, state: dict[str, Any], param: Tensor, group: dict[str, Any]) -> None:
        state["step"] = _zero_step(param, group["capturable"])
        state["square_avg"] = _new_buffer(param)
        state["acc_delta"] = _new_buffer(param)

    @_use_grad_for_differentiable
    def step(self, closure: Callable | None = None) -> Any:
        """Update the parameters once; see `Optimizer.step`."""
        loss = _call_closure(closure)
        for group in self.param_groups:
            params, grads, states = self._parameters_with_gradients(group)
            adadelta(
                params,
                grads,
                [s["square_avg"] for s in states],
                [s["acc_delta"] for s in states],
                [s["step"] for s in states],
                lr=group["lr"],
                rho=group["rho"],
                eps=group["eps"],
                weight_decay=group["weight_decay"],
                maximize=group["maximize"],
            )
        return loss


def adadelta(
    params: list[Tensor],
    grads: list[Tensor],
    square_avgs: list[Tensor],
    acc_deltas: list[Tensor],
    state_steps: list[Tensor],
    capturable: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: float,
    rho: float,
    eps: float,
    weight_decay: float,
    maximize: bool,
) -> None:
    """One Adadelta step over lists, all updated in place."""
    lr = _to_scalar(lr)
    for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
        mean_square, mean_step = square_avgs[i], acc_deltas[i]
        state_steps[i] += 1
        if maximize:
            grad = -grad
        if weight_decay != 0:
            grad = grad.add(param, alpha=weight_decay)
        if param.is_complex():
            param, grad, mean_square, mean_step = _view_as_real(param, grad, mean_square, mean_step)
        mean_square.mul_(rho).addcmul_(grad, grad, value=1 - rho)
        step = mean_step.add(eps).sqrt_().div_(mean_square.add(eps).sqrt_()).mul_(grad)
        mean_step.mul_(rho).addcmul_(step, step, value=1 - rho)
        param.add_(step, alpha=-lr)
