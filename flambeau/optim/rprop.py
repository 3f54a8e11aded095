"""Resilient backpropagation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import Tensor, full_like, ones_like
from ._arguments import check_learning_rate
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

__all__ = ["Rprop", "rprop"]


class Rprop(Optimizer):
    """Steps by the sign of the gradient; the size of each grows while the sign stays, and shrinks when it changes.

    ``etas`` are the factors to shrink and to grow by, ``step_sizes`` the limits. Reference: Riedmiller and Braun, 1993.

    >>> w = torch.nn.Parameter(torch.ones(2))
    >>> optimizer = torch.optim.Rprop([w], lr=0.5)
    >>> w.sum().backward(); optimizer.step(); w.tolist()
    [0.5, 0.5]
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_learning_rate("Rprop", lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Rprop: etas must be a factor in (0, 1) and one above 1, got {etas}")
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _init_state(self, state: dict[str, Any], param: Tensor, group: dict[str, Any]) -> None:
        lr = _to_scalar(group["lr"])
        state["step"] = _zero_step(param, group["capturable"])
        state["prev"] = _new_buffer(param)
        state["step_size"] = full_like(param, complex(lr, lr) if param.is_complex() else lr)

    @_use_grad_for_differentiable
    def step(self, closure: Callable | None = None) -> Any:
        """Update the parameters once; see `Optimizer.step`."""
        loss = _call_closure(closure)
        for group in self.param_groups:
            params, grads, states = self._parameters_with_gradients(group)
            shrink, grow = group["etas"]
            smallest, largest = group["step_sizes"]
            rprop(
                params,
                grads,
                [s["prev"] for s in states],
                [s["step_size"] for s in states],
                [s["step"] for s in states],
                maximize=group["maximize"],
                step_size_min=smallest,
                step_size_max=largest,
                etaminus=shrink,
                etaplus=grow,
            )
        return loss


def rprop(
    params: list[Tensor],
    grads: list[Tensor],
    prevs: list[Tensor],
    step_sizes: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    capturable: bool = False,
    maximize: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    step_size_min: float,
    step_size_max: float,
    etaminus: float,
    etaplus: float,
) -> None:
    """One Rprop step over lists, all updated in place."""
    for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
        previous, step_size = prevs[i], step_sizes[i]
        if maximize:
            grad = -grad
        state_steps[i] += 1
        if param.is_complex():
            param, grad, previous, step_size = _view_as_real(param, grad, previous, step_size)
        agreement = grad.mul(previous).sign()
        disagree = agreement < 0
        factor = ones_like(agreement).masked_fill_(agreement > 0, etaplus).masked_fill_(disagree, etaminus)
        step_size.mul_(factor).clamp_(step_size_min, step_size_max)
        # After a change of sign there is no step, and the next one starts as if from rest.
        grad = grad.masked_fill(disagree, 0)
        param.addcmul_(grad.sign(), step_size, value=-1)
        previous.copy_(grad)
