from typing import Any

from .. import _standard_gamma, digamma, finfo, lgamma, xlogy
from . import constraints
from .exp_family import ExponentialFamily
from .utils import broadcast_all

__all__ = ["Gamma"]


class Gamma(ExponentialFamily):
    """The gamma distribution of shape `concentration` and inverse scale `rate`."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.size(), validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.concentration / self.rate

    @property
    def mode(self) -> Any:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Any:
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Any = ()) -> Any:
        value = _standard_gamma(self.concentration.expand(self._extended_shape(sample_shape))) / self.rate
        return value.clamp(min=finfo(value.dtype).tiny)

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        power = xlogy(self.concentration, self.rate) + xlogy(self.concentration - 1, value)
        return power - self.rate * value - lgamma(self.concentration)

    def cdf(self, value: Any) -> Any:
        from ..special import gammainc

        self._validate_sample(value)
        return gammainc(self.concentration, self.rate * value)

    def entropy(self) -> Any:
        shape = self.concentration
        return shape - self.rate.log() + lgamma(shape) + (1 - shape) * digamma(shape)
