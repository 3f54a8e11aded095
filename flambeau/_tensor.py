"""Copying and pickling of tensors."""

from __future__ import annotations

import sys
from typing import Any

from . import _utils

# Element types that came after storages had classes of their own: files name their dtype beside an untyped storage.
_NAMED_IN_FILE = ("uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")


def _root() -> Any:
    return sys.modules[__package__]


def reduce_ex(tensor: Any, protocol: int) -> tuple:
    """`Tensor.__reduce_ex__`: how pickle is to rebuild the tensor.

    The storage is named whole, so tensors that share one and are pickled by `torch.save` share it again.
    """
    root = _root()
    state = _utils._get_obj_state(tensor)
    if type(tensor) is root.Tensor and not state:
        return _reduce_plain(tensor)
    overrides = root.overrides
    if overrides.has_torch_function_unary(tensor):
        return overrides.handle_torch_function(root.Tensor.__reduce_ex__, (tensor,), tensor, protocol)
    function, arguments = _reduce_plain(tensor)
    return _rebuild_from_type_v2, (function, type(tensor), arguments, state)


def _reduce_plain(tensor: Any) -> tuple:
    from collections import OrderedDict

    from .storage import TypedStorage

    hooks: Any = OrderedDict()  # hooks stay behind: they may refer to anything
    geometry = (tuple(tensor.size()), tensor.stride())
    if tensor.device.type == "meta":
        return _utils._rebuild_meta_tensor_no_storage, (tensor.dtype, *geometry, tensor.requires_grad)
    untyped = tensor.untyped_storage()
    head = (tensor.storage_offset(), *geometry, tensor.requires_grad, hooks)
    metadata = _utils.get_tensor_metadata(tensor)
    tail = (metadata,) if metadata else ()
    if str(tensor.dtype).rpartition(".")[2] in _NAMED_IN_FILE:
        return _utils._rebuild_tensor_v3, (untyped, *head, tensor.dtype, *tail)
    storage = TypedStorage(wrap_storage=untyped, dtype=tensor.dtype, _internal=True)
    return _utils._rebuild_tensor_v2, (storage, *head, *tail)


def _rebuild_from_type(function: Any, kind: type, arguments: tuple, attributes: dict) -> Any:
    tensor = function(*arguments)
    if kind is not _root().Tensor:
        tensor = tensor.as_subclass(kind)
    tensor.__dict__ = attributes
    return tensor


def _rebuild_from_type_v2(function: Any, kind: type, arguments: tuple, state: Any) -> Any:
    tensor = function(*arguments)
    if type(tensor) is not kind:
        tensor = tensor.as_subclass(kind)
    base = _root().Tensor.__setstate__
    if getattr(kind, "__setstate__", base) is not base:
        tensor.__setstate__(state)
        return tensor
    return _utils._set_obj_state(tensor, state)


def setstate(tensor: Any, state: tuple) -> None:
    """`Tensor.__setstate__`: the state that pickles of old releases hold."""
    if not tensor.is_leaf:
        raise RuntimeError("Tensor.__setstate__: only a leaf tensor can be given a state")
    if len(state) == 4:
        _utils._check_geometry(tensor.dtype, state[0], *state[1:])
        tensor.set_(*state)
        return
    if len(state) == 5:
        tensor.data = state[0]
        state = (state[3], state[4], state[2])
    tensor.requires_grad = state[0]


def deepcopy(tensor: Any, memo: dict) -> Any:
    """`Tensor.__deepcopy__`: a leaf with the same values, gradient and attributes, and memory of its own.

    Tensors that share a storage and are copied in one call share the copy of it. Raises RuntimeError for a tensor
    that is not a leaf.
    """
    root = _root()
    overrides = root.overrides
    if overrides.has_torch_function_unary(tensor):
        return overrides.handle_torch_function(root.Tensor.__deepcopy__, (tensor,), tensor, memo)
    if not tensor.is_leaf:
        raise RuntimeError(
            "deepcopy: this tensor is the result of an operation that autograd recorded, and only leaf tensors can be "
            "deep-copied; use tensor.detach().clone(), or tensor.clone() to stay in the graph"
        )
    if id(tensor) in memo:
        return memo[id(tensor)]
    from copy import deepcopy as deepcopy_any

    with root.no_grad():
        copy = _copy_memory(tensor, memo)
        if type(tensor) is not root.Tensor:
            copy = copy.as_subclass(type(tensor))
        if tensor.requires_grad:
            copy.requires_grad_()
        memo[id(tensor)] = copy
        if tensor.grad is not None:
            copy.grad = deepcopy_any(tensor.grad, memo)
        if tensor.__dict__:
            copy.__dict__.update(deepcopy_any(tensor.__dict__, memo))
    return copy


def _copy_memory(tensor: Any, memo: dict) -> Any:
    if tensor.device.type == "meta":
        return tensor.detach().clone()
    storage = tensor.untyped_storage().__deepcopy__(memo)
    empty = _root().empty(0, dtype=tensor.dtype, device=tensor.device)
    copy = empty.set_(storage, tensor.storage_offset(), tensor.size(), tensor.stride())
    return _utils.set_tensor_metadata(copy, _utils.get_tensor_metadata(tensor))
