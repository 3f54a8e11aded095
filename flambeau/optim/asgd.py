"""Averaged stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import Tensor, ones, tensor
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

__all__ = ["ASGD", "asgd"]


class ASGD(Optimizer):
    """Gradient descent with a decaying rate, and from step ``t0`` on a running average of the parameters.

    The average is ``state["ax"]``. The rate of step n is ``lr / (1 + lambd * lr * n) ** alpha``. Reference: Polyak and
    Juditsky, 1992.

    >>> w = torch.nn.Parameter(torch.ones(2))
    >>> optimizer = torch.optim.ASGD([w], lr=0.5, lambd=0)
    >>> w.sum().backward(); optimizer.step(); w.tolist()
    [0.5, 0.5]
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_learning_rate("ASGD", lr)
        check_at_least_zero("ASGD", weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _init_state(self, state: dict[str, Any], param: Tensor, group: dict[str, Any]) -> None:
        step = _zero_step(param, group["capturable"])
        state["step"] = step
        state["eta"] = tensor(float(group["lr"]), dtype=step.dtype, device=step.device)
        state["mu"] = ones((), dtype=step.dtype, device=step.device)
        state["ax"] = _new_buffer(param)

    @_use_grad_for_differentiable
    def step(self, closure: Callable | None = None) -> Any:
        """Update the parameters once; see `Optimizer.step`."""
        loss = _call_closure(closure)
        for group in self.param_groups:
            params, grads, states = self._parameters_with_gradients(group)
            asgd(
                params,
                grads,
                [s["ax"] for s in states],
                [s["mu"] for s in states],
                [s["eta"] for s in states],
                [s["step"] for s in states],
                maximize=group["maximize"],
                lambd=group["lambd"],
                lr=group["lr"],
                t0=group["t0"],
                alpha=group["alpha"],
                weight_decay=group["weight_decay"],
            )
        return loss


def asgd(
    params: list[Tensor],
    grads: list[Tensor],
    axs: list[Tensor],
    mus: list[Tensor],
    etas: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lambd: float,
    lr: float,
    t0: float,
    alpha: float,
    weight_decay: float,
) -> None:
    """One ASGD step over lists, all updated in place."""
    lr = _to_scalar(lr)
    for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
        average, weight, rate = axs[i], mus[i], etas[i]
        if maximize:
            grad = -grad
        if param.is_complex():
            param, grad, average = _view_as_real(param, grad, average)
        state_steps[i] += 1
        step = state_steps[i].item()
        if weight_decay != 0:
            grad = grad.add(param, alpha=weight_decay)
        eta, mu = rate.item(), weight.item()
        param.mul_(1 - lambd * eta)
        param.add_(grad, alpha=-eta)
        if mu != 1:
            average.add_(param.sub(average), alpha=mu)
        else:
            average.copy_(param)
        rate.fill_(lr / (1 + lambd * lr * step) ** alpha)
        weight.fill_(1 / max(1, step - t0))
