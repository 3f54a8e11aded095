"""Custom functions with a backward of their own.

`_C` carries the graph side. What it offers, and what it expects of the classes here:

- ``_C._FunctionNode``: a graph node type that can be subclassed. An instance has a ``__dict__`` and the attributes
  ``to_save`` (set by `FunctionCtx.save_for_backward`, consumed when ``forward`` has returned), ``saved_tensors``
  (read only; checks versions and runs unpack hooks), ``needs_input_grad`` (tuple of bool, one per argument),
  ``materialize_grads`` (bool, True at first), ``dirty_tensors`` and ``non_differentiable`` (tuples, or None).
- ``_C._function_apply(cls, args)``: makes ``ctx = cls._backward_cls()``, fills ``needs_input_grad``, runs, without
  recording, ``cls.forward(ctx, *args)``, or ``out = cls.forward(*args); cls.setup_context(ctx, args, out)`` where
  ``cls._has_setup_context``, and wires the outputs to ``ctx``. Returns what ``forward`` returned.
- The engine calls ``ctx.apply(*grads)``, which returns one gradient (or None) per argument of ``forward``. It checks
  their number, types and shapes, with grad mode on only under ``create_graph=True``.
"""

from __future__ import annotations

import functools

from .. import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["FunctionCtx", "BackwardCFunction", "FunctionMeta", "Function", "once_differentiable", "InplaceFunction"]


class FunctionCtx:
    """What ``forward`` can tell about its inputs and outputs; mixed into `Function` contexts."""

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep ``tensors`` (inputs, outputs or intermediates; None is allowed) for ``ctx.saved_tensors``.

        Inputs and outputs must be kept this way rather than as attributes: it checks that they were not changed in
        place before backward, and does not tie an output to its own graph node.
        """
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep ``tensors`` for ``jvp``. Raises TypeError for anything but tensors and None."""
        from .. import Tensor

        for i, tensor in enumerate(tensors):
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(
                    f"save_for_forward: argument {i} is a {type(tensor).__name__}, expected a Tensor or None; keep "
                    "other values as attributes of ctx"
                )
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Any) -> None:
        """Declare inputs that ``forward`` changed in place. They must be among the outputs."""
        self.dirty_tensors = args

    def mark_shared_storage(self, *pairs: Any) -> None:
        import warnings

        warnings.warn(
            "mark_shared_storage has no effect: storage shared between inputs and outputs is found by itself",
            FutureWarning,
            stacklevel=2,
        )

    def mark_non_differentiable(self, *args: Any) -> None:
        """Declare outputs that carry no gradient. Backward still gets an entry (zeros) for each."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether a gradient nobody computed reaches ``backward`` as zeros (True, the default) or as None."""
        self.materialize_grads = value


class BackwardCFunction(_C._FunctionNode, FunctionCtx):
    """The graph node of one application, and the ``ctx`` that ``forward`` and ``backward`` see."""

    def apply(self, *args: Any) -> Any:
        """Called by the engine with the gradients of the outputs."""
        cls = self._forward_cls
        backward = cls.backward
        if cls.vjp is not _SingleLevelFunction.vjp:
            if backward is not _SingleLevelFunction.backward:
                raise RuntimeError(f"{cls.__name__} defines both backward and vjp: they are two names of one method")
            backward = cls.vjp
        return backward(self, *args)

    def apply_jvp(self, *args: Any) -> Any:
        """Called in forward mode with the tangents of the inputs."""
        return self._forward_cls.jvp(self, *args)


class FunctionMeta(type):
    """Makes the node class ``<Name>Backward`` of every `Function`."""

    def __init__(cls, name: str, bases: tuple[type, ...], attrs: dict[str, Any]) -> None:
        node = type(name + "Backward", (BackwardCFunction,), {"_forward_cls": cls})
        node.__module__ = cls.__module__
        cls._backward_cls = node
        base = globals().get("_SingleLevelFunction")
        cls._has_setup_context = base is not None and cls.setup_context is not base.setup_context
        super().__init__(name, bases, attrs)


