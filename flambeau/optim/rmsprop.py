"""RMSprop."""

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

__all__ = ["RMSprop", "rmsprop"]


class RMSprop(Optimizer):
    """Steps divided by the root of a running mean of squared gradients, which decays by ``alpha``.

    ``centered`` subtracts the squared mean first, so that it is a variance. The root is taken before ``eps`` is added.
    Reference: Hinton's lecture notes, 2012; Graves, 2013.

    >>> w = torch.nn.Parameter(torch.ones(2))
    >>> optimizer = torch.optim.RMSprop([w], lr=0.01)
    >>> w.sum().backward(); optimizer.step(); bool((w < 1).all())
    True
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_learning_rate("RMSprop", lr)
        check_at_least_zero("RMSprop", eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _init_state(self, state: dict[str, Any], param: Tensor, group: dict[str, Any]) -> None:
        state["step"] = _zero_step(param, group["capturable"])
        state["square_avg"] = _new_buffer(param)
        if group["momentum"] > 0:
            state["momentum_buffer"] = _new_buffer(param)
        if group["centered"]:
            state["grad_avg"] = _new_buffer(param)

    @_use_grad_for_differentiable
    def step(self, closure: Callable | None = None) -> Any:
        """Update the parameters once; see `Optimizer.step`."""
        loss = _call_closure(closure)
        for group in self.param_groups:
            params, grads, states = self._parameters_with_gradients(group)
            rmsprop(
                params,
                grads,
                [s["square_avg"] for s in states],
                [s["grad_avg"] for s in states] if group["centered"] else [],
                [s["momentum_buffer"] for s in states] if group["momentum"] > 0 else [],
                [s["step"] for s in states],
                maximize=group["maximize"],
                lr=group["lr"],
                alpha=group["alpha"],
                eps=group["eps"],
                weight_decay=group["weight_decay"],
                momentum=group["momentum"],
                centered=group["centered"],
            )
        return loss


def rmsprop(
    params: list[Tensor],
    grads: list[Tensor],
    square_avgs: list[Tensor],
    grad_avgs: list[Tensor],
    momentum_buffer_list: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lr: float,
    alpha: float,
    eps: float,
    weight_decay: float,
    momentum: float,
    centered: bool,
) -> None:
    """One RMSprop step over lists, all updated in place."""
    lr = _to_scalar(lr)
    for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
        state_steps[i] += 1
        if maximize:
            grad = -grad
        if weight_decay != 0:
            grad = grad.add(param, alpha=weight_decay)
        buffers = [square_avgs[i]]
        if centered:
            buffers.append(grad_avgs[i])
        if momentum > 0:
            buffers.append(momentum_buffer_list[i])
        if param.is_complex():
            param, grad, *buffers = _view_as_real(param, grad, *buffers)
        mean_square = buffers[0]
        mean_square.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if centered:
            mean = buffers[1]
            mean.lerp_(grad, 1 - alpha)
            root = mean_square.addcmul(mean, mean, value=-1).sqrt_()
        else:
            root = mean_square.sqrt()
        root = root.add_(eps)
        if momentum > 0:
            buffer = buffers[-1]
            buffer.mul_(momentum).addcdiv_(grad, root)
            param.add_(buffer, alpha=-lr)
        else:
            param.addcdiv_(grad, root, value=-lr)
