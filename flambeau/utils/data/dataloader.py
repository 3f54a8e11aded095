"""The loader: batches of a dataset, loaded in this process or by workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from ... import empty, int64
from ._utils.collate import default_collate, default_convert
from ._utils.fetch import make_fetch
from ._utils.worker import get_worker_info
from .dataset import Dataset, IterableDataset
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = ["DataLoader", "get_worker_info", "default_collate", "default_convert"]

_T_co = TypeVar("_T_co", covariant=True)

# What the iterators were built from: changing it later would have no effect, or half of one.
_FIXED = frozenset(("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"))


class _DatasetKind:
    Map = 0
    Iterable = 1


class _InfiniteConstantSampler(Sampler[None]):
    """Yields None for ever: an iterable dataset has no indices, and decides itself when to end."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


class DataLoader(Generic[_T_co]):
    """Iterates over a dataset in batches.

    Args:
        dataset: a `Dataset` (any object with ``__getitem__`` and ``__len__``) or an `IterableDataset`.
        batch_size: samples per batch; None gives single samples without collating.
        shuffle: a new random order every epoch.
        sampler, batch_sampler: the order of the indices, or of lists of them, instead of ``shuffle``.
        num_workers: processes that load ahead; 0 loads in this process.
        collate_fn: makes a batch of a list of samples; `default_collate` if None.
        drop_last: leave out a last batch that is not full.
        timeout: seconds to wait for a batch of a worker before RuntimeError; 0 waits as long as the worker lives.
        worker_init_fn: called with the worker's number in each worker.
        generator: draws the order, and the seed of the workers.
        prefetch_factor: batches that each worker loads ahead, 2 if None.
        persistent_workers: keep the workers from one epoch to the next.
        in_order: yield batches in the order of the sampler; False yields them as they become ready.
        pin_memory, pin_memory_device: page-locked batches for a faster copy to an accelerator, where there is one.

    Workers that fail or die raise in this process, with the traceback of the worker or the signal that ended it.
    Raises ValueError for options that contradict each other.

    >>> [batch.tolist() for batch in torch.utils.data.DataLoader([1, 2, 3], batch_size=2)]
    [[1, 2], [3]]
    """

    dataset: Dataset[_T_co]
    batch_size: int | None
    num_workers: int
    drop_last: bool
    timeout: float
    sampler: Sampler | Iterable
    prefetch_factor: int | None
    _iterator: Any = None
    __initialized = False

    def __init__(
        self,
        dataset: Dataset[_T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler | Iterable | None = None,
        batch_sampler: Sampler[list] | Iterable[list] | None = None,
        num_workers: int = 0,
        collate_fn: Callable | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        if num_workers < 0:
            raise ValueError(f"DataLoader: num_workers must be at least 0, got {num_workers}")
        if timeout < 0:
            raise ValueError(f"DataLoader: timeout must be at least 0 seconds, got {timeout}")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError("DataLoader: prefetch_factor needs workers, set num_workers > 0")
        if prefetch_factor is not None and prefetch_factor < 0:
            raise ValueError(f"DataLoader: prefetch_factor must be at least 0, got {prefetch_factor}")
        if persistent_workers and num_workers == 0:
            raise ValueError("DataLoader: persistent_workers needs workers, set num_workers > 0")
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self.generator = generator
        self.persistent_workers = persistent_workers

        self._dataset_kind = _DatasetKind.Iterable if isinstance(dataset, IterableDataset) else _DatasetKind.Map
        self._check_sampling(batch_size, shuffle, sampler, batch_sampler, drop_last)
        if batch_sampler is not None:
            batch_size, drop_last = None, False
        if sampler is None:
            if self._dataset_kind == _DatasetKind.Iterable:
                sampler = _InfiniteConstantSampler()
            elif shuffle:
                sampler = RandomSampler(dataset, generator=generator)
            else:
                sampler = SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        if collate_fn is None:
            collate_fn = default_collate if self._auto_collation else default_convert
        self.collate_fn = collate_fn
        self.__initialized = True
        self.check_worker_number_rationality()

    def _check_sampling(self, batch_size: Any, shuffle: Any, sampler: Any, batch_sampler: Any, drop_last: bool) -> None:
        if self._dataset_kind == _DatasetKind.Iterable:
            if shuffle not in (False, None):
                raise ValueError(f"DataLoader: an IterableDataset sets its own order, got shuffle={shuffle}")
            for name, value in (("sampler", sampler), ("batch_sampler", batch_sampler)):
                if value is not None:
                    raise ValueError(f"DataLoader: an IterableDataset sets its own order, got {name}={value}")
        if sampler is not None and shuffle:
            raise ValueError("DataLoader: sampler and shuffle exclude each other")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("DataLoader: batch_sampler excludes batch_size, shuffle, sampler and drop_last")
        elif batch_size is None and drop_last:
            raise ValueError("DataLoader: batch_size=None makes no batches, so drop_last has no meaning")

    @property
    def multiprocessing_context(self) -> Any:
        return self.__multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        if context is not None:
            import multiprocessing
            from multiprocessing.context import BaseContext

            if self.num_workers == 0:
                raise ValueError("DataLoader: multiprocessing_context needs workers, set num_workers > 0")
            if isinstance(context, str):
                known = multiprocessing.get_all_start_methods()
                if context not in known:
                    raise ValueError(f"DataLoader: multiprocessing_context must be one of {known}, got {context!r}")
                context = multiprocessing.get_context(context)
            if not isinstance(context, BaseContext):
                raise TypeError(
                    "DataLoader: multiprocessing_context must be None, the name of a start method or a "
                    f"multiprocessing context, got {type(context).__name__}"
                )
        self.__multiprocessing_context = context

    def __setattr__(self, name: str, value: Any) -> None:
        if self.__initialized and name in _FIXED:
            raise ValueError(f"DataLoader: {name} cannot be changed after the loader was made; make another one")
        super().__setattr__(name, value)

    def _get_iterator(self) -> Any:
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        from ._utils.parallel import _MultiProcessingDataLoaderIter

        return _MultiProcessingDataLoaderIter(self)

    def __iter__(self) -> Any:
        if not (self.persistent_workers and self.num_workers > 0):
            return self._get_iterator()
        # Keeping the workers means keeping their iterator: a second loop starts it over, unless a worker has died.
        if self._iterator is None or self._iterator.is_stopped:
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def __len__(self) -> int:
        if self._dataset_kind == _DatasetKind.Map:
            return len(self._index_sampler)
        length = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)

    def check_worker_number_rationality(self) -> None:
        """Warn when there are more workers than processors to run them."""
        if self.num_workers == 0:
            return
        import os

        available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        if available is not None and self.num_workers > available:
            import warnings

            warnings.warn(
                f"DataLoader: {self.num_workers} workers, but this process may use {available} processors; more "
                "workers than that rarely help",
                stacklevel=3,
            )


def draw_base_seed(loader: DataLoader) -> int:
    """The seed that a worker adds its number to: one draw from the loader's generator per iterator."""
    return empty((), dtype=int64).random_(generator=loader.generator).item()


def pinning(loader: DataLoader) -> Callable[[Any], Any] | None:
    """The function that pins a batch, or None where pinning is off or there is no accelerator."""
    if not loader.pin_memory:
        return None
    from ._utils.pin_memory import pin_memory_or_none

    return pin_memory_or_none(loader.pin_memory_device)


class _BaseDataLoaderIter:
    """What the iterators share. Making one draws the seed of the workers, also where there are none: the random
    stream must not depend on their number.
    """

    def __init__(self, loader: DataLoader) -> None:
        self._loader = loader
        self._sampler_iter = iter(loader._index_sampler)
        self._base_seed = draw_base_seed(loader)
        self._pin = pinning(loader)
        self._num_yielded = 0

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must define __next__")

    def __len__(self) -> int:
        return len(self._loader)


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """Loads each batch when it is asked for."""

    def __init__(self, loader: DataLoader) -> None:
        super().__init__(loader)
        is_iterable = loader._dataset_kind == _DatasetKind.Iterable
        self._fetch = make_fetch(
            loader.dataset, is_iterable, loader._auto_collation, loader.collate_fn, loader.drop_last
        )

    def __next__(self) -> Any:
        data = self._fetch(next(self._sampler_iter))
        if self._pin is not None:
            data = self._pin(data)
        self._num_yielded += 1
        return data


def __getattr__(name: str) -> Any:
    # Brings in multiprocessing, which a loader without workers does without.
    if name == "_MultiProcessingDataLoaderIter":
        from ._utils.parallel import _MultiProcessingDataLoaderIter

        return _MultiProcessingDataLoaderIter
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
