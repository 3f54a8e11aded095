"""Functions of one's own as ops: with derivatives, and shapes without values.

>>> @torch.library.custom_op("example::twice", mutates_args=())
... def twice(x: torch.Tensor) -> torch.Tensor:
...     return x * 2
>>> twice.register_autograd(lambda ctx, grad: grad * 2)
>>> twice(torch.ones(1, requires_grad=True))
tensor([2.], grad_fn=<exampletwiceBackward>)
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from ._C import Tensor, _is_grad_enabled

__all__ = [
    "CustomOpDef",
    "Library",
    "custom_op",
    "define",
    "impl",
    "infer_schema",
    "register_autograd",
    "register_fake",
]

_ops: dict[str, CustomOpDef] = {}

_TYPES = {
    "Tensor": "Tensor",
    "int": "SymInt",
    "float": "float",
    "bool": "bool",
    "str": "str",
    "complex": "complex",
    "Sequence[int]": "SymInt[]",
    "list[int]": "SymInt[]",
    "List[int]": "SymInt[]",
    "list[Tensor]": "Tensor[]",
    "List[Tensor]": "Tensor[]",
    "Sequence[Tensor]": "Tensor[]",
    "None": "()",
}


def _type_text(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    if not isinstance(annotation, (str, type)):
        text = str(annotation)
    for prefix in ("torch.", "flambeau.", "typing.", "collections.abc."):
        text = text.replace(prefix, "")
    optional = text.startswith("Optional[") or text.endswith("| None")
    if optional:
        text = text.removeprefix("Optional[").removesuffix("]").removesuffix("| None").strip()
    if text not in _TYPES:
        raise ValueError(f"infer_schema: a parameter or result has the unsupported type {text!r}")
    return _TYPES[text] + ("?" if optional else "")


def infer_schema(prototype_function: Callable, /, *, mutates_args: Any = (), op_name: str | None = None) -> str:
    """The schema of a function by its annotations. Raises ValueError for parameters without a type it knows.

    >>> def scaled(x: torch.Tensor, factor: float = 1.0) -> torch.Tensor: ...
    >>> torch.library.infer_schema(scaled, mutates_args=())
    '(Tensor x, float factor=1.0) -> Tensor'
    """
    signature = inspect.signature(prototype_function)
    parts, keyword = [], False
    for number, parameter in enumerate(signature.parameters.values()):
        if parameter.annotation is parameter.empty:
            raise ValueError(f"infer_schema: parameter {parameter.name} must have a type annotation")
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword:
            keyword = True
            parts.append("*")
        kind = _type_text(parameter.annotation)
        if parameter.name in mutates_args or mutates_args == "unknown":
            kind = kind.replace("Tensor", f"Tensor(a{number}!)", 1)
        default = "" if parameter.default is parameter.empty else f"={parameter.default}"
        parts.append(f"{kind} {parameter.name}{default}")
    result = signature.return_annotation
    if result is signature.empty:
        raise ValueError("infer_schema: the function must have a type annotation for what it returns")
    returned = "()" if result in (None, "None") else _type_text(result)
    return f"{op_name or ''}({', '.join(parts)}) -> {returned}"


class CustomOpDef:
    """An op made of a Python function. Called like the function; the methods add to it."""

    def __init__(self, name: str, function: Callable, mutates_args: Any = ()) -> None:
        namespace, separator, self._name = name.partition("::")
        if not separator or not namespace or not self._name:
            raise ValueError(f"custom_op: the name of an op is 'namespace::name', got {name!r}")
        self._qualname = name
        self._kernels: dict[str | None, Callable] = {None: function}
        self._fake: Callable | None = None
        self._autograd: Any = None
        self._mutates_args = mutates_args
        functools.update_wrapper(self, function)
        _ops[name] = self

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tensors = [each for each in (*args, *kwargs.values()) if isinstance(each, Tensor)]
        if self._autograd is not None and _is_grad_enabled() and any(each.requires_grad for each in tensors):
            return self._autograd.apply(*_bound(self._kernels[None], args, kwargs))
        return self._run(*args, **kwargs)

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        tensor = next((each for each in args if isinstance(each, Tensor)), None)
        device = None if tensor is None else tensor.device.type
        if device == "meta" and self._fake is not None:
            return self._fake(*args, **kwargs)
        return self._kernels.get(device, self._kernels[None])(*args, **kwargs)

    def register_kernel(self, device_types: Any, func: Callable | None = None, /) -> Callable:
        """Sets the function for tensors on some devices (a name or several); also a decorator."""

        def register(function: Callable) -> Callable:
            for device in [device_types] if device_types is None or isinstance(device_types, str) else device_types:
                self._kernels[device] = function
            return function

        return register if func is None else register(func)

    def register_fake(self, fn: Callable, /) -> Callable:
        """Sets what computes shapes alone, for tensors on the meta device."""
        self._fake = fn
        return fn

    def register_autograd(self, backward: Callable, /, *, setup_context: Callable | None = None) -> None:
        """Sets the derivative: ``backward(ctx, *grads)``, and ``setup_context(ctx, inputs, output)`` to save for it."""
        from .autograd.function import Function

        def forward(*args: Any) -> Any:
            return self._run(*args)

        def prepare(ctx: Any, inputs: tuple, output: Any) -> None:
            if setup_context is not None:
                setup_context(ctx, inputs, output)

        members = {"forward": forward, "setup_context": prepare, "backward": backward}
        name = self._qualname.replace("::", "")
        self._autograd = type(name, (Function,), {key: staticmethod(value) for key, value in members.items()})


def _bound(function: Callable, args: tuple, kwargs: dict) -> tuple:
    """All arguments by position, defaults filled in."""
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    return tuple(bound.arguments.values())


def custom_op(
    name: str, fn: Callable | None = None, /, *, mutates_args: Any, device_types: Any = None, schema: str | None = None,
    tags: Any = None,
) -> Any:  # fmt: skip
    """Makes an op named 'namespace::name' of a function with annotations; also a decorator.

    Raises ValueError for other names and for parameters without a type.
    """

    def make(function: Callable) -> CustomOpDef:
        if schema is None:
            infer_schema(function, mutates_args=mutates_args)
        return CustomOpDef(name, function, mutates_args)

    return make if fn is None else make(fn)


def _find(op: Any) -> CustomOpDef:
    if isinstance(op, CustomOpDef):
        return op
    if op not in _ops:
        raise RuntimeError(f"library: no op {op!r} is defined")
    return _ops[op]


def register_fake(op: Any, func: Callable | None = None, /, **settings: Any) -> Callable:
    """Sets what computes an op's shapes alone; also a decorator."""
    return _find(op).register_fake if func is None else _find(op).register_fake(func)


