"""Adafactor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import Tensor, finfo, zeros
from ._arguments import check_at_least_zero, check_learning_rate
from .optimizer import Optimizer, ParamsT, _call_closure, _get_scalar_dtype, _new_buffer, _to_scalar, _without_grad

__all__ = ["Adafactor", "adafactor"]


class Adafactor(Optimizer):
    """Adam in less memory: of the squared gradients of a matrix only means by row and by column are kept.

    The rate is ``min(lr, 1 / sqrt(step))`` times the root mean square of the parameter (at least ``eps[1]``), the
    update is scaled down where its root mean square exceeds ``d``, and the means decay by ``step ** beta2_decay``.
    Reference: Shazeer and Stern, 2018.

    >>> w = torch.nn.Parameter(torch.ones(2, 2))
    >>> optimizer = torch.optim.Adafactor([w], lr=0.1)
    >>> w.sum().backward(); optimizer.step(); bool((w < 1).all())
    True
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_learning_rate("Adafactor", lr)
        if not beta2_decay <= 0.0:
            raise ValueError(f"Adafactor: beta2_decay must be at most 0, got {beta2_decay}")
        if eps[0] is not None and not eps[0] >= 0.0:
            raise ValueError(f"Adafactor: eps[0] must be None or at least 0, got {eps[0]}")
        if not eps[1] >= 0.0:
            raise ValueError(f"Adafactor: eps[1] must be at least 0, got {eps[1]}")
        if not d >= 1.0:
            raise ValueError(f"Adafactor: d must be at least 1, got {d}")
        check_at_least_zero("Adafactor", weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _init_state(self, state: dict[str, Any], param: Tensor, group: dict[str, Any]) -> None:
        grad = param.grad
        if grad.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        state["step"] = zeros((), dtype=_get_scalar_dtype())
        if grad.dim() > 1:
            rows, columns = list(grad.shape), list(grad.shape)
            rows[-1] = 1
            columns[-2] = 1
            state["row_var"] = grad.new_zeros(rows)
            state["col_var"] = grad.new_zeros(columns)
        else:
            state["variance"] = _new_buffer(grad)

    @_without_grad
    def step(self, closure: Callable | None = None) -> Any:
        """Update the parameters once; see `Optimizer.step`."""
        loss = _call_closure(closure)
        for group in self.param_groups:
            params, grads, states = self._parameters_with_gradients(group)
            adafactor(
                params,
                grads,
                [s.get("row_var") for s in states],
                [s.get("col_var") for s in states],
                [s.get("variance") for s in states],
                [s["step"] for s in states],
                d=group["d"],
                lr=group["lr"],
                beta2_decay=group["beta2_decay"],
                weight_decay=group["weight_decay"],
                eps1=group["eps"][0],
                eps2=group["eps"][1],
                maximize=group["maximize"],
            )
        return loss


def adafactor(
    params: list[Tensor],
    grads: list[Tensor],
    row_vars: list[Tensor | None],
    col_vars: list[Tensor | None],
    variances: list[Tensor | None],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_complex: bool = False,
    *,
    d: float,
    lr: float | Tensor,
    beta2_decay: float,
    weight_decay: float,
    eps1: float | None,
    eps2: float,
    maximize: bool,
) -> None:
    """One Adafactor step over lists, all updated in place."""
    lr = _to_scalar(lr)
    for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
        if maximize:
            grad = -grad
        state_steps[i] += 1
        step = state_steps[i].item()
        smallest = finfo(param.dtype).eps if eps1 is None else eps1
        weight = step**beta2_decay
        rate = max(eps2, _root_mean_square(param)) * min(lr, 1 / step**0.5)
        if weight_decay != 0:
            param.mul_(1 - lr * weight_decay)
        if grad.dim() > 1:
            row, column = row_vars[i], col_vars[i]
            assert row is not None and column is not None  # made for every parameter of more than one dimension
            row.lerp_(grad.square().mean(-1, keepdim=True), weight)
            column.lerp_(grad.square().mean(-2, keepdim=True), weight)
            estimate = (row @ column).div_(row.mean(dim=-2, keepdim=True).clamp_(min=smallest))
        else:
            variance = variances[i]
            assert variance is not None  # made for every other parameter
            variance.lerp_(grad.square(), weight)
            estimate = variance.clone()
        update = estimate.clamp_(min=smallest * smallest).rsqrt_().mul_(grad)
        param.add_(update, alpha=-rate / max(1.0, _root_mean_square(update) / d))


def _root_mean_square(x: Tensor) -> float:
    return x.norm(2).item() / x.numel() ** 0.5
