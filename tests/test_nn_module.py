"""The semantics of Module: registration, hooks, state, the fast call, errors that name the layer."""

from __future__ import annotations

import copy
import gc
import pickle

import pytest

import flambeau
from flambeau import nn
from flambeau.nn.modules import module as module_file


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict({"first": nn.Linear(2, 2)})
        self.register_buffer("scratch", flambeau.ones(1), persistent=False)
        self.scale = nn.Buffer(flambeau.ones(2))

    def forward(self, x, *, shift=0):
        return self.layers["first"](x) * self.scale + shift


def test_registration_and_names():
    block = Block()
    assert [name for name, _ in block.named_parameters()] == ["layers.first.weight", "layers.first.bias"]
    assert [name for name, _ in block.named_buffers()] == ["scratch", "scale"]
    assert list(block.state_dict()) == ["scale", "layers.first.weight", "layers.first.bias"]
    assert block.get_parameter("layers.first.weight") is block.layers["first"].weight
    with pytest.raises(AttributeError, match="scale2"):
        _ = block.scale2
    with pytest.raises(TypeError):
        block.layers["first"].weight = flambeau.ones(2, 2)
    with pytest.raises(KeyError):
        block.add_module("a.b", nn.ReLU())
    del block.scale
    assert "scale" not in dict(block.named_buffers())


def test_assignment_before_init_is_refused():
    class Early(nn.Module):
        def __init__(self):
            self.weight = nn.Parameter(flambeau.ones(1))

    with pytest.raises(AttributeError, match="__init__"):
        Early()


def test_forward_hooks_in_order():
    model, seen = nn.Sequential(nn.Linear(2, 2), nn.ReLU()), []
    handles = [
        model[0].register_forward_pre_hook(lambda m, args: seen.append("pre")),
        model[0].register_forward_hook(lambda m, args, out: seen.append("post")),
        model[0].register_forward_hook(lambda m, args, out: seen.append("first"), prepend=True),
        module_file.register_module_forward_hook(lambda m, args, out: seen.append(type(m).__name__)),
    ]
    model(flambeau.ones(1, 2))
    assert seen == ["pre", "Linear", "first", "post", "ReLU", "Sequential"]
    for handle in handles:
        handle.remove()
    seen.clear()
    model(flambeau.ones(1, 2))
    assert not seen


def test_hooks_with_keywords_and_replacement():
    block = Block()
    plain = block(flambeau.ones(1, 2))
    block.register_forward_pre_hook(lambda m, args, kwargs: (args, {"shift": 1}), with_kwargs=True)
    assert flambeau.allclose(block(flambeau.ones(1, 2)), plain + 1)
    block.register_forward_hook(lambda m, args, kwargs, out: kwargs["shift"], with_kwargs=True)
    assert block(flambeau.ones(1, 2)) == 1


def test_always_called_hook_sees_failures():
    layer, seen = nn.Linear(2, 2), []
    layer.register_forward_hook(lambda m, args, out: seen.append(out), always_call=True)
    with pytest.raises(RuntimeError):
        layer(flambeau.ones(1, 3))
    assert seen == [None]


def test_full_backward_hooks():
    model, seen = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2)), []
    model.register_full_backward_pre_hook(lambda m, grad_output: seen.append(grad_output[0].shape))
    model.register_full_backward_hook(lambda m, grad_input, grad_output: (grad_input[0] * 2,))
    x = flambeau.ones(1, 3, requires_grad=True)
    model(x).sum().backward()
    twice = x.grad
    assert seen == [(1, 2)]
    expected = model[1].weight.sum(0) @ model[0].weight
    assert flambeau.allclose(twice[0], 2 * expected)


def test_load_reports_everything():
    model = nn.Sequential(nn.Linear(3, 4))
    with pytest.raises(RuntimeError) as caught:
        model.load_state_dict({"0.weight": flambeau.ones(3, 3), "extra": flambeau.ones(1)})
    text = str(caught.value)
    assert "0.bias" in text and "extra" in text and "size mismatch" in text
    result = model.load_state_dict({"0.bias": flambeau.ones(4)}, strict=False)
    assert result.missing_keys == ["0.weight"] and not result.unexpected_keys


@pytest.mark.parametrize("assign", [False, True])
def test_tied_weights_stay_tied(assign):
    model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
    model[1].weight = model[0].weight
    model.load_state_dict(copy.deepcopy(model).state_dict(), assign=assign)
    assert model[0].weight is model[1].weight
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other[0].weight is other[1].weight and other[0].weight is not model[0].weight


def test_conversions_keep_the_parameter():
    layer = nn.Linear(2, 2)
    weight = layer.weight
    layer.double()
    assert layer.weight is weight and weight.dtype == flambeau.float64
    with pytest.raises(TypeError):
        layer.to(flambeau.int64)


def test_error_names_the_layer():
    model = nn.Sequential()
    model.add_module("stem", nn.Linear(4, 8))
    model.add_module("head", nn.Sequential(nn.ReLU(), nn.Linear(9, 2)))
    with pytest.raises(RuntimeError) as caught:
        model(flambeau.zeros(1, 4))
    assert caught.value.__notes__ == ["in module: head.1 (Linear)"]
    assert pickle.loads(pickle.dumps(caught.value)).args == caught.value.args


class Outer(nn.Module):
    """Looks elsewhere for what it does not have, as wrappers do."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.inner, name)

    def forward(self, x):
        return self.inner(x)


def test_fast_paths_respect_overrides(monkeypatch):
    wrapped = Outer(nn.Linear(2, 3))
    assert wrapped.in_features == 2 and wrapped(flambeau.ones(1, 2)).shape == (1, 3)

    class Own(nn.Module):
        def __call__(self, x):
            return "own"

    assert Own()(1) == "own"
    layer = nn.Identity()
    layer.forward = lambda x: "instance"
    assert layer(1) == "instance"
    monkeypatch.setattr(nn.Module, "__call__", lambda self, *args: "patched")
    assert nn.Identity()(1) == "patched"
    monkeypatch.undo()
    assert nn.Identity()(1) == 1


def test_call_passes_every_kind_of_argument():
    class Echo(nn.Module):
        def forward(self, a, b=2, *rest, key, **more):
            return a, b, rest, key, more

    assert Echo()(1, key=3) == (1, 2, (), 3, {})
    assert Echo()(*range(12), key=0, z=1) == (0, 1, tuple(range(2, 12)), 0, {"z": 1})
    with pytest.raises(TypeError):
        Echo()(1)


def test_calls_leave_no_cycles():
    model, x = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1)), flambeau.ones(2, 4)
    model(x).sum().backward()
    gc.collect()
    gc.disable()
    try:
        for _ in range(20):
            model(x).sum().backward()
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_lazy_layers_become_their_class():
    layer = nn.LazyLinear(3)
    with pytest.raises(ValueError, match="uninitialized"):
        _ = layer.weight + 1
    with pytest.raises(RuntimeError):
        _ = layer.weight.shape
    assert layer(flambeau.ones(2, 5)).shape == (2, 3)
    assert type(layer) is nn.Linear and layer.in_features == 5
    assert isinstance(layer.weight, nn.Parameter)


def test_container_texts():
    assert (
        repr(nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Tanh()])) == "ModuleList(\n  (0-1): 2 x ReLU()\n  (2): Tanh()\n)"
    )
    assert repr(nn.Sequential()) == "Sequential()"
    assert list(nn.ParameterDict({"b": flambeau.ones(1), "a": flambeau.ones(1)})) == ["a", "b"]
