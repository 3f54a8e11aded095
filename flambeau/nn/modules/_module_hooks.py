"""Hooks of modules: their registration, for one module or for all, and the call that runs them."""

from __future__ import annotations

import functools
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable

from ... import _C
from ...utils.hooks import RemovableHandle

HOOK_DICTS = (
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_backward_pre_hooks",
    "_backward_hooks",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)


class _GlobalHooks(OrderedDict):
    """Hooks that run for every module. Each change tells the module call whether there are any at all."""

    def __setitem__(self, key, hook):
        super().__setitem__(key, hook)
        _note_globals()

    def __delitem__(self, key):
        super().__delitem__(key)
        _note_globals()

    def pop(self, key, *default):
        hook = super().pop(key, *default)
        _note_globals()
        return hook

    def clear(self):
        super().clear()
        _note_globals()


_global_backward_pre_hooks = _GlobalHooks()
_global_backward_hooks = _GlobalHooks()
_global_forward_pre_hooks = _GlobalHooks()
_global_forward_hooks = _GlobalHooks()
_global_forward_hooks_always_called: OrderedDict[int, bool] = OrderedDict()
_global_forward_hooks_with_kwargs: OrderedDict[int, bool] = OrderedDict()
_global_buffer_registration_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_module_registration_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_parameter_registration_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_is_full_backward_hook: bool | None = None

any_global = False


def _note_globals() -> None:
    global any_global
    any_global = bool(
        _global_backward_pre_hooks or _global_backward_hooks or _global_forward_pre_hooks or _global_forward_hooks
    )
    _C._set_global_module_hooks(any_global)


def _has_any_global_hook() -> bool:
    return any_global


def has_hooks(module) -> bool:
    """Whether calling `module` runs any hook."""
    return bool(
        any_global
        or module._forward_hooks
        or module._forward_pre_hooks
        or module._backward_hooks
        or module._backward_pre_hooks
    )


def registered_module(owner, name, module):
    """What is to be registered: `module`, or what a global registration hook puts in its place."""
    for hook in _global_module_registration_hooks.values():
        replaced = hook(owner, name, module)
        module = module if replaced is None else replaced
    return module


# ---- hooks of every module ----


def register_module_buffer_registration_hook(hook: Callable) -> RemovableHandle:
    """Run `hook(module, name, buffer)` whenever a buffer is registered; what it returns takes the buffer's place."""
    return _add(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Callable) -> RemovableHandle:
    """Run `hook(module, name, submodule)` whenever a submodule is registered; a result takes its place."""
    return _add(_global_module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Callable) -> RemovableHandle:
    """Run `hook(module, name, parameter)` whenever a parameter is registered; a result takes its place."""
    return _add(_global_parameter_registration_hooks, hook)


def register_module_forward_pre_hook(hook: Callable) -> RemovableHandle:
    """Run `hook(module, args)` before the forward of every module."""
    return _add(_global_forward_pre_hooks, hook)


def register_module_forward_hook(
    hook: Callable, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Run `hook(module, args, output)` (with `with_kwargs`: `(module, args, kwargs, output)`) after every forward."""
    handle = RemovableHandle(
        _global_forward_hooks, extra_dict=[_global_forward_hooks_with_kwargs, _global_forward_hooks_always_called]
    )
    _global_forward_hooks[handle.id] = hook
    if with_kwargs:
        _global_forward_hooks_with_kwargs[handle.id] = True
    if always_call:
        _global_forward_hooks_always_called[handle.id] = True
    return handle


def register_module_backward_hook(hook: Callable) -> RemovableHandle:
    """Run `hook(module, grad_input, grad_output)` in the backward of every module's last operation (deprecated)."""
    _set_global_full(False)
    return _add(_global_backward_hooks, hook)


def register_module_full_backward_pre_hook(hook: Callable) -> RemovableHandle:
    """Run `hook(module, grad_output)` before the backward of every module."""
    return _add(_global_backward_pre_hooks, hook)


def register_module_full_backward_hook(hook: Callable) -> RemovableHandle:
    """Run `hook(module, grad_input, grad_output)` after the backward of every module."""
    _set_global_full(True)
    return _add(_global_backward_hooks, hook)


def _set_global_full(full: bool) -> None:
    global _global_is_full_backward_hook
    if _global_is_full_backward_hook is (not full):
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module hook. "
            "Please use only one of them."
        )
    _global_is_full_backward_hook = full


