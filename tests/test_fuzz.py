"""Every entry of the op table, in every form, with wild arguments: exceptions and nothing else.

The calls are made in other processes, so that a crash or a hang is charged to its op. They are the same in every run; a
fault names the command that repeats its call alone. FUZZ_CALLS sets how many calls each form gets.
"""

from __future__ import annotations

import os
import queue
import select
import subprocess
import sys
import threading

import pytest
from table.entries import table

CALLS = int(os.environ.get("FUZZ_CALLS", "60"))
SECONDS_PER_CALL = 20
# What ops call among themselves is checked by those who call it.
PUBLIC = [entry for entry in table() if entry.namespace != "_C"]
WORKERS = 2


class Worker:
    def __init__(self) -> None:
        here = os.path.dirname(__file__)
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join([here, os.environ.get("PYTHONPATH", "")]))
        environment.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "table.fuzzing", "serve", str(CALLS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
        self.errors = bytearray()
        self.unread = b""
        threading.Thread(target=self.drain, daemon=True).start()

    def drain(self) -> None:
        for line in self.process.stderr:
            self.errors += line
            del self.errors[:-20_000]

    def lines(self):
        """What it says, line by line; ends when it dies, raises TimeoutError when it says nothing for long."""
        out = self.process.stdout.fileno()
        while True:
            while b"\n" in self.unread:
                line, _, self.unread = self.unread.partition(b"\n")
                yield line.decode()
            if not select.select([out], [], [], SECONDS_PER_CALL)[0]:
                raise TimeoutError
            more = os.read(out, 1 << 16)
            if not more:
                return
            self.unread += more

    def run(self, op: str) -> list[str]:
        """The faults of one op."""
        self.process.stdin.write(f"{op}\n".encode())
        self.process.stdin.flush()
        faults, call = [], "before the first call"
        try:
            for line in self.lines():
                word, _, rest = line.partition(" ")
                if word == "done":
                    return faults
                if word == "call":
                    call = rest
                else:
                    faults.append(f"{op} {call}: {rest}")
        except TimeoutError:
            self.end()
            return [*faults, f"{op} {call}: no answer for {SECONDS_PER_CALL} s"]
        status = self.process.wait()
        where = bytes(self.errors).decode(errors="replace")
        return [*faults, f"{op} {call}: the process died with status {status}\n{where[-1500:]}"]

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="module")
def faults() -> dict[str, list[str]]:
    """Faults by op, from all entries."""
    todo: queue.SimpleQueue[str] = queue.SimpleQueue()
    for entry in PUBLIC:
        todo.put(entry.id)
    found: dict[str, list[str]] = {}

    def work() -> None:
        worker = Worker()
        while not todo.empty():
            try:
                op = todo.get_nowait()
            except queue.Empty:
                break
            found[op] = worker.run(op)
            if worker.process.poll() is not None:
                worker = Worker()
        worker.end()

    threads = [threading.Thread(target=work) for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


@pytest.mark.parametrize("op", [entry.id for entry in PUBLIC])
def test_wild_arguments_raise_and_nothing_else(op, faults):
    assert not faults[op], "\n".join(
        ["repeat with: PYTHONPATH=tests python -m table.fuzzing <op> <form> <number>", *faults[op]]
    )
