import pytest

import flambeau

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"])
def test_floats(name):
    ours, theirs = flambeau.finfo(getattr(flambeau, name)), torch.finfo(getattr(torch, name))
    for attribute in ["bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution", "dtype"]:
        assert getattr(ours, attribute) == getattr(theirs, attribute)
    assert repr(ours) == repr(theirs)


@pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_integers(name):
    ours, theirs = flambeau.iinfo(getattr(flambeau, name)), torch.iinfo(getattr(torch, name))
    assert (ours.bits, ours.min, ours.max, ours.dtype) == (theirs.bits, theirs.min, theirs.max, theirs.dtype)
    assert repr(ours) == repr(theirs)


def test_defaults_and_refusals():
    assert flambeau.finfo() == flambeau.finfo(flambeau.float32) != flambeau.finfo(flambeau.float64)
    for call in (
        lambda: flambeau.finfo(flambeau.int8),
        lambda: flambeau.iinfo(flambeau.float32),
        lambda: flambeau.iinfo(flambeau.bool),
        lambda: flambeau.finfo(3),
        lambda: hash(flambeau.finfo()),
    ):
        with pytest.raises(TypeError):
            call()
