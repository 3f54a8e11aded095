"""Sets that parameters and values of distributions lie in. `check` says of each element whether it does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = [
    "Constraint",
    "boolean",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "real",
    "real_vector",
    "simplex",
    "unit_interval",
]


class Constraint:
    """A set. `event_dim` is how many of a value's last dimensions make up one element of it."""

    is_discrete = False
    event_dim = 0

    def check(self, value: Any) -> Any:
        """A tensor of bool: which elements of `value` lie in the set."""
        raise NotImplementedError(f"{type(self).__name__} does not define check")

    def __repr__(self) -> str:
        return type(self).__name__.removeprefix("_") + "()"


class _Simple(Constraint):
    """A set given by a predicate."""

    def __init__(self, text: str, check: Callable[[Any], Any], is_discrete: bool = False, event_dim: int = 0) -> None:
        self._text, self._check = text, check
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def check(self, value: Any) -> Any:
        return self._check(value)

    def __repr__(self) -> str:
        return self._text


class _Dependent(Constraint):
    """A set that depends on other parameters, and so can't be checked by itself."""

    def __init__(self, *, is_discrete: bool = False, event_dim: int = 0) -> None:
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def check(self, value: Any) -> Any:
        raise ValueError("Cannot determine validity of dependent constraint")


class dependent_property(property, _Dependent):
    """A property that gives a constraint; of the class itself, a dependent one."""

    def __init__(self, fn: Callable | None = None, *, is_discrete: bool = False, event_dim: int = 0) -> None:
        super().__init__(fn)
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def __call__(self, fn: Callable) -> dependent_property:
        return dependent_property(fn, is_discrete=self.is_discrete, event_dim=self.event_dim)


def is_dependent(constraint: Any) -> bool:
    """Whether a constraint depends on parameters."""
    return isinstance(constraint, _Dependent)


class independent(Constraint):
    """Elements of `base_constraint` in all of the last dimensions together."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        self.is_discrete = base_constraint.is_discrete
        self.event_dim = base_constraint.event_dim + reinterpreted_batch_ndims

    def check(self, value: Any) -> Any:
        result = self.base_constraint.check(value)
        if result.dim() < self.reinterpreted_batch_ndims:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return result.flatten(result.dim() - self.reinterpreted_batch_ndims).all(-1) if result.dim() else result


class interval(Constraint):
    """From `lower_bound` to `upper_bound`, with both."""

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value: Any) -> Any:
        return (self.lower_bound <= value) & (value <= self.upper_bound)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(lower_bound={self.lower_bound}, upper_bound={self.upper_bound})"


class half_open_interval(interval):
    """From `lower_bound` to below `upper_bound`."""

    def check(self, value: Any) -> Any:
        return (self.lower_bound <= value) & (value < self.upper_bound)


class integer_interval(interval):
    """Whole numbers from `lower_bound` to `upper_bound`."""

    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class greater_than(Constraint):
    """Above `lower_bound`."""

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound

    def check(self, value: Any) -> Any:
        return self.lower_bound < value

    def __repr__(self) -> str:
        return f"{type(self).__name__}(lower_bound={self.lower_bound})"


class greater_than_eq(greater_than):
    """`lower_bound` and above."""

    def check(self, value: Any) -> Any:
        return self.lower_bound <= value


class less_than(Constraint):
    """Below `upper_bound`."""

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Any) -> Any:
        return value < self.upper_bound

    def __repr__(self) -> str:
        return f"less_than(upper_bound={self.upper_bound})"


def _is_simplex(value: Any) -> Any:
    return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


def _is_one_hot(value: Any) -> Any:
    return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


def _is_lower_cholesky(value: Any) -> Any:
    lower = (value.tril() == value).flatten(-2).all(-1)
    return lower & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


def _is_positive_definite(value: Any) -> Any:
    from .. import linalg

    symmetric = (value - value.mT).abs().flatten(-2).amax(-1) <= 1e-6
    return symmetric & (linalg.cholesky_ex(value).info == 0)


dependent = _Dependent()
boolean = _Simple("Boolean()", lambda value: (value == 0) | (value == 1), True)
real = _Simple("Real()", lambda value: value == value)
real_vector = independent(real, 1)
positive = greater_than(0.0)
nonnegative = greater_than_eq(0.0)
unit_interval = interval(0.0, 1.0)
nonnegative_integer = _Simple("IntegerGreaterThan(lower_bound=0)", lambda value: (value % 1 == 0) & (value >= 0), True)
positive_integer = _Simple("IntegerGreaterThan(lower_bound=1)", lambda value: (value % 1 == 0) & (value >= 1), True)
simplex = _Simple("Simplex()", _is_simplex, event_dim=1)
one_hot = _Simple("OneHot()", _is_one_hot, True, 1)
lower_cholesky = _Simple("LowerCholesky()", _is_lower_cholesky, event_dim=2)
positive_definite = _Simple("PositiveDefinite()", _is_positive_definite, event_dim=2)
