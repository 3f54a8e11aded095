"""Parametrizations: a parameter that is computed from others whenever it is read.

The module gets a class of its own, whose property of the parameter's name computes it; the tensors it is computed from
live in `module.parametrizations.<name>`.
"""

from __future__ import annotations

import collections
import contextlib
import copy

from ... import Tensor, no_grad
from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

_cache_enabled = 0
_cache: dict[tuple[int, str], Tensor | None] = {}


@contextlib.contextmanager
def cached():
    """Inside the block every parametrized tensor is computed once at most.

    >>> with cached(): pass
    """
    global _cache_enabled
    _cache_enabled += 1
    try:
        yield
    finally:
        _cache_enabled -= 1
        if not _cache_enabled:
            _cache.clear()


def _register_parameter_or_buffer(module: Module, name: str, value: Tensor) -> None:
    if isinstance(value, Parameter):
        module.register_parameter(name, value)
    else:
        module.register_buffer(name, value)


def _maybe_set(dest: Tensor, src: Tensor) -> None:
    """Give `dest` the memory of `src`, by its data: the identity of a parameter stays."""
    dest.data = src.data


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, applied in order to the tensor(s) kept here as `original` or `original0`, …

    A parametrization with a `right_inverse` lets the tensor be assigned; it may spread it over several originals.
    """

    original: Tensor
    unsafe: bool

    def __init__(self, modules, original: Tensor | Parameter, unsafe: bool = False) -> None:
        modules = list(modules)
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with no_grad():
            new = original
            for module in reversed(self):
                if hasattr(module, "right_inverse"):
                    # One that does not apply says so: the value stays.
                    with contextlib.suppress(NotImplementedError):
                        new = module.right_inverse(new)
        if not isinstance(new, Tensor) and not isinstance(new, collections.abc.Sequence):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got "
                f"{type(new).__name__}"
            )
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            if original.dtype != new.dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: {original.dtype}\nright_inverse(original).dtype: {new.dtype}"
                )
            if original.device != new.device:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the device.\n"
                    f"original.device: {original.device}\nright_inverse(original).device: {new.device}"
                )
            # The same object goes on as the parameter, so that an optimizer that holds it stays right.
            _maybe_set(original, new)
            _register_parameter_or_buffer(self, "original", original)
        else:
            for i, each in enumerate(new):
                if not isinstance(each, Tensor):
                    raise ValueError(
                        "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                        f"Got element {i} of the sequence with type {type(each).__name__}."
                    )
                if isinstance(original, Parameter):
                    each = Parameter(each, original.requires_grad)
                each.requires_grad_(original.requires_grad)
                _register_parameter_or_buffer(self, f"original{i}", each)
        if not unsafe:
            value = self()
            if not isinstance(value, Tensor):
                raise ValueError(f"A parametrization must return a tensor. Got {type(value).__name__}.")
            if value.dtype != dtype:
                raise ValueError(
                    "Registering a parametrization may not change the dtype of the tensor, unless `unsafe` flag is "
                    f"enabled.\nunparametrized dtype: {dtype}\nparametrized dtype: {value.dtype}"
                )
            if value.shape != shape:
                raise ValueError(
                    "Registering a parametrization may not change the shape of the tensor, unless `unsafe` flag is "
                    f"enabled.\nunparametrized shape: {shape}\nparametrized shape: {value.shape}"
                )

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals so that the parametrized tensor becomes `value`."""
        with no_grad():
            for module in reversed(self):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse, so the "
                        "tensor cannot "
                        "be assigned"
                    )
                value = module.right_inverse(value)
            if self.is_tensor:
                if not isinstance(value, Tensor):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
                if value.dtype != self.original.dtype:
                    raise ValueError(
                        f"The tensor returned by `right_inverse` has dtype {value.dtype} while `original` has dtype "
                        f"{self.original.dtype}"
                    )
                _maybe_set(self.original, value)
                return
            if not isinstance(value, collections.abc.Sequence):
                raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}.")
            if len(value) != self.ntensors:
                raise ValueError(
                    f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of "
                    f"length {len(value)}."
                )
            for i, each in enumerate(value):
                original = getattr(self, f"original{i}")
                if not isinstance(each, Tensor):
                    raise ValueError(
                        f"`right_inverse` must return a sequence of tensors. Got element {i} of type "
                        f"{type(each).__name__}"
                    )
                if original.dtype != each.dtype:
                    raise ValueError(
                        f"Tensor {i} returned by `right_inverse` has dtype {each.dtype} while `original{i}` has dtype "
                        f"{original.dtype}"
                    )
                _maybe_set(original, each)

    def forward(self) -> Tensor:
        first, *rest = self
        if self.is_tensor:
            value = first(self.original)
        else:
            value = first(*(getattr(self, f"original{i}") for i in range(self.ntensors)))
        for module in rest:
            value = module(value)
        return value


