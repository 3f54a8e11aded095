"""Methods of `Tensor` from before dtypes were objects, and those that call Python for each element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _C

Tensor = _C.Tensor

_KINDS = {
    _C.float32: "Float",
    _C.float64: "Double",
    _C.float16: "Half",
    _C.bfloat16: "BFloat16",
    _C.uint8: "Byte",
    _C.int8: "Char",
    _C.int16: "Short",
    _C.int32: "Int",
    _C.int64: "Long",
    _C.bool: "Bool",
    _C.complex64: "ComplexFloat",
    _C.complex128: "ComplexDouble",
    _C.uint16: "UInt16",
    _C.uint32: "UInt32",
    _C.uint64: "UInt64",
}


def _dtype_named(name: str) -> Any:
    parts = name.split(".")
    for dtype, kind in _KINDS.items():
        if parts[-1] == f"{kind}Tensor" and parts[0] == "torch":
            if len(parts) == 3:
                raise RuntimeError(
                    f"type: {name} is for {parts[1]} tensors, and this build has the devices cpu and meta"
                )
            return dtype
    raise ValueError(f"type: invalid type: {name!r}")


def _dtype_of(kind: Any) -> Any:
    """The dtype meant by what `Tensor.type` accepts."""
    if isinstance(kind, _C.dtype):
        return kind
    if isinstance(kind, str):
        return _dtype_named(kind)
    if kind is Tensor:
        return _C.get_default_dtype()
    if isinstance(getattr(kind, "dtype", None), _C.dtype):
        return kind.dtype
    if isinstance(kind, type):
        raise ValueError(f"type: invalid type: {kind.__name__!r}")
    raise TypeError(f"type: dtype must be a type, str, or dtype object, not {type(kind).__name__}")


class _Methods:
    """Attached to the C type below."""

    def type(self, dtype=None, non_blocking=False, **kwargs):
        """The name of the tensor's type, such as ``'torch.FloatTensor'``; with ``dtype``, the tensor converted."""
        if dtype is None:
            place = "" if self.device.type == "cpu" else self.device.type + "."
            return f"torch.{place}{_KINDS[self.dtype]}Tensor"
        return self.to(_dtype_of(dtype))

    def new(self, *args, device=None):
        """A tensor of this type and device from sizes, data, a tensor or a storage (old API)."""
        if device is not None and _C.device(device).type != self.device.type:
            raise RuntimeError(f"new: expected a {self.device.type} device, got {device}")
        functions = _C._namespace("")
        options = {"dtype": self.dtype, "device": self.device}
        if not args:
            return functions["empty"]((0,), **options)
        first = args[0]
        if len(args) == 1 and isinstance(first, _C.StorageBase):
            return functions["empty"]((0,), **options).set_(first)
        if len(args) == 1 and isinstance(first, Tensor):
            return first.detach() if first.dtype == self.dtype else first.detach().to(self.dtype)
        if isinstance(first, _C.Size) and len(args) == 1:
            return functions["empty"](first, **options)
        if hasattr(first, "__index__") and not hasattr(first, "__len__"):
            return functions["empty"](args, **options)
        if len(args) == 1:
            return functions["tensor"](first, **options)
        given = ", ".join(type(a).__name__ for a in args)
        raise TypeError(f"new: expected sizes or one sequence of data, got ({given})")

    def apply_(self, callable: Callable[[Any], Any]):
        """Replace each element by what ``callable`` makes of it. Slow: it calls Python for each one."""
        return _map("apply_", self, callable)

    def map_(self, tensor, callable: Callable[[Any, Any], Any]):
        """Replace each element by ``callable(element, element of tensor)``, with broadcasting."""
        return _map("map_", self, callable, tensor)

    def map2_(self, x, y, callable: Callable[[Any, Any, Any], Any]):
        """Replace each element by ``callable(element, element of x, element of y)``, with broadcasting."""
        return _map("map2_", self, callable, x, y)

    def pin_memory(self, device=None):
        """Raises RuntimeError: pinned memory serves copies to accelerators, and this build has none."""
        raise RuntimeError("pin_memory: can't pin memory without an accelerator device, and none is available")

    def _typed_storage(self):
        from .storage import TypedStorage

        return TypedStorage(wrap_storage=self.untyped_storage(), dtype=self.dtype, _internal=True)

    def has_names(self):
        return False

    def xpu(self, *args, **kwargs):
        """Raises AssertionError: this build has no XPU devices."""
        raise AssertionError("xpu: this build has the devices cpu and meta, not XPU")

    def to_dense(self, dtype=None, *, masked_grad=True):
        """The tensor itself, converted to ``dtype`` if given: every tensor is dense."""
        return self if dtype is None else self.to(dtype)

    def dense_dim(self):
        """The number of dense dimensions: all."""
        return self.ndim

    def sparse_dim(self):
        """The number of sparse dimensions: none."""
        return 0

    def is_coalesced(self):
        """Raises RuntimeError: only sparse tensors are coalesced or not."""
        raise RuntimeError("is_coalesced: expected a sparse tensor, and this one is dense (layout torch.strided)")

    def _is_all_true(self):
        return self.all()

    def _is_any_true(self):
        return self.any()


def _map(op: str, target: Any, function: Callable[..., Any], *others: Any) -> Any:
    if not callable(function):
        raise TypeError(f"{op}: {type(function).__name__!r} object is not callable")
    for tensor in (target, *others):
        if tensor.requires_grad:
            raise RuntimeError(f"{op}: can't be called on a tensor that requires grad; use tensor.detach() first")
        if tensor.dtype != target.dtype:
            raise TypeError(f"{op}: expected tensors of dtype {target.dtype}, got {tensor.dtype}")
    if target.is_meta:
        return target
    columns = [tensor.expand(target.shape).reshape(-1).tolist() for tensor in (target, *others)]
    integral = not (target.is_floating_point() or target.is_complex())
    values = [function(*row) for row in zip(*columns, strict=True)]
    if integral:
        values = [int(value) for value in values]
    return target.copy_(_C._namespace("")["tensor"](values, dtype=target.dtype).reshape(target.shape))


def attach() -> None:
    """Put the methods above onto the C type."""
    for name, value in _Methods.__dict__.items():
        if callable(value):
            setattr(Tensor, name, value)


attach()