def _add(hooks: OrderedDict, hook: Callable, prepend: bool = False, extra_dict=None) -> RemovableHandle:
    handle = RemovableHandle(hooks, extra_dict=extra_dict)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


class _WrappedHook:
    """A load hook that is given its module first, held weakly: a module must not keep itself alive."""

    def __init__(self, hook: Callable, module=None):
        self.hook = hook
        functools.update_wrapper(self, hook)
        self.with_module = module is not None
        if self.with_module:
            self.module = weakref.ref(module)

    def __call__(self, *args, **kwargs):
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self):
        state = {"hook": self.hook, "with_module": self.with_module}
        if self.with_module:
            state["module"] = self.module()
        return state

    def __setstate__(self, state):
        self.hook = state["hook"]
        self.with_module = state["with_module"]
        if self.with_module:
            if state["module"] is None:
                raise RuntimeError("You are trying to revive the hook of a dead Module!")
            self.module = weakref.ref(state["module"])


class HookMixin:
    """The part of `Module` that registers hooks."""

    _is_full_backward_hook: bool | None

    def register_forward_pre_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Run `hook(module, args)` before `forward`; what it returns, if not None, replaces the arguments.

        With `with_kwargs` it is `hook(module, args, kwargs)` and returns `(args, kwargs)` or None.

        >>> m = Identity(); h = m.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
        >>> m(flambeau.zeros(1)); h.remove()
        tensor([1.])
        """
        handle = _add(self._forward_pre_hooks, hook, prepend, self._forward_pre_hooks_with_kwargs)
        if with_kwargs:
            self._forward_pre_hooks_with_kwargs[handle.id] = True
        return handle

    def register_forward_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Run `hook(module, args, output)` after `forward`; what it returns, if not None, replaces the output.

        With `with_kwargs` it is `hook(module, args, kwargs, output)`. With `always_call` it also runs when forward or
        another hook raises.
        """
        extra = [self._forward_hooks_with_kwargs, self._forward_hooks_always_called]
        handle = _add(self._forward_hooks, hook, prepend, extra)
        if with_kwargs:
            self._forward_hooks_with_kwargs[handle.id] = True
        if always_call:
            self._forward_hooks_always_called[handle.id] = True
        return handle

    def register_full_backward_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Run `hook(module, grad_output)` before gradients pass the module; a result replaces `grad_output`."""
        return _add(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Run `hook(module, grad_input, grad_output)` once gradients have passed the module.

        A result replaces `grad_input`. Entries are None for arguments that are not tensors.
        """
        self._set_full(True)
        return _add(self._backward_hooks, hook, prepend)

    def register_backward_hook(self, hook: Callable) -> RemovableHandle:
        """Run `hook(module, grad_input, grad_output)` in the backward of the module's last operation (deprecated)."""
        self._set_full(False)
        return _add(self._backward_hooks, hook)

    def _set_full(self, full: bool) -> None:
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. "
                "Please use only one of them."
            )
        self._is_full_backward_hook = full

    def _get_backward_hooks(self):
        """(full backward hooks, old-style ones) that apply to this module, the global ones first."""
        full, old = [], []
        (full if _global_is_full_backward_hook else old).extend(_global_backward_hooks.values())
        (full if self._is_full_backward_hook else old).extend(self._backward_hooks.values())
        return full, old

    def _get_backward_pre_hooks(self):
        return [*_global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]

    def _maybe_warn_non_full_backward_hook(self, inputs, result, grad_fn) -> None:
        results = result if isinstance(result, tuple) else (result,)
        inputs = inputs if isinstance(inputs, tuple) else (inputs,)
        from ... import Tensor

        if not all(isinstance(value, Tensor) for value in results + inputs):
            reason = "takes or returns something else than single tensors or tuples of them"
        elif len(results) > 1:
            reason = "returns several tensors"
        else:
            before = {value.grad_fn for value in inputs if value.grad_fn is not None}
            if len(inputs) > 1 or not before.issuperset(next_fn for next_fn, _ in grad_fn.next_functions):
                reason = "has a forward of several operations or inputs"
            else:
                return
        warnings.warn(
            f"a backward hook is registered on a module that {reason}, so grad_input will lack gradients; "
            "use register_full_backward_hook to get them all",
            FutureWarning,
            stacklevel=3,
        )


