"""Muon."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import Tensor, addmm
from ._arguments import check_at_least_zero, check_learning_rate
from .optimizer import Optimizer, ParamsT, _call_closure, _new_buffer, _to_scalar, _without_grad

__all__ = ["Muon", "muon"]

_ADJUSTMENTS = (None, "original", "match_rms_adamw")


class Muon(Optimizer):
    """Momentum whose steps are made orthogonal, for the matrices of hidden layers (others belong to AdamW).

    The momentum matrix is replaced by its nearest orthogonal one, approximately, with ``ns_steps`` steps of a
    Newton-Schulz iteration in bfloat16 with the polynomial ``ns_coefficients``. ``adjust_lr_fn`` scales the rate by the
    matrix's shape: ``"original"`` (also None) by ``sqrt(max(1, rows / columns))``, ``"match_rms_adamw"`` by
    ``0.2 * sqrt(max(rows, columns))``. Weight decay is decoupled. Raises ValueError for parameters that are not 2-D.
    Reference: Jordan, 2024.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_learning_rate("Muon", lr)
        check_at_least_zero("Muon", momentum=momentum, weight_decay=weight_decay)
        if adjust_lr_fn not in _ADJUSTMENTS:
            raise ValueError(f"Muon: adjust_lr_fn must be one of {_ADJUSTMENTS}, got {adjust_lr_fn!r}")
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                if p.dim() != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters, got one of shape {list(p.shape)}; give it to another "
                        "optimizer"
                    )

    def _init_state(self, state: dict[str, Any], param: Tensor, group: dict[str, Any]) -> None:
        if param.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        state["momentum_buffer"] = _new_buffer(param.grad)

    @_without_grad
    def step(self, closure: Callable | None = None) -> Any:
        """Update the parameters once; see `Optimizer.step`."""
        loss = _call_closure(closure)
        for group in self.param_groups:
            params, grads, states = self._parameters_with_gradients(group)
            muon(
                params,
                grads,
                [s["momentum_buffer"] for s in states],
                lr=group["lr"],
                weight_decay=group["weight_decay"],
                momentum=group["momentum"],
                nesterov=group["nesterov"],
                ns_coefficients=group["ns_coefficients"],
                ns_steps=group["ns_steps"],
                eps=group["eps"],
                adjust_lr_fn=group["adjust_lr_fn"],
            )
        return loss


def muon(
    params: list[Tensor],
    grads: list[Tensor],
    muon_momentum_bufs: list[Tensor],
    *,
    foreach: bool | None = None,
    lr: float,
    weight_decay: float,
    momentum: float,
    nesterov: bool,
    ns_coefficients: tuple[float, float, float],
    ns_steps: int,
    eps: float,
    adjust_lr_fn: str | None,
) -> None:
    """One Muon step over lists, all updated in place."""
    lr = _to_scalar(lr)
    for param, grad, buffer in zip(params, grads, muon_momentum_bufs, strict=True):
        buffer.lerp_(grad, 1 - momentum)
        update = grad.lerp(buffer, momentum) if nesterov else buffer
        update = _orthogonalized(update, ns_coefficients, ns_steps, eps)
        param.mul_(1 - lr * weight_decay)
        param.add_(update.to(param.dtype), alpha=-_adjusted(lr, adjust_lr_fn, param))


def _orthogonalized(matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """A nearly orthogonal matrix with the same singular vectors: all singular values driven towards 1.

    Each step applies a*x + b*x**3 + c*x**5 to the singular values, which needs only products of matrices.
    """
    if steps >= 100:
        raise ValueError(f"Muon: ns_steps must be below 100, got {steps}")
    if len(coefficients) != 3:
        raise ValueError(f"Muon: ns_coefficients must be three numbers, got {coefficients}")
    a, b, c = coefficients
    x = matrix.bfloat16()
    is_tall = x.size(0) > x.size(1)
    if is_tall:
        x = x.T
    x = x.div(x.norm().clamp(min=eps))
    for _ in range(steps):
        gram = x @ x.T
        x = addmm(x, addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if is_tall else x


def _adjusted(lr: float, adjust_lr_fn: str | None, param: Tensor) -> float:
    rows, columns = param.shape
    if adjust_lr_fn == "match_rms_adamw":
        return lr * 0.2 * math.sqrt(max(rows, columns))
    return lr * math.sqrt(max(1, rows / columns))
