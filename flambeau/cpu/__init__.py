"""The CPU with the face of an accelerator, so that code for any device runs on it. Its one stream is the program."""

from __future__ import annotations

import contextlib
from typing import Any


class Stream:
    """Stands for the order in which the program itself runs."""

    def __init__(self, priority: int = -1):
        pass

    def wait_stream(self, stream: Any) -> None:
        """Returns at once: everything before has finished."""

    def record_event(self) -> None:
        """Does nothing: everything before has finished."""

    def wait_event(self, event: Any) -> None:
        """Returns at once: everything before has finished."""


class Event:
    """Stands for a point that the program has passed."""

    def query(self) -> bool:
        """Whether the point has been passed: True."""
        return True

    def record(self, stream: Any = None) -> None:
        """Does nothing."""

    def synchronize(self) -> None:
        """Returns at once."""

    def wait(self, stream: Any = None) -> None:
        """Returns at once."""


_current_stream = Stream()


class StreamContext(contextlib.AbstractContextManager):
    """Context manager of a stream; does nothing."""

    def __init__(self, stream: Any):
        self.stream = stream

    def __exit__(self, *error: Any) -> None:
        pass


def stream(stream: Stream) -> StreamContext:
    """The context manager of a stream."""
    return StreamContext(stream)


def is_available() -> bool:
    """Whether there is a CPU: True."""
    return True


def is_initialized() -> bool:
    """Whether the CPU has started: True."""
    return True


def device_count() -> int:
    """The number of CPU devices: 1."""
    return 1


def current_device() -> str:
    """The device: ``"cpu"``."""
    return "cpu"


def set_device(device: Any) -> None:
    """Chooses a device; there is one."""


def current_stream(device: Any = None) -> Stream:
    """The one stream."""
    return _current_stream


def synchronize(device: Any = None) -> None:
    """Returns at once: everything before has finished."""


def __getattr__(name: str) -> Any:
    if name == "amp":
        from importlib import import_module

        return import_module(f"{__name__}.amp")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
