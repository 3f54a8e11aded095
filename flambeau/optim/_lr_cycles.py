"""Schedules in cycles, some of which also move the momentum."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

from ._lr_base import LRScheduler, check_optimizer, per_group, set_option
from .optimizer import Optimizer


def _check_momentum(name: str, optimizer: Optimizer) -> bool:
    """Whether the momentum of ``optimizer`` is ``betas[0]``. Raises ValueError if it has none."""
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError(
            f"{name}: cycle_momentum=True needs an optimizer with momentum or betas, and "
            f"{type(optimizer).__name__} has neither"
        )
    return "betas" in optimizer.defaults


def _set_momentum(group: dict[str, Any], use_beta1: bool, momentum: float) -> None:
    if use_beta1:
        group["betas"] = (momentum, *group["betas"][1:])
    else:
        group["momentum"] = momentum


class CyclicLR(LRScheduler):
    """Back and forth between ``base_lr`` and ``max_lr``, and momentum the other way.

    One cycle rises for ``step_size_up`` steps and falls for ``step_size_down`` (as many if None). ``mode`` is
    ``"triangular"``, ``"triangular2"`` (half the height every cycle) or ``"exp_range"`` (times ``gamma ** step``);
    ``scale_fn``, of the cycle or (``scale_mode="iterations"``) the step, replaces it. Raises ValueError for another
    mode. Reference: Smith, 2017.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: Literal["triangular", "triangular2", "exp_range"] = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: Literal["cycle", "iterations"] = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(self, optimizer)
        self.optimizer = optimizer
        base_lrs = per_group("CyclicLR: base_lr", base_lr, optimizer)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, base_lrs, strict=True):
                set_option(group, "lr", rate)
        self.max_lrs = per_group("CyclicLR: max_lr", max_lr, optimizer)
        step_size_up = float(step_size_up)
        self.total_size = step_size_up + (step_size_up if step_size_down is None else float(step_size_down))
        self.step_ratio = step_size_up / self.total_size
        if scale_fn is None and mode not in ("triangular", "triangular2", "exp_range"):
            raise ValueError(f"CyclicLR: mode must be 'triangular', 'triangular2' or 'exp_range', got {mode!r}")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode if scale_fn is not None or mode != "exp_range" else "iterations"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = _check_momentum("CyclicLR", optimizer)
            self.base_momentums = per_group("CyclicLR: base_momentum", base_momentum, optimizer)
            self.max_momentums = per_group("CyclicLR: max_momentum", max_momentum, optimizer)
            if last_epoch == -1:
                for high, low, group in zip(
                    self.max_momentums, self.base_momentums, optimizer.param_groups, strict=True
                ):
                    _set_momentum(group, self.use_beta1, high)
                    group["max_momentum"] = high
                    group["base_momentum"] = low
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """The height of a cycle, relative to the first."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular2":
            return 1 / (2.0 ** (x - 1))
        return self.gamma**x if self.mode == "exp_range" else 1.0

    def get_lr(self) -> list[Any]:
        self._warn_unless_stepping()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        place = 1.0 + self.last_epoch / self.total_size - cycle
        if place <= self.step_ratio:
            height = place / self.step_ratio
        else:
            height = (place - 1) / (self.step_ratio - 1)
        height *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        rates = [base + (top - base) * height for base, top in zip(self.base_lrs, self.max_lrs, strict=True)]
        if self.cycle_momentum:
            for low, high, group in zip(
                self.base_momentums, self.max_momentums, self.optimizer.param_groups, strict=True
            ):
                _set_momentum(group, self.use_beta1, high - (high - low) * height)
        return rates

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer and a plain ``scale_fn``; of a callable object, its attributes."""
        import types

        state = {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "_scale_fn_custom")}
        function = self._scale_fn_custom
        is_object = function is not None and not isinstance(function, types.FunctionType)
        state["_scale_fn_custom"] = function.__dict__.copy() if is_object else None
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned; ``scale_fn`` stays that of this scheduler."""
        self.__dict__.update((k, v) for k, v in state_dict.items() if k != "_scale_fn_custom")
        if state_dict["_scale_fn_custom"] is not None:
            self._scale_fn_custom.__dict__.update(state_dict["_scale_fn_custom"])


class OneCycleLR(LRScheduler):
    """One rise to ``max_lr`` and one fall far below the start, momentum the other way; call `step` every batch.

    It starts at ``max_lr / div_factor``, rises for ``pct_start`` of the ``total_steps`` (or ``epochs *
    steps_per_epoch``) and ends at the start divided by ``final_div_factor``; with ``three_phase`` it falls to the
    start first. Raises ValueError for a missing length, values out of range, and steps beyond the end. Reference:
    Smith and Topin, 2018.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(self, optimizer)
        self.optimizer = optimizer
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"OneCycleLR: pct_start must be a float between 0 and 1, got {pct_start!r}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"OneCycleLR: anneal_strategy must be 'cos' or 'linear', got {anneal_strategy!r}")
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        self._anneal_func_type = anneal_strategy
        max_lrs = per_group("OneCycleLR: max_lr", max_lr, optimizer)
        if last_epoch == -1:
            for group, top in zip(optimizer.param_groups, max_lrs, strict=True):
                group["initial_lr"] = top / div_factor
                group["max_lr"] = top
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = _check_momentum("OneCycleLR", optimizer)
            highs = per_group("OneCycleLR: max_momentum", max_momentum, optimizer)
            lows = per_group("OneCycleLR: base_momentum", base_momentum, optimizer)
            if last_epoch == -1:
                for high, low, group in zip(highs, lows, optimizer.param_groups, strict=True):
                    _set_momentum(group, self.use_beta1, high)
                    group["max_momentum"] = high
                    group["base_momentum"] = low
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_unless_stepping()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"OneCycleLR: step {step} is beyond the total of {self.total_steps} steps")
        start = 0.0
        for phase in self._schedule_phases:
            end = phase["end_step"]
            if step <= end or phase is self._schedule_phases[-1]:
                share = (step - start) / (end - start)
                break
            start = end
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._between(group[phase["start_lr"]], group[phase["end_lr"]], share))
            if self.cycle_momentum:
                momentum = self._between(group[phase["start_momentum"]], group[phase["end_momentum"]], share)
                _set_momentum(group, self.use_beta1, momentum)
        return rates

    def _between(self, start: Any, end: Any, share: float) -> Any:
        if self._anneal_func_type == "linear":
            return (end - start) * share + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)


