"""`torch.FloatTensor` and the like, compared with PyTorch."""

import pickle

import pytest

import flambeau

torch = pytest.importorskip("torch")

CALLS = [
    lambda t: t.FloatTensor([1, 2]),
    lambda t: t.FloatTensor((2, 3)),
    lambda t: list(t.FloatTensor(2, 3).shape),
    lambda t: list(t.ByteTensor(3).shape),
    lambda t: list(t.FloatTensor(t.Size([2])).shape),
    lambda t: t.FloatTensor(),
    lambda t: t.LongTensor([1.5, True]),
    lambda t: t.LongTensor(range(3)),
    lambda t: t.LongTensor(t.tensor([1, 2])),
    lambda t: t.LongTensor(t.ones(2)),
    lambda t: t.LongTensor("a"),
    lambda t: t.FloatTensor(1.5),
    lambda t: t.FloatTensor(-1),
    lambda t: t.FloatTensor([[1], [2, 3]]),
    lambda t: t.FloatTensor(2, device="cuda"),
    lambda t: t.DoubleTensor(t.arange(3.0).double().untyped_storage()),
    lambda t: [isinstance(x, t.FloatTensor) for x in (t.ones(1), t.ones(1).double(), t.nn.Parameter(t.ones(1)), 3)],
    lambda t: str(t.HalfTensor),
    lambda t: (t.IntTensor.__name__, str(t.IntTensor.dtype), t.IntTensor.is_cuda),
    lambda t: t.ones(2).type(t.DoubleTensor),
    lambda t: t.ones(2).type("torch.IntTensor"),
    lambda t: t.ComplexFloatTensor,
]


def outcome(library, call):
    try:
        value = call(library)
    except Exception as error:
        return type(error)
    return (str(value.dtype), value.tolist()) if hasattr(value, "tolist") else value


@pytest.mark.parametrize("call", CALLS)
def test_calls(call):
    assert outcome(flambeau, call) == outcome(torch, call)


def test_pickle():
    assert pickle.loads(pickle.dumps(flambeau.FloatTensor)) is flambeau.FloatTensor
