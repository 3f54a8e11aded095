"""From indices to a collated batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..dataset import Subset, TensorDataset
from . import collate as collation


def make_fetch(
    dataset: Any, is_iterable: bool, auto_collation: bool, collate_fn: Callable, drop_last: bool
) -> Callable[[Any], Any]:
    """A function from what the sampler yields to a batch. For an iterable dataset it raises StopIteration at the end.

    Without ``auto_collation`` (``batch_size=None``) it loads one sample.
    """
    if is_iterable:
        return _fetch_from_iterator(iter(dataset), auto_collation, collate_fn, drop_last)
    if not auto_collation:
        return lambda index: collate_fn(dataset[index])
    if collate_fn is collation.default_collate and _is_rows_of_tensors(dataset):
        return lambda indices: _fetch_rows(dataset, indices)
    if callable(getattr(dataset, "__getitems__", None)):
        return lambda indices: collate_fn(dataset.__getitems__(indices))
    return lambda indices: collate_fn([dataset[i] for i in indices])


def _fetch_from_iterator(
    iterator: Iterator, auto_collation: bool, collate_fn: Callable, drop_last: bool
) -> Callable[[Any], Any]:
    ended = False

    def fetch(indices: Any) -> Any:
        nonlocal ended
        if not auto_collation:
            return collate_fn(next(iterator))
        if ended:
            raise StopIteration
        samples = []
        for _ in indices:
            try:
                samples.append(next(iterator))
            except StopIteration:
                # An iterator need not keep raising once it has ended, so that is remembered here.
                ended = True
                break
        if not samples or (drop_last and len(samples) < len(indices)):
            raise StopIteration
        return collate_fn(samples)

    return fetch


def _is_rows_of_tensors(dataset: Any) -> bool:
    while type(dataset) is Subset:
        dataset = dataset.dataset
    return (
        type(dataset) is TensorDataset
        and collation.default_collate_fn_map.get(collation.Tensor) is collation.collate_tensor_fn
        and all(type(t) is collation.Tensor for t in dataset.tensors)
    )


def _fetch_rows(dataset: Any, indices: list) -> list:
    """The rows at ``indices`` in one operation per tensor, equal to loading them one by one and stacking them."""
    from .... import tensor

    while type(dataset) is Subset:
        indices = [dataset.indices[i] for i in indices]
        dataset = dataset.dataset
    rows = tensor(indices)
    return [t[rows] for t in dataset.tensors]
