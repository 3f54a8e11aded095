"""Hooks: the handle that removes one, and the object behind ``Module.register_full_backward_hook``."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks", "BackwardHook"]


class RemovableHandle:
    """Removes a hook from the dictionary it was registered in.

    The dictionary is held weakly: a handle does not keep a module alive. ``extra_dict`` is one dictionary, or a list
    of them, from which the same key goes too.

    >>> hooks = OrderedDict()
    >>> handle = RemovableHandle(hooks)
    >>> hooks[handle.id] = print
    >>> handle.remove(); len(hooks)
    0
    """

    id: int
    next_id: int = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        extra = extra_dict if isinstance(extra_dict, list) else () if extra_dict is None else (extra_dict,)
        self.extra_dict_ref: tuple = tuple(weakref.ref(d) for d in extra)

    def remove(self) -> None:
        """Remove the hook. A second call does nothing."""
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = reference()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self) -> tuple:
        return self.hooks_dict_ref(), self.id, tuple(ref() for ref in self.extra_dict_ref)

    def __setstate__(self, state: tuple) -> None:
        hooks, self.id = state[0], state[1]
        # What the handle pointed to may have died before it was pickled; an empty dictionary stands in for it.
        self.hooks_dict_ref = weakref.ref(OrderedDict() if hooks is None else hooks)
        extra = state[2] if len(state) > 2 else ()
        self.extra_dict_ref = tuple(weakref.ref(OrderedDict() if d is None else d) for d in extra)
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        self.remove()


def unserializable_hook(f: Callable) -> Callable:
    """Mark ``f`` as a hook that is dropped when its tensor is pickled, so that no warning is given about it."""
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor: Any) -> None:
    """Warn about every hook of ``tensor`` that pickling will lose, except those marked `unserializable_hook`."""
    for hook in (getattr(tensor, "_backward_hooks", None) or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            import warnings

            warnings.warn(
                f"pickling a tensor drops its backward hooks, here {hook!r}; decorate the hook with "
                "utils.hooks.unserializable_hook if that is intended",
                stacklevel=2,
            )


class BackwardHook:
    """Gives a module's backward hooks the gradients of all its inputs and outputs at once.

    The inputs and the outputs each pass through one identity function. Its two graph nodes are where the gradients
    with respect to the outputs (first) and the inputs (then) come by together.
    """

    def __init__(self, module: Any, user_hooks: Sequence[Callable], user_pre_hooks: Sequence[Callable]) -> None:
        self.user_hooks = user_hooks
        self.user_pre_hooks = user_pre_hooks
        self.module = module
        self.grad_outputs: tuple | None = None
        self.n_outputs = -1
        self.output_tensors_index: list[int] | None = None
        self.n_inputs = -1
        self.input_tensors_index: list[int] | None = None

    def setup_input_hook(self, args: tuple) -> tuple:
        """``args`` of the module, passed through the identity node; call before ``forward``."""

        def attach(node: Any) -> None:
            node.register_hook(self._on_grad_inputs)

        result, self.input_tensors_index = self._pass_through(attach, args)
        self.n_inputs = len(args)
        return result

    def setup_output_hook(self, args: Any) -> Any:
        """The module's result, passed through the identity node; call after ``forward``."""

        def attach(node: Any) -> None:
            node.register_prehook(self._on_grad_outputs)

        single = not isinstance(args, tuple)
        packed = (args,) if single else args
        result, self.output_tensors_index = self._pass_through(attach, packed)
        self.n_outputs = len(packed)
        return result[0] if single else result

    def _pass_through(self, attach: Callable[[Any], None], args: tuple) -> tuple[tuple, list[int] | None]:
        from .. import Tensor, is_grad_enabled

        places = [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]
        if not is_grad_enabled() or not any(args[i].requires_grad for i in places):
            return args, None
        tensors = _identity().apply(*(args[i] for i in places))
        nodes = [t.grad_fn for t in tensors if t.grad_fn is not None]
        if not nodes:
            raise RuntimeError(
                f"cannot set up the backward hooks of {type(self.module).__name__}: no tensor passed through it has a "
                "gradient function, although one requires grad"
            )
        attach(nodes[0])
        result = list(args)
        for i, tensor in zip(places, tensors, strict=True):
            result[i] = tensor
        return type(args)(*result) if hasattr(args, "_fields") else tuple(result), places

    def _on_grad_outputs(self, grads: tuple) -> tuple:
        full = _spread(self.output_tensors_index, grads, self.n_outputs)
        for hook in self.user_pre_hooks:
            result = hook(self.module, full)
            if result is not None:
                full = self._replaced("pre-hook", full, result)
        self.grad_outputs = full
        # Without an input that requires grad the input node does not exist: the hooks run from here.
        if self.input_tensors_index is None:
            nothing = tuple([None] * max(self.n_inputs, 0))
            for hook in self.user_hooks:
                result = hook(self.module, nothing, self.grad_outputs)
                if result is not None and not (isinstance(result, tuple) and all(r is None for r in result)):
                    raise RuntimeError(
                        f"a backward hook of {type(self.module).__name__} returned gradients, but no input of the "
                        "module requires grad: it must return None"
                    )
            self.grad_outputs = None
        return tuple(full[i] for i in self.output_tensors_index or ())

    def _on_grad_inputs(self, grad_inputs: tuple, _: tuple) -> tuple | None:
        if self.grad_outputs is None:
            # The outputs took no part in this backward pass, so there is nothing to report.
            return None
        full = _spread(self.input_tensors_index, grad_inputs, self.n_inputs)
        for hook in self.user_hooks:
            result = hook(self.module, full, self.grad_outputs)
            if result is not None:
                full = self._replaced("hook", full, result)
        self.grad_outputs = None
        return tuple(full[i] for i in self.input_tensors_index or ())

    def _replaced(self, kind: str, current: tuple, result: Any) -> tuple:
        new = result if isinstance(result, tuple) else (result,)
        if len(new) != len(current):
            raise RuntimeError(
                f"a backward {kind} of {type(self.module).__name__} returned {len(new)} gradients, "
                f"expected {len(current)}"
            )
        return new


def _spread(places: Sequence[int] | None, values: Sequence[Any], total: int) -> tuple:
    """``values`` at ``places`` of a tuple of ``total`` entries, None elsewhere."""
    full: list[Any] = [None] * total
    for i, value in zip(places or (), values, strict=True):
        full[i] = value
    return tuple(full)


_identity_class: Any = None


def _identity() -> Any:
    global _identity_class
    if _identity_class is None:
        from ..autograd.function import Function

        class BackwardHookFunction(Function):
            @staticmethod
            def forward(ctx: Any, *tensors: Any) -> tuple:
                ctx.mark_non_differentiable(*(t for t in tensors if not t.requires_grad))
                return tuple(t.view_as(t) for t in tensors)

            @staticmethod
            def backward(ctx: Any, *grads: Any) -> tuple:
                return grads

        _identity_class = BackwardHookFunction
    return _identity_class
