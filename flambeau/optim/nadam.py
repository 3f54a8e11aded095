"""Adam with Nesterov momentum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import Tensor, ones
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

__all__ = ["NAdam", "nadam"]


class NAdam(Optimizer):
    """Adam with Nesterov momentum, whose weight grows over the steps at a rate set by ``momentum_decay``.

    Reference: Dozat, 2016.

    >>> w = torch.nn.Parameter(torch.ones(2))
    >>> optimizer = torch.optim.NAdam([w], lr=0.1)
    >>> w.sum().backward(); optimizer.step(); bool((w < 1).all())
    True
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_learning_rate("NAdam", lr)
        check_at_least_zero("NAdam", eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay)
        check_betas("NAdam", betas)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _init_state(self, state: dict[str, Any], param: Tensor, group: dict[str, Any]) -> None:
        state["step"] = _zero_step(param, group["capturable"])
        state["mu_product"] = ones((), dtype=state["step"].dtype, device=state["step"].device)
        state["exp_avg"] = _new_buffer(param)
        state["exp_avg_sq"] = _new_buffer(param)

    @_use_grad_for_differentiable
    def step(self, closure: Callable | None = None) -> Any:
        """Update the parameters once; see `Optimizer.step`."""
        loss = _call_closure(closure)
        for group in self.param_groups:
            params, grads, states = self._parameters_with_gradients(group)
            beta1, beta2 = group["betas"]
            nadam(
                params,
                grads,
                [s["exp_avg"] for s in states],
                [s["exp_avg_sq"] for s in states],
                [s["mu_product"] for s in states],
                [s["step"] for s in states],
                decoupled_weight_decay=group["decoupled_weight_decay"],
                maximize=group["maximize"],
                beta1=beta1,
                beta2=beta2,
                lr=group["lr"],
                weight_decay=group["weight_decay"],
                momentum_decay=group["momentum_decay"],
                eps=group["eps"],
            )
        return loss


def nadam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    mu_products: list[Tensor],
    state_steps: list[Tensor],
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: float,
    weight_decay: float,
    momentum_decay: float,
    eps: float,
) -> None:
    """One NAdam step over lists, all updated in place."""
    lr = _to_scalar(lr)
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
        mu = beta1 * (1.0 - 0.5 * 0.96 ** (step * momentum_decay))
        mu_next = beta1 * (1.0 - 0.5 * 0.96 ** ((step + 1) * momentum_decay))
        mu_products[i] *= mu
        product = mu_products[i].item()
        mean.lerp_(grad, 1 - beta1)
        mean_square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        denominator = mean_square.div(1 - beta2**step).sqrt().add_(eps)
        param.addcdiv_(grad, denominator, value=-lr * (1.0 - mu) / (1.0 - product))
        param.addcdiv_(mean, denominator, value=-lr * mu_next / (1.0 - product * mu_next))
