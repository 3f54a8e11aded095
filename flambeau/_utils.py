"""The functions that checkpoints and pickles call by name to build tensors.

Their names, modules and arguments are part of the file format.
"""

from __future__ import annotations

import sys
from typing import Any


def _root() -> Any:
    return sys.modules[__package__]


def _check_geometry(dtype: Any, storage: Any, offset: Any, size: Any, stride: Any) -> None:
    """Refuses what does not lie inside the storage; `set_` alone would grow the storage to whatever a file claims."""
    numbers = (offset, *size, *stride)
    if any(type(number) is not int or number < 0 for number in numbers) or len(size) != len(stride):
        raise RuntimeError(f"tensor in file: offset {offset!r}, size {size!r} and stride {stride!r} describe no tensor")
    if 0 in size:
        last = offset
    else:
        last = offset + 1 + sum((length - 1) * step for length, step in zip(size, stride, strict=True))
    needed, there = last * dtype.itemsize, storage.nbytes()
    if needed > there:
        raise RuntimeError(f"tensor in file: it needs {needed} bytes of a storage that has {there}")


def _rebuild_tensor(storage: Any, storage_offset: int, size: Any, stride: Any) -> Any:
    return _rebuild(storage._untyped_storage, storage.dtype, storage_offset, size, stride)


def _rebuild(untyped: Any, dtype: Any, offset: int, size: Any, stride: Any) -> Any:
    _check_geometry(dtype, untyped, offset, size, stride)
    return _root().empty(0, dtype=dtype, device=untyped.device).set_(untyped, offset, size, stride)


def get_tensor_metadata(tensor: Any) -> dict[str, bool]:
    """Properties of a tensor beyond its numbers that files keep: pending conjugation and negation."""
    metadata = {}
    if tensor.is_conj():
        metadata["conj"] = True
    if tensor.is_neg():
        metadata["neg"] = True
    return metadata


# While a stream is read whose numbers come after its objects: tensors to be changed once the numbers are there.
unfinished: list[tuple[Any, dict[str, bool]]] | None = None


def set_tensor_metadata(tensor: Any, metadata: dict[str, bool]) -> Any:
    """Gives back what `get_tensor_metadata` recorded."""
    if unfinished is not None:
        unfinished.append((tensor, metadata))
        return tensor
    return _with_metadata(tensor, metadata)


def _with_metadata(tensor: Any, metadata: dict[str, bool]) -> Any:
    if metadata.get("conj"):
        tensor = tensor.conj()
    return -tensor if metadata.get("neg") else tensor


def finish_tensors() -> None:
    """Change the tensors that waited for their numbers; each gets memory of its own."""
    global unfinished
    waiting, unfinished = unfinished or [], None
    for tensor, metadata in waiting:
        tensor.data = _with_metadata(tensor.detach(), metadata)


def _rebuild_tensor_v2(
    storage: Any,
    storage_offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool,
    backward_hooks: Any,
    metadata: dict[str, bool] | None = None,
) -> Any:
    tensor = _rebuild_tensor(storage, storage_offset, size, stride)
    return _finish(tensor, requires_grad, metadata)


def _rebuild_tensor_v3(
    storage: Any,
    storage_offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool,
    backward_hooks: Any,
    dtype: Any,
    metadata: dict[str, bool] | None = None,
) -> Any:
    untyped = getattr(storage, "_untyped_storage", storage)
    return _finish(_rebuild(untyped, dtype, storage_offset, size, stride), requires_grad, metadata)


def _finish(tensor: Any, requires_grad: bool, metadata: dict[str, bool] | None) -> Any:
    if metadata:
        tensor = set_tensor_metadata(tensor, metadata)
    if requires_grad:
        tensor.requires_grad_(True)
    return tensor


def _rebuild_meta_tensor_no_storage(dtype: Any, size: Any, stride: Any, requires_grad: bool) -> Any:
    return _root().empty_strided(size, stride, dtype=dtype, device="meta", requires_grad=requires_grad)


def _rebuild_parameter(data: Any, requires_grad: bool, backward_hooks: Any) -> Any:
    return _root().nn.Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data: Any, requires_grad: bool, backward_hooks: Any, state: Any) -> Any:
    return _set_obj_state(_root().nn.Parameter(data, requires_grad), state)


def _rebuild_device_tensor_from_numpy(data: Any, dtype: Any, device: Any, requires_grad: bool) -> Any:
    tensor = _root().from_numpy(data).to(dtype=dtype, device=device)
    tensor.requires_grad = requires_grad
    return tensor


def _rebuild_device_tensor_from_cpu_tensor(data: Any, dtype: Any, device: Any, requires_grad: bool) -> Any:
    tensor = data.to(dtype=dtype, device=device)
    tensor.requires_grad = requires_grad
    return tensor


def _element_size(dtype: Any) -> int:
    return dtype.itemsize


def _flatten_dense_tensors(tensors: Any) -> Any:
    """One vector with the elements of all tensors (of one dtype), in order."""
    return _root().cat([tensor.reshape(-1) for tensor in tensors])


def _unflatten_dense_tensors(flat: Any, tensors: Any) -> tuple[Any, ...]:
    """Views of a vector with the sizes of the given tensors: undoes `_flatten_dense_tensors`."""
    parts, at = [], 0
    for tensor in tensors:
        parts.append(flat.narrow(0, at, tensor.numel()).view_as(tensor))
        at += tensor.numel()
    return tuple(parts)


def _take_tensors(tensors: Any, size_limit: int) -> Any:
    """Groups tensors of one dtype into runs of at most `size_limit` bytes (or a single larger tensor)."""
    runs: dict[Any, tuple[list[Any], int]] = {}
    for tensor in tensors:
        run, size = runs.get(tensor.dtype, ([], 0))
        own = tensor.numel() * tensor.dtype.itemsize
        if run and size + own > size_limit:
            yield run
            run, size = [], 0
        runs[tensor.dtype] = ([*run, tensor], size + own)
    for run, _ in runs.values():
        yield run


def _get_obj_state(obj: Any) -> Any:
    """The attributes that Python code has added to an object: its `__dict__`, and its slots beside it if it has any."""
    import copyreg

    getstate = getattr(type(obj), "__getstate__", None)
    if getstate is not None and getstate is not getattr(object, "__getstate__", None):
        return obj.__getstate__()
    slots = {}
    for name in copyreg._slotnames(type(obj)):  # type: ignore[attr-defined]
        if hasattr(obj, name):
            slots[name] = getattr(obj, name)
    attributes = getattr(obj, "__dict__", {})
    return (attributes, slots) if slots else attributes


def _set_obj_state(obj: Any, state: Any) -> Any:
    """Gives an object the attributes that `_get_obj_state` took; returns the object."""
    attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    for part in (attributes, slots):
        if part is None:
            continue
        if not isinstance(part, dict):
            raise RuntimeError(f"state of a {type(obj).__name__} in file: expected a dict, got {type(part).__name__}")
        for name, value in part.items():
            setattr(obj, name, value)
    return obj
