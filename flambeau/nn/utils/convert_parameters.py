"""All parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

from ... import Tensor, cat

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The parameters, each flattened, one after the other. Raises TypeError when they are on different devices."""
    parts = list(parameters)
    _check_devices(parts)
    return cat([part.reshape(-1) for part in parts])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Give the parameters the values in `vec`; they become views of it. Raises TypeError if it is no tensor."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    parts = list(parameters)
    _check_devices(parts)
    start = 0
    for part in parts:
        count = part.numel()
        part.data = vec[start : start + count].view_as(part).data
        start += count


def _check_devices(parts: list[Tensor]) -> None:
    devices = {part.device for part in parts}
    if len(devices) > 1:
        raise TypeError(
            f"Found parameters on different devices ({sorted(map(str, devices))}): this is currently not supported."
        )
