"""`profile` with a schedule of steps: which to leave out, to warm up in, to record."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from ..autograd import profiler as _events
from ..autograd.profiler import EventList

__all__ = ["ProfilerAction", "profile", "schedule", "tensorboard_trace_handler"]


class ProfilerAction(Enum):
    """What is done in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """A function from the number of a step to what is done in it: cycles of waiting, warming up and recording.

    Raises AssertionError for negative numbers and for nothing to record.
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError(f"schedule: invalid numbers of steps: wait={wait}, warmup={warmup}, active={active}")

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative, got {step}")
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        if skip_first_wait:
            step += wait
        cycle = wait + warmup + active
        if repeat and step // cycle >= repeat:
            return ProfilerAction.NONE
        place = step % cycle
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None, use_gzip: bool = False) -> Callable:
    """A handler for `on_trace_ready` that writes each trace to a file of its own in `dir_name`."""
    import os
    import socket
    import time

    os.makedirs(dir_name, exist_ok=True)

    def handler(finished: profile) -> None:
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        finished.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}.pt.trace.json"))

    return handler


class profile:
    """Context manager that records the steps its schedule says (default: everything) and calls `on_trace_ready`."""

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        **settings: Any,
    ) -> None:
        self.schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self.on_trace_ready = on_trace_ready
        self.record_shapes = record_shapes
        self.step_num = 0
        self._recording: _events.profile | None = None
        self._finished: _events.profile | None = None

    def start(self) -> None:
        """Begins with step 0."""
        self._follow(self.schedule(self.step_num))

    def stop(self) -> None:
        """Ends, with what was recorded so far."""
        if self._recording is not None:
            self._finish()

    def step(self) -> None:
        """Says that the next step begins."""
        if self.schedule(self.step_num) is ProfilerAction.RECORD_AND_SAVE:
            self._finish()
        self.step_num += 1
        self._follow(self.schedule(self.step_num))

    def _follow(self, action: ProfilerAction) -> None:
        records = action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        if records and self._recording is None:
            self._recording = _events.profile(record_shapes=self.record_shapes)
            self._recording.__enter__()

    def _finish(self) -> None:
        recording, self._recording = self._recording, None
        if recording is None:
            return
        recording.__exit__(None, None, None)
        self._finished = recording
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self.stop()

    def events(self) -> EventList:
        """What was recorded last. Raises AssertionError before there is anything."""
        source = self._recording or self._finished
        if source is None:
            raise AssertionError("Profiler must be initialized before getting events")
        return source.function_events

    def key_averages(self, group_by_input_shape: bool = False, **settings: Any) -> EventList:
        """Calls and times by name."""
        return self.events().key_averages(group_by_input_shape)

    def export_chrome_trace(self, path: str) -> None:
        """Writes a trace for Chrome's viewer."""
        self.events().export_chrome_trace(path)
