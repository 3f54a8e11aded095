"""Joining samples into a batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

from .... import Tensor, as_tensor, float64, stack, tensor

__all__ = ["collate", "default_collate", "default_convert", "default_collate_fn_map"]


def default_convert(data: Any) -> Any:
    """NumPy arrays and numbers anywhere in ``data`` as tensors; everything else as it is."""
    kind = type(data)
    if isinstance(data, Tensor):
        return data
    if _is_numpy(kind):
        if _has_text_or_objects(data):
            return data
        return as_tensor(data)
    if isinstance(data, Mapping):
        return _map_mapping(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return kind(*(default_convert(d) for d in data))
    if isinstance(data, tuple):
        return [default_convert(d) for d in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _map_sequence(data, [default_convert(d) for d in data])
    return data


def default_collate(batch: Any) -> Any:
    """Samples as a batch with a new first dimension.

    Tensors are stacked; numbers and NumPy values become tensors; strings and bytes stay a list; mappings, named tuples
    and sequences keep their structure. Raises TypeError for other types, RuntimeError for sequences of unequal length.

    >>> torch.utils.data.default_collate([{"x": 1.0, "name": "a"}, {"x": 2.0, "name": "b"}])
    {'x': tensor([1., 2.], dtype=torch.float64), 'name': ['a', 'b']}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(batch: Any, *, collate_fn_map: dict[type | tuple[type, ...], Callable] | None = None) -> Any:
    """`default_collate` with a table of your own: type, or tuple of types, to ``fn(batch, *, collate_fn_map)``."""
    first = batch[0]
    kind = type(first)
    if collate_fn_map is not None:
        function = collate_fn_map.get(kind)
        if function is None:
            function = next((f for types, f in collate_fn_map.items() if isinstance(first, types)), None)
        if function is None and _is_numpy(kind) and collate_fn_map is default_collate_fn_map:
            function = _collate_numpy
        if function is not None:
            return function(batch, collate_fn_map=collate_fn_map)

    if isinstance(first, Mapping):
        columns = {key: collate([d[key] for d in batch], collate_fn_map=collate_fn_map) for key in first}
        return _map_mapping(first, columns)
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        columns = zip(*batch, strict=True)
        return kind(*(collate(samples, collate_fn_map=collate_fn_map) for samples in columns))
    if isinstance(first, Sequence):
        lengths = {len(sample) for sample in batch}
        if len(lengths) > 1:
            raise RuntimeError(
                f"collate: the {kind.__name__}s of a batch must have equal lengths, got {sorted(lengths)}; give the "
                "loader a collate_fn that pads, for example"
            )
        columns = [collate(samples, collate_fn_map=collate_fn_map) for samples in zip(*batch, strict=True)]
        return columns if isinstance(first, tuple) else _map_sequence(first, columns)
    raise TypeError(
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {kind.__name__}"
    )


def _map_mapping(like: Mapping, values: dict) -> Any:
    """``values`` in a mapping of the type of ``like``; a plain dict where that type cannot be made."""
    if type(like) is dict:
        return values
    try:
        if isinstance(like, MutableMapping):
            import copy

            clone = copy.copy(like)
            clone.update(values)
            return clone
        return type(like)(values)
    except TypeError:
        return values


def _map_sequence(like: Sequence, values: list) -> Any:
    """``values`` in a sequence of the type of ``like``; a list where that type cannot be made (a range)."""
    if type(like) is list:
        return values
    try:
        if isinstance(like, MutableSequence):
            import copy

            clone = copy.copy(like)
            for i, value in enumerate(values):
                clone[i] = value
            return clone
        return type(like)(values)
    except TypeError:
        return values


def collate_tensor_fn(batch: Any, *, collate_fn_map: Any = None) -> Tensor:
    try:
        return stack(batch, 0)
    except RuntimeError:
        shapes = sorted({tuple(t.shape) for t in batch})
        if len(shapes) == 1:
            raise
        raise RuntimeError(
            f"stack expects each tensor to be equal size: the samples of a batch have shapes {shapes[:4]}; give the "
            "loader a collate_fn that pads, for example"
        ) from None


def collate_float_fn(batch: Any, *, collate_fn_map: Any = None) -> Tensor:
    return tensor(batch, dtype=float64)


def collate_int_fn(batch: Any, *, collate_fn_map: Any = None) -> Tensor:
    return tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    return batch


def _is_numpy(kind: type) -> bool:
    return any(base.__module__ == "numpy" for base in kind.__mro__)


def _has_text_or_objects(value: Any) -> bool:
    return hasattr(value, "dtype") and value.dtype.kind in "SUOaV"


def _collate_numpy(batch: Any, *, collate_fn_map: Any = None) -> Any:
    first = batch[0]
    if _has_text_or_objects(first):
        raise TypeError(
            f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {first.dtype}"
        )
    if first.shape == ():
        return as_tensor(batch)
    return collate([as_tensor(b) for b in batch], collate_fn_map=collate_fn_map)


default_collate_fn_map: dict[type | tuple[type, ...], Callable] = {
    Tensor: collate_tensor_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}
