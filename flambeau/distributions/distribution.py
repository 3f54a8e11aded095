"""What all distributions have in common."""

from __future__ import annotations

import warnings
from typing import Any

from .. import no_grad
from .._C import Size, Tensor
from . import constraints
from .utils import lazy_property

__all__ = ["Distribution"]


class Distribution:
    """A distribution of events of `event_shape`; a batch of them of `batch_shape`, which are independent.

    With `validate_args` (default) parameters and values are checked against `arg_constraints` and `support`; what lies
    outside is a ValueError.
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions check unless told otherwise."""
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args: expected True or False, got {value!r}")
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None) -> None:
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_arguments()

    def _check_arguments(self) -> None:
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            warnings.warn(f"{type(self)} does not define `arg_constraints`, so its arguments are not checked")
            return
        for name, constraint in arg_constraints.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution"
                    f" {self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distribution with its batch expanded to `batch_shape`."""
        batch_shape = Size(batch_shape)
        new = type(self).__new__(type(self)) if _instance is None else _instance
        for name, value in self._expandable().items():
            setattr(new, name, value.expand(batch_shape + value.shape[len(self.batch_shape) :]))
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _expandable(self) -> dict[str, Any]:
        """The parameters, each with the batch's dimensions first."""
        return {name: value for name, value in self.__dict__.items() if isinstance(value, Tensor)}

    @property
    def batch_shape(self) -> Any:
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Any:
        """The shape of one value."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, Any]:
        """What the parameters must satisfy, by name."""
        raise NotImplementedError(f"{type(self).__name__} does not define arg_constraints")

    @property
    def support(self) -> Any:
        """The set of values."""
        raise NotImplementedError(f"{type(self).__name__} does not define support")

    @property
    def mean(self) -> Any:
        """The mean."""
        raise NotImplementedError(f"{type(self).__name__} does not define mean")

    @property
    def mode(self) -> Any:
        """The most likely value."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Any:
        """The variance."""
        raise NotImplementedError(f"{type(self).__name__} does not define variance")

    @property
    def stddev(self) -> Any:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = ()) -> Any:
        """Draws of shape sample_shape + batch_shape + event_shape, without gradients."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Draws with gradients for the parameters."""
        raise NotImplementedError(f"{type(self).__name__} does not define rsample")

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density, or probability, at `value`."""
        raise NotImplementedError(f"{type(self).__name__} does not define log_prob")

    def cdf(self, value: Any) -> Any:
        """The probability of values up to `value`."""
        raise NotImplementedError(f"{type(self).__name__} does not define cdf")

    def icdf(self, value: Any) -> Any:
        """The inverse of `cdf`."""
        raise NotImplementedError(f"{type(self).__name__} does not define icdf")

    def enumerate_support(self, expand: bool = True) -> Any:
        """All values of a discrete distribution, along a new first dimension."""
        raise NotImplementedError(f"{type(self).__name__} does not define enumerate_support")

    def entropy(self) -> Any:
        """The entropy, in nats."""
        raise NotImplementedError(f"{type(self).__name__} does not define entropy")

    def perplexity(self) -> Any:
        """The exponential of the entropy."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape: Any = ()) -> Any:
        return Size(sample_shape) + self._batch_shape + self._event_shape

    def _validate_sample(self, value: Any) -> None:
        if not self._validate_args:
            return
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        if value.dim() < len(self._event_shape):
            raise ValueError(
                f"log_prob: a value of shape {tuple(value.shape)} for events of {tuple(self._event_shape)}"
            )
        expected = self._batch_shape + self._event_shape
        for got, want in zip(reversed(value.shape), reversed(expected), strict=False):
            if got != 1 and want != 1 and got != want:
                raise ValueError(
                    "Value is not broadcastable with batch_shape+event_shape:"
                    f" {tuple(value.shape)} vs {tuple(expected)}."
                )
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(f"{type(self)} does not define `support`, so samples are not checked")
            return
        if not support.check(value).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the"
                f" support ({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        names = [name for name in self.arg_constraints if name in self.__dict__]
        values = (getattr(self, name) for name in names)
        shown = (value if value.numel() == 1 else value.size() for value in values)
        return type(self).__name__ + "(" + ", ".join(f"{a}: {b}" for a, b in zip(names, shown, strict=True)) + ")"
