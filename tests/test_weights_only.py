"""The restricted unpickler: what it builds, and what it refuses."""

import dataclasses
import io
import os
import pickle
import struct
import zipfile

import pytest

import flambeau


@dataclasses.dataclass
class Config:
    width: int = 3


def make_three():
    return 3


def archive(data: bytes, storages=(b"\0" * 16,)) -> io.BytesIO:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("archive/data.pkl", data)
        file.writestr("archive/version", "3\n")
        for number, storage in enumerate(storages):
            file.writestr(f"archive/data/{number}", storage)
    buffer.seek(0)
    return buffer


def tensor_pickle(count=4, offset=0, size=4, stride=1) -> bytes:
    def number(value):
        return b"J" + struct.pack("<i", value)

    return (
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\0000X\x03\0\0\0cpu"
        + number(count)
        + b"tQ"
        + number(offset)
        + number(size)
        + b"\x85"
        + number(stride)
        + b"\x85\x89ccollections\nOrderedDict\n)RtR."
    )


class Runs:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.mark.parametrize("protocol", range(6))
def test_code_is_not_run(tmp_path, protocol):
    flag = tmp_path / "flag"
    evil = pickle.dumps({"x": [Runs(str(flag))]}, protocol)
    for file in (archive(evil), io.BytesIO(evil)):
        with pytest.raises(pickle.UnpicklingError):
            flambeau.load(file)
    assert not flag.exists()


@pytest.mark.parametrize(
    "name",
    [
        "builtins eval",
        "builtins getattr",
        "os system",
        "functools partial",
        "pickle loads",
        "torch load",
        "torch.hub load",
        "torch.serialization load",
        "flambeau load",
        "torch.storage _load_from_bytes",
        "torch nn.Module",
        "torch.nn Linear",
    ],
)
def test_names_off_the_list_are_refused(name):
    data = b"\x80\x02c" + name.replace(" ", "\n").encode() + b"\nX\x01\x00\x00\x001\x85R."
    with pytest.raises(pickle.UnpicklingError, match="not on the list"):
        flambeau.load(archive(data))


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x02ctorch\nTensor\nJ\xff\xff\xff\x7f\x85R.",  # a call that takes memory
        b"\x80\x02ctorch\nTensor\nJ\xff\xff\xff\x7f\x85\x81.",  # the same through __new__
        b"\x80\x02ctorch\nTensor\n}X\x01\0\0\0aK\x01sb.",  # the state of a class, not of an object
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n}X\x01\0\0\0aK\x01sb.",
        b"\x80\x02]}X\x01\0\0\0aK\x01sb.",
        b"\x80\x02cbuiltins\nbytearray\nJ\xff\xff\xff\x7f\x85R.",
        b"\x80\x02ccollections\nOrderedDict\nK\x01s.",  # items of the class
        b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x0f.",  # a length past the end of the file
        b"\x80\x02j\xff\xff\xff\x7f.",
        b"\x80\x02(.",
        b"\x80\x02.",
        b"\x80\x02K\x01Q.",
        b"\x80\x99N.",
    ],
)
def test_pickles_that_reach_too_far_are_refused(data):
    with pytest.raises(pickle.UnpicklingError):
        flambeau.load(archive(data))


def test_a_tensor_must_lie_in_its_storage():
    assert flambeau.load(archive(tensor_pickle())).tolist() == [0.0] * 4
    for lie in ({"size": 5}, {"offset": 1}, {"stride": 2}, {"size": -1}, {"offset": -1}, {"stride": -1}, {"count": 5}):
        with pytest.raises(RuntimeError):
            flambeau.load(archive(tensor_pickle(**lie)))


def test_sizes_are_checked_before_memory_is_taken():
    with pytest.raises(RuntimeError, match="record"):
        flambeau.load(archive(tensor_pickle(count=2**31 - 1)))


def test_safe_globals():
    data = io.BytesIO()
    flambeau.save({"c": Config(5)}, data)

    def load():
        data.seek(0)
        return flambeau.load(data)["c"]

    with pytest.raises(pickle.UnpicklingError, match="add_safe_globals"):
        load()
    with flambeau.serialization.safe_globals([Config]):
        assert load() == Config(5)
        assert flambeau.serialization.get_safe_globals() == [Config]
    assert flambeau.serialization.get_safe_globals() == []
    flambeau.serialization.add_safe_globals([Config, (make_three, "elsewhere.three")])
    try:
        assert load() == Config(5)
        assert flambeau.load(archive(b"\x80\x02celsewhere\nthree\n)R.")) == 3
    finally:
        flambeau.serialization.clear_safe_globals()
    with pytest.raises(pickle.UnpicklingError):
        load()


def test_names_a_file_asks_for():
    data = io.BytesIO()
    flambeau.save({"c": Config(5), "w": flambeau.ones(2)}, data)
    data.seek(0)
    assert flambeau.serialization.get_unsafe_globals_in_checkpoint(data) == [f"{__name__}.Config"]


def test_who_decides(monkeypatch):
    data = io.BytesIO()
    flambeau.save(Config(5), data)

    def load(**arguments):
        data.seek(0)
        return flambeau.load(data, **arguments)

    assert load(weights_only=False) == load(pickle_module=pickle) == Config(5)
    with pytest.raises(RuntimeError, match="pickle_module"):
        load(pickle_module=pickle, weights_only=True)
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    assert load() == Config(5)
    with pytest.raises(pickle.UnpicklingError):
        load(weights_only=True)
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(RuntimeError, match="both"):
        load()
    monkeypatch.delenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    with pytest.raises(pickle.UnpicklingError):
        load(weights_only=False)
