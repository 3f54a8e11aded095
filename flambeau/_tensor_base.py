"""What the C type Tensor looks up in Python: printing, the legacy constructor, and the methods written in Python."""

from __future__ import annotations

from . import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Tensor = _C.Tensor


def tensor_repr(tensor: Any, *, tensor_contents: Any = None) -> str:
    """``repr(tensor)``."""
    from . import _tensor_str

    if type(tensor) is not Tensor and _C._has_torch_function((tensor,)):
        keywords = {} if tensor_contents is None else {"tensor_contents": tensor_contents}
        return _C._call_torch_function(Tensor.__repr__, (tensor,), (tensor,), keywords)
    return _tensor_str._str(tensor, tensor_contents=tensor_contents)


def legacy_new(cls: type, args: tuple, kwargs: dict | None) -> Any:
    """``Tensor(2, 3)``, ``Tensor([1, 2])``, ``Tensor(other)``: the constructor from before `tensor` and `empty`."""
    kwargs = kwargs or {}
    device = kwargs.pop("device", None)
    if "data" in kwargs:
        args = (kwargs.pop("data"),)
    elif "size" in kwargs:
        args = tuple(kwargs.pop("size"))
    if kwargs:
        raise TypeError(f"Tensor(): got an unexpected keyword argument {next(iter(kwargs))!r}")
    options: dict[str, Any] = {"dtype": _C.get_default_dtype()}
    if device is not None:
        options["device"] = device
    functions = _C._namespace("")
    if not args:
        value = functions["empty"]((0,), **options)
    elif len(args) == 1 and isinstance(args[0], Tensor):
        value = args[0].detach()
    elif len(args) == 1 and isinstance(args[0], _C.StorageBase):
        value = functions["empty"]((0,), **options).set_(args[0])
    elif isinstance(args[0], _C.Size) and len(args) == 1:
        value = functions["empty"](args[0], **options)
    elif all(isinstance(a, int) and not isinstance(a, bool) for a in args) or (
        len(args) == 1 and hasattr(args[0], "__index__") and not hasattr(args[0], "__len__")
    ):
        value = functions["empty"](args, **options)
    elif len(args) == 1:
        if isinstance(args[0], (str, bytes)):
            raise TypeError(f"new(): invalid data type '{type(args[0]).__name__}'")
        if not hasattr(args[0], "__len__"):
            raise TypeError(f"new(): data must be a sequence (got {type(args[0]).__name__})")
        value = functions["tensor"](args[0], **options)
    else:
        raise TypeError(
            f"Tensor(): expected sizes or one sequence of data, got ({', '.join(type(a).__name__ for a in args)})"
        )
    return value if cls is Tensor else Tensor._make_subclass(cls, value)


def reduce_generator(generator: Any, state: Any) -> tuple:
    """How pickle rebuilds a `Generator`."""
    return _rebuild_generator, (state,)


def _rebuild_generator(state: Any) -> Any:
    generator = _C.Generator()
    generator.set_state(state)
    return generator