def _inject_new_class(module: Module) -> None:
    """Give `module` a class of its own, derived from its present one."""
    cls = type(module)

    def default_deepcopy(self, memo):
        copied = memo.get(id(self))
        if copied is not None:
            return copied
        replica = self.__new__(type(self))
        memo[id(self)] = replica
        replica.__dict__ = copy.deepcopy(self.__dict__, memo)
        return replica

    def getstate(self):
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(): save that, and "
            "load it into a "
            "module with the same parametrizations"
        )

    members = {"__getstate__": getstate}
    if not hasattr(cls, "__deepcopy__"):
        members["__deepcopy__"] = default_deepcopy
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), members)


def _inject_property(module: Module, tensor_name: str) -> None:
    """Make the name a property of the module's class that computes the tensor."""
    if hasattr(type(module), tensor_name):
        raise AssertionError(f"the class {type(module).__name__} already has an attribute {tensor_name!r}")

    def get_parametrized(self) -> Tensor:
        if not _cache_enabled:
            return self.parametrizations[tensor_name]()
        key = (id(self), tensor_name)
        value = _cache.get(key)
        if value is None:
            value = _cache[key] = self.parametrizations[tensor_name]()
        return value

    def set_original(self, value: Tensor) -> None:
        self.parametrizations[tensor_name].right_inverse(value)

    setattr(type(module), tensor_name, property(get_parametrized, set_original))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Let `module.<tensor_name>` be computed by `parametrization` from the present parameter or buffer.

    Registered again, parametrizations follow one another. `unsafe` allows a change of shape or dtype. Raises ValueError
    when there is no such tensor. Returns the module.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if unsafe:
            _extend(module, tensor_name, parametrization, check=False)
        else:
            _extend(module, tensor_name, parametrization, check=True)
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        # Made first: it raises when something does not fit, and the module is then still whole.
        parametrizations = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _inject_new_class(module)
            module.parametrizations = ModuleDict()
        _inject_property(module, tensor_name)
        module.parametrizations[tensor_name] = parametrizations
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    return module


def _extend(module: Module, tensor_name: str, parametrization: Module, check: bool) -> None:
    """Append a parametrization to those of a tensor, moving the originals so that the value before it stays."""
    listed = module.parametrizations[tensor_name]
    if check:
        before = getattr(module, tensor_name)
        after = parametrization(before)
        if not isinstance(after, Tensor):
            raise ValueError(f"A parametrization must return a tensor. Got {type(after).__name__}.")
        if after.dtype != before.dtype or after.shape != before.shape:
            raise ValueError(
                "Registering a parametrization may not change the dtype or the shape of the tensor, unless "
                "the `unsafe` flag "
                f"is enabled: {before.dtype} {tuple(before.shape)} became {after.dtype} {tuple(after.shape)}"
            )
        if hasattr(parametrization, "right_inverse"):
            try:
                inverse = parametrization.right_inverse(before)
            except NotImplementedError:
                inverse = None
            if inverse is not None:
                if not isinstance(inverse, Tensor):
                    raise ValueError(
                        f"parametrization.right_inverse must return a tensor. Got: {type(inverse).__name__}"
                    )
                if inverse.shape != before.shape or inverse.dtype != before.dtype:
                    raise ValueError(
                        "The tensor returned by parametrization.right_inverse must have the same shape and dtype as "
                        f"module.{tensor_name}"
                    )
    listed.append(parametrization)
    listed.unsafe |= not check


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether `module` (or its tensor of that name) is parametrized."""
    parametrizations = getattr(module, "parametrizations", None)
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Undo the parametrizations of a tensor; it keeps its computed value, or with False its original.

    Raises ValueError when there are none. Returns the module.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    listed = module.parametrizations[tensor_name]
    if listed.is_tensor:
        original = listed.original
        if leave_parametrized:
            with no_grad():
                value = getattr(module, tensor_name)
            _maybe_set(original, value)
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        requires_grad = listed.original0.requires_grad
        original = Parameter(value.detach(), requires_grad) if requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms "
            "of a sequence "
            "of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register_parameter_or_buffer(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class of `module` as it was before it was parametrized."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Parametrize `to_module` as `from_module` is (all of it, or one tensor), with the same originals. Returns it."""
    if not is_parametrized(from_module):
        return to_module
    if tensor_name is not None and not is_parametrized(from_module, tensor_name):
        return to_module
    names = list(from_module.parametrizations) if tensor_name is None else [tensor_name]
    for name in names:
        source = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, source.original if source.is_tensor else source.original0)
        for parametrization in source:
            register_parametrization(to_module, name, parametrization)
        target = to_module.parametrizations[name]
        if source.is_tensor:
            target.original = source.original
        else:
            for i in range(source.ntensors):
                setattr(target, f"original{i}", getattr(source, f"original{i}"))
    return to_module
