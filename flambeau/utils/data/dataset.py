"""Datasets: by index (`Dataset`) or by iteration (`IterableDataset`), and ways to combine them."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

__all__ = [
    "Dataset",
    "IterableDataset",
    "TensorDataset",
    "StackDataset",
    "ConcatDataset",
    "ChainDataset",
    "Subset",
    "random_split",
]

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)


class Dataset(Generic[_T_co]):
    """A dataset by index: define ``__getitem__``, and ``__len__`` for the samplers.

    ``__getitems__(indices) -> list``, if defined, loads a whole batch. ``a + b`` concatenates.
    """

    def __getitem__(self, index: Any) -> _T_co:
        raise NotImplementedError(f"{type(self).__name__} must define __getitem__")

    def __add__(self, other: Dataset[_T_co]) -> ConcatDataset[_T_co]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[_T_co], Iterable[_T_co]):
    """A dataset by iteration: define ``__iter__``.

    Every loader worker iterates over a copy; use `get_worker_info` there to yield different samples in each.
    """

    def __add__(self, other: Dataset[_T_co]) -> ChainDataset:
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple]):
    """Rows of tensors with one common first dimension. Raises AssertionError when those differ.

    >>> data = torch.utils.data.TensorDataset(torch.arange(3), torch.arange(3) * 10)
    >>> data[1]
    (tensor(1), tensor(10))
    """

    def __init__(self, *tensors: Any) -> None:
        lengths = [t.size(0) for t in tensors]
        if any(n != lengths[0] for n in lengths):
            raise AssertionError(f"TensorDataset: size mismatch between tensors, first dimensions are {lengths}")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].size(0)


class StackDataset(Dataset[Any]):
    """Datasets of equal length side by side: samples are tuples, or dicts when given by keyword.

    Raises ValueError for unequal lengths, no dataset, or a mixture of the two forms.
    """

    datasets: tuple | dict

    def __init__(self, *args: Dataset, **kwargs: Dataset) -> None:
        if bool(args) == bool(kwargs):
            raise ValueError("StackDataset: give datasets either by position or by keyword, and at least one")
        self.datasets = args if args else kwargs
        lengths = [len(d) for d in self._each()]
        if any(n != lengths[0] for n in lengths):
            raise ValueError(f"StackDataset: size mismatch between datasets, lengths are {lengths}")
        self._length = lengths[0]

    def _each(self) -> list:
        return list(self.datasets.values() if isinstance(self.datasets, dict) else self.datasets)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {key: dataset[index] for key, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __getitems__(self, indices: list) -> list:
        columns = [_load_many(dataset, indices) for dataset in self._each()]
        if isinstance(self.datasets, dict):
            return [dict(zip(self.datasets, row, strict=True)) for row in zip(*columns, strict=True)]
        return list(zip(*columns, strict=True))

    def __len__(self) -> int:
        return self._length


def _load_many(dataset: Any, indices: list) -> list:
    if not callable(getattr(dataset, "__getitems__", None)):
        return [dataset[i] for i in indices]
    items = dataset.__getitems__(indices)
    if len(items) != len(indices):
        raise ValueError(
            f"{type(dataset).__name__}.__getitems__ returned {len(items)} samples for {len(indices)} indices"
        )
    return items


class ConcatDataset(Dataset[_T_co]):
    """Datasets one after the other. Raises AssertionError for none, or for an `IterableDataset`."""

    datasets: list[Dataset[_T_co]]
    cumulative_sizes: list[int]

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        ends, total = [], 0
        for dataset in sequence:
            total += len(dataset)
            ends.append(total)
        return ends

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("ConcatDataset: datasets must not be empty")
        for i, dataset in enumerate(self.datasets):
            if isinstance(dataset, IterableDataset):
                raise AssertionError(f"ConcatDataset: datasets[{i}] is an IterableDataset; use ChainDataset for those")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> _T_co:
        if index < 0:
            if -index > len(self):
                raise ValueError(f"ConcatDataset: index {index} is out of range for length {len(self)}")
            index += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, index)
        if which == len(self.datasets):
            raise IndexError(f"ConcatDataset: index {index} is out of range for length {len(self)}")
        return self.datasets[which][index - (self.cumulative_sizes[which - 1] if which else 0)]

    @property
    def cummulative_sizes(self) -> list[int]:
        import warnings

        warnings.warn("cummulative_sizes is spelled cumulative_sizes", FutureWarning, stacklevel=2)
        return self.cumulative_sizes


class ChainDataset(IterableDataset):
    """Iterable datasets one after the other, each started when its turn comes."""

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        super().__init__()
        self.datasets = datasets

    def __iter__(self) -> Iterator:
        for dataset in self.datasets:
            _check_iterable(dataset)
            yield from dataset

    def __len__(self) -> int:
        total = 0
        for dataset in self.datasets:
            _check_iterable(dataset)
            total += len(dataset)
        return total


def _check_iterable(dataset: Any) -> None:
    if not isinstance(dataset, IterableDataset):
        raise AssertionError(f"ChainDataset: every dataset must be an IterableDataset, got {type(dataset).__name__}")


class Subset(Dataset[_T_co]):
    """The samples of ``dataset`` at ``indices``."""

    dataset: Dataset[_T_co]
    indices: Sequence[int]

    def __init__(self, dataset: Dataset[_T_co], indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: list[int]) -> list[_T_co]:
        places = [self.indices[i] for i in indices]
        if callable(getattr(self.dataset, "__getitems__", None)):
            return self.dataset.__getitems__(places)
        return [self.dataset[i] for i in places]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Dataset[_T], lengths: Sequence[int | float], generator: Any = None) -> list[Subset[_T]]:
    """Split at random into subsets of the given lengths, or fractions that add up to 1.

    A remainder of the fractions goes round the subsets one by one. Raises ValueError when lengths do not add up.

    >>> [len(part) for part in torch.utils.data.random_split(range(10), [0.7, 0.3])]
    [7, 3]
    """
    import math

    from ... import randperm

    total = len(dataset)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _lengths_of_fractions(lengths, total)
    if sum(lengths) != total:
        raise ValueError(f"random_split: lengths {list(lengths)} add up to {sum(lengths)}, the dataset has {total}")
    order = randperm(total, generator=generator).tolist()
    parts, start = [], 0
    for length in lengths:
        parts.append(Subset(dataset, order[start : start + length]))
        start += length
    return parts


def _lengths_of_fractions(fractions: Sequence[float], total: int) -> list[int]:
    import math

    for i, fraction in enumerate(fractions):
        if fraction < 0 or fraction > 1:
            raise ValueError(f"random_split: fraction {i} is {fraction}, expected a number between 0 and 1")
    lengths = [math.floor(total * fraction) for fraction in fractions]
    for i in range(total - sum(lengths)):
        lengths[i % len(lengths)] += 1
    for i, length in enumerate(lengths):
        if length == 0:
            import warnings

            warnings.warn(f"random_split: part {i} is empty", stacklevel=3)
    return lengths