class _Methods:
    """Attached to the C type below."""

    __array_priority__ = 1000

    def __repr__(self, *, tensor_contents=None):
        """The text of the tensor; `tensor_contents` replaces its numbers."""
        return tensor_repr(self, tensor_contents=tensor_contents)

    def __len__(self):
        return self.shape[0]

    @property
    def T(self):
        """The tensor with its dimensions reversed."""
        return self.permute(tuple(range(self.ndim - 1, -1, -1)))

    @property
    def mT(self):
        """The last two dimensions swapped."""
        if self.ndim < 2:
            raise RuntimeError(
                f"tensor.mT is only supported on matrices or batches of matrices. Got {self.ndim}-D tensor."
            )
        return self.transpose(-2, -1)

    @property
    def H(self):
        """The conjugate transpose of a matrix."""
        if self.ndim not in (0, 2):
            raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {self.ndim}-D tensor.")
        return self.mH if self.ndim else self.conj()

    @property
    def mH(self):
        """The conjugate transpose of the last two dimensions."""
        if self.ndim < 2 and self.ndim != 0:
            raise RuntimeError(
                f"tensor.mH is only supported on matrices or batches of matrices. Got {self.ndim}-D tensor."
            )
        return self.transpose(-2, -1).conj()

    @property
    def real(self):
        return _C._namespace("")["real"](self)

    @real.setter
    def real(self, value):
        self.real.copy_(value)

    @property
    def imag(self):
        return _C._namespace("")["imag"](self)

    @imag.setter
    def imag(self, value):
        self.imag.copy_(value)

    @property
    def is_shared_storage(self):
        return False

    @property
    def volatile(self):
        return False

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Add the gradient of this tensor to ``.grad`` of the leaves it was made of; see `autograd.backward`."""
        if _C._has_torch_function((self,)):
            return _C._call_torch_function(
                Tensor.backward,
                (self,),
                (self,),
                {"gradient": gradient, "retain_graph": retain_graph, "create_graph": create_graph, "inputs": inputs},
            )
        if gradient is None and inputs is None:
            _C._engine_run_backward(
                (self,), (None,), bool(retain_graph) or create_graph, create_graph, None, True, True
            )
            return None
        from . import autograd

        return autograd.backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def register_hook(self, hook):
        """Call ``hook(grad)`` when the gradient of this tensor is known; what it returns replaces the gradient."""
        from .utils.hooks import RemovableHandle

        hooks = self._hook_dict()
        handle = RemovableHandle(hooks)
        hooks[handle.id] = hook
        return handle

    def register_post_accumulate_grad_hook(self, hook):
        """Call ``hook(self)`` after a gradient was added to ``.grad`` of this leaf."""
        from .utils.hooks import RemovableHandle

        hooks = self._post_hook_dict()
        handle = RemovableHandle(hooks)
        hooks[handle.id] = hook
        return handle

    def __iter__(self):
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __contains__(self, element):
        if isinstance(element, (Tensor, int, float, complex, bool)):
            return bool((element == self).any().item())
        raise RuntimeError(
            f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}: "
            "a tensor holds numbers"
        )

    def __reversed__(self):
        return self if self.ndim == 0 else self.flip(0)

    def __dir__(self):
        return sorted({*object.__dir__(self)})

    def __format__(self, spec):
        if self.ndim == 0 and not self.is_meta and type(self) is Tensor:
            return self.item().__format__(spec)
        return object.__format__(self, spec)

    def __complex__(self):
        return complex(self.item())

    def __array__(self, dtype=None):
        if dtype is None:
            return self.numpy()
        return self.numpy().astype(dtype, copy=False)

    def __array_wrap__(self, array, context=None, return_scalar=False):
        functions = _C._namespace("")
        if array.dtype == bool:
            array = array.astype("uint8")
        return functions["from_numpy"](array) if array.ndim else functions["tensor"](array.item())

    def numpy(self, *, force=False):
        """A NumPy array over the same memory.

        Raises RuntimeError for tensors that require grad unless ``force`` is set.
        """
        import numpy

        tensor = self
        if force:
            tensor = self.detach()
        elif self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if tensor.is_meta:
            raise TypeError("can't convert meta device type tensor to numpy: it has no data")
        if tensor.dtype is _C.bfloat16:
            raise TypeError("Got unsupported ScalarType BFloat16: NumPy has no such type; convert to float first")
        return numpy.asarray(memoryview(tensor))

    def __deepcopy__(self, memo):
        from . import _tensor

        return _tensor.deepcopy(self, memo)

    def __reduce_ex__(self, protocol):
        from . import _tensor

        return _tensor.reduce_ex(self, protocol)

    def __setstate__(self, state):
        from . import _tensor

        return _tensor.setstate(self, state)

    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """Subclasses: run the function on them as tensors, and give results the subclass."""
        if not all(issubclass(cls, t) for t in types):
            return NotImplemented
        old = _C._set_torch_function_disabled(True, False)
        try:
            result = func(*args, **(kwargs or {}))
        finally:
            _C._set_torch_function_disabled(*old)
        return result if func in _keeps_type() else _convert(result, cls)

    def set_(self, source=None, storage_offset=0, size=None, stride=None):
        """Makes this tensor look at other memory: that of a tensor or storage, or none. Returns the tensor.

        `size` defaults to that of the tensor, or to all of the storage; `stride` to that of a contiguous tensor. A
        storage that is too small grows. Raises RuntimeError when dtypes or devices differ.

        >>> flambeau.empty(0).set_(flambeau.arange(4.0).untyped_storage(), 1, (2,))
        tensor([1., 2.])
        """
        if not isinstance(self, Tensor):
            raise TypeError(f"set_: expected a Tensor to set, got {type(self).__name__}")
        if self.requires_grad and self.is_leaf and _C._is_grad_enabled():
            raise RuntimeError("set_: a leaf that requires a gradient cannot be changed in place; use torch.no_grad()")
        if source is None:
            source, size, stride = _C.StorageBase(0, device=self.device), (0,), (1,)
        elif isinstance(source, Tensor):
            if source.dtype != self.dtype:
                raise RuntimeError(f"set_: this tensor is {self.dtype}, the source {source.dtype}")
            if size is None:
                storage_offset, size, stride = source.storage_offset(), source.shape, source.stride()
            source = source.untyped_storage()
        elif not isinstance(source, _C.StorageBase):
            typed = getattr(source, "_untyped_storage", None)
            if typed is None:
                raise TypeError(f"set_: expected a Tensor or a storage, got a {type(source).__name__}")
            if source.dtype != self.dtype:
                raise RuntimeError(f"set_: this tensor is {self.dtype}, the storage {source.dtype}")
            source = typed
        if size is None:
            size = (source.nbytes() // self.itemsize - storage_offset,)
        _C._set_memory(self, source, storage_offset, size, stride)
        return self

    def storage(self):
        """The typed face of the storage (old API)."""
        from .storage import TypedStorage

        return TypedStorage(wrap_storage=self.untyped_storage(), dtype=self.dtype, _internal=True)

    def storage_type(self):
        """The type of `storage`."""
        return type(self.storage())

    def is_shared(self):
        """Whether the storage is in shared memory."""
        return self.untyped_storage().is_shared()

    def share_memory_(self):
        """Move the storage into shared memory."""
        self.untyped_storage().share_memory_()
        return self

    def module_load(self, other, assign=False):
        """What ``load_state_dict`` puts in the place of this tensor."""
        if assign:
            return other.detach()
        return self.detach().copy_(other).detach()

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        from . import _dlpack

        return _dlpack.export(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self):
        from . import _dlpack

        return _dlpack.device(self)

    def dim_order(self):
        """Dimensions from the outermost in memory to the innermost."""
        return tuple(sorted(range(self.ndim), key=lambda d: -self.stride(d)))

    def tensor_split(self, indices_or_sections, dim=0):
        return _C._namespace("")["tensor_split"](self, indices_or_sections, dim)

    def refine_names(self, *names):
        raise RuntimeError("named tensors are not supported; keep names beside the tensor")


def _keeps_type() -> tuple:
    return (Tensor.__repr__, Tensor.numpy)


def _convert(result: Any, cls: type) -> Any:
    if cls is Tensor:
        return result
    if isinstance(result, Tensor) and not isinstance(result, cls):
        return result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        items = [_convert(r, cls) for r in result]
        return type(result)(items)
    return result


def attach() -> None:
    """Put the methods above onto the C type."""
    skip = {
        "__module__",
        "__dict__",
        "__weakref__",
        "__doc__",
        "__qualname__",
        "__firstlineno__",
        "__static_attributes__",
        "__len__",
        "tensor_split",
    }
    for name, value in _Methods.__dict__.items():
        if name in skip:
            continue
        setattr(Tensor, name, classmethod(value) if name == "__torch_function__" else value)


attach()
