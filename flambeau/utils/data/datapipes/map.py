"""Steps of pipelines that are indexed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .datapipe import MapDataPipe, functional_datapipe

__all__ = ["Concater", "Mapper", "SequenceWrapper", "Zipper"]


class SequenceWrapper(MapDataPipe):
    """A pipeline's beginning: a sequence or mapping, copied first unless ``deepcopy`` is False."""

    def __init__(self, sequence: Any, deepcopy: bool = True) -> None:
        if deepcopy:
            import copy

            sequence = copy.deepcopy(sequence)
        self.sequence = sequence

    def __getitem__(self, index: Any) -> Any:
        return self.sequence[index]

    def __len__(self) -> int:
        return len(self.sequence)


@functional_datapipe("map")
class Mapper(MapDataPipe):
    """``fn`` of every element."""

    def __init__(self, datapipe: Any, fn: Callable) -> None:
        self.datapipe = datapipe
        self.fn = fn

    def __getitem__(self, index: Any) -> Any:
        return self.fn(self.datapipe[index])

    def __len__(self) -> int:
        return len(self.datapipe)


@functional_datapipe("concat")
class Concater(MapDataPipe):
    """Pipelines one after the other."""

    def __init__(self, *datapipes: Any) -> None:
        self.datapipes = datapipes

    def __getitem__(self, index: int) -> Any:
        for datapipe in self.datapipes:
            if index < len(datapipe):
                return datapipe[index]
            index -= len(datapipe)
        raise IndexError(f"Concater: the index is {index} beyond the end")

    def __len__(self) -> int:
        return sum(map(len, self.datapipes))


@functional_datapipe("zip")
class Zipper(MapDataPipe):
    """Tuples of the elements of several pipelines, as long as the shortest."""

    def __init__(self, *datapipes: Any) -> None:
        self.datapipes = datapipes

    def __getitem__(self, index: int) -> tuple:
        return tuple(datapipe[index] for datapipe in self.datapipes)

    def __len__(self) -> int:
        return min(map(len, self.datapipes))
