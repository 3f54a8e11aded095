"""Seeded random numbers equal PyTorch's CPU streams, value for value and state for state."""

import numpy as np
import pytest

import flambeau as torch

reference = pytest.importorskip("torch")

SIZES = [0, 1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 100, 1000]
SEEDS = [0, 1, 2**40 + 7]
FLOATS = ["float32", "float64", "float16", "bfloat16"]
INTEGERS = ["uint8", "int8", "int16", "int32", "int64"]


def values(tensor):
    return (tensor.float() if "bfloat16" in str(tensor.dtype) else tensor).detach().numpy()


def state(library):
    return library.get_rng_state().numpy().tobytes()


def seeded(library, draw, seed):
    library.manual_seed(seed)
    return draw(library), state(library)


def check(draw, seeds=SEEDS):
    """Runs `draw(library)` on both sides from the same seed; compares its result and where it leaves the generator."""
    for seed in seeds:
        ours, our_state = seeded(torch, draw, seed)
        theirs, their_state = seeded(reference, draw, seed)
        assert str(ours.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1]
        np.testing.assert_array_equal(values(ours), values(theirs))
        assert our_state == their_state


def empty(library, size, dtype):
    return library.empty(size, dtype=getattr(library, dtype))


FLOAT_FILLS = {
    "uniform": lambda t: t.uniform_(),
    "uniform_range": lambda t: t.uniform_(-0.3, 1.9),
    "uniform_narrow": lambda t: t.uniform_(1000, 1000.1),
    "normal": lambda t: t.normal_(),
    "normal_scaled": lambda t: t.normal_(0.3, 1.7),
    "exponential": lambda t: t.exponential_(1.7),
    "cauchy": lambda t: t.cauchy_(0.3, 1.7),
    "log_normal": lambda t: t.log_normal_(0.3, 1.7),
}
ANY_FILLS = {
    "random": lambda t: t.random_(),
    "random_to": lambda t: t.random_(100),
    "random_between": lambda t: t.random_(5, 17),
    "random_from": lambda t: t.random_(3, None),
    "bernoulli": lambda t: t.bernoulli_(0.3),
    "geometric": lambda t: t.geometric_(0.3),
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("fill", FLOAT_FILLS)
def test_float_fill(fill, dtype, size):
    check(lambda library: FLOAT_FILLS[fill](empty(library, size, dtype)))


@pytest.mark.parametrize("size", [0, 1, 17, 1000])
@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
@pytest.mark.parametrize("fill", ANY_FILLS)
def test_any_fill(fill, dtype, size):
    check(lambda library: ANY_FILLS[fill](empty(library, size, dtype)))


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64", "bfloat16"])
def test_random_of_all_64_bits(dtype):
    check(lambda library: empty(library, 50, dtype).random_(-(2**63), None))


@pytest.mark.parametrize("bounds", [(0, 2), (-5, 17), (0, 2**28 - 1), (0, 2**28), (-(2**40), 2**40), (-(2**62), 2**62)])
def test_randint_ranges(bounds):
    check(lambda library: library.randint(*bounds, (50,)))


@pytest.mark.parametrize("bounds", [(2**24 + 1, 2**24 + 9), (-7, None), (2**60 + 1, 2**60 + 2**40)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.filterwarnings("ignore:.*out of bounds")
def test_float_integer_bounds_round_inwards(dtype, bounds):
    check(lambda library: empty(library, 50, dtype).random_(*bounds))


@pytest.mark.parametrize("bounds", [(5, 5), (6, 2), (-1, 3), (0, 257)])
def test_bad_integer_bounds(bounds):
    for library in (torch, reference):
        with pytest.raises(RuntimeError):
            empty(library, 3, "uint8").random_(*bounds)


@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "float32", "float64"])
@pytest.mark.parametrize("size", [0, 1, 2, 100, 20000])
def test_randperm(size, dtype):
    check(lambda library: library.randperm(size, dtype=getattr(library, dtype)))


@pytest.mark.parametrize("dtype", FLOATS)
def test_bernoulli_per_element(dtype):
    check(lambda library: library.bernoulli(library.linspace(0, 1, 101).to(getattr(library, dtype))))


def test_bernoulli_probabilities_of_another_dtype():
    check(lambda library: empty(library, 101, "int32").bernoulli_(library.linspace(0, 1, 101)))


@pytest.mark.parametrize("sizes", [[1, 1], [1, 16, 1], [3, 20, 5], [17, 1, 33]])
def test_kept_normal_survives_other_draws(sizes):
    check(lambda library: library.cat([library.randn(size) for size in sizes]))


def test_draws_after_an_odd_number():
    check(lambda library: library.cat([library.rand(623).double(), library.rand(9, dtype=library.float64)]))


@pytest.mark.parametrize("make", ["rand", "randn"])
def test_complex(make):
    check(lambda library: library.view_as_real(getattr(library, make)(20, dtype=library.complex64)))


@pytest.mark.parametrize("fill", ["uniform_", "normal_", "exponential_"])
def test_not_contiguous_fills_in_memory_order(fill):
    check(lambda library: getattr(library.empty(6, 8).t(), fill)())
    check(lambda library: getattr(library.empty(6, 8)[:, ::2], fill)())


def rates(library, dtype):
    return library.tensor([0.0, 0.1, 1, 3, 9.9, 10, 11, 30, 100, 1000] * 20, dtype=getattr(library, dtype))


@pytest.mark.parametrize("dtype", FLOATS)
def test_poisson(dtype):
    check(lambda library: library.poisson(rates(library, dtype)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_binomial(dtype):
    def draw(library):
        kind = getattr(library, dtype)
        trials = library.tensor([1, 5, 10, 10, 100, 0, 7, 50, 1000, 100000, 1000000] * 30, dtype=kind)
        chances = library.tensor([0.3, 0.5, 0.9, 0, 0.05, 0.5, 1, 0.3, 0.9, 0.4, 0.3] * 30, dtype=kind)
        return library.binomial(trials, chances)

    check(draw)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gamma(dtype):
    check(lambda library: library._standard_gamma(rates(library, dtype)))


@pytest.mark.parametrize("columns", [1, 3, 8])
def test_dirichlet(columns):
    check(lambda library: library._sample_dirichlet((library.arange(20 * columns) % 7 + 0.3).reshape(20, columns)))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "samples, replacement", [(1, False), (1, True), (2, False), (50, False), (7, True), (90, True)]
)
def test_multinomial(samples, replacement, dtype):
    def draw(library):
        weights = library.rand(3, 50).to(getattr(library, dtype)) + 0.01
        return library.multinomial(weights, samples, replacement)

    check(draw)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_dropout(dtype):
    def draw(library):
        input = library.arange(1.0, 1001).to(getattr(library, dtype))
        return library.nn.functional.dropout(input, 0.3, True)

    check(draw)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_rrelu(dtype):
    def draw(library):
        input = library.arange(-50, 50).to(getattr(library, dtype)) / 16
        return library.nn.functional.rrelu(input, training=True)

    check(draw)


def copied_state(library, other):
    return library.from_numpy(other.get_rng_state().numpy().copy())


@pytest.mark.parametrize("drawn", [0, 1, 5, 623, 624, 625])
def test_state_travels_both_ways(drawn):
    reference.manual_seed(11)
    reference.rand(drawn)
    reference.randn(3)
    carried = copied_state(torch, reference)
    expected = reference.randn(100).numpy(), reference.randn(3).numpy(), reference.randn(5).numpy()
    torch.set_rng_state(carried)
    np.testing.assert_array_equal(torch.randn(100).numpy(), expected[0])
    np.testing.assert_array_equal(torch.randn(3).numpy(), expected[1])
    reference.set_rng_state(copied_state(reference, torch))
    np.testing.assert_array_equal(reference.randn(5).numpy(), expected[2])


@pytest.mark.parametrize("size", [0, 5055, 5056])
def test_bad_state(size):
    with pytest.raises(RuntimeError):
        torch.set_rng_state(torch.zeros(size, dtype=torch.uint8))


def test_generators_are_independent():
    generator = torch.Generator().manual_seed(3)
    expected = reference.rand(5, generator=reference.Generator().manual_seed(3)).numpy()
    before = state(torch)
    np.testing.assert_array_equal(torch.rand(5, generator=generator).numpy(), expected)
    assert state(torch) == before
    assert torch.Generator().initial_seed() == reference.Generator().initial_seed()


@pytest.mark.parametrize("concentration, sample", [(0.3, 0.1), (1.0, 3.0), (2.5, 2.0), (100.0, 120.0)])
def test_gamma_samples_move_with_their_concentration(concentration, sample):
    def derivative(library):
        a, x = (library.tensor([v], dtype=library.float64) for v in (concentration, sample))
        return library._standard_gamma_grad(a, x).item()

    assert derivative(torch) == pytest.approx(derivative(reference), rel=1e-3)


@pytest.mark.parametrize(
    "x, alpha, total", [(0.1, 1, 2), (0.9, 3, 4), (0.99, 0.5, 3), (0.3, 50, 120), (0.001, 0.1, 0.5)]
)
def test_dirichlet_samples_move_with_their_concentration(x, alpha, total):
    def derivative(library):
        arguments = (library.tensor([float(v)], dtype=library.float64) for v in (x, alpha, total))
        return library._dirichlet_grad(*arguments).item()

    assert derivative(torch) == pytest.approx(derivative(reference), rel=1e-3)


def test_gradients_flow_through_gamma_samples():
    concentration = torch.full((50,), 2.0, requires_grad=True)
    torch._standard_gamma(concentration).sum().backward()
    assert (concentration.grad > 0).all()
