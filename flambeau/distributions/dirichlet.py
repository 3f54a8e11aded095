from typing import Any

from .. import _sample_dirichlet, digamma, lgamma, xlogy
from . import constraints
from .exp_family import ExponentialFamily

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    """Vectors of positive numbers that add up to 1, with weights `concentration` (..., K)."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Any:
        excess = (self.concentration - 1).clamp(min=0.0)
        mode = excess / excess.sum(-1, True)
        flat = (self.concentration < 1).all(-1)
        if flat.any():
            corner = (self.concentration == self.concentration.amax(-1, True)).to(mode)
            mode = mode.where(~flat.unsqueeze(-1), corner)
        return mode

    @property
    def variance(self) -> Any:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Any:
        return _sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        weights = self.concentration
        return xlogy(weights - 1.0, value).sum(-1) + lgamma(weights.sum(-1)) - lgamma(weights).sum(-1)

    def entropy(self) -> Any:
        weights, count = self.concentration, self.concentration.size(-1)
        total = weights.sum(-1)
        spread = lgamma(weights).sum(-1) - lgamma(total) - (count - total) * digamma(total)
        return spread - ((weights - 1.0) * digamma(weights)).sum(-1)
