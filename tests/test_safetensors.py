import io
import json
import random

import pytest

import flambeau
from flambeau import safetensors


def tensors():
    names = [
        "float64",
        "float32",
        "float16",
        "bfloat16",
        "int64",
        "int32",
        "int16",
        "int8",
        "uint8",
        "bool",
        "complex64",
    ]
    named = {name: flambeau.arange(5).to(getattr(flambeau, name)) for name in names}
    return {**named, "transposed": flambeau.arange(6.0).reshape(2, 3).t(), "none": flambeau.zeros(0, 3)}


def file(header, data=b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def test_round_trip(tmp_path):
    path = tmp_path / "model.safetensors"
    safetensors.save_file(tensors(), path, {"format": "pt"})
    assert safetensors.read_metadata(path) == {"format": "pt"}
    for loaded in (safetensors.load_file(path), safetensors.load(safetensors.save(tensors()))):
        assert loaded.keys() == tensors().keys()
        for name, tensor in tensors().items():
            assert loaded[name].dtype == tensor.dtype and loaded[name].tolist() == tensor.tolist()
    assert safetensors.load_file(path, device="meta")["int8"].device.type == "meta"


def test_against_the_reference_package(tmp_path):
    reference = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "model.safetensors"
    named = {name: tensor for name, tensor in tensors().items() if tensor.dtype != flambeau.bfloat16}
    safetensors.save_file(named, path)
    for name, array in reference.load_file(path).items():
        assert array.tolist() == named[name].tolist()
    reference.save_file({"a": named["transposed"].contiguous().numpy()}, path)
    assert safetensors.load_file(path)["a"].tolist() == named["transposed"].tolist()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff" * 8,
        (1 << 62).to_bytes(8, "little") + b"{}",
        file(b"[]"),
        file(b"{"),
        file(b"[" * 100_000),
        file({"a": 3}),
        file({"a": {"dtype": "F99", "shape": [1], "data_offsets": [0, 4]}}, b"\0" * 4),
        file({"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}, b"\0" * 4),
        file({"a": {"dtype": "F32", "shape": [1.5], "data_offsets": [0, 4]}}, b"\0" * 4),
        file({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}, b"\0" * 4),
        file({"a": {"dtype": "F32", "shape": [1 << 40], "data_offsets": [0, 1 << 42]}}, b"\0" * 4),
        file({"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}}, b"\0" * 8),
        file({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}, b"\0" * 8),
        file({n: {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]} for n in "ab"}, b"\0" * 4),
    ],
)
def test_bad_files_are_refused(data):
    with pytest.raises(ValueError, match="safetensors"):
        safetensors.load(data)


def test_damaged_files_load_or_raise():
    good, rng = safetensors.save(tensors()), random.Random(3)
    for _ in range(500):
        data = bytearray(good)
        data[rng.randrange(len(data) // 2)] = rng.randrange(256)
        try:
            safetensors.load(bytes(data))
        except (ValueError, UnicodeDecodeError):
            continue


def test_what_cannot_be_saved():
    with pytest.raises(TypeError):
        safetensors.save([flambeau.ones(1)])
    with pytest.raises(TypeError):
        safetensors.save({"a": 1})
    with pytest.raises(TypeError):
        safetensors.save({}, {"a": 1})
    with pytest.raises(ValueError, match="meta"):
        safetensors.save({"a": flambeau.ones(1, device="meta")})
    assert io.BytesIO(safetensors.save({})).read(8) == (8).to_bytes(8, "little")
