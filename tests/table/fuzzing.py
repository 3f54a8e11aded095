"""The process that calls ops with wild arguments. Run as a program it replays one call:

PYTHONPATH=tests python -m table.fuzzing add.Tensor in_place 17
"""

from __future__ import annotations

import faulthandler
import gc
import os
import random
import resource
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import flambeau as fl

from .entries import Entry, entry
from .wild import Wild

# What bad arguments may raise. Anything else (SystemError, AttributeError …) says that an op stumbled.
EXPECTED = (TypeError, ValueError, IndexError, RuntimeError, NotImplementedError, OverflowError, BufferError)
STUMBLES = (RecursionError,)
ARGUMENT_ERRORS = (ZeroDivisionError, KeyError)  # raised by the wild objects themselves
SEED = 20_13


class Fault(Exception):
    """Something other than an exception of the expected kind came of a call."""


def forms_of(op: Entry) -> list[str]:
    forms = [form for form in ("function", "method", "in_place") if form in op.forms]
    return [*forms, "out"] if "out" in op.forms and "function" in op.forms else forms


class Call:
    """The `number`th call of a form of an op: the same arguments whenever it is made."""

    def __init__(self, op: Entry, form: str, number: int) -> None:
        rng = random.Random(f"{SEED} {op.id} {form} {number}")
        self.op, self.form = op, form
        self.function = op.callable("function" if form == "out" else form)
        wild = Wild(rng, tame=rng.choice([0.5, 0.9, 1.0]))
        self.args, self.keywords = wild.arguments(op.args)
        self.destinations: list[fl.Tensor] = []
        if form == "out":
            count = max(1, op.returns.count("Tensor"))
            outs = [wild.tensor(destination=True) for _ in range(count)]
            self.keywords["out"] = outs[0] if count == 1 else tuple(outs)
            self.destinations = outs
        elif (form == "in_place" or "mutates" in op.traits) and self.args and isinstance(self.args[0], fl.Tensor):
            self.destinations = [self.args[0]]
        self.backward = rng.random() < 0.5

    def __str__(self) -> str:
        shown = [describe(a) for a in self.args] + [f"{k}={describe(v)}" for k, v in self.keywords.items()]
        return f"{self.op.id} {self.form}: ({', '.join(shown)})".encode("ascii", "backslashreplace").decode()

    def make(self) -> None:
        before = [snapshot(t) for t in self.destinations]
        try:
            result = self.function(*self.args, **self.keywords)
        except EXPECTED as error:
            if isinstance(error, STUMBLES):
                raise Fault(f"{type(error).__name__}: {error}") from error
            for t, content in zip(self.destinations, before, strict=True):
                if content is not None and snapshot(t) != content:
                    raise Fault(f"partial write before {type(error).__name__}: {error}") from error
            return
        except AssertionError as error:
            if not str(error):  # PyTorch too asserts some of what it checks, but says what
                raise Fault(f"{type(error).__name__}: {error}") from error
            return
        except ARGUMENT_ERRORS as error:
            if error.__traceback__ is not None and error.__traceback__.tb_next is None:
                raise Fault(f"{type(error).__name__}: {error}") from error
            return
        except Exception as error:
            raise Fault(f"{type(error).__name__}: {error}") from error
        for t in tensors_in(result):
            self.check(t)

    def check(self, t: fl.Tensor) -> None:
        """A result lies inside its memory, can be read, and can be differentiated or says why not."""
        try:
            if t.numel() and t.device.type == "cpu":
                last = t.storage_offset() + sum((n - 1) * s for n, s in zip(t.shape, t.stride(), strict=True))
                if t.storage_offset() < 0 or (last + 1) * t.element_size() > t.untyped_storage().nbytes():
                    raise Fault(f"result {describe(t)} reaches past its memory")
                if t.numel() <= 10_000:
                    t.detach().clone()
            if self.backward and t.requires_grad and t.numel() <= 10_000:
                t.backward(fl.ones_like(t))
        except (RuntimeError, NotImplementedError, IndexError, ValueError, TypeError) as error:
            if isinstance(error, RecursionError):
                raise Fault(f"{type(error).__name__}: {error}") from error


def snapshot(t: fl.Tensor) -> tuple[Any, ...] | None:
    """Values and geometry of a tensor; None where there are none to compare."""
    if t.device.type != "cpu" or t.numel() == 0 or t.numel() > 10_000 or t.untyped_storage().nbytes() == 0:
        return None
    return (tuple(t.shape), t.dtype, repr(t.detach().tolist()))


def tensors_in(result: Any) -> Iterator[fl.Tensor]:
    if isinstance(result, fl.Tensor):
        yield result
    elif isinstance(result, (tuple, list)):
        for item in result:
            yield from tensors_in(item)


def describe(value: Any) -> str:
    if isinstance(value, fl.Tensor):
        try:
            grad = "" if not value.requires_grad else " grad" if value.is_leaf else " graph"
            return f"<{value.dtype} {tuple(value.shape)} strides {value.stride()} {value.device}{grad}>"
        except Exception as error:
            return f"<tensor: {error}>"
    if isinstance(value, (list, tuple)):
        if any(item is value for item in value):
            return "<list in itself>"
        return type(value).__name__ + "(" + ", ".join(describe(item) for item in value[:70]) + ")"
    text = repr(value)
    return text if len(text) < 100 else text[:100] + "…"


def prepare() -> None:
    faulthandler.enable()
    warnings.simplefilter("ignore")
    fl.set_num_threads(1)
    fl._C._set_memory_limit(256 << 20)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.setrecursionlimit(500)


def serve(calls: int) -> None:
    """Read ids of ops; write ``call <form> <number>`` before a call, ``fault …`` after one, ``done`` after an op."""
    prepare()
    pipe = os.dup(1)
    os.dup2(2, 1)  # what ops print is not part of the conversation
    for line in sys.stdin:
        op = entry(line.strip())
        for form in forms_of(op):
            for number in range(calls):
                os.write(pipe, f"call {form} {number}\n".encode())
                try:
                    Call(op, form, number).make()
                except Fault as fault:
                    os.write(pipe, f"fault {' '.join(str(fault).split())[:300]}\n".encode("ascii", "backslashreplace"))
        fl._C._empty_cache()
        gc.collect()
        os.write(pipe, b"done\n")


def replay(identifier: str, form: str, number: int) -> None:
    prepare()
    call = Call(entry(identifier), form, number)
    print(call, flush=True)
    try:
        call.make()
    except Fault as fault:
        raise fault from fault.__cause__
    print("no fault")


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(int(sys.argv[2]))
    else:
        replay(sys.argv[1], sys.argv[2], int(sys.argv[3]))
