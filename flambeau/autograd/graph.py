"""The graph of recorded operations: its nodes and edges, and hooks on what it saves and on gradients.

Of ``_C`` it uses ``_push_saved_tensors_hooks(pack, unpack)``, ``_pop_saved_tensors_hooks()``,
``_disable_saved_tensors_hooks(message)`` (RuntimeError with that message on a push; None enables them again),
``_saved_tensors_hooks_disabled_message()``, ``_increment_version(tensor)`` and, within a backward pass,
``_current_graph_task_id()`` (-1 outside) and ``_will_engine_execute_node(node)``. Nodes are C objects, of class
`Node` by their attributes.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

from .. import _C
from ..utils.hooks import RemovableHandle

__all__ = [
    "saved_tensors_hooks",
    "save_on_cpu",
    "disable_saved_tensors_hooks",
    "register_multi_grad_hook",
    "allow_mutation_on_saved_tensors",
    "Node",
    "GradientEdge",
    "get_gradient_edge",
    "increment_version",
]


class Node(abc.ABC):
    """What a graph node offers. ``isinstance(tensor.grad_fn, Node)`` is true.

    ``name()``; ``next_functions``, pairs (node or None, input number); ``metadata``, a dict of the user's;
    ``register_hook(fn)`` and ``register_prehook(fn)``, which see (and may replace) the gradients that leave and enter.
    """

    @abc.abstractmethod
    def name(self) -> str:
        """The name of the operation's backward, such as ``"MulBackward0"``."""

    @property
    @abc.abstractmethod
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes that this one passes gradients to."""

    @property
    @abc.abstractmethod
    def metadata(self) -> dict:
        """A dictionary for the user's notes."""

    @abc.abstractmethod
    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call ``fn(grad_inputs, grad_outputs)`` after the node has run; it may return new ``grad_inputs``."""

    @abc.abstractmethod
    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call ``fn(grad_outputs)`` before the node runs; it may return new ones."""

    @classmethod
    def __subclasshook__(cls, subclass: type) -> Any:
        if cls is Node and all(hasattr(subclass, name) for name in ("next_functions", "register_prehook", "name")):
            return True
        return NotImplemented


class GradientEdge(NamedTuple):
    """Where a gradient arrives: output ``output_nr`` of ``node``. It can stand for a tensor in backward and grad.

    ``ownership_token``, if any, keeps the node alive.
    """

    node: Any
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """The edge at which the gradient of ``tensor`` arrives. Raises RuntimeError if it does not require grad.

    >>> x = torch.ones(1, requires_grad=True)
    >>> torch.autograd.graph.get_gradient_edge(x * 2).output_nr
    0
    """
    if not tensor.requires_grad:
        raise RuntimeError("get_gradient_edge: the tensor does not require grad, so no gradient arrives at it")
    node = _node_of(tensor)
    return GradientEdge(node, tensor.output_nr, ownership_token=node)


def _node_of(tensor: Any) -> Any:
    """The node that passes on the gradient of ``tensor``; for a leaf, the one that adds it to ``.grad``."""
    if tensor.grad_fn is not None:
        return tensor.grad_fn
    from .. import enable_grad

    with enable_grad():
        return tensor.view_as(tensor).grad_fn.next_functions[0][0]


def increment_version(tensor: Any) -> None:
    """Note that ``tensor`` (or each of an iterable) was changed in place outside of autograd's sight."""
    from .. import Tensor

    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        _C._increment_version(t)


class saved_tensors_hooks:
    """Context manager: what operations inside save for backward goes through ``pack_hook`` and ``unpack_hook``.

    ``pack_hook(tensor)`` may return anything; ``unpack_hook`` of that must return a tensor of the same contents.

    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(), torch.from_numpy):
    ...     y = x.detach().exp() * x
    """

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        _C._push_saved_tensors_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *args: object) -> None:
        _C._pop_saved_tensors_hooks()


class save_on_cpu(saved_tensors_hooks):
    """Context manager: tensors saved inside wait for backward in CPU memory (page-locked with ``pin_memory``)."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Any) -> tuple[Any, Any]:
            copy = tensor.cpu()
            if pin_memory and tensor.device.type != "cpu":
                copy = copy.pin_memory()
            return tensor.device, copy

        def unpack(packed: tuple[Any, Any]) -> Any:
            device, copy = packed
            return copy.to(device, non_blocking=pin_memory)

        super().__init__(pack, unpack)


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Inside, pushing saved-tensor hooks raises RuntimeError with the given message. Also a decorator."""
    previous = _C._saved_tensors_hooks_disabled_message()
    _C._disable_saved_tensors_hooks(error_message)
    try:
        yield
    finally:
        _C._disable_saved_tensors_hooks(previous)


class _MultiHandle(RemovableHandle):
    """Removes several hooks at once."""

    handles: tuple[RemovableHandle, ...]

    def __init__(self, handles: tuple[RemovableHandle, ...]) -> None:
        self.handles = handles

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __getstate__(self) -> tuple:
        return self.handles

    def __setstate__(self, state: tuple) -> None:
        self.handles = state


def register_multi_grad_hook(
    tensors: Sequence[Any],
    fn: Callable[[Any], None],
    *,
    mode: Literal["all", "any"] = "all",
) -> RemovableHandle:
    """Call ``fn`` once per backward with the gradients of ``tensors``.

    With ``mode="all"`` it gets the list of all of them when the last has arrived, None for tensors that the backward
    pass does not reach; with ``"any"``, the first gradient to arrive. Raises ValueError for another mode, RuntimeError
    for a tensor that does not require grad.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"register_multi_grad_hook: mode must be 'all' or 'any', got {mode!r}")
    import threading

    lock = threading.Lock()
    if mode == "any":
        hook = _first_of_pass(fn, lock)
        return _MultiHandle(tuple(t.register_hook(hook) for t in tensors))

    nodes = [_node_of(t) for t in tensors]
    rounds: dict[int, _Round] = {}

    def hook_of(index: int) -> Callable[[Any], None]:
        def hook(gradient: Any) -> None:
            task = _C._current_graph_task_id()
            if task == -1:
                raise RuntimeError("register_multi_grad_hook: the hook was called outside of a backward pass")
            with lock:
                state = rounds.get(task)
                if state is None:
                    state = rounds[task] = _Round(nodes)
            state.gradients[index] = gradient
            state.missing -= 1
            if state.missing == 0:
                with lock:
                    del rounds[task]
                fn(state.gradients)

        return hook

    return _MultiHandle(tuple(t.register_hook(hook_of(i)) for i, t in enumerate(tensors)))


class _Round:
    """The gradients that have arrived in one backward pass, and how many are still to come."""

    def __init__(self, nodes: list[Any]) -> None:
        self.gradients: list[Any] = [None] * len(nodes)
        self.missing = sum(map(_C._will_engine_execute_node, nodes))


def _first_of_pass(fn: Callable[[Any], None], lock: Any) -> Callable[[Any], None]:
    """A hook that hands ``fn`` the first gradient of every backward pass."""
    last_task = -1

    def hook(gradient: Any) -> None:
        nonlocal last_task
        with lock:
            task = _C._current_graph_task_id()
            is_first, last_task = task != last_task, task
        if is_first:
            fn(gradient)

    return hook


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[None]:
    """Inside, tensors saved for backward may be changed in place afterwards: a copy is kept of each.

    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
    ...     y = x.clone(); z = (y * y).sum(); y.zero_(); z.backward()
    >>> x.grad
    tensor([2., 2.])
    """
    with saved_tensors_hooks(lambda tensor: tensor.detach().clone(), lambda copy: copy):
        yield
