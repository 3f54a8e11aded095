"""What runs in a worker process."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

# Seconds between two looks at whether the parent is still alive.
_PARENT_CHECK_INTERVAL = 5.0

_worker_info: WorkerInfo | None = None


@dataclass
class WorkerInfo:
    """Which worker this is: its number ``id``, of ``num_workers``; its ``seed``; and its copy of the ``dataset``."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


def get_worker_info() -> WorkerInfo | None:
    """The `WorkerInfo` of this process, or None in the process that made the loader.

    >>> torch.utils.data.get_worker_info() is None
    True
    """
    return _worker_info


@dataclass
class WorkerSetup:
    """All a worker needs to start; pickled where processes are not forked."""

    worker_id: int
    num_workers: int
    base_seed: int
    dataset: Any
    is_iterable: bool
    auto_collation: bool
    collate_fn: Callable
    drop_last: bool
    init_fn: Callable[[int], None] | None


# What the loader sends: a task (number, indices), or this word, to start the dataset over.
RESUME = "resume"
# What the worker answers: (kind, task number, payload).
DATA, END, FAILURE = "data", "end", "failure"


def run_worker(setup: WorkerSetup, channel: Any) -> None:
    """Answers every task of ``channel`` in order, until the loader closes it or is gone."""
    from .channel import close_loader_ends

    try:
        close_loader_ends()
        _serve(setup, channel)
    except (KeyboardInterrupt, BrokenPipeError, ConnectionResetError, EOFError):
        # The parent was interrupted, or does not listen any more: it reports whatever there is to report.
        pass
    finally:
        channel.close()


def _serve(setup: WorkerSetup, channel: Any) -> None:
    from multiprocessing import parent_process

    from .failure import Failure

    where = f"in DataLoader worker process {setup.worker_id}"
    fetch, failure = None, None
    try:
        _prepare(setup)
        fetch = _make_fetch(setup)
    except Exception:
        failure = Failure.of_current_exception(where)
    while True:
        while not channel.poll(_PARENT_CHECK_INTERVAL):
            parent = parent_process()
            assert parent is not None  # this is a process that a loader started
            if not parent.is_alive():
                return
        message = channel.receive()
        if message == RESUME:
            try:
                fetch, failure = _make_fetch(setup), None
            except Exception:
                failure = Failure.of_current_exception(where)
            continue
        number, indices = message
        if failure is not None:
            channel.send((FAILURE, number, failure))
            continue
        if fetch is None:
            channel.send((END, number, None))
            continue
        try:
            answer = (DATA, number, fetch(indices))
        except StopIteration as stop:
            if not setup.is_iterable:
                answer = (FAILURE, number, Failure.of(stop, where))
            else:
                fetch, answer = None, (END, number, None)
        except Exception:
            answer = (FAILURE, number, Failure.of_current_exception(where))
        try:
            channel.send(answer)
        except (BrokenPipeError, ConnectionResetError):
            raise
        except Exception:
            # The batch cannot be pickled, for example.
            channel.send((FAILURE, number, Failure.of_current_exception(where)))
        # Keep nothing of this batch while the next one is made.
        del answer, message


def _prepare(setup: WorkerSetup) -> None:
    global _worker_info
    from .... import manual_seed, set_num_threads

    set_num_threads(1)
    seed = setup.base_seed + setup.worker_id
    random.seed(seed)
    manual_seed(seed)
    _seed_numpy(setup.base_seed, setup.worker_id)
    _worker_info = WorkerInfo(setup.worker_id, setup.num_workers, seed, setup.dataset)
    if setup.init_fn is not None:
        setup.init_fn(setup.worker_id)


def _make_fetch(setup: WorkerSetup) -> Callable:
    from .fetch import make_fetch

    return make_fetch(setup.dataset, setup.is_iterable, setup.auto_collation, setup.collate_fn, setup.drop_last)


def _seed_numpy(base_seed: int, worker_id: int) -> None:
    """Seed NumPy's global generator: at once if it is loaded, else as soon as the dataset imports it."""
    entropy = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32]

    def seed(numpy_random: Any) -> None:
        numpy_random.seed(numpy_random.SeedSequence(entropy).generate_state(4))

    if "numpy.random" in sys.modules:
        seed(sys.modules["numpy.random"])
    else:
        sys.meta_path.insert(0, _AfterImport("numpy.random", seed))


class _AfterImport:
    """A finder that runs ``action(module)`` once a module has been imported by the other finders."""

    def __init__(self, name: str, action: Callable[[Any], None]) -> None:
        self.name = name
        self.action = action

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self.name:
            return None
        import importlib.util

        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        load = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            load(module)
            self.action(module)

        spec.loader.exec_module = exec_module
        return spec
