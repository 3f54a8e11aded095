"""`Module`: what every layer and model derives from.

This file holds registration, attribute access, the call and traversal; hooks, state dicts and conversions are mixed in
from the neighbouring files. The call is on the path of every layer of every step, so without hooks it does nothing but
look whether there are any.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from ... import _C, Tensor
from ..parameter import Buffer, Parameter
from . import _module_hooks as hooks
from ._module_convert import ConversionMixin
from ._module_hooks import (
    HookMixin,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from ._module_note import note_module
from ._module_state import StateDictMixin
from ._module_state import _IncompatibleKeys as _IncompatibleKeys

__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

_UNCALLED = ("_parameters", "_buffers", "_modules")


def _addindent(text: str, spaces: int) -> str:
    """Indent every line of `text` but the first."""
    return text.replace("\n", "\n" + spaces * " ")


def _forward_unimplemented(self, *input: Any) -> None:
    """Compute the module's result from its inputs. Every subclass defines its own."""
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


class Module(HookMixin, StateDictMixin, ConversionMixin):
    """Base class of layers and models: holds parameters, buffers and submodules, and calls `forward`.

    Assigning a `Parameter`, a `Module` or a `Buffer` to an attribute registers it.

    >>> class Scale(Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = Parameter(flambeau.ones(1))
    ...     def forward(self, x):
    ...         return x * self.factor
    >>> [name for name, _ in Scale().named_parameters()]
    ['factor']
    """

    dump_patches: bool = False
    _version: int = 1
    training: bool
    call_super_init: bool = False
    _compiled_call_impl: Callable[..., Any] | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and (args or kwargs):
            if kwargs:
                raise TypeError(
                    f"{type(self).__name__}.__init__() got an unexpected keyword argument {next(iter(kwargs))!r}"
                )
            given = "argument" if len(args) == 1 else "arguments"
            raise TypeError(
                f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} {given} were given"
            )
        # Not __setattr__: that one looks for what is being set up here.
        set_attribute = super().__setattr__
        set_attribute("training", True)
        set_attribute("_parameters", {})
        set_attribute("_buffers", {})
        set_attribute("_non_persistent_buffers_set", set())
        set_attribute("_backward_pre_hooks", OrderedDict())
        set_attribute("_backward_hooks", OrderedDict())
        set_attribute("_is_full_backward_hook", None)
        set_attribute("_forward_hooks", OrderedDict())
        set_attribute("_forward_hooks_with_kwargs", OrderedDict())
        set_attribute("_forward_hooks_always_called", OrderedDict())
        set_attribute("_forward_pre_hooks", OrderedDict())
        set_attribute("_forward_pre_hooks_with_kwargs", OrderedDict())
        set_attribute("_state_dict_hooks", OrderedDict())
        set_attribute("_state_dict_pre_hooks", OrderedDict())
        set_attribute("_load_state_dict_pre_hooks", OrderedDict())
        set_attribute("_load_state_dict_post_hooks", OrderedDict())
        set_attribute("_modules", {})
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    forward: Callable[..., Any] = _forward_unimplemented

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        _C._quicken_module(cls)

    # ---- the call ----
    # What it is. Classes that do not change it get the same from C (csrc/python/module_fast.cpp), as with __getattr__.

    def __call__(self, *args, **kwargs):
        if (
            self._forward_hooks
            or self._forward_pre_hooks
            or self._backward_hooks
            or self._backward_pre_hooks
            or self._compiled_call_impl
            or hooks.any_global
        ):
            return self._wrapped_call_impl(*args, **kwargs)
        try:
            return self.forward(*args, **kwargs)
        except Exception as error:
            note_module(error, self)
            raise

    def _wrapped_call_impl(self, *args, **kwargs):
        if self._compiled_call_impl is not None:
            return self._compiled_call_impl(*args, **kwargs)
        return self._call_impl(*args, **kwargs)

    def _call_impl(self, *args, **kwargs):
        try:
            if hooks.has_hooks(self):
                return hooks.call_with_hooks(self, args, kwargs)
            return self.forward(*args, **kwargs)
        except Exception as error:
            note_module(error, self)
            raise

    def compile(self, *args, **kwargs) -> None:
        """Compile this module's call in place; the arguments are those of `compile`."""
        from ... import compile

        self._compiled_call_impl = compile(self._call_impl, *args, **kwargs)

    # ---- registration ----

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that belongs to the module's state without being a parameter.

        `persistent=False` keeps it out of `state_dict`. Raises KeyError for a name that is taken, empty or has a dot,
        TypeError for something that is not a tensor.

        >>> m = Module(); m.register_buffer("mean", flambeau.zeros(3)); m.mean.shape
        torch.Size([3])
        """
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_new_name("buffer", name)
        if hasattr(self, name) and name not in self._buffers:
            raise KeyError(f"attribute '{name}' already exists")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{_type_name(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        for hook in hooks._global_buffer_registration_hooks.values():
            replaced = hook(self, name, tensor)
            tensor = tensor if replaced is None else replaced
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under `name`; None reserves the name (the module then has no such parameter).

        Raises KeyError for a name that is taken, empty or has a dot, TypeError for something that is not a `Parameter`
        and ValueError for one that was computed from others.
        """
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._check_new_name("parameter", name)
        if hasattr(self, name) and name not in self._parameters:
            raise KeyError(f"attribute '{name}' already exists")
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{_type_name(param)}' object to parameter '{name}' "
                    "(torch.nn.Parameter or None required)"
                )
            if param.grad_fn:
                raise ValueError(
                    f"cannot assign a computed tensor to parameter '{name}': parameters must be leaves of the graph. "
                    f"To express '{name}' by another tensor, compute it in forward()"
                )
            for hook in hooks._global_parameter_registration_hooks.values():
                replaced = hook(self, name, param)
                param = param if replaced is None else replaced
        self._parameters[name] = param

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule under `name`. Raises as `register_parameter` does."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{_type_name(module)} is not a Module subclass")
        if not isinstance(name, str):
            raise TypeError(f"module name should be a string. Got {_type_name(name)}")
        if hasattr(self, name) and name not in self._modules:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'module name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError('module name can\'t be empty string ""')
        self._modules[name] = hooks.registered_module(self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """The same as `add_module`."""
        self.add_module(name, module)

    @staticmethod
    def _check_new_name(kind: str, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {_type_name(name)}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')

    # ---- access by path ----

    def get_submodule(self, target: str) -> Module:
        """The submodule at a dotted path; "" is the module itself. Raises AttributeError when there is none."""
        module = self
        if target == "":
            return module
        for name in target.split("."):
            if not hasattr(module, name):
                raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put `module` at a dotted path. With `strict`, only in the place of a module that is there already."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a dotted path. Raises AttributeError when there is none."""
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if not hasattr(owner, name):
            raise AttributeError(f"{owner._get_name()} has no attribute `{name}`")
        found = getattr(owner, name)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a dotted path. Raises AttributeError when there is none."""
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if not hasattr(owner, name):
            raise AttributeError(f"{owner._get_name()} has no attribute `{name}`")
        if name not in owner._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return getattr(owner, name)

    # ---- attributes ----

    def __getattr__(self, name: str) -> Any:
        members = self.__dict__
        try:
            if name in (found := members["_parameters"]):
                return found[name]
            if name in (found := members["_buffers"]):
                return found[name]
            if name in (found := members["_modules"]):
                return found[name]
        except KeyError:
            pass  # before __init__ has run
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        members = self.__dict__
        parameters = members.get("_parameters")
        if isinstance(value, Parameter):
            if parameters is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, "_parameters")
            self.register_parameter(name, value)
            return
        if parameters is not None and name in parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_type_name(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, value)
            return
        modules = members.get("_modules")
        if isinstance(value, Module):
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, "_modules")
            modules[name] = hooks.registered_module(self, name, value)
            return
        if modules is not None and name in modules:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_type_name(value)}' as child module '{name}' (torch.nn.Module or None expected)"
                )
            modules[name] = hooks.registered_module(self, name, value)
            return
        buffers = members.get("_buffers")
        if isinstance(value, Tensor) and (isinstance(value, Buffer) or (buffers is not None and name in buffers)):
            if buffers is None:
                raise AttributeError("cannot assign buffers before Module.__init__() call")
            self._set_buffer(name, value)
            return
        if buffers is not None and name in buffers:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_type_name(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor "
                    "or None expected)"
                )
            buffers[name] = None
            return
        super().__setattr__(name, value)

    def _set_buffer(self, name: str, value: Tensor) -> None:
        if name in self._buffers:
            persistent = name not in self._non_persistent_buffers_set
        else:
            persistent = True
        if isinstance(value, Buffer):
            persistent = value.persistent
        if name not in self._buffers:
            self._forget(name, "_buffers")
        self.register_buffer(name, value, persistent)

    def _forget(self, name: str, keep: str) -> None:
        """Drop whatever else has this name, so that the registered member is what the name finds."""
        self.__dict__.pop(name, None)
        for kind in _UNCALLED:
            if kind != keep:
                self.__dict__[kind].pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def __delattr__(self, name: str) -> None:
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            super().__delattr__(name)

    def __dir__(self):
        names = {*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers}
        return sorted(name for name in names if not name[:1].isdigit())

    # ---- pickling ----

    def __getstate__(self):
        state = self.__dict__.copy()
        state.pop("_compiled_call_impl", None)
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)
        # Files written by old versions lack what was added since.
        for name in hooks.HOOK_DICTS:
            self.__dict__.setdefault(name, OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.setdefault("_is_full_backward_hook", None)

    # ---- traversal ----

    def _named_members(self, get_members_fn, prefix="", recurse=True, remove_duplicate: bool = True):
        """(name, member) of everything `get_members_fn(module)` lists, each tensor once unless told otherwise."""
        seen = set()
        owners = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in owners:
            for name, member in get_members_fn(module):
                if member is None or member in seen:
                    continue
                if remove_duplicate:
                    seen.add(member)
                yield path + ("." if path else "") + name, member

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Every parameter, each once."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """(dotted name, parameter) pairs; a tied parameter comes once unless `remove_duplicate` is False."""
        yield from self._named_members(_own_parameters, prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Every buffer, each once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """(dotted name, buffer) pairs."""
        yield from self._named_members(_own_buffers, prefix, recurse, remove_duplicate)

    def children(self) -> Iterator[Module]:
        """The direct submodules, each once."""
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """(name, module) of the direct submodules, each once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """The module itself and everything below it, each once."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True):
        """(dotted name, module) of the module itself (named `prefix`) and everything below it."""
        if memo is None:
            memo = set()
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, prefix + ("." if prefix else "") + name, remove_duplicate)

    def apply(self, fn: Callable[[Module], None]) -> Module:
        """Call `fn` on every submodule, children first, then on the module itself. Returns it."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # ---- modes ----

    def train(self, mode: bool = True) -> Module:
        """Set training mode (or, with False, evaluation mode) here and below. Returns the module."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Module:
        """The same as `train(False)`."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Module:
        """Say of every parameter whether gradients are wanted. Returns the module."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or, with `set_to_none=False`, fill them with zeros."""
        for parameter in self.parameters():
            if parameter.grad is None:
                continue
            if set_to_none:
                parameter.grad = None
                continue
            if parameter.grad.grad_fn is not None:
                parameter.grad.detach_()
            else:
                parameter.grad.requires_grad_(False)
            parameter.grad.zero_()

    # ---- text ----

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What `repr` shows between the parentheses, before the submodules."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {_addindent(repr(module), 2)}" for name, module in self._modules.items()]
        head = self._get_name() + "("
        if len(lines) == 1 and not children:
            return head + lines[0] + ")"
        lines += children
        return head + ("\n  " + "\n  ".join(lines) + "\n" if lines else "") + ")"

    def _replicate_for_data_parallel(self):
        """A shallow copy whose tensors and children can be replaced without touching the original."""
        replica = self.__new__(type(self))
        replica.__dict__ = self.__dict__.copy()
        replica._parameters = {}
        replica._buffers = replica._buffers.copy()
        replica._modules = replica._modules.copy()
        replica._is_replica = True
        return replica


_C._quicken_modules(Module, note_module)


def _own_parameters(module: Module):
    return module._parameters.items()


def _own_buffers(module: Module):
    return module._buffers.items()


def _type_name(value) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
