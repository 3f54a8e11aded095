"""Adagrad."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import Tensor, full_like, preserve_format, zeros
from ._arguments import check_at_least_zero, check_implementation, check_learning_rate
from .optimizer import (
    Optimizer,
    ParamsT,
    _call_closure,
    _get_scalar_dtype,
    _to_scalar,
    _use_grad_for_differentiable,
    _view_as_real,
)

__all__ = ["Adagrad", "adagrad"]


class Adagrad(Optimizer):
    """Steps divided by the root of the sum of all squared gradients so far. Sparse gradients work.

    The rate of step n is ``lr / (1 + (n - 1) * lr_decay)``. Reference: Duchi, Hazan and Singer, 2011.

    >>> w = torch.nn.Parameter(torch.ones(2))
    >>> optimizer = torch.optim.Adagrad([w], lr=0.5)
    >>> w.sum().backward(); optimizer.step(); w.tolist()
    [0.5, 0.5]
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_learning_rate("Adagrad", lr)
        check_at_least_zero(
            "Adagrad",
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            eps=eps,
        )
        check_implementation("Adagrad", foreach, fused, differentiable)
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        # The sums exist from the start, so that share_memory() can share them with other processes.
        for group in self.param_groups:
            for p in group["params"]:
                self._init_state(self.state[p], p, group)

    def _init_state(self, state: dict[str, Any], param: Tensor, group: dict[str, Any]) -> None:
        initial = group["initial_accumulator_value"]
        if param.is_complex():
            initial = complex(initial, initial)
        state["step"] = zeros((), dtype=_get_scalar_dtype(group["fused"]))
        state["sum"] = full_like(param, initial, memory_format=preserve_format)

    def share_memory(self) -> None:
        """Move the sums to shared memory."""
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["sum"].share_memory_()

    @_use_grad_for_differentiable
    def step(self, closure: Callable | None = None) -> Any:
        """Update the parameters once; see `Optimizer.step`."""
        loss = _call_closure(closure)
        for group in self.param_groups:
            params, grads, states = self._parameters_with_gradients(group, sparse=not group["fused"])
            adagrad(
                params,
                grads,
                [s["sum"] for s in states],
                [s["step"] for s in states],
                lr=group["lr"],
                weight_decay=group["weight_decay"],
                lr_decay=group["lr_decay"],
                eps=group["eps"],
                maximize=group["maximize"],
            )
        return loss


def adagrad(
    params: list[Tensor],
    grads: list[Tensor],
    state_sums: list[Tensor],
    state_steps: list[Tensor],
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: float,
    weight_decay: float,
    lr_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """One Adagrad step over lists, all updated in place."""
    lr = _to_scalar(lr)
    for param, grad, total, state_step in zip(params, grads, state_sums, state_steps, strict=True):
        state_step += 1
        if maximize:
            grad = -grad
        rate = lr / (1 + (state_step.item() - 1) * lr_decay)
        if grad.is_sparse:
            if weight_decay != 0:
                raise RuntimeError("Adagrad: weight_decay does not work with sparse gradients")
            _step_of_rows(param, grad.coalesce(), total, rate, eps)
            continue
        if weight_decay != 0:
            grad = grad.add(param, alpha=weight_decay)
        if param.is_complex():
            param, grad, total = _view_as_real(param, grad, total)
        total.addcmul_(grad, grad, value=1)
        param.addcdiv_(grad, total.sqrt().add_(eps), value=-rate)


def _step_of_rows(param: Tensor, grad: Tensor, total: Tensor, rate: float, eps: float) -> None:
    """Update only what the (coalesced) sparse gradient names."""
    rows, values = tuple(grad._indices()), grad._values()
    if values.numel() == 0:
        return
    sums = total[rows] + values * values
    total[rows] = sums
    param[rows] = param[rows].addcdiv(values, sums.sqrt().add_(eps), value=-rate)
