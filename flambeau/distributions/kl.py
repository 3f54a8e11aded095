"""Divergences between distributions, by the pair of their types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import digamma, inf, lgamma, linalg
from ..nn.functional import softplus
from .bernoulli import Bernoulli
from .beta import Beta
from .categorical import Categorical
from .dirichlet import Dirichlet
from .distribution import Distribution
from .exponential import Exponential
from .gamma import Gamma
from .independent import Independent
from .laplace import Laplace
from .multivariate_normal import MultivariateNormal
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .uniform import Uniform

__all__ = ["kl_divergence", "register_kl"]

_registry: dict[tuple[type, type], Callable] = {}


def register_kl(type_p: type, type_q: type) -> Callable:
    """Decorator for a function (p, q) that gives the divergence between distributions of two types.

    Raises TypeError for what is no type of distribution.
    """
    for kind in (type_p, type_q):
        if not (isinstance(kind, type) and issubclass(kind, Distribution)):
            raise TypeError(f"Expected a subclass of Distribution but got {kind}")

    def register(function: Callable) -> Callable:
        _registry[type_p, type_q] = function
        return function

    return register


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """The Kullback-Leibler divergence of p from q, the mean under p of log p - log q.

    Raises NotImplementedError for pairs of types without a formula.
    """
    # The closest pair of base classes decides.
    for kind_p in type(p).__mro__:
        for kind_q in type(q).__mro__:
            function = _registry.get((kind_p, kind_q))
            if function is not None:
                return function(p, q)
    raise NotImplementedError(
        f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
    )


@register_kl(Normal, Normal)
def _normal_normal(p, q):
    ratio = (p.scale / q.scale).pow(2)
    distance = ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (ratio + distance - 1 - ratio.log())


@register_kl(Uniform, Uniform)
def _uniform_uniform(p, q):
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return result.masked_fill((q.low > p.low) | (q.high < p.high), inf)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli_bernoulli(p, q):
    one = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    one = one.masked_fill(q.probs == 0, inf).masked_fill(p.probs == 0, 0)
    zero = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    return one + zero.masked_fill(q.probs == 1, inf).masked_fill(p.probs == 1, 0)


@register_kl(Categorical, Categorical)
def _categorical_categorical(p, q):
    terms = p.probs * (p.logits - q.logits)
    terms = terms.masked_fill((q.probs == 0).expand_as(terms), inf)
    return terms.masked_fill((p.probs == 0).expand_as(terms), 0).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot_one_hot(p, q):
    return _categorical_categorical(p._categorical, q._categorical)


@register_kl(Beta, Beta)
def _beta_beta(p, q):
    return _dirichlet_dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet_dirichlet(p, q):
    a, b = p.concentration, q.concentration
    norms = lgamma(a.sum(-1)) - lgamma(b.sum(-1)) - (lgamma(a) - lgamma(b)).sum(-1)
    return norms + ((a - b) * (digamma(a) - digamma(a.sum(-1, True)))).sum(-1)


@register_kl(Gamma, Gamma)
def _gamma_gamma(p, q):
    rates = q.concentration * (p.rate / q.rate).log() + p.concentration * (q.rate / p.rate - 1)
    shapes = lgamma(q.concentration) - lgamma(p.concentration)
    return rates + shapes + (p.concentration - q.concentration) * digamma(p.concentration)


@register_kl(Exponential, Exponential)
def _exponential_exponential(p, q):
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


@register_kl(Laplace, Laplace)
def _laplace_laplace(p, q):
    distance = (p.loc - q.loc).abs()
    ratio = p.scale / q.scale
    return -ratio.log() + distance / q.scale + ratio * (-distance / p.scale).exp() - 1


@register_kl(Independent, Independent)
def _independent_independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("kl_divergence: independent distributions with different reinterpreted_batch_ndims")
    return p._summed(kl_divergence(p.base_dist, q.base_dist))


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_multivariate(p, q):
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be computed"
        )
    tril = q._unbroadcasted_scale_tril
    spread = linalg.solve_triangular(tril, p._unbroadcasted_scale_tril, upper=False).pow(2).sum((-2, -1))
    distance = linalg.solve_triangular(tril, (q.loc - p.loc).unsqueeze(-1), upper=False).pow(2).sum((-2, -1))
    return q._half_log_det() - p._half_log_det() + 0.5 * (spread + distance - p.event_shape[0])
