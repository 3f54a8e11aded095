"""Steps of pipelines that are iterated over."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .._utils.collate import default_collate
from .datapipe import IterDataPipe, functional_datapipe

__all__ = ["Batcher", "Collator", "Concater", "Filter", "IterableWrapper", "Mapper", "Shuffler", "UnBatcher", "Zipper"]


class IterableWrapper(IterDataPipe):
    """A pipeline's beginning: the elements of any iterable, copied first unless ``deepcopy`` is False."""

    def __init__(self, iterable: Iterable, deepcopy: bool = True) -> None:
        self.iterable = iterable
        self.deepcopy = deepcopy

    def __iter__(self) -> Iterator:
        source = self.iterable
        if self.deepcopy:
            import copy

            try:
                source = copy.deepcopy(source)
            except TypeError:
                # A generator, for one, cannot be copied, and is used up by the first pass.
                source = self.iterable
        yield from source

    def __len__(self) -> int:
        return len(self.iterable)


class _Step(IterDataPipe):
    """A step with one source, of the same length."""

    def __init__(self, datapipe: Iterable) -> None:
        self.datapipe = datapipe

    def __len__(self) -> int:
        return len(self.datapipe)


@functional_datapipe("map")
class Mapper(_Step):
    """``fn`` of every element."""

    def __init__(self, datapipe: Iterable, fn: Callable) -> None:
        super().__init__(datapipe)
        self.fn = fn

    def __iter__(self) -> Iterator:
        return map(self.fn, self.datapipe)


@functional_datapipe("collate")
class Collator(Mapper):
    """Batches joined by ``collate_fn``."""

    def __init__(self, datapipe: Iterable, collate_fn: Callable = default_collate) -> None:
        super().__init__(datapipe, collate_fn)


@functional_datapipe("filter")
class Filter(IterDataPipe):
    """The elements for which ``filter_fn`` is true."""

    def __init__(self, datapipe: Iterable, filter_fn: Callable) -> None:
        self.datapipe = datapipe
        self.filter_fn = filter_fn

    def __iter__(self) -> Iterator:
        return filter(self.filter_fn, self.datapipe)


@functional_datapipe("batch")
class Batcher(IterDataPipe):
    """Lists of ``batch_size`` elements; ``drop_last`` leaves a shorter last one out."""

    def __init__(self, datapipe: Iterable, batch_size: int, drop_last: bool = False) -> None:
        if batch_size <= 0:
            raise AssertionError(f"Batcher: batch_size must be positive, got {batch_size}")
        self.datapipe = datapipe
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list]:
        elements = iter(self.datapipe)
        while batch := list(itertools.islice(elements, self.batch_size)):
            if self.drop_last and len(batch) < self.batch_size:
                return
            yield batch

    def __len__(self) -> int:
        count = len(self.datapipe)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


@functional_datapipe("unbatch")
class UnBatcher(IterDataPipe):
    """The elements of batches, one by one."""

    def __init__(self, datapipe: Iterable) -> None:
        self.datapipe = datapipe

    def __iter__(self) -> Iterator:
        return itertools.chain.from_iterable(self.datapipe)


@functional_datapipe("shuffle")
class Shuffler(_Step):
    """A random order, within a buffer of ``buffer_size`` elements; seeded by one draw from the global generator."""

    def __init__(self, datapipe: Iterable, *, buffer_size: int = 10000, unbatch_level: int = 0) -> None:
        super().__init__(datapipe)
        if buffer_size <= 0:
            raise ValueError(f"Shuffler: buffer_size must be positive, got {buffer_size}")
        self.buffer_size = buffer_size
        self._enabled = True
        self._seed: int | None = None

    def set_shuffle(self, shuffle: bool = True) -> Shuffler:
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> Shuffler:
        self._seed = seed
        return self

    def __iter__(self) -> Iterator:
        if not self._enabled:
            yield from self.datapipe
            return
        import random

        from .... import empty, int64

        seed = int(empty((), dtype=int64).random_().item()) if self._seed is None else self._seed
        self._seed = None
        generator = random.Random(seed)
        buffer: list[Any] = []
        for element in self.datapipe:
            if len(buffer) < self.buffer_size:
                buffer.append(element)
                continue
            i = generator.randrange(self.buffer_size)
            buffer[i], element = element, buffer[i]
            yield element
        generator.shuffle(buffer)
        yield from buffer


@functional_datapipe("concat")
class Concater(IterDataPipe):
    """Pipelines one after the other."""

    def __init__(self, *datapipes: Iterable) -> None:
        self.datapipes = datapipes

    def __iter__(self) -> Iterator:
        return itertools.chain.from_iterable(self.datapipes)

    def __len__(self) -> int:
        return sum(map(len, self.datapipes))


@functional_datapipe("zip")
class Zipper(IterDataPipe):
    """Tuples of the elements of several pipelines, as long as the shortest."""

    def __init__(self, *datapipes: Iterable) -> None:
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[tuple]:
        return zip(*self.datapipes, strict=False)

    def __len__(self) -> int:
        return min(map(len, self.datapipes))
