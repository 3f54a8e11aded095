"""`__torch_function__` for functions written in Python, and modes."""

import pytest

import flambeau
from flambeau import overrides


class Duck:
    """Not a tensor; takes over every call."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return "duck", func.__name__, kwargs or {}


class Declines:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


class Subclass(flambeau.Tensor):
    pass


def test_who_takes_over():
    plain = (flambeau.ones(1), flambeau.nn.Parameter(flambeau.ones(1)), 3, None)
    assert not overrides.has_torch_function(plain)
    assert overrides.has_torch_function((3, Duck()))
    assert overrides.has_torch_function_unary(flambeau.ones(1).as_subclass(Subclass))
    assert overrides.has_torch_function_variadic(1, Duck())


def test_python_functions_ask_their_arguments():
    assert flambeau.einsum("i->", Duck())[:2] == ("duck", "einsum")
    assert flambeau.meshgrid(Duck(), indexing="ij") == ("duck", "meshgrid", {"indexing": "ij"})
    with pytest.raises(TypeError, match="Declines"):
        flambeau.broadcast_tensors(Declines())
    assert flambeau.broadcast_tensors(Declines(), Duck())[0] == "duck"


def test_subclasses_are_asked_before_their_bases():
    asked = []

    class Base:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(cls.__name__)
            return NotImplemented

    class Derived(Base):
        pass

    with pytest.raises(TypeError):
        flambeau.broadcast_tensors(Base(), Derived(), Derived())
    assert asked == ["Derived", "Base"]


def test_wrapping_functions_of_ones_own():
    @overrides.wrap_torch_function(lambda a, b=None: (a, b))
    def pair(a, b=None):
        return a, b

    assert pair(1, b=2) == (1, 2)
    assert pair(1, b=Duck())[:2] == ("duck", "pair")


def test_modes():
    seen = []

    class Log(overrides.TorchFunctionMode):
        def __init__(self, name):
            self.name = name

        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append((self.name, func.__name__))
            return func(*args, **(kwargs or {}))

    with Log("outer") as outer, Log("inner"):
        assert [mode.name for mode in overrides._get_current_function_mode_stack()] == ["outer", "inner"]
        assert overrides._get_current_function_mode().name == "inner"
        flambeau.broadcast_tensors(flambeau.Tensor())
    assert isinstance(outer, Log)
    calls = [entry for entry in seen if entry[1] == "broadcast_tensors"]
    assert calls == [("inner", "broadcast_tensors"), ("outer", "broadcast_tensors")]
    assert overrides._get_current_function_mode() is None
    with overrides.BaseTorchFunctionMode():
        assert flambeau.add(flambeau.ones(1), 1).item() == 2


def test_names():
    assert overrides.resolve_name(flambeau.add) == "torch.add"
    assert overrides.resolve_name(flambeau.Tensor.add) == "torch.Tensor.add"
    assert overrides.resolve_name(flambeau.nn.functional.relu) == "torch.nn.functional.relu"
    assert overrides.resolve_name(len) is None
    assert overrides.is_tensor_method_or_property(flambeau.Tensor.add)
    assert not overrides.is_tensor_method_or_property(flambeau.add)
    assert overrides.is_tensor_like(flambeau.ones(1)) and overrides.is_tensor_like(Duck())
    assert flambeau.add in overrides.get_overridable_functions()[flambeau]
    assert flambeau.zeros not in overrides.get_overridable_functions()[flambeau]
