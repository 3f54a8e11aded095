"""Factory functions and conversions: values, types, devices and errors equal PyTorch's."""

import numpy as np
import pytest

import flambeau as torch

reference = pytest.importorskip("torch")


def same(ours, theirs):
    assert str(ours.dtype).rpartition(".")[2] == str(theirs.dtype).rpartition(".")[2]
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert ours.stride() == theirs.stride()
    assert ours.requires_grad == theirs.requires_grad
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-6, atol=1e-6)


MAKERS = {
    "arange": lambda t: t.arange(5),
    "arange_float": lambda t: t.arange(0, 1, 0.1),
    "arange_down": lambda t: t.arange(5, -3, -2, dtype=t.int16),
    "arange_truncated": lambda t: t.arange(-0.9, 2.1, 2.0, dtype=t.int64),
    "range": lambda t: t.range(1, 4, 0.5),
    "linspace": lambda t: t.linspace(-3, 7, 11, dtype=t.float64),
    "linspace_integers": lambda t: t.linspace(0, 10, 4, dtype=t.int64),
    "linspace_complex": lambda t: t.linspace(0, 1 + 2j, 3),
    "linspace_one": lambda t: t.linspace(3, 5, 1),
    "logspace": lambda t: t.logspace(-1, 2, 7, base=3.0),
    "eye": lambda t: t.eye(3, 5),
    "full_of_bool": lambda t: t.full((2, 3), True),
    "full_of_complex": lambda t: t.full((), 2j),
    "tril_indices": lambda t: t.tril_indices(3, 4, -1),
    "triu_indices": lambda t: t.triu_indices(4, 3, 1),
    "vander": lambda t: t.vander(t.tensor([1, 2, 3]), 4, increasing=True),
    "bartlett": lambda t: t.bartlett_window(7),
    "blackman": lambda t: t.blackman_window(7, False),
    "hann": lambda t: t.hann_window(6, dtype=t.float64, requires_grad=True),
    "hamming": lambda t: t.hamming_window(6, True, 0.5, 0.4),
    "kaiser": lambda t: t.kaiser_window(6, False, 3.0),
    "zeros_like_channels_last": lambda t: t.zeros_like(t.ones(2, 3, 4, 5), memory_format=t.channels_last),
    "ones_like_transposed": lambda t: t.ones_like(t.zeros(3, 4).t(), dtype=t.int8),
    "new_full": lambda t: t.zeros(1, dtype=t.float64).new_full((2, 2), 3),
    "out": lambda t: t.ones(2, out=t.zeros(5, dtype=t.int32)),
    "numbers_in_tensors": lambda t: t.tensor([t.tensor(1.5), 2]),
    "mixed": lambda t: t.tensor([True, 2, 2.5]),
    "numpy_scalar": lambda t: t.tensor(np.float64(2)),
    "old_constructor": lambda t: t.LongTensor([1, 2]),
    "new": lambda t: t.zeros(2, dtype=t.int64).new([1, 2]),
    "type": lambda t: t.ones(3).type("torch.IntTensor"),
    "map": lambda t: t.arange(3.0).map_(t.ones(1), lambda a, b: a * 2 + b),
    "apply": lambda t: t.arange(3).apply_(lambda a: a + 1.7),
    "resized": lambda t: t.arange(6.0).resize_(2, 2),
    "set": lambda t: t.ones(1).set_(t.arange(6.0).untyped_storage(), 1, (2, 2), (2, 1)),
}


@pytest.mark.parametrize("name", MAKERS)
def test_value(name):
    same(MAKERS[name](torch), MAKERS[name](reference))