# ---- the call ----


def call_with_hooks(module, args: tuple, kwargs: dict):
    """Call `module.forward` with every hook that applies, in PyTorch's order."""
    full_backward, old_backward, pre_backward = [], [], []
    if module._backward_pre_hooks or _global_backward_pre_hooks:
        pre_backward = module._get_backward_pre_hooks()
    if module._backward_hooks or _global_backward_hooks:
        full_backward, old_backward = module._get_backward_hooks()
    called = set()  # the always-called hooks that have run
    try:
        args, kwargs = _run_pre_hooks(module, args, kwargs)
        backward = None
        if full_backward or pre_backward:
            from ...utils.hooks import BackwardHook

            backward = BackwardHook(module, full_backward, pre_backward)
            args = backward.setup_input_hook(args)
        result = module.forward(*args, **kwargs)
        for hook_id, hook, with_kwargs, always in _forward_hooks(module):
            if always:
                called.add(hook_id)
            replaced = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
            result = result if replaced is None else replaced
        if backward is not None:
            if not isinstance(result, (tuple, *_tensor_type())):
                warnings.warn(
                    "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors "
                    f"but received {type(result)}",
                    stacklevel=2,
                )
            result = backward.setup_output_hook(result)
        if old_backward:
            _attach_old_hooks(module, old_backward, args, result)
        return result
    except Exception:
        for hook_id, hook, with_kwargs, always in _forward_hooks(module):
            if always and hook_id not in called:
                try:
                    replaced = hook(module, args, kwargs, None) if with_kwargs else hook(module, args, None)
                except Exception as error:
                    warnings.warn(
                        f"a forward hook with always_call=True raised an exception that is silenced, because another "
                        f"one was raised before it: {error}",
                        stacklevel=2,
                    )
        raise


def _tensor_type():
    from ... import Tensor

    return (Tensor,)


def _run_pre_hooks(module, args, kwargs):
    for hook_id, hook in (*_global_forward_pre_hooks.items(), *module._forward_pre_hooks.items()):
        if hook_id in module._forward_pre_hooks_with_kwargs:
            replaced = hook(module, args, kwargs)
            if replaced is not None:
                if not isinstance(replaced, tuple) or len(replaced) != 2:
                    raise RuntimeError(
                        f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {replaced}."
                    )
                args, kwargs = replaced
        else:
            replaced = hook(module, args)
            if replaced is not None:
                args = replaced if isinstance(replaced, tuple) else (replaced,)
    return args, kwargs


def _forward_hooks(module):
    """(id, hook, whether it takes keywords, whether it always runs), the global ones first."""
    for hook_id, hook in tuple(_global_forward_hooks.items()):
        yield (
            hook_id,
            hook,
            hook_id in _global_forward_hooks_with_kwargs,
            hook_id in _global_forward_hooks_always_called,
        )
    for hook_id, hook in tuple(module._forward_hooks.items()):
        yield (
            hook_id,
            hook,
            hook_id in module._forward_hooks_with_kwargs,
            hook_id in module._forward_hooks_always_called,
        )


def _attach_old_hooks(module, old_hooks, args, result) -> None:
    first = result
    while not isinstance(first, _tensor_type()):
        if isinstance(first, dict):
            first = next((value for value in first.values() if isinstance(value, _tensor_type())), None)
        elif isinstance(first, (tuple, list)) and first:
            first = first[0]
        else:
            first = None
        if first is None:
            return
    node = first.grad_fn
    if node is not None:
        for hook in old_hooks:
            node.register_hook(functools.partial(_call_old_hook, hook, module))
        module._maybe_warn_non_full_backward_hook(args, result, node)


def _call_old_hook(hook, module, grad_input, grad_output):
    return hook(module, grad_input, grad_output)