class _SingleLevelFunction(_C._FunctionNode, FunctionCtx, metaclass=FunctionMeta):
    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Define the computation: ``forward(ctx, *args)``, or ``forward(*args)`` together with `setup_context`."""
        raise NotImplementedError("a custom Function must define the static method forward")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> Any:
        """Prepare ``ctx`` for backward, when ``forward`` does not take it. Optional."""
        raise NotImplementedError("setup_context is not defined for this Function")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Given one gradient per output, return one (or None) per argument of ``forward``."""
        raise NotImplementedError("a custom Function must define backward (or vjp) to be differentiated")

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Given one tangent per argument of ``forward``, return one per output."""
        raise NotImplementedError("a custom Function must define jvp to be used in forward mode")


class Function(_SingleLevelFunction):
    """Base of custom differentiable functions; use them through ``apply``.

    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x): return x * 2
    ...     @staticmethod
    ...     def backward(ctx, grad): return grad * 2
    >>> x = torch.ones(2, requires_grad=True); Double.apply(x).sum().backward(); x.grad
    tensor([2., 2.])
    """

    generate_vmap_rule = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        import warnings

        warnings.warn(
            f"{type(self).__name__} should not be instantiated: its methods are static, call {type(self).__name__}"
            ".apply(...)",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            f"{type(self).__name__} is called as an instance with a non-static forward, which is no longer supported: "
            f"make forward and backward static methods and call {type(self).__name__}.apply(...)"
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple, *args: Any) -> Any:
        """How the function acts on batched arguments. Optional."""
        raise NotImplementedError("vmap over a custom Function needs its vmap static method or generate_vmap_rule=True")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run ``forward`` and record the node. Keyword arguments need `setup_context`."""
        if cls._has_setup_context:
            args = _positional(cls.forward, args, kwargs)
        elif kwargs:
            raise TypeError(
                f"{cls.__name__}.apply() takes no keyword arguments, got {', '.join(kwargs)}: pass them by position"
            )
        return _C._function_apply(cls, args)


def _positional(forward: Callable, args: tuple, kwargs: dict[str, Any]) -> tuple:
    """All arguments of ``forward`` by position, defaults included: backward returns one gradient for each."""
    code = getattr(forward, "__code__", None)
    if code is not None and not kwargs and len(args) >= code.co_argcount:
        return args
    import inspect

    bound = inspect.signature(forward).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args


class _NotTwice(Function):
    """Passes gradients on; differentiating them raises."""

    @staticmethod
    def forward(ctx: Any, message: str, *tensors: Any) -> tuple:
        ctx.message = message
        return tuple(t.detach() for t in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError(ctx.message)


def once_differentiable(fn: Callable) -> Callable:
    """Decorates a ``backward`` that is not made of differentiable operations.

    It runs without recording, and differentiating its result raises RuntimeError instead of being silently wrong.
    """

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        from .. import Tensor
        from .grad_mode import no_grad

        with no_grad():
            outputs = fn(ctx, *args)
        if not _C._is_grad_enabled() or not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            return outputs
        single = not isinstance(outputs, tuple)
        results = [outputs] if single else list(outputs)
        places = [i for i, r in enumerate(results) if isinstance(r, Tensor)]
        name = getattr(ctx, "_forward_cls", type(ctx)).__name__
        guarded = _NotTwice.apply(
            f"the backward of {name} is marked once_differentiable: its gradients cannot be differentiated again",
            *(results[i].detach().requires_grad_() for i in places),
        )
        for i, tensor in zip(places, guarded, strict=True):
            results[i] = tensor
        return results[0] if single else tuple(results)

    return wrapper


class InplaceFunction(Function):
    """A `Function` that remembers whether it works in place."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace
