"""Flattening and its inverse."""

from __future__ import annotations

from ... import Tensor
from .module import Module

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Merges the dimensions start_dim to end_dim into one.

    >>> Flatten()(flambeau.zeros(2, 3, 4)).shape
    torch.Size([2, 12])
    """

    __constants__ = ["start_dim", "end_dim"]
    start_dim: int
    end_dim: int

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits dimension `dim` into several; for a named dimension give pairs of names and sizes.

    >>> Unflatten(1, (2, 3))(flambeau.zeros(4, 6)).shape
    torch.Size([4, 2, 3])
    """

    __constants__ = ["dim", "unflattened_size"]
    dim: int | str

    def __init__(self, dim: int | str, unflattened_size) -> None:
        super().__init__()
        if isinstance(dim, int):
            self._require_tuple_int(unflattened_size)
        elif isinstance(dim, str):
            self._require_tuple_tuple(unflattened_size)
        else:
            raise TypeError("invalid argument type for dim parameter")
        self.dim = dim
        self.unflattened_size = unflattened_size

    def _require_tuple_tuple(self, size) -> None:
        if not isinstance(size, tuple):
            raise TypeError(f"unflattened_size must be tuple of tuples, but found type {type(size).__name__}")
        for i, pair in enumerate(size):
            if not isinstance(pair, tuple):
                raise TypeError(
                    "unflattened_size must be tuple of tuples, but found element of type "
                    f"{type(pair).__name__} at pos {i}"
                )

    def _require_tuple_int(self, size) -> None:
        if not isinstance(size, (tuple, list)):
            raise TypeError(f"unflattened_size must be a tuple of ints, but found type {type(size).__name__}")
        for i, length in enumerate(size):
            if not isinstance(length, int):
                raise TypeError(
                    "unflattened_size must be tuple of ints, but found element of type "
                    f"{type(length).__name__} at pos {i}"
                )

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
