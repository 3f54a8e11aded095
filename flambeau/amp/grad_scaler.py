"""Scaling of losses, so that gradients of few bits do not vanish."""

from __future__ import annotations

import warnings
from enum import Enum
from typing import Any

__all__ = ["GradScaler", "OptState"]


class OptState(Enum):
    """How far a step of an optimizer has come."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


class GradScaler:
    """Multiplies losses by a factor that grows while gradients stay finite and shrinks when they don't.

    Steps with infinite or NaN gradients are left out. On a device that isn't here it warns and is disabled: everything
    then passes through. ::

        scaler = torch.amp.GradScaler("cpu")
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        if enabled and device != "cpu":
            warnings.warn(f"GradScaler: {device} is not available here. Disabling.", UserWarning, stacklevel=2)
            enabled = False
        self._enabled = enabled
        if enabled and growth_factor <= 1.0:
            raise AssertionError(f"GradScaler: the growth factor must be > 1.0, got {growth_factor}")
        if enabled and backoff_factor >= 1.0:
            raise AssertionError(f"GradScaler: the backoff factor must be < 1.0, got {backoff_factor}")
        self._scale = float(init_scale)
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._growth_tracker = 0
        # By optimizer: its state, and whether a gradient was not finite.
        self._optimizers: dict[int, list] = {}

    def scale(self, outputs: Any) -> Any:
        """The outputs, a tensor or nested sequences of them, times the factor. Raises ValueError for anything else."""
        if not self._enabled:
            return outputs
        from .. import Tensor

        if isinstance(outputs, Tensor):
            return outputs * self._scale
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(self.scale(each) for each in outputs)
        raise ValueError(
            f"GradScaler.scale: outputs must be a Tensor or an iterable of Tensors, got {type(outputs).__name__}"
        )

    def _of(self, optimizer: Any) -> list:
        return self._optimizers.setdefault(id(optimizer), [OptState.READY, None])

    def unscale_(self, optimizer: Any) -> None:
        """Divides the gradients of the optimizer's parameters by the factor; once between two updates."""
        if not self._enabled:
            return
        state = self._of(optimizer)
        if state[0] is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state[0] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        state[1] = self._unscale(optimizer)
        state[0] = OptState.UNSCALED

    def _unscale(self, optimizer: Any) -> bool:
        from .. import float16, no_grad

        bad = False
        with no_grad():
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    gradient = parameter.grad
                    if gradient is None:
                        continue
                    if gradient.dtype == float16 and self._device != "cpu":
                        raise ValueError("Attempting to unscale FP16 gradients.")
                    gradient.mul_(1.0 / self._scale)
                    bad = bad or not bool(gradient.isfinite().all())
        return bad

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Unscales unless that is done, and takes the optimizer's step if all gradients are finite; returns its result.

        Raises RuntimeError for a second step before update, and for a closure.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        state = self._of(optimizer)
        if state[0] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if state[0] is OptState.READY:
            self.unscale_(optimizer)
        if state[1] is None:
            raise AssertionError("GradScaler.step: no gradients were looked at for this optimizer")
        result = None if state[1] else optimizer.step(*args, **kwargs)
        state[0] = OptState.STEPPED
        return result

    def update(self, new_scale: Any = None) -> None:
        """Adjusts the factor by what was found since the last update, or sets it."""
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        else:
            found = [state[1] for state in self._optimizers.values() if state[1] is not None]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            if any(found):
                self._scale *= self._backoff_factor
                self._growth_tracker = 0
            else:
                self._growth_tracker += 1
                if self._growth_tracker == self._growth_interval:
                    self._scale *= self._growth_factor
                    self._growth_tracker = 0
        self._optimizers.clear()

    def get_scale(self) -> float:
        """The factor; 1.0 when disabled."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """What the factor grows by."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the factor shrinks by."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """How many good steps it takes to grow."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Whether it does anything."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """The factor and its settings; empty when disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale,
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continues from a `state_dict`. Raises RuntimeError for an empty one."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled GradScaler."
            )
        self._scale = state_dict["scale"]
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._growth_tracker = state_dict["_growth_tracker"]
