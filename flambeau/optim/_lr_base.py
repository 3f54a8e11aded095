"""The base of learning-rate schedulers."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .. import Tensor
from .optimizer import Optimizer


def copied(value: Any) -> Any:
    """A learning rate that later steps won't change."""
    return value.detach().clone() if isinstance(value, Tensor) else value


def set_option(group: dict[str, Any], key: str, value: Any) -> None:
    """Set an option of a parameter group; a tensor is filled, since others may hold on to it."""
    if isinstance(group[key], Tensor):
        group[key].fill_(value.item() if isinstance(value, Tensor) else value)
    else:
        group[key] = value


def options(optimizer: Optimizer, key: str) -> list[Any]:
    return [copied(group[key]) for group in optimizer.param_groups]


def per_group(name: str, value: Any, optimizer: Optimizer) -> list[Any]:
    """One value per parameter group. Raises ValueError for a list of another length."""
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * count
    if len(value) != count:
        raise ValueError(f"{name} must be one value, or one per parameter group: got {len(value)} for {count} groups")
    return list(value)


def check_optimizer(scheduler: Any, optimizer: Any) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(scheduler).__name__}: optimizer must be an Optimizer, got {type(optimizer).__name__}")


class LRScheduler:
    """Base of schedulers: changes the learning rate of each parameter group, once per `step`.

    A subclass defines ``get_lr()``: the rates for ``self.last_epoch``, one per group, from ``self.base_lrs`` or from
    the present ones. Call ``scheduler.step()`` after ``optimizer.step()``. To resume with ``last_epoch`` other than -1,
    every group must have ``"initial_lr"``.

    >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    >>> optimizer.step(); scheduler.step(); scheduler.get_last_lr()
    [0.5]
    """

    _get_lr_called_within_step: bool = False
    _is_initial: bool = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(self, optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"{type(self).__name__}: to resume from last_epoch={last_epoch}, parameter group {i} of the "
                    "optimizer must have the option 'initial_lr'"
                )
        self.base_lrs: list[Any] = options(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _note_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        """Set the rates of the first epoch."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """The rates that the last step set."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The rates for ``self.last_epoch``, one per group."""
        raise NotImplementedError(f"{type(self).__name__} must define get_lr")

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch and set its rates. ``epoch``, which jumps to it, is deprecated."""
        if self._step_count == 1:
            self._check_order()
        self._step_count += 1
        if epoch is not None:
            warnings.warn("the argument epoch of scheduler.step() is deprecated", UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _check_order(self) -> None:
        if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
            warnings.warn(
                "optimizer.step was replaced after the scheduler was made: the scheduler can't tell whether it is "
                "called in the right order",
                UserWarning,
                stacklevel=3,
            )
        elif not getattr(self.optimizer, "_opt_called", False):
            warnings.warn(
                "lr_scheduler.step() was called before optimizer.step(): the first learning rate of the schedule is "
                "skipped; call it after",
                UserWarning,
                stacklevel=3,
            )

    def _update_lr(self, epoch: int | None = None) -> None:
        with _within_step(self):
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                # Chained formulas start from the present rate, which a jump makes wrong.
                closed_form = getattr(self, "_get_closed_form_lr", None)
                rates = self.get_lr() if closed_form is None else closed_form()
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_option(group, "lr", rate)
        self._last_lr = options(self.optimizer, "lr")

    def _warn_unless_stepping(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "get_lr() computes the rates of a step; to read the present ones, call get_last_lr()",
                UserWarning,
                stacklevel=3,
            )

    def _present(self) -> list[Any]:
        return [group["lr"] for group in self.optimizer.param_groups]

    def _scaled(self, factor: float) -> list[Any]:
        """The present rates times ``factor``."""
        return [rate * factor for rate in self._present()]


@contextmanager
def _within_step(scheduler: LRScheduler) -> Iterator[None]:
    scheduler._get_lr_called_within_step = True
    try:
        yield
    finally:
        scheduler._get_lr_called_within_step = False


def _note_steps(optimizer: Optimizer) -> None:
    """Make ``optimizer.step`` record that it was called, so that a wrong order can be pointed out."""
    import weakref

    step = optimizer.step
    if hasattr(step, "_wrapped_by_lr_sched"):
        return
    reference = weakref.ref(optimizer)
    function = step.__func__

    # Holding the bound method would tie the optimizer, and all its parameters, to itself.
    @functools.wraps(function)
    def noted(*args: Any, **kwargs: Any) -> Any:
        optimizer: Any = reference()
        optimizer._opt_called = True
        return function.__get__(optimizer, type(optimizer))(*args, **kwargs)

    noted._wrapped_by_lr_sched = True
    optimizer.step = noted


def functions_state(functions: Sequence[Callable]) -> list[dict | None]:
    """The state of callable objects; None for plain functions, which cannot be saved."""
    import types

    return [None if isinstance(f, types.FunctionType) else f.__dict__.copy() for f in functions]
