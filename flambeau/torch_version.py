"""The type of ``torch.__version__``: text that also compares as a version."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = ["TorchVersion"]

_VERSION = r"v?(?P<release>\d+(?:\.\d+)*)[._-]?(?P<phase>[a-z]*)[._-]?(?P<number>\d*)[^+]*(?:\+(?P<local>.*))?"
_PHASES = {"dev": -4, "a": -3, "alpha": -3, "b": -2, "beta": -2, "rc": -1, "c": -1, "": 0, "post": 1}


def _key(version: Any) -> tuple | None:
    """A sort key in the order of Python's version specification; None for what is not a version."""
    import re  # not worth loading before a version is compared

    if isinstance(version, (tuple, list)):
        version = ".".join(str(part) for part in version)
    match = re.fullmatch(_VERSION, version.lower()) if isinstance(version, str) else None
    if match is None:
        return None
    release = tuple(int(part) for part in match["release"].split("."))
    while release and release[-1] == 0:  # 2.13 and 2.13.0 are one version
        release = release[:-1]
    return release, _PHASES.get(match["phase"], 0), int(match["number"] or 0), match["local"] or ""


class TorchVersion(str):
    """A version that is a string to whoever slices or prints it, and orders as versions do.

    It compares with strings, tuples and lists. A string that is not a version compares as text.

    >>> TorchVersion("2.13.0+flambeau") > "2.9"
    True
    >>> TorchVersion("2.13.0+flambeau") >= (2, 13)
    True
    """

    __slots__ = ()

    def _pair(self, other: Any) -> tuple[Any, Any] | None:
        mine, theirs = _key(self), _key(other)
        if mine is not None and theirs is not None:
            return mine, theirs
        return (str(self), other) if isinstance(other, str) else None

    def __lt__(self, other: Any) -> bool:
        pair = self._pair(other)
        return NotImplemented if pair is None else pair[0] < pair[1]

    def __le__(self, other: Any) -> bool:
        pair = self._pair(other)
        return NotImplemented if pair is None else pair[0] <= pair[1]

    def __gt__(self, other: Any) -> bool:
        pair = self._pair(other)
        return NotImplemented if pair is None else pair[0] > pair[1]

    def __ge__(self, other: Any) -> bool:
        pair = self._pair(other)
        return NotImplemented if pair is None else pair[0] >= pair[1]

    def __eq__(self, other: Any) -> bool:
        pair = self._pair(other)
        return NotImplemented if pair is None else pair[0] == pair[1]

    def __ne__(self, other: Any) -> bool:
        return not self == other

    __hash__ = str.__hash__
