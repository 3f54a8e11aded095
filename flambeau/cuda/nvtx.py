"""Marks for NVIDIA's profiler, which has nothing to show: they do nothing."""

import contextlib


def mark(msg: str) -> None:
    """Marks a point."""


def range_push(msg: str) -> int:
    """Begins a nested range; returns its depth."""
    return 0


def range_pop() -> int:
    """Ends the innermost range; returns its depth."""
    return 0


def range_start(msg: str) -> int:
    """Begins a range that may overlap others; returns its number."""
    return 0


def range_end(range_id: int) -> None:
    """Ends the range with a number."""


@contextlib.contextmanager
def range(msg: str, *args, **kwargs):
    """Context manager of a range named by a message, with the arguments formatted into it."""
    yield
