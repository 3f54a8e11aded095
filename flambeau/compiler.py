"""`compile` and what controls it.

Functions and modules run as written, eagerly, whatever `compile` is told: it hands back what it is given. Programs that
use it are right, and no faster than without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "reset",
    "set_stance",
    "substitute_in_graph",
    "wrap_numpy",
]


def compile(
    model: Callable | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "inductor",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
    **settings: Any,
) -> Any:
    """The function or module itself (or, without one, a decorator that returns what it decorates): it runs eagerly.

    Raises RuntimeError when `mode` is unknown or given with `options`, TypeError for what can't be called.

    >>> @torch.compile
    ... def double(x):
    ...     return x * 2
    >>> double(torch.ones(2))
    tensor([2., 2.])
    """
    if mode is not None and options is not None:
        raise RuntimeError("compile: either mode or options can be given, not both")
    if mode not in (None, "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"):
        raise RuntimeError(f"compile: unrecognized mode {mode!r}")
    if model is None:
        return lambda decorated: compile(decorated, fullgraph=fullgraph, dynamic=dynamic, backend=backend)
    if not callable(model):
        raise TypeError(f"compile: expected a function or module, got {type(model).__name__}")
    return model


def _marking(function: Callable | None) -> Any:
    return (lambda decorated: decorated) if function is None else function


def disable(fn: Callable | None = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Decorator (or function) that keeps a function from being compiled: returns it as it is."""
    return _marking(fn)


def allow_in_graph(fn: Any) -> Any:
    """Returns the function, or list of functions, as it is."""
    return fn


def assume_constant_result(fn: Callable) -> Callable:
    """Returns the function as it is."""
    return fn


def substitute_in_graph(original_fn: Callable, **settings: Any) -> Callable:
    """Decorator that returns what it decorates: the original function stays in use."""
    return lambda traceable: traceable


def wrap_numpy(fn: Callable) -> Callable:
    """Turns a function of NumPy arrays into one of tensors.

    >>> torch.compiler.wrap_numpy(lambda a: a + 1)(torch.ones(1))
    tensor([2.])
    """
    from functools import wraps

    from ._C import Tensor
    from ._functions import from_numpy
    from .utils._pytree import tree_map

    def to_array(value: Any) -> Any:
        return value.numpy() if isinstance(value, Tensor) else value

    def to_tensor(value: Any) -> Any:
        return from_numpy(value) if hasattr(value, "__array_interface__") else value

    @wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return tree_map(to_tensor, fn(*tree_map(to_array, args), **tree_map(to_array, kwargs)))

    return wrapped


def is_compiling() -> bool:
    """Whether a function is being compiled: False."""
    return False


def is_dynamo_compiling() -> bool:
    """Whether a function is being captured: False."""
    return False


def is_exporting() -> bool:
    """Whether a module is being exported: False."""
    return False


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """The backends there are: running eagerly."""
    return ["eager"]


def reset() -> None:
    """Forgets what was compiled: nothing is."""


def cudagraph_mark_step_begin() -> None:
    """Marks the beginning of a step for CUDA graphs: does nothing."""


@contextmanager
def _stance() -> Iterator[None]:
    yield


def set_stance(stance: str = "default", **settings: Any) -> Any:
    """Accepted for compatibility (also as context manager). Raises RuntimeError for an unknown stance."""
    if stance not in (
        "default",
        "force_eager",
        "eager_on_recompile",
        "fail_on_recompile",
        "eager_then_compile",
        "aot_eager_then_compile",
    ):
        raise RuntimeError(f"set_stance: invalid torch.compile stance {stance!r}")
    return _stance()
