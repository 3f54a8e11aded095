"""A profiler of the calls a program makes: which functions, how often, how long.

>>> with torch.profiler.profile() as profiler, torch.profiler.record_function("twice"):
...     _ = torch.ones(2) * 2
>>> [event.count for event in profiler.key_averages() if event.key == "twice"]
[1]
"""

from ..autograd.profiler import ProfilerActivity, record_function, supported_activities
from .profiler import ProfilerAction, profile, schedule, tensorboard_trace_handler

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]
