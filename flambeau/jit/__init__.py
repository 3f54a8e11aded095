"""The names of TorchScript. `script` and `trace` translate nothing: what they are given runs on as Python.

What only a translation has (`graph`, `code`, saving a program to a file) is not there, and asking for it is an
AttributeError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ..nn import Module as _Module

__all__ = [
    "Attribute",
    "Error",
    "Final",
    "Future",
    "ScriptModule",
    "annotate",
    "export",
    "fork",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "optimize_for_inference",
    "script",
    "script_if_tracing",
    "script_method",
    "trace",
    "trace_module",
    "unused",
    "wait",
]

_is = isinstance


class Error(RuntimeError):
    """What a failing scripted program raises in PyTorch."""


class ScriptModule(_Module):
    """A module; its methods run as Python."""


def script(obj: Any, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> Any:
    """The function, class or module itself.

    >>> @torch.jit.script
    ... def double(x: torch.Tensor):
    ...     return x * 2
    >>> double(torch.ones(1))
    tensor([2.])
    """
    if not callable(obj) and not _is(obj, (list, dict)):
        raise RuntimeError(f"script: expected a function, class or module, got {type(obj).__name__}")
    return obj


def trace(func: Callable, example_inputs: Any = None, **settings: Any) -> Any:
    """The function or module itself, after one run with the example inputs, as tracing does it."""
    inputs = settings.get("example_kwarg_inputs")
    if inputs is not None:
        func(**inputs)
    elif example_inputs is not None:
        func(*example_inputs) if _is(example_inputs, (tuple, list)) else func(example_inputs)
    return func


def trace_module(mod: Any, inputs: dict[str, Any], **settings: Any) -> Any:
    """The module itself, after one run of each method named in `inputs`."""
    for name, arguments in inputs.items():
        method = getattr(mod, name)
        method(*arguments) if _is(arguments, tuple) else method(arguments)
    return mod


def ignore(drop: Any = False, **settings: Any) -> Any:
    """Decorator for methods that are left to Python: returns them as they are."""
    return drop if callable(drop) else lambda function: function


def unused(fn: Callable) -> Callable:
    """Decorator for methods that scripts don't call: returns them as they are."""
    return fn


def export(fn: Callable) -> Callable:
    """Decorator for methods to be scripted: returns them as they are."""
    return fn


def script_method(fn: Callable) -> Callable:
    """Decorator for methods of a ScriptModule: returns them as they are."""
    return fn


def script_if_tracing(fn: Callable) -> Callable:
    """Decorator that returns the function as it is."""
    return fn


def interface(obj: type) -> type:
    """Decorator for classes that describe modules: returns them as they are."""
    return obj


def is_scripting() -> bool:
    """Whether the code runs as a script: False."""
    return False


def is_tracing() -> bool:
    """Whether a trace is being made: False."""
    return False


def annotate(the_type: Any, the_value: Any) -> Any:
    """The value."""
    return the_value


class Attribute:
    """A value with its type, for modules to be scripted."""

    def __init__(self, value: Any, type: Any) -> None:
        self.value = value
        self.type = type


def isinstance(obj: Any, target_type: Any) -> bool:
    """isinstance that understands List[int], Dict[str, Tensor], Optional[...] and the like.

    >>> torch.jit.isinstance([1, 2], list[int])
    True
    """
    from typing import Union, get_args, get_origin

    if _is(target_type, tuple):
        return any(isinstance(obj, each) for each in target_type)
    origin, arguments = get_origin(target_type), get_args(target_type)
    if origin is None:
        return target_type is Any or _is(obj, target_type)
    if origin is Union or origin.__name__ == "UnionType":
        return any(isinstance(obj, each) for each in arguments)
    if not _is(obj, origin):
        return False
    if origin is dict:
        return all(isinstance(key, arguments[0]) and isinstance(value, arguments[1]) for key, value in obj.items())
    if origin is tuple:
        return len(obj) == len(arguments) and all(map(isinstance, obj, arguments))
    return all(isinstance(each, arguments[0]) for each in obj)


def freeze(mod: Any, preserved_attrs: Any = None, optimize_numerics: bool = True) -> Any:
    """The module itself. Raises RuntimeError in training mode."""
    if getattr(mod, "training", False):
        raise RuntimeError("freeze: freezing is for modules in eval mode; call .eval() first")
    return mod


def optimize_for_inference(mod: Any, other_methods: Any = None) -> Any:
    """The module itself."""
    return mod


class Future:
    """The result of `fork`, which is there already."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def wait(self) -> Any:
        return self._value

    def value(self) -> Any:
        return self._value

    def done(self) -> bool:
        return True

    def then(self, callback: Callable) -> Future:
        return Future(callback(self))


def fork(func: Callable, *args: Any, **kwargs: Any) -> Future:
    """Calls the function at once; `wait` gives its result."""
    return Future(func(*args, **kwargs))


def wait(future: Future) -> Any:
    """The result of `fork`."""
    return future.wait()
