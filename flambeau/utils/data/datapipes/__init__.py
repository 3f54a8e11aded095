"""Data pipes: datasets built by chaining small steps."""

from . import iter, map

__all__ = ["iter", "map"]
