"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import Tensor
from ._arguments import check_at_least_zero, check_implementation, check_learning_rate
from .optimizer import Optimizer, ParamsT, _call_closure, _to_scalar, _use_grad_for_differentiable

__all__ = ["SGD", "sgd"]


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum and Nesterov's variant.

    With gradient ``g`` (plus ``weight_decay * p``): ``buf = momentum * buf + (1 - dampening) * g`` (``buf = g`` the
    first time), ``p -= lr * buf``, or ``p -= lr * (g + momentum * buf)`` with ``nesterov``. Sparse gradients work.

    >>> w = torch.nn.Parameter(torch.ones(2))
    >>> optimizer = torch.optim.SGD([w], lr=0.5, momentum=0.9)
    >>> w.sum().backward(); optimizer.step(); w.tolist()
    [0.5, 0.5]
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_learning_rate("SGD", lr)
        check_at_least_zero("SGD", momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError(
                f"SGD: nesterov=True needs momentum > 0 and dampening = 0, got momentum={momentum}, "
                f"dampening={dampening}"
            )
        check_implementation("SGD", foreach, fused, differentiable)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)

    @_use_grad_for_differentiable
    def step(self, closure: Callable | None = None) -> Any:
        """Update the parameters once; see `Optimizer.step`."""
        loss = _call_closure(closure)
        for group in self.param_groups:
            momentum = group["momentum"]
            params = [p for p in group["params"] if p.grad is not None]
            grads = [p.grad for p in params]
            if group["fused"] and any(g.is_sparse for g in grads):
                raise RuntimeError("SGD: fused=True does not support sparse gradients; leave fused out")
            # Without momentum there is no state, and none is made.
            buffers = [self.state[p].get("momentum_buffer") for p in params] if momentum != 0 else [None] * len(params)
            sgd(
                params,
                grads,
                buffers,
                weight_decay=group["weight_decay"],
                momentum=momentum,
                lr=group["lr"],
                dampening=group["dampening"],
                nesterov=group["nesterov"],
                maximize=group["maximize"],
            )
            if momentum != 0:
                for p, buffer in zip(params, buffers, strict=True):
                    self.state[p]["momentum_buffer"] = buffer
        return loss


def sgd(
    params: list[Tensor],
    d_p_list: list[Tensor],
    momentum_buffer_list: list[Tensor | None],
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    *,
    weight_decay: float,
    momentum: float,
    lr: float,
    dampening: float,
    nesterov: bool,
    maximize: bool,
) -> None:
    """One SGD step over lists. Missing momentum buffers are filled into ``momentum_buffer_list``."""
    for i, (param, grad) in enumerate(zip(params, d_p_list, strict=True)):
        if maximize:
            grad = -grad
        if weight_decay != 0:
            grad = grad.add(param, alpha=_to_scalar(weight_decay))
        if momentum != 0:
            buffer = momentum_buffer_list[i]
            if buffer is None:
                buffer = momentum_buffer_list[i] = grad.detach().clone()
            else:
                buffer.mul_(momentum).add_(grad, alpha=1 - dampening)
            grad = grad.add(buffer, alpha=momentum) if nesterov else buffer
        rate = _to_scalar(lr)
        if isinstance(rate, Tensor):
            param.addcmul_(grad, rate, value=-1)
        else:
            param.add_(grad, alpha=-rate)
