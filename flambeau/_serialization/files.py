"""Files that are either complete or not there."""

from __future__ import annotations

import contextlib
import os
import stat
from typing import IO, Any


def is_path(target: Any) -> bool:
    """Whether a `save` or `load` target names a file (else it is file-like)."""
    return isinstance(target, (str, os.PathLike))


@contextlib.contextmanager
def replacing(path: Any):
    """Opens a temporary file beside `path` that takes its place, on disk and whole, when the block ends well.

    When the block raises, what was at `path` stays. Things that are not regular files (devices, pipes) are written
    directly. Raises RuntimeError when the directory does not exist.
    """
    target = os.path.realpath(os.fspath(path))
    directory = os.path.dirname(target)
    if not os.path.isdir(directory):
        raise RuntimeError(f"save: the directory {directory} does not exist")
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        with open(target, "wb") as file:
            yield file
        return
    temporary, file = _open_beside(target)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(temporary, stat.S_IMODE(mode))
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _open_beside(target: str) -> tuple[str, IO[bytes]]:
    directory, name = os.path.split(target)
    while True:
        temporary = os.path.join(directory, f".{name[:200]}.{os.urandom(6).hex()}.tmp")
        with contextlib.suppress(FileExistsError):
            return temporary, open(temporary, "xb")
