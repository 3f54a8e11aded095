"""Loading by worker processes."""

from __future__ import annotations

import contextlib
import os
import time
import weakref
from collections import deque
from typing import Any

from ..dataloader import DataLoader, _BaseDataLoaderIter, _DatasetKind
from . import MP_STATUS_CHECK_INTERVAL
from .channel import Channel
from .worker import END, FAILURE, RESUME, WorkerSetup, run_worker


class _Worker:
    """A worker process, the loader's end of its channel, and the numbers of the tasks it has yet to answer."""

    def __init__(self, context: Any, setup: WorkerSetup, prefetch: int) -> None:
        # Twice as many messages may be under way when an epoch starts over before the last one was read to its end.
        self.channel, their_end = Channel.pair(context, 2 * prefetch + 2)
        self.process = context.Process(target=run_worker, args=(setup, their_end), daemon=True)
        self.process.start()
        # Only the worker holds its end now: when it dies, reading gives end-of-file.
        their_end.close()
        self.tasks: deque[int] = deque()
        self.ended = False

    def has_answer(self, timeout: float) -> bool:
        return self.channel.poll(timeout)

    def death(self) -> RuntimeError:
        """The error that reports how the worker ended."""
        self.process.join(timeout=1.0)
        code = self.process.exitcode
        how = f"exited with code {code}"
        if code is not None and code < 0:
            import signal

            name = signal.Signals(-code).name if -code in set(signal.Signals) else str(-code)
            how = f"was killed by signal {name}"
            if name == "SIGKILL":
                how += " (perhaps because the machine ran out of memory)"
        task = f" while it had batch {self.tasks[0]} to load" if self.tasks else ""
        return RuntimeError(f"DataLoader worker (pid {self.process.pid}) {how}{task}")


def _stop(workers: list[_Worker], owner_pid: int) -> None:
    """End the workers: each sees its channel close. One that is stuck is terminated."""
    for worker in workers:
        worker.channel.close()
    if os.getpid() != owner_pid:
        return
    deadline = time.monotonic() + MP_STATUS_CHECK_INTERVAL
    for worker in workers:
        worker.process.join(timeout=max(0.0, deadline - time.monotonic()))
        if worker.process.is_alive():
            worker.process.terminate()
            worker.process.join()
    workers.clear()


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Keeps ``prefetch_factor`` batches per worker in the making.

    Tasks go to the workers in turn, and every task gets one answer: a batch, the end of an iterable dataset, or a
    failure. Numbers of tasks go on from epoch to epoch, so answers to an epoch that was left early can be told apart.
    """

    def __init__(self, loader: DataLoader) -> None:
        import multiprocessing

        super().__init__(loader)
        self._prefetch = max(loader.prefetch_factor or 0, 1)
        self._next_number = 0
        context = loader.multiprocessing_context or multiprocessing
        self._workers: list[_Worker] = []
        self._stop = weakref.finalize(self, _stop, self._workers, os.getpid())
        for i in range(loader.num_workers):
            self._workers.append(_Worker(context, self._setup(i), self._prefetch))
        self._start_epoch()

    def _setup(self, i: int) -> WorkerSetup:
        loader = self._loader
        return WorkerSetup(
            worker_id=i,
            num_workers=loader.num_workers,
            base_seed=self._base_seed,
            dataset=loader.dataset,
            is_iterable=loader._dataset_kind == _DatasetKind.Iterable,
            auto_collation=loader._auto_collation,
            collate_fn=loader.collate_fn,
            drop_last=loader.drop_last,
            init_fn=loader.worker_init_fn,
        )

    @property
    def is_stopped(self) -> bool:
        return not self._stop.alive

    def _reset(self, loader: DataLoader) -> None:
        """Start over with the same workers."""
        self._sampler_iter = iter(loader._index_sampler)
        for worker in self._workers:
            self._send(worker, RESUME)
            worker.ended = False
            worker.tasks.clear()
        self._start_epoch()

    def _start_epoch(self) -> None:
        self._num_yielded = 0
        self._order: deque[_Worker] = deque()
        self._turn = 0
        for _ in range(self._prefetch * len(self._workers)):
            self._assign()

    def _assign(self, worker: _Worker | None = None) -> None:
        """Give the next task to ``worker``, or to the next one in turn."""
        if worker is None or worker.ended:
            worker = self._next_in_turn()
        if worker is None:
            return
        try:
            indices = next(self._sampler_iter)
        except StopIteration:
            return
        worker.tasks.append(self._next_number)
        self._order.append(worker)
        self._send(worker, (self._next_number, indices))
        self._next_number += 1

    def _next_in_turn(self) -> _Worker | None:
        for _ in self._workers:
            worker = self._workers[self._turn]
            self._turn = (self._turn + 1) % len(self._workers)
            if not worker.ended:
                return worker
        return None

    def _send(self, worker: _Worker, message: Any) -> None:
        # A worker that is dead is reported when its turn comes to be read from.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            worker.channel.send(message)

    def __next__(self) -> Any:
        while self._order:
            worker = self._order[0] if self._loader.in_order else self._first_ready()
            self._wait_for(worker)
            try:
                kind, number, payload = worker.channel.receive()
            except (EOFError, ConnectionResetError):
                error = worker.death()
                self._stop()
                self._order.clear()
                raise error from None
            if not worker.tasks or number < worker.tasks[0]:
                continue
            worker.tasks.popleft()
            self._order.remove(worker)
            if kind == END:
                worker.ended = True
                self._assign()
                continue
            self._assign(None if self._loader.in_order else worker)
            if kind == FAILURE:
                payload.reraise()
            self._num_yielded += 1
            return payload if self._pin is None else self._pin(payload)
        if not self._loader.persistent_workers:
            self._stop()
        raise StopIteration

    def _wait_for(self, worker: _Worker) -> None:
        timeout = self._loader.timeout
        deadline = time.monotonic() + timeout if timeout > 0 else float("inf")
        while not worker.has_answer(min(MP_STATUS_CHECK_INTERVAL, max(0.0, deadline - time.monotonic()))):
            if not worker.process.is_alive() and not worker.has_answer(0):
                # A process that the dataset started may hold the channel open, and hide the end-of-file.
                raise worker.death()
            if time.monotonic() >= deadline:
                raise RuntimeError(
                    f"DataLoader timed out after {timeout} seconds waiting for batch {worker.tasks[0]} of worker "
                    f"pid {worker.process.pid}"
                )

    def _first_ready(self) -> _Worker:
        """A worker that has an answer or has died; after the time limit, whichever is next in turn."""
        from multiprocessing.connection import wait

        busy = {id(w): w for w in self._order}
        deadline = time.monotonic() + (self._loader.timeout or float("inf"))
        while time.monotonic() < deadline:
            interval = min(MP_STATUS_CHECK_INTERVAL, deadline - time.monotonic())
            ready = wait([w.channel for w in busy.values()], max(0.0, interval))
            for worker in busy.values():
                if worker.channel in ready or not worker.process.is_alive():
                    return worker
        return self._order[0]
