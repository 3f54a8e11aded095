"""The default random number generator, as functions."""

from __future__ import annotations

import contextlib
from typing import Any

from . import _C

__all__ = ["fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]

default_generator = _C.default_generator


def manual_seed(seed: int) -> Any:
    """Starts the default generator at a number, and returns it: the same seed gives the same values.

    Negative numbers count from 2**64. Raises RuntimeError outside [-2**63, 2**64).

    >>> torch.manual_seed(0); torch.rand(1)
    tensor([0.4963])
    """
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Starts the default generator at a number from the operating system, and returns it."""
    return default_generator.seed()


def initial_seed() -> int:
    """The number that the default generator was started at."""
    return default_generator.initial_seed()


def get_rng_state() -> Any:
    """The state of the default generator, a uint8 tensor for `set_rng_state`."""
    return default_generator.get_state()


def set_rng_state(new_state: Any) -> None:
    """Puts the default generator into a state that `get_rng_state` returned."""
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(
    devices: Any = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str | None = None,
):
    """Context manager: what the block draws leaves the default generator as it was.

    `devices` and `device_type` are for accelerators and have no effect without one.

    >>> before = torch.get_rng_state()
    >>> with torch.random.fork_rng():
    ...     _ = torch.rand(1)
    >>> torch.equal(before, torch.get_rng_state())
    True
    """
    if not enabled:
        yield
        return
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)
