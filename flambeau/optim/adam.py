"""Adam."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import Tensor, maximum
from ._arguments import check_at_least_zero, check_betas, check_implementation, check_learning_rate
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

__all__ = ["Adam", "adam"]


class Adam(Optimizer):
    """Adam: steps scaled by running means of the gradient (``betas[0]``) and of its square (``betas[1]``).

    ``weight_decay`` is added to the gradient, or, with ``decoupled_weight_decay``, shrinks the parameter directly (see
    `AdamW`). ``amsgrad`` divides by the largest mean square so far. Reference: Kingma and Ba, 2015.

    >>> w = torch.nn.Parameter(torch.ones(2))
    >>> optimizer = torch.optim.Adam([w], lr=0.5)
    >>> w.sum().backward(); optimizer.step(); w.tolist()
    [0.5, 0.5]
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        name = type(self).__name__
        check_learning_rate(name, lr)
        check_at_least_zero(name, eps=eps, weight_decay=weight_decay)
        check_betas(name, betas)
        self._check_tensor_options(name, lr, betas, foreach, capturable)
        check_implementation(name, foreach, fused, differentiable)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)

    @staticmethod
    def _check_tensor_options(name: str, lr: Any, betas: Any, foreach: bool | None, capturable: bool) -> None:
        if isinstance(lr, Tensor) and foreach and not capturable:
            raise ValueError(f"{name}: lr as a Tensor with foreach=True needs capturable=True")
        if isinstance(betas[0], Tensor) != isinstance(betas[1], Tensor):
            raise ValueError(f"{name}: betas must be two numbers or two Tensors, got {betas}")
        for i in range(2):
            if not isinstance(betas[i], Tensor):
                continue
            if foreach and not capturable:
                raise ValueError(f"{name}: betas[{i}] as a Tensor with foreach=True needs capturable=True")
            if betas[i].numel() != 1:
                raise ValueError(f"{name}: a tensor betas[{i}] must hold one element, got shape {list(betas[i].shape)}")

    def _init_state(self, state: dict[str, Any], param: Tensor, group: dict[str, Any]) -> None:
        state["step"] = _zero_step(param, group["capturable"] or bool(group["fused"]))
        state["exp_avg"] = _new_buffer(param)
        state["exp_avg_sq"] = _new_buffer(param)
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = _new_buffer(param)

    @_use_grad_for_differentiable
    def step(self, closure: Callable | None = None) -> Any:
        """Update the parameters once; see `Optimizer.step`."""
        loss = _call_closure(closure)
        for group in self.param_groups:
            params, grads, states = self._parameters_with_gradients(group)
            beta1, beta2 = group["betas"]
            adam(
                params,
                grads,
                [s["exp_avg"] for s in states],
                [s["exp_avg_sq"] for s in states],
                [s["max_exp_avg_sq"] for s in states] if group["amsgrad"] else [],
                [s["step"] for s in states],
                decoupled_weight_decay=group["decoupled_weight_decay"],
                amsgrad=group["amsgrad"],
                beta1=beta1,
                beta2=beta2,
                lr=group["lr"],
                weight_decay=group["weight_decay"],
                eps=group["eps"],
                maximize=group["maximize"],
            )
        return loss


def adam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    max_exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_complex: bool = False,
    decoupled_weight_decay: bool = False,
    *,
    amsgrad: bool,
    beta1: float | Tensor,
    beta2: float | Tensor,
    lr: float | Tensor,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """One Adam step over lists, all updated in place, ``state_steps`` included."""
    beta1, beta2, lr = _to_scalar(beta1), _to_scalar(beta2), _to_scalar(lr)
    for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
        mean, mean_square = exp_avgs[i], exp_avg_sqs[i]
        largest = max_exp_avg_sqs[i] if amsgrad else None
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
            if largest is not None:
                (largest,) = _view_as_real(largest)
        if isinstance(beta1, Tensor):
            mean.lerp_(grad, (1 - beta1).to(mean.dtype))
        else:
            mean.lerp_(grad, 1 - beta1)
        if isinstance(beta2, Tensor):
            mean_square.lerp_(grad * grad, (1 - beta2).to(mean_square.dtype))
        else:
            mean_square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        correction = (1 - beta2**step) ** 0.5
        if largest is not None:
            largest.copy_(maximum(largest, mean_square))
            mean_square = largest
        denominator = (mean_square.sqrt() / correction).add_(eps)
        step_size = lr / (1 - beta1**step)
        if isinstance(step_size, Tensor):
            param.sub_(step_size * mean / denominator)
        else:
            param.addcdiv_(mean, denominator, value=-step_size)
