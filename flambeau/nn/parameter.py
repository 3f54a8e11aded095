"""Parameters and buffers: tensors that a `Module` recognises when they are assigned to it."""

from __future__ import annotations

from .. import _C, Tensor, empty


class _ParameterMeta(type(Tensor)):
    """Lets a tensor of another class count as a Parameter when it carries the mark of one."""

    def __instancecheck__(self, instance):
        if super().__instancecheck__(instance):
            return True
        return self is Parameter and isinstance(instance, Tensor) and getattr(instance, "_is_param", False)


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that is a module's parameter: assigning it to a module registers it there.

    `data` may be any tensor (default: an empty one); it is not copied. Raises RuntimeError when it is to require
    a gradient and its dtype is neither floating point nor complex.

    >>> Parameter(flambeau.zeros(2)).requires_grad
    True
    """

    __torch_function__ = _C._disabled_torch_function_impl

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = empty(0)
        if type(data) is Tensor or type(data) is Parameter:
            return Tensor._make_subclass(cls, data, requires_grad)
        # A tensor of some other class keeps it and is only marked.
        marked = data.detach().requires_grad_(requires_grad)
        if type(marked) is not type(data):
            raise RuntimeError(
                f"Parameter: {type(data).__name__}.detach() gave a {type(marked).__name__}; "
                "a tensor subclass must keep its class there to become a parameter"
            )
        marked._is_param = True
        return marked

    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        result = type(self)(self.data.clone(), self.requires_grad)
        if self.__dict__:
            from copy import deepcopy

            result.__dict__.update(deepcopy(self.__dict__, memo))
        memo[id(self)] = result
        return result

    def __repr__(self):
        return "Parameter containing:\n" + super().__repr__()

    def __reduce_ex__(self, protocol):
        from .. import _utils

        # Hooks stay behind, as with any tensor: they may refer to anything.
        hooks = _ordered_dict()
        state = dict(self.__dict__)
        if not state:
            return _utils._rebuild_parameter, (self.data, self.requires_grad, hooks)
        return _utils._rebuild_parameter_with_state, (self.data, self.requires_grad, hooks, state)


def _ordered_dict():
    from collections import OrderedDict

    return OrderedDict()


class _UninitializedMixin:
    """A parameter or buffer whose shape a lazy module learns from its first input."""

    # What may be asked of, or done to, a tensor without a shape; the conversions give another one without a shape.
    _converting = frozenset({"half", "float", "double", "char", "short", "int", "long", "cuda", "cpu", "to", "detach"})
    _allowed = _converting | frozenset(
        {
            "__hash__",
            "_version",
            "copy_",
            "data",
            "device",
            "dtype",
            "get_device",
            "grad",
            "grad_fn",
            "is_complex",
            "is_cuda",
            "is_floating_point",
            "is_leaf",
            "is_meta",
            "is_nested",
            "is_pinned",
            "is_sparse",
            "layout",
            "requires_grad",
            "requires_grad_",
            "size",
        }
    )

    def materialize(self, shape, device=None, dtype=None):
        """Give the tensor its shape: memory of `shape`, uninitialised, in place of nothing.

        `device` and `dtype` default to those it was made with.
        """
        self.data = empty(shape, device=device or self.data.device, dtype=dtype or self.data.dtype)
        self.__class__ = self.cls_to_become

    @property
    def shape(self):
        raise RuntimeError(
            f"{type(self).__name__} has no shape yet: run a forward pass (or call materialize(shape)) first"
        )

    def share_memory_(self):
        raise RuntimeError(
            f"{type(self).__name__} has no memory to share yet: run a forward pass (or call materialize(shape)) first"
        )

    def __repr__(self):
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol):
        return type(self), (self.requires_grad,)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", "")
        if name == "__get__" or name == "__set__":
            # A property's getter or setter: what it belongs to says more than its own name.
            name = getattr(getattr(func, "__self__", None), "__name__", name)
        if name in cls._allowed:
            result = _C._disabled_torch_function_impl(func, types, args, kwargs or {})
            if name in cls._converting and type(result) is Tensor:
                # Still without a shape, whatever it was converted to.
                result = result.as_subclass(cls)
                result.__dict__.update(args[0].__dict__)
            return result
        raise ValueError(
            f"{name or func!r} was given an uninitialized parameter or buffer; "
            "run a forward pass of its lazy module first, so that it gets a shape"
        )


def is_lazy(param) -> bool:
    """Whether `param` still waits for its shape."""
    return isinstance(param, _UninitializedMixin)


class UninitializedParameter(_UninitializedMixin, Parameter):
    """A parameter whose shape is not known yet; `materialize(shape)` makes it an ordinary one."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        return Tensor._make_subclass(cls, empty(0, device=device, dtype=dtype), requires_grad)

    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        result = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        memo[id(self)] = result
        return result


class _BufferMeta(type(Tensor)):
    """Lets any tensor that carries the mark of a buffer count as one."""

    def __instancecheck__(self, instance):
        if super().__instancecheck__(instance):
            return True
        return self is Buffer and isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)


class Buffer(Tensor, metaclass=_BufferMeta):
    """Marks a tensor so that assigning it to a module registers it as a buffer.

    The result is `data` itself, as a tensor of its own identity; `persistent` says whether it is part of the
    module's state_dict.

    >>> module = Module(); module.scale = Buffer(flambeau.ones(1)); list(module.state_dict())
    ['scale']
    """

    def __new__(cls, data=None, *, persistent=True):
        if data is None:
            data = empty(0)
        marked = data.detach().requires_grad_(data.requires_grad)
        marked.persistent = persistent
        marked._is_buffer = True
        return marked


class UninitializedBuffer(_UninitializedMixin, Tensor):
    """A buffer whose shape is not known yet; `materialize(shape)` makes it an ordinary tensor."""

    cls_to_become = Tensor

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        made = Tensor._make_subclass(cls, empty(0, device=device, dtype=dtype), requires_grad)
        made.persistent = persistent
        made._is_buffer = True
        return made

    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        result = type(self)(self.requires_grad, self.data.device, self.data.dtype, self.persistent)
        memo[id(self)] = result
        return result
