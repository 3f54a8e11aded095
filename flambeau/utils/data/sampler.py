"""Samplers: the order in which a loader asks a dataset for samples."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

_T_co = TypeVar("_T_co", covariant=True)

# Draws with replacement come in blocks, so that an epoch of any length takes little memory.
_BLOCK = 32


class Sampler(Generic[_T_co]):
    """Base of samplers: define ``__iter__``, yielding indices or lists of indices, and ``__len__`` if known."""

    def __iter__(self) -> Iterator[_T_co]:
        raise NotImplementedError(f"{type(self).__name__} must define __iter__")


class SequentialSampler(Sampler[int]):
    """0, 1, 2 and so on."""

    data_source: Sized

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


def _seeded_generator() -> Any:
    """A generator of its own, seeded by one draw from the global one."""
    from ... import Generator, empty, int64

    generator = Generator()
    generator.manual_seed(int(empty((), dtype=int64).random_().item()))
    return generator


class RandomSampler(Sampler[int]):
    """A random order; ``num_samples`` draws with replacement, or as many passes without as that takes.

    Raises TypeError unless ``replacement`` is a bool, ValueError unless ``num_samples`` is a positive int.
    """

    data_source: Sized
    replacement: bool

    def __init__(
        self, data_source: Sized, replacement: bool = False, num_samples: int | None = None, generator: Any = None
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(f"RandomSampler: replacement must be a bool, got {replacement!r}")
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(f"RandomSampler: num_samples must be a positive int, got {self.num_samples!r}")

    @property
    def num_samples(self) -> int:
        # The dataset may grow, so its length is asked for each time.
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        from ... import int64, randint, randperm

        n = len(self.data_source)
        generator = _seeded_generator() if self.generator is None else self.generator
        wanted = self.num_samples
        if self.replacement:
            for size in [_BLOCK] * (wanted // _BLOCK) + [wanted % _BLOCK]:
                yield from randint(high=n, size=(size,), dtype=int64, generator=generator).tolist()
        else:
            for _ in range(wanted // n):
                yield from randperm(n, generator=generator).tolist()
            yield from randperm(n, generator=generator).tolist()[: wanted % n]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices in a random order."""

    indices: Sequence[int]

    def __init__(self, indices: Sequence[int], generator: Any = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        from ... import randperm

        for i in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn with the given relative weights.

    Raises ValueError for weights that are not a vector, and for ``num_samples`` that is not a positive int.
    """

    weights: Any
    num_samples: int
    replacement: bool

    def __init__(
        self, weights: Sequence[float], num_samples: int, replacement: bool = True, generator: Any = None
    ) -> None:
        from ... import as_tensor, float64

        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError(f"WeightedRandomSampler: num_samples must be a positive int, got {num_samples!r}")
        if not isinstance(replacement, bool):
            raise ValueError(f"WeightedRandomSampler: replacement must be a bool, got {replacement!r}")
        tensor = as_tensor(weights, dtype=float64)
        if tensor.dim() != 1:
            raise ValueError(f"WeightedRandomSampler: weights must be a vector, got shape {list(tensor.shape)}")
        self.weights = tensor
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        from ... import multinomial

        yield from iter(
            multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator).tolist()
        )

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list]):
    """Lists of ``batch_size`` indices from another sampler; ``drop_last`` leaves a shorter last one out.

    >>> list(torch.utils.data.BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Sampler[int] | Iterable[int], batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(f"BatchSampler: batch_size must be a positive int, got {batch_size!r}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"BatchSampler: drop_last must be a bool, got {drop_last!r}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if self.drop_last and len(batch) < self.batch_size:
                return
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
