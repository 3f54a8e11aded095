"""Seeds and states of the default generator."""

import pytest

import flambeau

torch = pytest.importorskip("torch")


def test_seeds_give_pytorchs_values():
    for seed in (0, 1, -1, 2**63, 12345678901234):
        for library in (flambeau, torch):
            library.manual_seed(seed)
        assert flambeau.rand(5).tolist() == torch.rand(5).tolist()
        assert flambeau.initial_seed() == torch.initial_seed()


def test_manual_seed_returns_the_generator():
    assert flambeau.manual_seed(3) is flambeau.default_generator and flambeau.initial_seed() == 3


def test_state_brings_values_back():
    state = flambeau.get_rng_state()
    first = flambeau.randn(3).tolist()
    flambeau.set_rng_state(state)
    assert flambeau.randn(3).tolist() == first


def test_states_are_exchangeable():
    for library in (flambeau, torch):
        library.manual_seed(7)
        library.randn(33)
    assert flambeau.get_rng_state().tolist() == torch.get_rng_state().tolist()
    flambeau.set_rng_state(flambeau.tensor(torch.get_rng_state().tolist(), dtype=flambeau.uint8))
    assert flambeau.randn(20).tolist() == torch.randn(20).tolist()


def test_fork_leaves_no_trace():
    state = flambeau.get_rng_state()
    with flambeau.random.fork_rng():
        flambeau.manual_seed(1)
        flambeau.rand(5)
    assert flambeau.equal(state, flambeau.get_rng_state())
    with flambeau.random.fork_rng(enabled=False):
        flambeau.rand(5)
    assert not flambeau.equal(state, flambeau.get_rng_state())
    assert flambeau.seed() == flambeau.initial_seed()
