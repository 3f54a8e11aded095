"""Datasets, samplers and the loader: PyTorch's order and batches; workers that fail are reported."""

import os
import random
import signal
import time

import numpy as np
import pytest
import torch

import flambeau
from flambeau.utils import data


def plain(value):
    """Tensors and arrays as lists, so that batches of both libraries compare."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def tensors(library):
    return library.utils.data.TensorDataset(library.arange(11), library.arange(22.0).view(11, 2))


DATASETS = {
    "tensors": tensors,
    "list": lambda library: list(range(10)),
    "dicts": lambda library: [{"a": np.ones(2), "b": (i, "x"), "c": 0.5} for i in range(7)],
    "split": lambda library: library.utils.data.random_split(tensors(library), [0.5, 0.5])[0],
    "concat": lambda library: tensors(library) + tensors(library),
}
OPTIONS = {
    "plain": {"batch_size": 2},
    "shuffled": {"batch_size": 3, "shuffle": True},
    "dropping": {"batch_size": 4, "shuffle": True, "drop_last": True},
    "single": {"batch_size": None},
    "workers": {"batch_size": 3, "shuffle": True, "num_workers": 2},
    "persistent": {"batch_size": 2, "shuffle": True, "num_workers": 1, "persistent_workers": True},
}


@pytest.mark.parametrize("dataset", DATASETS)
@pytest.mark.parametrize("options", OPTIONS)
def test_batches_and_random_stream(dataset, options):
    def epochs(library):
        library.manual_seed(3)
        loader = library.utils.data.DataLoader(DATASETS[dataset](library), **OPTIONS[options])
        return [plain(list(loader)), plain(list(loader)), library.rand(2).tolist()]

    assert epochs(flambeau) == epochs(torch)


class Counting(data.IterableDataset):
    def __iter__(self):
        info = data.get_worker_info()
        return iter(range(20) if info is None else range(info.id, 20, info.num_workers))


def test_iterable():
    assert plain(list(data.DataLoader(Counting(), batch_size=8))) == [[*range(8)], [*range(8, 16)], [*range(16, 20)]]
    batches = plain(list(data.DataLoader(Counting(), batch_size=4, num_workers=2)))
    assert batches[:2] == [[0, 2, 4, 6], [1, 3, 5, 7]]
    assert sorted(i for batch in batches for i in batch) == list(range(20))


class Failing:
    def __init__(self, error):
        self.error = error

    def __len__(self):
        return 12

    def __getitem__(self, i):
        if i == 5:
            raise self.error
        return i


class Peculiar(Exception):
    def __init__(self, a, b):
        super().__init__(a, b)


@pytest.mark.parametrize(
    ("error", "expected"),
    [(KeyError("five"), KeyError), (Peculiar(1, 2), RuntimeError), (StopIteration(), RuntimeError)],
)
def test_errors_in_workers_come_with_their_traceback(error, expected):
    iterator = iter(data.DataLoader(Failing(error), batch_size=2, num_workers=2))
    next(iterator), next(iterator)
    with pytest.raises(expected, match=r"(?s)worker process 0.*__getitem__"):
        next(iterator)
    assert next(iterator).tolist() == [6, 7]


class Dying:
    def __len__(self):
        return 64

    def __getitem__(self, i):
        if i == 20:
            os.kill(os.getpid(), signal.SIGKILL)
        return i


@pytest.mark.parametrize("in_order", [True, False])
def test_death_of_a_worker(in_order):
    started = time.monotonic()
    with pytest.raises(RuntimeError, match=r"killed by signal SIGKILL.*batch 5"):
        list(data.DataLoader(Dying(), batch_size=4, num_workers=2, in_order=in_order))
    assert time.monotonic() - started < 10


def test_persistent_workers_are_replaced_after_a_death():
    loader = data.DataLoader(Dying(), batch_size=4, num_workers=1, persistent_workers=True)
    for _ in range(2):
        iterator = iter(loader)
        assert next(iterator).tolist() == [0, 1, 2, 3]
        with pytest.raises(RuntimeError, match="SIGKILL"):
            list(iterator)


class Slow:
    def __len__(self):
        return 6

    def __getitem__(self, i):
        time.sleep(0.5 if i == 0 else 0.0)
        return i


def test_timeout_and_order():
    with pytest.raises(RuntimeError, match="timed out"):
        list(data.DataLoader(Slow(), num_workers=1, timeout=0.1))
    assert [x.item() for x in data.DataLoader(Slow(), num_workers=2)] == list(range(6))
    loose = [x.item() for x in data.DataLoader(Slow(), num_workers=2, in_order=False)]
    assert sorted(loose) == list(range(6))
    assert loose[0] != 0


class Drawing:
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return [float(np.random.randint(1 << 30)), random.random(), flambeau.rand(1).item()]


def test_workers_draw_different_numbers_and_repeat_them():
    def run():
        flambeau.manual_seed(3)
        loader = data.DataLoader(Drawing(), batch_size=2, num_workers=2, collate_fn=list)
        return [sample for _ in range(2) for batch in loader for sample in batch]

    first = run()
    for column in zip(*first, strict=True):
        assert len(set(column)) == 16
    assert run() == first


class Large:
    def __len__(self):
        return 40

    def __getitem__(self, i):
        return flambeau.full((64, 64), float(i)), np.full((50, 50), i), flambeau.empty(0, 3)


def test_large_batches_stay_valid_and_need_no_descriptors():
    before = len(os.listdir("/proc/self/fd"))
    loader = data.DataLoader(Large(), batch_size=2, num_workers=2)
    kept = list(loader)
    del loader
    assert len(os.listdir("/proc/self/fd")) <= before + 8
    for i, (x, y, z) in enumerate(kept):
        assert x[1].unique().tolist() == [2 * i + 1]
        assert y[0].unique().tolist() == [2 * i]
        assert z.shape == (2, 0, 3)
        x.add_(1)


def test_early_end_of_a_persistent_epoch():
    loader = data.DataLoader(list(range(50)), batch_size=5, num_workers=2, persistent_workers=True)
    iterator = iter(loader)
    next(iterator), next(iterator)
    assert [b[0].item() for b in loader] == list(range(0, 50, 5))


@pytest.mark.parametrize(
    "options",
    [
        {"num_workers": -1},
        {"timeout": -1},
        {"prefetch_factor": 2},
        {"persistent_workers": True},
        {"batch_size": 0},
        {"batch_size": None, "drop_last": True},
        {"sampler": [1], "shuffle": True},
        {"batch_sampler": [[1]], "batch_size": 3},
    ],
    ids=str,
)
def test_refuses(options):
    with pytest.raises(ValueError, match=r".+"):
        data.DataLoader([1, 2, 3], **options)


def test_samplers_draw_as_pytorch():
    for make in (
        lambda d: d.RandomSampler(range(10), replacement=True, num_samples=70),
        lambda d: d.RandomSampler(range(10), num_samples=25),
        lambda d: d.SubsetRandomSampler([4, 7, 9]),
        lambda d: d.WeightedRandomSampler([0.1, 0.5, 2.0], 5),
        lambda d: d.DistributedSampler(range(7), 3, 1),
    ):
        flambeau.manual_seed(5)
        ours = list(make(data))
        torch.manual_seed(5)
        assert ours == list(make(torch.utils.data))


def test_data_pipes():
    pipe = data.datapipes.iter.IterableWrapper(range(7)).map(lambda x: x * 10).filter(lambda x: x != 30)
    assert list(pipe.batch(2)) == [[0, 10], [20, 40], [50, 60]]
    assert sorted(pipe.shuffle(buffer_size=3)) == [0, 10, 20, 40, 50, 60]
    assert list(pipe.zip(pipe))[1] == (10, 10)
    assert plain(list(data.DataLoader(pipe, batch_size=4))) == [[0, 10, 20, 40], [50, 60]]

    @data.functional_datapipe("twice")
    class Twice(data.IterDataPipe):
        def __init__(self, source):
            self.source = source

        def __iter__(self):
            for x in self.source:
                yield from (x, x)

    assert list(data.datapipes.iter.IterableWrapper("ab").twice()) == ["a", "a", "b", "b"]
    with pytest.raises(AttributeError):
        pipe.nothing()