ERRORS = {
    "zero_step": lambda t: t.arange(0, 1, 0),
    "wrong_direction": lambda t: t.arange(1, 0),
    "endless": lambda t: t.arange(0, float("inf")),
    "step_below_one": lambda t: t.arange(0, 64, 0.5, dtype=t.int64),
    "bool_range": lambda t: t.arange(3, dtype=t.bool),
    "negative_steps": lambda t: t.linspace(0, 1, -1),
    "negative_size": lambda t: t.empty(-1),
    "size_beyond_int64": lambda t: t.empty(2**62, 2**62),
    "size_beyond_memory": lambda t: t.empty(2**45),
    "float_size": lambda t: t.zeros(2.0),
    "value_too_large": lambda t: t.full((2,), 300, dtype=t.uint8),
    "grad_of_integers": lambda t: t.zeros(2, dtype=t.int64, requires_grad=True),
    "pinned": lambda t: t.zeros(2, pin_memory=True),
    "out_of_other_type": lambda t: t.zeros(2, dtype=t.float32, out=t.zeros(2, dtype=t.int64)),
    "normal_of_integers": lambda t: t.ones(2, dtype=t.int64).normal_(),
    "negative_std": lambda t: t.ones(2).normal_(0, -1),
    "bad_probability": lambda t: t.ones(2).bernoulli_(2),
    "bad_distribution": lambda t: t.multinomial(t.tensor([1.0, -1.0]), 1),
    "too_many_samples": lambda t: t.multinomial(t.tensor([1.0, 0.0]), 3),
    "dropout_p": lambda t: t.nn.functional.dropout(t.ones(2), 2),
    "out_of_meta": lambda t: t.ones(2, device="meta").to("cpu"),
    "unknown_device": lambda t: t.ones(2).to("float32"),
    "bad_type": lambda t: t.ones(2).type("foo"),
    "none": lambda t: t.tensor(None),
    "text": lambda t: t.tensor("a"),
    "ragged": lambda t: t.tensor([[1, 2], [3]]),
    "beyond_int64": lambda t: t.tensor([2**63]),
    "resize_with_grad": lambda t: t.ones(2, requires_grad=True).resize_(3),
    "set_to_other_type": lambda t: t.ones(2).set_(t.ones(2).double()),
    "negative_window": lambda t: t.hann_window(-1),
    "integer_window": lambda t: t.hann_window(3, dtype=t.int64),
    "alias_of_sequence": lambda t: t.asarray([1, 2], copy=False),
    "alias_of_other_type": lambda t: t.asarray(np.ones(2), dtype=t.float32, copy=False),
}


@pytest.mark.parametrize("name", ERRORS)
def test_error_class(name):
    with pytest.raises(Exception) as theirs:
        ERRORS[name](reference)
    with pytest.raises(theirs.type):
        ERRORS[name](torch)


def test_to_returns_the_tensor_itself_when_nothing_changes():
    x = torch.ones(2)
    assert x.to(torch.float32) is x and x.float() is x and x.to("cpu:0") is x
    assert x.to(torch.float32, copy=True) is not x


def test_conversion_carries_gradients():
    x = torch.ones(2, requires_grad=True)
    x.double().sum().backward()
    assert x.grad.dtype == torch.float32 and x.grad.tolist() == [1.0, 1.0]


def test_device_context():
    with torch.device("meta"):
        assert torch.ones(2).device.type == "meta"
        with torch.device("cpu"):
            assert torch.rand(2).device.type == "cpu"
        assert torch.tensor([1.0]).device.type == "meta"
        assert torch.ones(2, device="cpu").new_zeros(1).device.type == "cpu"
    assert torch.arange(2).device.type == "cpu"


def test_default_device():
    torch.set_default_device("meta")
    try:
        assert torch.eye(2).is_meta and torch.get_default_device() == torch.device("meta")
    finally:
        torch.set_default_device(None)
    assert not torch.eye(2).is_meta


def test_views_follow_a_resized_storage():
    whole = torch.zeros(4)
    part = whole[:2]
    whole.resize_(100_000)
    part.fill_(7)
    assert whole[:4].tolist() == [7, 7, 0, 0]


def test_data_shares_values_without_history():
    x = torch.ones(2, requires_grad=True)
    x.data[0] = 5
    assert x.tolist() == [5, 1] and x._version == 0 and not x.data.requires_grad


@pytest.mark.parametrize("name", torch.signal.windows.__all__)
@pytest.mark.parametrize("count, sym", [(0, True), (1, True), (6, True), (7, False)])
def test_signal_window(name, count, sym):
    options = {"sym": sym, **({"a": [0.3, 0.5, 0.2]} if name == "general_cosine" else {})}
    ours = getattr(torch.signal.windows, name)(count, dtype=torch.float64, **options)
    theirs = getattr(reference.signal.windows, name)(count, dtype=reference.float64, **options)
    same(ours, theirs)


@pytest.mark.parametrize("wrap", [False, True])
@pytest.mark.parametrize("sizes", [(3, 3), (7, 3), (2, 5), (3, 3, 3)])
def test_fill_diagonal(sizes, wrap):
    same(torch.zeros(sizes).fill_diagonal_(5, wrap), reference.zeros(sizes).fill_diagonal_(5, wrap))


def test_fill_as_a_function():
    x = torch.ones(2, requires_grad=True)
    assert torch.fill(x, 3).tolist() == [3, 3] and x.tolist() == [1, 1]
    y = torch.ones(2)
    assert torch.fill_(y, 2) is y and torch.zero_(y) is y and y.tolist() == [0, 0]
