"""On which device a storage was, and on which it is to be again.

A registry of (priority, tagger, restorer): the tagger names the place of a storage for the file, the restorer takes a
freshly read storage in CPU memory to a named place. Both answer None for what is not theirs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

_registry: list[tuple[int, Callable, Callable]] = []


def register_package(priority: int, tagger: Callable, deserializer: Callable) -> None:
    """Adds a kind of device: `tagger(storage)` names its place or returns None, `deserializer(storage, place)` moves
    a storage from CPU memory there or returns None. Lower priorities are asked first.
    """
    _registry.append((priority, tagger, deserializer))
    _registry.sort(key=lambda entry: entry[0])


def location_tag(storage: Any) -> str:
    """The name of the place a storage is in, as files have it: ``"cpu"``, ``"meta"``, ``"cuda:0"``.

    >>> torch.serialization.location_tag(torch.zeros(1).untyped_storage())
    'cpu'
    """
    for _, tagger, _ in _registry:
        location = tagger(storage)
        if location:
            return location
    raise RuntimeError(f"save: no registered device knows where a {type(storage).__name__} is")


def default_restore_location(storage: Any, location: str) -> Any:
    """Moves a storage just read to the place that the file names. Raises RuntimeError if there is no such device."""
    for _, _, restore in _registry:
        result = restore(storage, location)
        if result is not None:
            return result
    raise RuntimeError(f"load: no registered device knows the place {location!r}; map_location can send it elsewhere")


def validate_cuda_device(location: str) -> int:
    """The index in ``"cuda:1"``. Raises RuntimeError because there is no CUDA device."""
    raise RuntimeError(
        f"load: the file was saved on device {location!r} and torch.cuda.is_available() is False; "
        "use map_location='cpu' to load it into CPU memory"
    )


def _tag_by_type(kind: str) -> Callable:
    return lambda storage: kind if storage.device.type == kind else None


def _restore_cpu(storage: Any, location: str) -> Any:
    return storage if location == "cpu" else None


def _restore_meta(storage: Any, location: str) -> Any:
    return type(storage)(storage.nbytes(), device="meta") if location == "meta" else None


def _restore_absent(storage: Any, location: str) -> Any:
    kind = str(location).partition(":")[0]
    if kind == "cuda":
        validate_cuda_device(location)
    if kind in ("mps", "xpu", "hpu", "xla"):
        raise RuntimeError(
            f"load: the file was saved on device {location!r}, which is not available here; "
            "use map_location='cpu' to load it into CPU memory"
        )


register_package(10, _tag_by_type("cpu"), _restore_cpu)
register_package(20, lambda storage: None, _restore_absent)
register_package(22, _tag_by_type("meta"), _restore_meta)


def restorer(map_location: Any) -> Callable[[Any, str], Any]:
    """Turns a `map_location` argument (None, device, name, dict, function) into `restore(storage, location)`."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(storage, map_location.get(location, location))
    root = sys.modules[__package__.partition(".")[0]]
    if isinstance(map_location, (str, bytes)):
        name = map_location.decode() if isinstance(map_location, bytes) else map_location
        return lambda storage, location: default_restore_location(storage, name)
    if isinstance(map_location, root.device):
        return lambda storage, location: default_restore_location(storage, str(map_location))

    def ask(storage: Any, location: str) -> Any:
        result = map_location(storage, location)
        return default_restore_location(storage, location) if result is None else result

    return ask
