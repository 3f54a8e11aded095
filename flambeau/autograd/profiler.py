"""Events of a program in time: calls of the API, and ranges that `record_function` names."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from enum import Enum
from time import perf_counter_ns
from typing import Any

from ..overrides import TorchFunctionMode

__all__ = ["EventList", "FunctionEvent", "ProfilerActivity", "profile", "record_function", "supported_activities"]


class ProfilerActivity(Enum):
    """What can be profiled; here, the CPU."""

    CPU = 0
    CUDA = 2
    XPU = 1


def supported_activities() -> set[ProfilerActivity]:
    """What a profile can hold: activity of the CPU."""
    return {ProfilerActivity.CPU}


class FunctionEvent:
    """One call, or with `count` above 1 several of one name; times are in microseconds."""

    def __init__(self, name: str, start: int, end: int, self_time: int, shapes: Any, thread: int) -> None:
        self.name = self.key = name
        self.start, self.end = start / 1e3, end / 1e3
        self.cpu_time_total = (end - start) / 1e3
        self.self_cpu_time_total = self_time / 1e3
        self.input_shapes = shapes
        self.thread = thread
        self.count = 1

    @property
    def cpu_time(self) -> float:
        """The mean time of a call."""
        return self.cpu_time_total / self.count

    def __repr__(self) -> str:
        return f"<FunctionEvent {self.name}: {self.count} calls, {self.cpu_time_total:.3f}us>"


class EventList(list):
    """Events, with ways to sum them up."""

    def key_averages(self, group_by_input_shape: bool = False, **settings: Any) -> EventList:
        """One event for each name (and, if asked for, shapes of its inputs), with the calls and times added up."""
        groups: dict[Any, FunctionEvent] = {}
        for event in self:
            key = (event.name, str(event.input_shapes) if group_by_input_shape else "")
            total = groups.get(key)
            if total is None:
                groups[key] = total = FunctionEvent(event.name, 0, 0, 0, event.input_shapes, event.thread)
                total.count = 0
            total.count += event.count
            total.cpu_time_total += event.cpu_time_total
            total.self_cpu_time_total += event.self_cpu_time_total
        return EventList(groups.values())

    def total_average(self) -> FunctionEvent:
        """All events as one."""
        total = FunctionEvent("Total", 0, 0, 0, None, 0)
        total.count = sum(event.count for event in self)
        total.cpu_time_total = sum(event.cpu_time_total for event in self)
        total.self_cpu_time_total = sum(event.self_cpu_time_total for event in self)
        return total

    def table(self, sort_by: str | None = None, row_limit: int = 100, **settings: Any) -> str:
        """The events as a table of text, sorted by an attribute such as ``"cpu_time_total"``."""
        events = list(self)
        if sort_by is not None:
            events.sort(key=lambda event: getattr(event, sort_by, 0), reverse=True)
        whole = sum(event.self_cpu_time_total for event in events) or 1.0
        rows = [("Name", "Self CPU %", "Self CPU", "CPU total", "CPU time avg", "# of Calls")]
        for event in events[: row_limit if row_limit >= 0 else None]:
            share = f"{100 * event.self_cpu_time_total / whole:.2f}%"
            times = (event.self_cpu_time_total, event.cpu_time_total, event.cpu_time)
            rows.append((event.name, share, *(f"{time:.3f}us" for time in times), str(event.count)))
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        line = "  ".join("-" * width for width in widths)
        text = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
        return "\n".join([line, text[0], line, *text[1:], line, f"Self CPU time total: {whole:.3f}us", ""])

    def export_chrome_trace(self, path: str) -> None:
        """Writes the events as JSON that Chrome's and Perfetto's trace viewers read."""
        import json
        import os

        events = [
            {"ph": "X", "cat": "cpu_op", "name": event.name, "pid": os.getpid(), "tid": event.thread, "ts": event.start,
             "dur": event.cpu_time_total}
            for event in self
        ]  # fmt: skip
        with open(path, "w") as file:
            json.dump({"traceEvents": events}, file)


class _Recorder(threading.local):
    """The profiles that are on in this thread, and the time that calls inside of the present ones took."""

    def __init__(self) -> None:
        self.profiles: list[profile] = []
        self.inner: list[int] = []


_recorder = _Recorder()


class _Range:
    """A measured stretch: adds an event to every profile that is on."""

    def __init__(self, name: str, shapes: Any = None) -> None:
        self.name, self.shapes = name, shapes

    def __enter__(self) -> None:
        _recorder.inner.append(0)
        self.start = perf_counter_ns()

    def __exit__(self, *error: Any) -> None:
        end = perf_counter_ns()
        inside = _recorder.inner.pop()
        if _recorder.inner:
            _recorder.inner[-1] += end - self.start
        event = FunctionEvent(self.name, self.start, end, end - self.start - inside, self.shapes, threading.get_ident())
        for each in _recorder.profiles:
            each._events.append(event)


class record_function:
    """Context manager or decorator that names a stretch of the program in profiles."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args
        self._ranges: list[_Range] = []

    def __enter__(self) -> record_function:
        measured = _Range(self.name)
        measured.__enter__()
        self._ranges.append(measured)
        return self

    def __exit__(self, *error: Any) -> None:
        self._ranges.pop().__exit__()

    def __call__(self, function: Callable) -> Callable:
        @functools.wraps(function)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name):
                return function(*args, **kwargs)

        return decorated


class profile(TorchFunctionMode):
    """Context manager that records the calls of the API in its block, with times."""

    def __init__(self, enabled: bool = True, *, record_shapes: bool = False, **settings: Any) -> None:
        self.enabled = enabled
        self.record_shapes = record_shapes
        self._events = EventList()

    def __enter__(self) -> profile:
        if self.enabled:
            _recorder.profiles.append(self)
            super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        if self.enabled:
            super().__exit__(*error)
            _recorder.profiles.remove(self)

    def __torch_function__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        shapes = [list(getattr(each, "shape", [])) for each in args] if self.record_shapes else None
        with _Range(f"aten::{getattr(func, '__name__', func)}", shapes):
            return func(*args, **(kwargs or {}))

    @property
    def function_events(self) -> EventList:
        """What was recorded."""
        return self._events

    def key_averages(self, group_by_input_shape: bool = False, **settings: Any) -> EventList:
        """Calls and times by name."""
        return self._events.key_averages(group_by_input_shape)

    def total_average(self) -> FunctionEvent:
        """All events as one."""
        return self._events.total_average()

    def table(self, sort_by: str | None = None, row_limit: int = 100, **settings: Any) -> str:
        """The events as a table."""
        return self._events.table(sort_by, row_limit)

    def export_chrome_trace(self, path: str) -> None:
        """Writes a trace for Chrome's viewer."""
        self._events.export_chrome_trace(path)

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all calls, in microseconds."""
        return sum(event.self_cpu_time_total for event in self._events)
