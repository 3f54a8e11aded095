"""Exponential families."""

from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """A distribution whose density is an exponential of a product of its parameters and statistics of the value."""
