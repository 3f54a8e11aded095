"""Adam for sparse gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import Tensor
from ._arguments import check_betas, check_learning_rate
from .optimizer import Optimizer, ParamsT, _call_closure, _new_buffer, _to_scalar, _without_grad

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam that updates, means included, only the entries that the sparse gradient names.

    Parameters are dense, for example those of ``nn.Embedding(sparse=True)``. Raises ValueError for sparse parameters,
    RuntimeError for dense gradients.
    """

    _step_is_tensor = False

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_learning_rate("SparseAdam", lr)
        # Zero would divide by zero wherever a gradient is zero.
        for name, value in (("lr", lr), ("eps", eps)):
            if not value > 0.0:
                raise ValueError(f"SparseAdam: {name} must be above 0, got {value}")
        check_betas("SparseAdam", betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        for i, p in enumerate(p for g in self.param_groups for p in g["params"]):
            if p.is_sparse or p.is_complex():
                kind = "sparse" if p.is_sparse else "complex"
                raise ValueError(f"SparseAdam: parameters must be dense and real, parameter {i} is {kind}")

    @_without_grad
    def step(self, closure: Callable | None = None) -> Any:
        """Update the parameters once; see `Optimizer.step`."""
        loss = _call_closure(closure)
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                if not p.grad.is_sparse:
                    raise RuntimeError(
                        f"SparseAdam: the gradient of the parameter of shape {list(p.shape)} is dense; use Adam"
                    )
                state = self.state[p]
                if not state:
                    state["step"] = 0
                    state["exp_avg"] = _new_buffer(p)
                    state["exp_avg_sq"] = _new_buffer(p)
                state["step"] += 1
                grad = (-p.grad if group["maximize"] else p.grad).coalesce()
                _step_of_rows(p, grad, state, beta1, beta2, _to_scalar(group["lr"]), group["eps"])
        return loss


def _step_of_rows(
    param: Tensor, grad: Tensor, state: dict[str, Any], beta1: float, beta2: float, lr: float, eps: float
) -> None:
    values = grad._values()
    if values.numel() == 0:
        return
    # A coalesced gradient names every place once, so reading and writing by index is safe.
    rows = tuple(grad._indices())
    mean = state["exp_avg"][rows].lerp(values, 1 - beta1)
    mean_square = state["exp_avg_sq"][rows].lerp(values * values, 1 - beta2)
    state["exp_avg"][rows] = mean
    state["exp_avg_sq"][rows] = mean_square
    step = state["step"]
    step_size = lr * (1 - beta2**step) ** 0.5 / (1 - beta1**step)
    param[rows] = param[rows].addcdiv(mean, mean_square.sqrt().add_(eps), value=-step_size)
