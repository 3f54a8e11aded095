import pytest

import flambeau

torch = pytest.importorskip("torch")

CALLS = [
    lambda t: t.equal(t.ones(1), t.ones(1).double()),
    lambda t: t.equal(t.ones(1), t.ones(1, device="meta")),
    lambda t: t.equal(t.ones(1), t.ones(2)),
    lambda t: t.equal(t.ones(0), t.ones(0)),
    lambda t: t.equal(t.tensor(float("nan")), t.tensor(float("nan"))),
    lambda t: t.isclose(t.ones(1), t.ones(1).double()),
    lambda t: t.isclose(t.ones(1), t.ones(1), rtol=-1),
    lambda t: t.isclose(t.tensor([3]), t.tensor([4]), rtol=0.3),
    lambda t: t.isclose(t.tensor([True]), t.tensor([False]), rtol=0.3),
    lambda t: t.isclose(t.tensor([1 + 1j]), t.tensor([1 + 1.0000001j])),
    lambda t: t.isclose(t.ones(1), 1.0),
    lambda t: t.ones(2, 3).isclose(t.ones(3)),
    lambda t: t.isclose(t.ones(2), t.ones(3)),
    lambda t: t.allclose(t.ones(2, 3), t.ones(3)),
    lambda t: t.isclose(t.tensor([float("inf"), 2.0]), t.tensor([float("inf"), 1.0]), rtol=float("inf")),
    lambda t: t.isclose(t.tensor([float("nan"), 1.0]), t.tensor([float("nan"), 1.0])),
    lambda t: t.isclose(t.tensor([float("nan"), 1.0]), t.tensor([float("nan"), 1.0]), equal_nan=True),
    lambda t: t.isclose(t.tensor([255], dtype=t.uint8), t.tensor([0], dtype=t.uint8), atol=1.5),
    lambda t: t.isclose(t.tensor([2**62]), t.tensor([2**62 + 1]), rtol=0, atol=0),
    lambda t: t.allclose(t.zeros(0), t.zeros(0)),
]


def outcome(library, call):
    try:
        value = call(library)
    except Exception as error:
        return type(error)
    return value.tolist() if hasattr(value, "tolist") else value


@pytest.mark.parametrize("call", CALLS)
def test_calls(call):
    assert outcome(flambeau, call) == outcome(torch, call)
