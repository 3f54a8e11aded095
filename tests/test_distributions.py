"""Distributions against PyTorch: densities, moments, entropies, divergences, samples, errors."""

import pytest

import flambeau
from flambeau import distributions

torch = pytest.importorskip("torch")

CASES = {
    "Normal": (lambda t, d: d.Normal(t.tensor([0.5, -1.0]), t.tensor([1.0, 2.0])), [[0.3, 1.0], [2.0, -2.0]]),
    "Uniform": (lambda t, d: d.Uniform(t.tensor([0.0, -1.0]), 3.0), [[0.3, 1.0], [2.0, 0.0]]),
    "Bernoulli": (lambda t, d: d.Bernoulli(t.tensor([0.3, 0.8])), [[0.0, 1.0], [1.0, 0.0]]),
    "Bernoulli by logits": (lambda t, d: d.Bernoulli(logits=t.tensor([0.3, -0.8])), [[0.0, 1.0]]),
    "Categorical": (lambda t, d: d.Categorical(t.tensor([[0.2, 0.3, 0.5], [3.0, 1.0, 0.0]])), [0.0, 1.0]),
    "Categorical by logits": (lambda t, d: d.Categorical(logits=t.tensor([0.2, 0.3, -0.5])), [0.0, 2.0]),
    "OneHotCategorical": (lambda t, d: d.OneHotCategorical(t.tensor([0.2, 0.8])), [[0.0, 1.0]]),
    "Beta": (lambda t, d: d.Beta(t.tensor([0.5, 2.0]), t.tensor([3.0, 2.0])), [[0.3, 0.6]]),
    "Gamma": (lambda t, d: d.Gamma(t.tensor([0.5, 2.0]), t.tensor([3.0, 2.0])), [[0.3, 1.6]]),
    "Dirichlet": (lambda t, d: d.Dirichlet(t.tensor([0.5, 2.0, 3.0])), [0.25, 0.25, 0.5]),
    "Exponential": (lambda t, d: d.Exponential(t.tensor([0.5, 2.0])), [[0.3, 1.6]]),
    "Laplace": (lambda t, d: d.Laplace(t.tensor([0.5, 2.0]), t.tensor([3.0, 2.0])), [[0.3, -1.6]]),
    "Independent": (lambda t, d: d.Independent(d.Normal(t.zeros(2), t.ones(2)), 1), [[0.3, -1.6]]),
    "MultivariateNormal": (
        lambda t, d: d.MultivariateNormal(t.tensor([0.5, -1.0]), t.tensor([[2.0, 0.5], [0.5, 1.0]])),
        [[0.3, 1.0]],
    ),
    "MultivariateNormal by precision": (
        lambda t, d: d.MultivariateNormal(t.zeros(2), precision_matrix=t.tensor([[2.0, 0.5], [0.5, 1.0]])),
        [[0.3, 1.0]],
    ),
}
PROPERTIES = ["mean", "variance", "stddev", "mode", "batch_shape", "event_shape", "has_rsample", "probs", "logits"]


def value_of(call):
    """What a call gives, as lists; or the kind of its error."""
    try:
        value = call()
    except Exception as error:
        return type(error).__name__
    return value.tolist() if hasattr(value, "tolist") else value


def both(name, question):
    make, _ = CASES[name]
    return [
        value_of(lambda t=t, d=d: question(t, make(t, d)))
        for t, d in ((flambeau, distributions), (torch, torch.distributions))
    ]


def assert_alike(got, expected):
    if isinstance(got, str) or isinstance(expected, str):
        assert got == expected
    else:
        torch.testing.assert_close(
            torch.as_tensor(got), torch.as_tensor(expected), equal_nan=True, rtol=1e-5, atol=1e-5
        )


@pytest.mark.parametrize("name", CASES)
def test_densities_and_moments(name):
    points = CASES[name][1]
    assert_alike(*both(name, lambda t, d: d.log_prob(t.tensor(points))))
    assert_alike(*both(name, lambda t, d: d.cdf(t.tensor(points))))
    assert_alike(*both(name, lambda t, d: d.entropy()))
    assert_alike(*both(name, lambda t, d: d.expand((3, *d.batch_shape)).log_prob(t.tensor(points)[..., :])))
    for each in PROPERTIES:
        assert_alike(*both(name, lambda t, d, each=each: getattr(d, each)))
    assert_alike(*both(name, lambda t, d: d.enumerate_support()))
    assert len(set(both(name, lambda t, d: repr(d)))) == 1


@pytest.mark.parametrize("name", CASES)
def test_samples(name):
    def drawn(t, d):
        t.manual_seed(3)
        return d.sample((4, 5))

    assert_alike(*both(name, drawn))


@pytest.mark.parametrize("name", CASES)
def test_divergence_from_itself_and_another(name):
    def divergence(t, d):
        library = distributions if t is flambeau else torch.distributions
        other = {"Normal": lambda: library.Normal(0.0, 3.0), "Gamma": lambda: library.Gamma(1.0, 1.0)}.get(name)
        return library.kl_divergence(d, d if other is None else other())

    assert_alike(*both(name, divergence))


def test_gradients_reach_the_parameters():
    loc = flambeau.zeros(3, requires_grad=True)
    scale = flambeau.ones(3, requires_grad=True)
    distributions.Normal(loc, scale).rsample((2,)).sum().backward()
    assert loc.grad.tolist() == [2, 2, 2] and scale.grad is not None
    logits = flambeau.zeros(2, requires_grad=True)
    distributions.Categorical(logits=logits).log_prob(flambeau.tensor(1)).backward()
    assert logits.grad.tolist() == [-0.5, 0.5]


ERRORS = [
    lambda t, d: d.Normal(t.zeros(1), -t.ones(1)),
    lambda t, d: d.Normal(0.0, 1.0).log_prob(t.tensor(float("nan"))),
    lambda t, d: d.Normal("a", 1.0),
    lambda t, d: d.Uniform(1.0, 0.0),
    lambda t, d: d.Bernoulli(),
    lambda t, d: d.Bernoulli(t.tensor(0.1), t.tensor(0.1)),
    lambda t, d: d.Bernoulli(t.tensor(1.5)),
    lambda t, d: d.Categorical(t.tensor(1.0)),
    lambda t, d: d.Categorical(t.ones(3)).log_prob(t.tensor(3)),
    lambda t, d: d.Categorical(t.ones(3)).rsample(),
    lambda t, d: d.Independent(d.Normal(0.0, 1.0), 1),
    lambda t, d: d.kl_divergence(d.Normal(0.0, 1.0), d.Dirichlet(t.ones(2))),
    lambda t, d: d.register_kl(3, 3),
    lambda t, d: d.Normal(t.zeros(3), 1.0).log_prob(t.zeros(2)),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors(number):
    kinds = [
        value_of(lambda t=t, d=d: ERRORS[number](t, d))
        for t, d in ((flambeau, distributions), (torch, torch.distributions))
    ]
    assert kinds[0] == kinds[1] and isinstance(kinds[0], str)
