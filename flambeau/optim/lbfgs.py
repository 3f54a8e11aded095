"""Limited-memory BFGS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import Tensor, cat, view_as_real
from ._arguments import check_learning_rate
from ._line_search import strong_wolfe
from .optimizer import Optimizer, ParamsT, _call_closure, _without_grad

__all__ = ["LBFGS"]

# A pair of steps whose product is smaller would spoil the curvature estimate.
_LEAST_CURVATURE = 1e-10

# State that one iteration leaves to the next.
_MEMORY = ("d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss")


class LBFGS(Optimizer):
    """Limited-memory BFGS: Newton steps with a curvature estimated from the last ``history_size`` steps.

    One `step` runs up to ``max_iter`` iterations and evaluates the closure up to ``max_eval`` times (1.25 times
    ``max_iter`` if None). ``line_search_fn`` is None (steps of size ``lr``) or ``"strong_wolfe"``. All parameters must
    be in one group. It stops when no gradient exceeds ``tolerance_grad`` or progress falls under
    ``tolerance_change``. Reference: Nocedal and Wright, Numerical Optimization, chapter 7.

    >>> w = torch.nn.Parameter(torch.ones(2))
    >>> optimizer = torch.optim.LBFGS([w], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad(); loss = (w ** 2).sum(); loss.backward(); return loss
    >>> loss = optimizer.step(closure); bool((w.abs() < 1e-3).all())
    True
    """

    _step_is_tensor = False

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_learning_rate("LBFGS", lr)
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError(
                f"LBFGS: all parameters must be in one group, got {len(self.param_groups)} groups: the curvature is "
                "estimated for all of them together"
            )

    @property
    def _params(self) -> list[Tensor]:
        return self.param_groups[0]["params"]

    def _flat_gradient(self) -> Tensor:
        parts = []
        for p in self._params:
            if p.grad is None:
                part = p.new_zeros(p.numel())
            else:
                part = (p.grad.to_dense() if p.grad.is_sparse else p.grad).reshape(-1)
            parts.append(view_as_real(part).reshape(-1) if part.is_complex() else part)
        return cat(parts, 0)

    def _move(self, size: float, direction: Tensor) -> None:
        """Add ``size * direction`` to the parameters."""
        offset = 0
        for p in self._params:
            target = view_as_real(p) if p.is_complex() else p
            count = target.numel()
            target.add_(direction[offset : offset + count].view(target.shape), alpha=size)
            offset += count

    def _restore(self, values: list[Tensor]) -> None:
        for p, value in zip(self._params, values, strict=True):
            p.copy_(value)

    @_without_grad
    def step(self, closure: Callable) -> Any:
        """Run iterations. ``closure`` clears the gradients, computes the loss, calls backward and returns the loss."""
        group = self.param_groups[0]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        first_loss = _call_closure(closure)
        loss = float(first_loss)
        evaluations = 1
        state["func_evals"] += 1
        gradient = self._flat_gradient()
        if gradient.abs().max() <= group["tolerance_grad"]:
            return first_loss

        memory = {name: state.get(name) for name in _MEMORY}
        iteration = 0
        while iteration < group["max_iter"]:
            iteration += 1
            state["n_iter"] += 1
            direction = self._direction(state, memory, gradient, group["history_size"])
            memory["prev_flat_grad"] = gradient.clone()
            previous_loss = memory["prev_loss"] = loss
            size = group["lr"]
            if state["n_iter"] == 1:
                size = min(1.0, 1.0 / gradient.abs().sum()) * size
            memory["t"] = size
            slope = gradient.dot(direction)
            if slope > -group["tolerance_change"]:
                break

            used = 0
            if group["line_search_fn"] is not None:
                loss, gradient, size, used = self._line_search(group, closure, size, direction, loss, gradient, slope)
                self._move(float(size), direction)
                memory["t"] = size
            else:
                self._move(float(size), direction)
                if iteration != group["max_iter"]:
                    # The loss after the last iteration of a step is left to the next step.
                    loss = float(_call_closure(closure))
                    gradient = self._flat_gradient()
                    used = 1
            evaluations += used
            state["func_evals"] += used
            if (
                evaluations >= group["max_eval"]
                or gradient.abs().max() <= group["tolerance_grad"]
                or direction.mul(size).abs().max() <= group["tolerance_change"]
                or abs(loss - previous_loss) < group["tolerance_change"]
            ):
                break
        state.update(memory)
        return first_loss

    def _direction(self, state: dict[str, Any], memory: dict[str, Any], gradient: Tensor, history_size: int) -> Tensor:
        """The Newton direction of the estimated curvature, by the two-loop recursion; updates the history."""
        if state["n_iter"] == 1:
            memory["d"] = gradient.neg()
            memory.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return memory["d"]
        changes, steps, inverses = memory["old_dirs"], memory["old_stps"], memory["ro"]
        change = gradient.sub(memory["prev_flat_grad"])
        step = memory["d"].mul(memory["t"])
        curvature = change.dot(step)
        if curvature > _LEAST_CURVATURE:
            if len(changes) == history_size:
                for history in (changes, steps, inverses):
                    history.pop(0)
            changes.append(change)
            steps.append(step)
            inverses.append(1.0 / curvature)
            memory["H_diag"] = curvature / change.dot(change)
        weights = state.setdefault("al", [None] * history_size)
        direction = gradient.neg()
        for i in reversed(range(len(changes))):
            weights[i] = steps[i].dot(direction) * inverses[i]
            direction.add_(changes[i], alpha=-weights[i].item())
        direction = direction.mul(memory["H_diag"])
        for i in range(len(changes)):
            correction = changes[i].dot(direction) * inverses[i]
            direction.add_(steps[i], alpha=(weights[i] - correction).item())
        memory["d"] = direction
        return direction

    def _line_search(
        self,
        group: dict[str, Any],
        closure: Callable,
        size: Any,
        direction: Tensor,
        loss: float,
        gradient: Tensor,
        slope: Tensor,
    ) -> tuple[float, Tensor, Any, int]:
        if group["line_search_fn"] != "strong_wolfe":
            raise RuntimeError(f"LBFGS: line_search_fn must be None or 'strong_wolfe', got {group['line_search_fn']!r}")
        start = [p.clone() for p in self._params]

        def evaluate(at: Any) -> tuple[float, Tensor]:
            self._move(float(at), direction)
            value = float(_call_closure(closure))
            gradient_there = self._flat_gradient()
            self._restore(start)
            return value, gradient_there

        return strong_wolfe(evaluate, size, direction, loss, gradient, slope)
