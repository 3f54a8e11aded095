"""Carrying an exception from a worker to the parent."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import Any


class _PlainText(str):
    """A message that KeyError, which shows the repr of its argument, prints as it is."""

    def __repr__(self) -> str:
        return str(self)


@dataclass
class Failure:
    """An exception as its class and the text of its traceback: its arguments may not survive pickling."""

    kind: type[BaseException]
    text: str
    where: str

    @classmethod
    def of(cls, error: BaseException, where: str) -> Failure:
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        kind = type(error)
        return cls(kind if _is_importable(kind) else RuntimeError, text, where)

    @classmethod
    def of_current_exception(cls, where: str) -> Failure:
        import sys

        return cls.of(sys.exc_info()[1], where)

    def reraise(self) -> None:
        """Raise the same class of exception here, with the worker's traceback as its message."""
        message: Any = f"Caught {self.kind.__name__} {self.where}.\nOriginal {self.text}"
        kind = self.kind
        # StopIteration would end the caller's loop silently.
        if issubclass(kind, StopIteration):
            kind = RuntimeError
        if issubclass(kind, KeyError):
            message = _PlainText(message)
        try:
            error = kind(message)
        except Exception:
            # A constructor with arguments of its own.
            error = RuntimeError(message)
        raise error


def _is_importable(kind: type) -> bool:
    import sys

    found: Any = sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is kind
