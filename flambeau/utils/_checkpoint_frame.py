"""Checkpoints without re-entering backward, on hooks of what operations save.

During the first computation every tensor that an operation would save is replaced by an empty `_Holder`. When backward
asks for the contents of one, the part is computed again, the tensors saved this time are matched to the holders by
their order, and each is handed out when its turn comes. Nothing is kept in between: a second backward pass over a
retained graph computes the part once more.

The arguments are saved by a node of their own, `_Arguments`. So they are checked for changes in place, and a
checkpoint within a checkpoint keeps its arguments only through the outer one.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from .. import Tensor, empty, enable_grad
from ..autograd.function import Function
from ..autograd.graph import saved_tensors_hooks
from ._pytree import tree_flatten


class _Holder:
    """Stands for a saved tensor: its number, and what it looked like."""

    __slots__ = ("__weakref__", "looks", "number")

    def __init__(self, number: int, looks: tuple) -> None:
        self.number = number
        self.looks = looks


class _Enough(Exception):
    """Ends a recomputation that has saved all it must."""


def _looks(tensor: Tensor) -> tuple:
    return tuple(tensor.shape), tensor.dtype, tensor.device


class _Arguments(Function):
    """Saves tensors, and computes nothing."""

    @staticmethod
    def forward(ctx: Any, _: Tensor, *tensors: Tensor) -> Tensor:
        ctx.save_for_backward(*tensors)
        return empty(0)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError("checkpoint: the node that keeps the arguments takes no part in backward")


class _Frame:
    """One checkpointed part: its holders, and what the last recomputation saved."""

    def __init__(self, recompute: Callable[[], Any], compare: bool, explain: bool, early_stop: bool) -> None:
        self.recompute = recompute
        self.compare = compare
        self.explain = explain
        self.early_stop = early_stop
        self.holders: list[weakref.ref[_Holder]] = []
        self.saved: dict[int, Tensor] = {}
        self.is_complete = False

    def pack(self, tensor: Tensor) -> _Holder:
        holder = _Holder(len(self.holders), _looks(tensor))
        self.holders.append(weakref.ref(holder))
        return holder

    def unpack(self, holder: _Holder) -> Tensor:
        if holder.number not in self.saved:
            self._compute_again()
        return self.saved.pop(holder.number)

    def _compute_again(self) -> None:
        from .checkpoint import CheckpointError

        self.saved.clear()
        count = 0
        expected = len(self.holders)
        differences: list[str] = []

        def pack(tensor: Tensor) -> Tensor:
            nonlocal count
            number, count = count, count + 1
            if number < expected:
                holder = self.holders[number]()
                # Nobody will ask for what belonged to a part of the graph that is gone.
                if holder is not None:
                    self.saved[number] = tensor.detach()
                    if self.compare and holder.looks != _looks(tensor):
                        differences.append(f"tensor {number}: first {holder.looks}, then {_looks(tensor)}")
                if count == expected and self.early_stop:
                    raise _Enough
            return tensor.detach()

        try:
            with saved_tensors_hooks(pack, lambda tensor: tensor), enable_grad():
                self.recompute()
        except _Enough:
            pass
        if count != expected:
            self._fail(
                CheckpointError,
                f"checkpoint: {expected} tensors were saved the first time and {count} the second: the function did "
                "not compute the same both times",
            )
        if differences:
            self._fail(
                CheckpointError,
                "checkpoint: the tensors saved the second time differ from the first, as (shape, dtype, device):\n"
                + "\n".join(differences),
            )

    def _fail(self, error: type[Exception], message: str) -> None:
        self.saved.clear()
        if self.explain:
            held = [h.looks for ref in self.holders if (h := ref()) is not None]
            message += "\nsaved the first time and still needed: " + ", ".join(map(str, held))
        raise error(message)


def run_checkpointed(
    function: Callable,
    args: tuple,
    kwargs: dict[str, Any],
    *,
    surroundings: Any,
    contexts: tuple[AbstractContextManager, AbstractContextManager],
    compare: bool,
    explain: bool,
    early_stop: bool,
) -> Any:
    """The first computation. ``contexts`` surround the first and the second."""
    leaves, structure = tree_flatten((args, kwargs))
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
    keeper = _Arguments.apply(empty(0, requires_grad=True), *(leaves[i] for i in places)).grad_fn
    others = [None if isinstance(leaf, Tensor) else leaf for leaf in leaves]

    def recompute() -> None:
        again = list(others)
        for i, tensor in zip(places, keeper.saved_tensors, strict=True):
            again[i] = tensor
        args, kwargs = structure.unflatten(again)
        with surroundings.restored(), contexts[1]:
            function(*args, **kwargs)

    frame = _Frame(recompute, compare, explain, early_stop)
    with saved_tensors_hooks(frame.pack, frame.unpack), contexts[0]:
        return function(*args, **kwargs)
