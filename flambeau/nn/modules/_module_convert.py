"""Conversions of modules: to another dtype, device or memory format."""

from __future__ import annotations

from ... import bfloat16, device, empty_like, float32, float64, half, no_grad
from ..parameter import Parameter


class ConversionMixin:
    """The part of `Module` that converts its parameters and buffers in place."""

    def _apply(self, fn, recurse=True):
        """Put `fn(tensor)` in the place of every parameter, gradient and buffer. Returns the module."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, parameter in self._parameters.items():
            if parameter is None:
                continue
            with no_grad():
                converted = fn(parameter)
            gradient = parameter.grad
            if _same_kind(parameter, converted):
                # The identity of the parameter is what optimizers and ties hold on to: only its data changes.
                parameter.data = converted
                target = parameter
            else:
                target = Parameter(converted, parameter.requires_grad)
                self._parameters[name] = target
            if gradient is not None:
                with no_grad():
                    converted_gradient = fn(gradient)
                if target is parameter and _same_kind(gradient, converted_gradient):
                    gradient.data = converted_gradient
                    target.grad = gradient
                else:
                    target.grad = converted_gradient.requires_grad_(gradient.requires_grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def cuda(self, device=None):
        """Move parameters and buffers to a GPU. Returns the module."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def ipu(self, device=None):
        """Move parameters and buffers to an IPU. Returns the module."""
        return self._apply(lambda tensor: tensor.ipu(device))

    def xpu(self, device=None):
        """Move parameters and buffers to an XPU. Returns the module."""
        return self._apply(lambda tensor: tensor.xpu(device))

    def mtia(self, device=None):
        """Move parameters and buffers to an MTIA device. Returns the module."""
        return self._apply(lambda tensor: tensor.mtia(device))

    def cpu(self):
        """Move parameters and buffers to the CPU. Returns the module."""
        return self._apply(lambda tensor: tensor.cpu())

    def type(self, dst_type):
        """Cast every parameter and buffer to `dst_type`. Returns the module."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def float(self):
        """Cast floating point parameters and buffers to float32. Returns the module."""
        return self._cast(float32)

    def double(self):
        """Cast floating point parameters and buffers to float64. Returns the module."""
        return self._cast(float64)

    def half(self):
        """Cast floating point parameters and buffers to float16. Returns the module."""
        return self._cast(half)

    def bfloat16(self):
        """Cast floating point parameters and buffers to bfloat16. Returns the module."""
        return self._cast(bfloat16)

    def _cast(self, dtype):
        return self._apply(lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor)

    def to_empty(self, *, device, recurse: bool = True):
        """Move to a device without copying: the values are then uninitialised. Returns the module."""
        return self._apply(lambda tensor: empty_like(tensor, device=device), recurse=recurse)

    def to(self, *args, **kwargs):
        """Convert in place: `to(dtype)`, `to(device)`, `to(device, dtype)`, `to(tensor)`, `memory_format=`.

        Only floating point and complex tensors change dtype. Raises TypeError for a dtype that is neither.

        >>> Linear(2, 2).to(flambeau.float64).weight.dtype
        torch.float64
        """
        where, dtype, non_blocking, memory_format = _parse_to(*args, **kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )

        def convert(tensor):
            kind = dtype if tensor.is_floating_point() or tensor.is_complex() else None
            if memory_format is not None and tensor.dim() in (4, 5):
                return tensor.to(where, kind, non_blocking, memory_format=memory_format)
            return tensor.to(where, kind, non_blocking)

        return self._apply(convert)

    def share_memory(self):
        """Move parameters and buffers to shared memory, so that other processes can use them. Returns the module."""
        return self._apply(lambda tensor: tensor.share_memory_())


def _same_kind(old, new) -> bool:
    """Whether `old.data = new` can be done: a tensor without values cannot become one with values."""
    return type(old.data) is type(new.data) and old.is_meta == new.is_meta and old.layout == new.layout


def _parse_to(*args, **kwargs):
    """(device, dtype, non_blocking, memory_format) of the arguments of `to`."""
    from ... import Tensor
    from ... import dtype as dtype_type

    names = ["device", "dtype", "non_blocking", "copy"]
    if (args and isinstance(args[0], Tensor)) or "other" in kwargs:
        other = kwargs.pop("other", None)
        if other is None:
            other, args = args[0], args[1:]
        values = {"device": other.device, "dtype": other.dtype}
        names = names[2:]
    elif args and isinstance(args[0], dtype_type):
        values = {}
        names = names[1:]
    else:
        values = {}
    if len(args) > len(names):
        raise TypeError(f"to() received an invalid combination of arguments: {len(args)} positional arguments")
    given = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name in given or name not in ("device", "dtype", "non_blocking", "copy", "memory_format"):
            raise TypeError(f"to() received an invalid combination of arguments: {name}={value!r}")
        given[name] = value
    values.update(given)
    where, dtype = values.get("device"), values.get("dtype")
    if where is not None:
        where = device(where)
    if dtype is not None and not isinstance(dtype, dtype_type):
        raise TypeError(f"to(): argument 'dtype' must be a dtype, not {type(dtype).__name__}")
    return where, dtype, values.get("non_blocking", False), values.get("memory_format")
