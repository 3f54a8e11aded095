"""`__torch_function__`: objects and modes that take over calls of the API.

An argument whose type has a `__torch_function__` of its own is asked instead of the function, subclasses before their
bases and then from left to right; before all arguments the innermost `TorchFunctionMode` is asked. The core does this
for ops; functions written in Python ask it to.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterable
from typing import Any

from . import _C

__all__ = [
    "BaseTorchFunctionMode",
    "TorchFunctionMode",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_torch_function",
]

_disabled_torch_function_impl = _C._disabled_torch_function_impl


def _root() -> Any:
    return sys.modules[__package__]


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether a call with these arguments is to be taken over, by one of them or by a mode.

    >>> torch.overrides.has_torch_function((torch.ones(1),))
    False
    """
    return _C._has_torch_function(tuple(relevant_args))


def has_torch_function_unary(value: Any) -> bool:
    """`has_torch_function` for one argument."""
    return has_torch_function((value,))


def has_torch_function_variadic(*values: Any) -> bool:
    """`has_torch_function` for arguments given one by one."""
    return has_torch_function(values)


def handle_torch_function(public_api: Callable, relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """Asks the modes and arguments that may take over a call, and returns the first answer.

    Raises TypeError when all of them decline.
    """
    return _C._call_torch_function(public_api, tuple(relevant_args), args, kwargs)


def wrap_torch_function(dispatcher: Callable) -> Callable[[Callable], Callable]:
    """Decorator for functions outside the package that arguments may take over.

    `dispatcher` is called as the function is, and returns the arguments to ask.

    >>> @torch.overrides.wrap_torch_function(lambda a: (a,))
    ... def double(a):
    ...     return a + a
    """

    def decorate(function: Callable) -> Callable:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped

    return decorate


def is_tensor_like(inp: Any) -> bool:
    """Whether a value is a tensor or has a `__torch_function__`.

    >>> torch.overrides.is_tensor_like(3)
    False
    """
    return type(inp) is _root().Tensor or hasattr(inp, "__torch_function__")


# ---- modes


class TorchFunctionMode:
    """Context manager that is asked about every call of the API in its block.

    Subclasses define ``__torch_function__(self, func, types, args=(), kwargs=None)``. Inside it the mode is off, so
    that it can call `func`.

    >>> class Log(torch.overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return func(*args, **(kwargs or {}))
    >>> with Log():
    ...     _ = torch.add(torch.ones(1), 1)
    add
    """

    inner: TorchFunctionMode

    def __torch_function__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must define __torch_function__")

    def __enter__(self) -> TorchFunctionMode:
        _push_mode(self)
        return self

    def __exit__(self, *error: Any) -> None:
        _pop_mode()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> TorchFunctionMode:
        """The same as making an instance, which is entered by ``with``."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        return func(*args, **(kwargs or {}))


def _push_mode(mode: TorchFunctionMode) -> None:
    _C._push_torch_function_mode(mode)


def _pop_mode() -> TorchFunctionMode:
    return _C._pop_torch_function_mode()


@contextlib.contextmanager
def _pop_mode_temporarily():
    mode = _pop_mode()
    try:
        yield mode
    finally:
        _push_mode(mode)


def _get_current_function_mode_stack() -> list[TorchFunctionMode]:
    """The modes that are on, outermost first."""
    modes = [_pop_mode() for _ in range(_C._len_torch_function_stack())][::-1]
    for mode in modes:
        _push_mode(mode)
    return modes


def _get_current_function_mode() -> TorchFunctionMode | None:
    modes = _get_current_function_mode_stack()
    return modes[-1] if modes else None


# ---- what can be taken over


@functools.cache
def get_overridable_functions() -> dict[Any, list[Callable]]:
    """The functions that can be taken over, by the module or class they belong to."""
    root = _root()
    owners = [root, root.nn.functional, root.linalg, root.fft, root.special, root.Tensor]
    ignored = get_ignored_functions()
    found: dict[Any, list[Callable]] = {}
    for owner in owners:
        functions = []
        for name in dir(owner):
            if name.startswith("__") and owner is not root.Tensor:
                continue
            value: Any = getattr(owner, name, None)
            if owner is root.Tensor and not callable(value) and hasattr(value, "__get__"):
                functions.append(value.__get__)
            elif callable(value) and not isinstance(value, type) and value not in ignored and not _is_helper(name):
                functions.append(value)
        found[owner] = functions
    return found


def _is_helper(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


@functools.cache
def get_ignored_functions() -> set[Callable]:
    """Functions that no argument can take over: they make tensors from nothing or set the state of the process."""
    root = _root()
    names = (
        "typename is_tensor is_storage set_default_dtype set_default_device get_default_dtype set_printoptions "
        "manual_seed seed initial_seed get_rng_state set_rng_state tensor as_tensor from_numpy frombuffer empty "
        "empty_strided zeros ones full arange linspace logspace eye rand randn randint randperm range save load "
        "is_grad_enabled set_grad_enabled no_grad enable_grad inference_mode compile get_num_threads set_num_threads "
        "promote_types result_type can_cast finfo iinfo tril_indices triu_indices vmap"
    )
    return {getattr(root, name) for name in names.split() if hasattr(root, name)}


def get_default_nowrap_functions() -> set[Callable]:
    """Attributes of tensors that subclasses get unwrapped, whatever `__torch_function__` would do."""
    tensor = _root().Tensor
    names = ("_base", "grad", "_grad")
    return {getattr(tensor, name).__get__ for name in names if hasattr(tensor, name)}


@functools.cache
def get_testing_overrides() -> dict[Callable, Callable]:
    """A stand-in for each function that can be taken over; it takes any arguments and returns -1."""

    def stand_in(*args: Any, **kwargs: Any) -> int:
        return -1

    return {function: stand_in for functions in get_overridable_functions().values() for function in functions}


@functools.cache
def _names() -> dict[Callable, str]:
    root = _root()
    prefixes = {root: "torch", root.Tensor: "torch.Tensor"}
    names: dict[Callable, str] = {}
    for owner, functions in get_overridable_functions().items():
        prefix = prefixes.get(owner) or "torch" + owner.__name__[len(__package__) :]
        for function in functions:
            own = getattr(function, "__self__", function)
            name = getattr(function, "__name__", "")
            if name == "__get__":
                name = f"{getattr(own, '__name__', '')}.__get__"
            names[function] = f"{prefix}.{name}"
    return names


def resolve_name(f: Callable) -> str | None:
    """The full name of a function that can be taken over: ``"torch.Tensor.add"``; None for others.

    >>> torch.overrides.resolve_name(torch.add)
    'torch.add'
    """
    return _names().get(f)


@functools.cache
def _tensor_methods() -> set[Callable]:
    return set(get_overridable_functions()[_root().Tensor])


def is_tensor_method_or_property(func: Callable) -> bool:
    """Whether a function, as `__torch_function__` gets it, is a method of `Tensor` or reads or sets its attribute.

    >>> torch.overrides.is_tensor_method_or_property(torch.Tensor.add)
    True
    """
    return getattr(func, "__name__", "") in ("__get__", "__set__") or func in _tensor_methods()