def _total_steps(total_steps: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
    names = {"total_steps": total_steps, "epochs": epochs, "steps_per_epoch": steps_per_epoch}
    needed = ("total_steps",) if total_steps is not None else ("epochs", "steps_per_epoch")
    for name in needed:
        value = names[name]
        if value is None:
            raise ValueError("OneCycleLR: give total_steps, or both epochs and steps_per_epoch")
        if not isinstance(value, int) or value <= 0:
            raise ValueError(f"OneCycleLR: {name} must be a positive int, got {value!r}")
    if total_steps is not None:
        return total_steps
    assert epochs is not None and steps_per_epoch is not None  # the loop has seen to it
    return epochs * steps_per_epoch


def _phases(total_steps: int, pct_start: float, three_phase: bool) -> list[dict[str, Any]]:
    def phase(end_step: float, start_lr: str, end_lr: str, start_momentum: str, end_momentum: str) -> dict[str, Any]:
        return {
            "end_step": end_step,
            "start_lr": start_lr,
            "end_lr": end_lr,
            "start_momentum": start_momentum,
            "end_momentum": end_momentum,
        }

    rise = float(pct_start * total_steps)
    phases = [phase(rise - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum")]
    if three_phase:
        phases.append(phase(2 * rise - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"))
        phases.append(phase(total_steps - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"))
    else:
        phases.append(phase(total_steps - 1, "max_lr", "min_lr", "base_momentum", "max_momentum"))
    return phases


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine wave down to ``eta_min`` over ``T_0`` epochs, again and again, ``T_mult`` times as long each time.

    `step` takes fractions of an epoch too. Raises ValueError unless ``T_0`` and ``T_mult`` are positive ints.
    Reference: Loshchilov and Hutter, 2017.
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        for name, value in (("T_0", T_0), ("T_mult", T_mult)):
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"CosineAnnealingWarmRestarts: {name} must be a positive int, got {value!r}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"CosineAnnealingWarmRestarts: eta_min must be a number, got {type(eta_min).__name__}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_unless_stepping()
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go to the next epoch, or to ``epoch``, which may be a fraction."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        else:
            if epoch < 0:
                raise ValueError(f"CosineAnnealingWarmRestarts: epoch must be at least 0, got {epoch}")
            self._jump(epoch)
        last_epoch = math.floor(epoch)
        # The base class counts on by one.
        self.last_epoch = last_epoch - 1
        self._update_lr()

    def _jump(self, epoch: float) -> None:
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            restarts = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**restarts - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**restarts
