"""Averages of a model's parameters over training: stochastic weight averaging and exponential moving averages."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any, Literal

from .. import Tensor, long, no_grad, tensor
from ..nn import Module
from ..nn.modules.batchnorm import _BatchNorm
from ._lr_base import LRScheduler, check_optimizer, per_group
from .optimizer import Optimizer

__all__ = [
    "AveragedModel",
    "update_bn",
    "SWALR",
    "get_ema_multi_avg_fn",
    "get_swa_multi_avg_fn",
    "get_ema_avg_fn",
    "get_swa_avg_fn",
]


def _check_decay(decay: float) -> None:
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"decay must be in [0, 1], got {decay}")


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable:
    """``fn(averages, parameters, count)``, over lists: ``average = decay * average + (1 - decay) * parameter``."""
    _check_decay(decay)
    update_one = get_ema_avg_fn(decay)

    @no_grad()
    def ema_update(ema_param_list: list[Tensor], current_param_list: list[Tensor], _: Any) -> None:
        for average, current in zip(ema_param_list, current_param_list, strict=True):
            if average.is_floating_point() or average.is_complex():
                average.lerp_(current.to(average.dtype), 1 - decay)
            else:
                average.copy_(update_one(average, current, _))

    return ema_update


def get_swa_multi_avg_fn() -> Callable:
    """``fn(averages, parameters, count)``, over lists: the mean of all updates so far."""

    @no_grad()
    def swa_update(averaged_param_list: list[Tensor], current_param_list: list[Tensor], num_averaged: Any) -> None:
        share = 1 / (float(num_averaged) + 1)
        for average, current in zip(averaged_param_list, current_param_list, strict=True):
            if average.is_floating_point() or average.is_complex():
                average.lerp_(current.to(average.dtype), share)
            else:
                average.add_(((current - average) * share).to(average.dtype))

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> Callable:
    """``fn(average, parameter, count)``: ``decay * average + (1 - decay) * parameter``."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Callable:
    """``fn(average, parameter, count)``: the mean of all updates so far."""

    @no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


class AveragedModel(Module):
    """A copy of a model that holds the average of its parameters over the calls of `update_parameters`.

    The average is the plain mean, unless ``avg_fn`` or ``multi_avg_fn`` says otherwise. Buffers are averaged with
    ``use_buffers``, else copied. Raises AssertionError if both functions are given.

    >>> model = torch.nn.Linear(2, 1)
    >>> averaged = torch.optim.swa_utils.AveragedModel(model)
    >>> averaged.update_parameters(model); int(averaged.n_averaged)
    1
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Callable | None = None,
        multi_avg_fn: Callable | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("AveragedModel: give avg_fn or multi_avg_fn, not both")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=long, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take the present parameters of ``model`` into the average."""

        def averaged(m: Module) -> Iterable[Tensor]:
            return chain(m.parameters(), m.buffers()) if self.use_buffers else m.parameters()

        averages = [p.detach() for p in averaged(self.module)]
        currents = [p.detach().to(a.device) for p, a in zip(averaged(model), averages, strict=True)]
        if self.n_averaged == 0:
            for average, current in zip(averages, currents, strict=True):
                average.copy_(current)
        elif self.avg_fn is not None:
            for average, current in zip(averages, currents, strict=True):
                average.copy_(self.avg_fn(average, current, self.n_averaged.to(average.device)))
        else:
            update = self.multi_avg_fn or get_swa_multi_avg_fn()
            update(averages, currents, self.n_averaged)
        if not self.use_buffers:
            for ours, theirs in zip(self.module.buffers(), model.buffers(), strict=True):
                ours.detach().copy_(theirs.detach().to(ours.device))
        self.n_averaged += 1


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Recompute the running statistics of all batch norms of ``model`` as means over ``loader``.

    A batch that is a list or tuple contributes its first entry.
    """
    momenta = {}
    for module in model.modules():
        if isinstance(module, _BatchNorm):
            module.reset_running_stats()
            momenta[module] = module.momentum
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        # None stands for a mean over all batches instead of a decaying one.
        module.momentum = None
    for batch in loader:
        x = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(x if device is None else x.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Anneals the rate of each group to ``swa_lr`` over ``anneal_epochs``, then keeps it there.

    ``anneal_strategy`` is ``"cos"`` or ``"linear"``. Raises ValueError for others, and for negative ``anneal_epochs``.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float,
        anneal_epochs: int = 10,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(self, optimizer)
        for group, rate in zip(optimizer.param_groups, per_group("SWALR: swa_lr", swa_lr, optimizer), strict=True):
            group["swa_lr"] = rate
        self._set_anneal_func(anneal_strategy)
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"SWALR: anneal_epochs must be an int of at least 0, got {anneal_epochs!r}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _set_anneal_func(self, anneal_strategy: str) -> None:
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"SWALR: anneal_strategy must be 'cos' or 'linear', got {anneal_strategy!r}")
        self._anneal_strategy = anneal_strategy

    def _share(self, epoch: int) -> float:
        """How far the rate has gone from the initial one (0) to ``swa_lr`` (1)."""
        t = max(0.0, min(1.0, epoch / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * t)) / 2 if self._anneal_strategy == "cos" else t

    def get_lr(self) -> list[Any]:
        self._warn_unless_stepping()
        # `_update_lr` counts from 0, at which the first call leaves the rate as it is.
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, here = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            target, rate = group["swa_lr"], group["lr"]
            # Another scheduler may have changed the rate since, so the initial one is worked out from the present one.
            initial = target if before == 1 else (rate - before * target) / (1 - before)
            rates.append(target * here + initial * (1 - here))
        return rates