def register_autograd(
    op: Any, backward: Callable, /, *, setup_context: Callable | None = None, **settings: Any
) -> None:
    """Sets an op's derivative."""
    _find(op).register_autograd(backward, setup_context=setup_context)


def define(qualname: str, schema: str, *, tags: Any = ()) -> None:
    """Declares an op that `impl` gives a body. Raises ValueError for a name that is not 'namespace::name'."""

    def missing(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{qualname}: the op has no implementation for these arguments")

    CustomOpDef(qualname, missing)


def impl(qualname: str, types: Any, func: Callable | None = None, *, lib: Any = None) -> Any:
    """Gives a defined op its body for some devices (``"default"`` for all); also a decorator."""

    def register(function: Callable) -> Callable:
        kinds: Iterable = [types] if isinstance(types, str) else types
        names = {"default": None, "CompositeExplicitAutograd": None, "CompositeImplicitAutograd": None}
        _find(qualname).register_kernel([names.get(kind, kind.lower()) for kind in kinds])(function)
        return function

    return register if func is None else register(func)


class Library:
    """A namespace of ops to define and implement. `kind` is "DEF", "FRAGMENT" or "IMPL"."""

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("DEF", "FRAGMENT", "IMPL"):
            raise ValueError(f"Library: unsupported kind {kind!r}")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Declares an op by its schema ``name(arguments) -> results``; returns the name."""
        name = schema.partition("(")[0].strip()
        define(f"{self.ns}::{name}", schema)
        return name

    def impl(self, op_name: str, fn: Callable, dispatch_key: str = "", **settings: Any) -> None:
        """Gives an op its body."""
        impl(f"{self.ns}::{op_name.rpartition('::')[2]}", dispatch_key or self.dispatch_key or "default", fn)
