"""`assert_close` and `make_tensor`, compared with PyTorch's."""

import pytest

import flambeau

torch = pytest.importorskip("torch")

PAIRS = [
    lambda t: (t.tensor([1.0, 2.0, 3.0]), t.tensor([1.0, 2.0, 4.0])),
    lambda t: (t.tensor([1, 2, 3]), t.tensor([1, 2, 4])),
    lambda t: (t.tensor(1.0), t.tensor(2.0)),
    lambda t: (1.0, 2.0),
    lambda t: (1, 2),
    lambda t: (1 + 1j, 1 + 2j),
    lambda t: (True, False),
    lambda t: (None, 1),
    lambda t: (1, 1.0),
    lambda t: ("a", "a"),
    lambda t: ({1}, {1}),
    lambda t: (t.tensor([1.0]), t.tensor([1.0, 2.0])),
    lambda t: (t.tensor([1.0]), t.tensor([1.0], dtype=t.float64)),
    lambda t: (t.tensor([1.0]), [1.0]),
    lambda t: ([1, 2], [1, 2, 3]),
    lambda t: ({"a": 1}, {"b": 1}),
    lambda t: ({"a": t.tensor([1.0]), "b": [t.tensor(1.0), t.tensor(2.0)]},) * 2,
    lambda t: ({"b": [t.tensor(1.0), t.tensor(2.0)]}, {"b": [t.tensor(1.0), t.tensor(3.0)]}),
    lambda t: ((t.tensor(1.0),), [t.tensor(1.0)]),
    lambda t: (t.tensor([float("nan")]), t.tensor([float("nan")])),
    lambda t: (t.tensor([float("inf"), 1.0]), t.tensor([float("inf"), 2.0])),
    lambda t: (t.tensor([1.0]), t.ones(1, device="meta")),
    lambda t: (t.tensor([1.0]), t.nn.Parameter(t.tensor([1.0]))),
    lambda t: (t.tensor([1 + 1j]), t.tensor([1 + 2j])),
    lambda t: (t.tensor([True, False]), t.tensor([True, True])),
    lambda t: (t.tensor([255], dtype=t.uint8), t.tensor([0], dtype=t.uint8)),
    lambda t: (t.zeros(2, 0), t.zeros(2, 0)),
    lambda t: (t.tensor([1.0, 2.0]).to(t.bfloat16), t.tensor([1.0, 2.1]).to(t.bfloat16)),
    lambda t: (t.arange(4.0).reshape(2, 2), t.arange(4.0).reshape(2, 2) + 1e-7),
]
OPTIONS = [
    {},
    {"rtol": 0, "atol": 0},
    {"rtol": 0, "atol": 0.5},
    {"equal_nan": True},
    {"check_dtype": False},
    {"allow_subclasses": False},
    {"check_device": False, "check_stride": True},
]
STATISTICS = ("Mismatched", "Greatest", "Absolute", "Relative", "Expected", "The failure", "Tensor-likes", "Scalars")


def outcome(library, pair, options):
    try:
        library.testing.assert_close(*pair(library), **options)
    except (AssertionError, TypeError, RuntimeError) as error:
        text = str(error)
        return type(error), [line for line in text.splitlines() if line.startswith(STATISTICS)]
    return None


@pytest.mark.parametrize("pair", PAIRS)
def test_verdict_and_statistics(pair):
    for options in OPTIONS:
        assert outcome(flambeau, pair, options) == outcome(torch, pair, options), options


def test_message_can_be_replaced():
    one, two = flambeau.tensor([1.0]), flambeau.tensor([2.0])
    with pytest.raises(AssertionError, match="mine"):
        flambeau.testing.assert_close(one, two, msg="mine")
    with pytest.raises(AssertionError, match="see: Tensor-likes"):
        flambeau.testing.assert_close(one, two, msg=lambda text: "see: " + text)


def test_tolerances_go_together():
    with pytest.raises(ValueError, match="rtol"):
        flambeau.testing.assert_close(1.0, 1.0, rtol=1.0)


def test_the_older_form():
    with pytest.warns(FutureWarning):
        flambeau.testing.assert_allclose(flambeau.tensor([1.0, float("nan")]), [1.00001, float("nan")])
    with pytest.warns(FutureWarning), pytest.raises(AssertionError):
        flambeau.testing.assert_allclose(flambeau.tensor([1.0]), flambeau.tensor([1.1]))


DTYPES = ["bool", "uint8", "int8", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"low": -1, "high": 2},
        {"low": 0.5, "high": 1.5},
        {"low": -500, "high": 500},
        {"exclude_zero": True, "low": -1, "high": 2},
        {"noncontiguous": True},
        {"requires_grad": True},
    ],
)
def test_made_tensors_have_pytorchs_values(dtype, options):
    made = []
    for library in (flambeau, torch):
        library.manual_seed(0)
        try:
            tensor = library.testing.make_tensor(3, 7, dtype=getattr(library, dtype), device="cpu", **options)
            made.append((tensor.tolist(), tensor.stride(), tensor.requires_grad))
        except ValueError as error:
            made.append(type(error))
    assert made[0] == made[1]


@pytest.mark.parametrize(
    "options",
    [
        {"low": 4, "high": 3},
        {"low": float("nan")},
        {"high": -20},
        {"low": 3, "high": 3},
        {"requires_grad": True},
        {"noncontiguous": True, "memory_format": flambeau.channels_last},
    ],
)
def test_bad_bounds_and_combinations(options):
    with pytest.raises(ValueError, match="make_tensor"):
        flambeau.testing.make_tensor(2, 3, dtype=flambeau.int64, device="cpu", **options)
