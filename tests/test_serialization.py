"""Files: written by one library, read by the other, and damaged in between."""

import io
import os
import pickle
import random
import stat
import tarfile
import zipfile
from collections import OrderedDict

import pytest

import flambeau

torch = pytest.importorskip("torch")

WHOLE = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES = ["float64", "float32", "float16", "bfloat16", "complex64", "complex128", "bool", *WHOLE]


def contents(library):
    """An object with everything that checkpoints hold."""
    matrix = library.arange(12.0).reshape(3, 4)
    return {
        **{name: library.arange(5).to(getattr(library, name)) for name in DTYPES},
        "matrix": matrix,
        "transposed": matrix.t(),
        "part": matrix[1:, 2:],
        "conjugated": library.ones(2, dtype=library.complex64).conj(),
        "empty": library.zeros(0, 3),
        "scalar": library.tensor(3.5),
        "leaf": library.ones(2, requires_grad=True),
        "meta": library.empty(2, 3, device="meta"),
        "parameter": library.nn.Parameter(library.ones(2)),
        "state": OrderedDict(a=1),
        "dtype": library.bfloat16,
        "device": library.device("cpu"),
        "size": library.Size([1, 2]),
        "plain": [None, True, -5, 2**70, 1.5, "ü", (1, (2,), ()), {1, 2}, b"ab\xff", bytearray(b"xy"), 1 + 2j],
    }


def facts(value):
    """A description that does not depend on the library."""
    if hasattr(value, "requires_grad"):
        about = (type(value).__name__, str(value.dtype), tuple(value.shape), value.stride(), value.requires_grad)
        return (*about, None if value.device.type == "meta" else value.detach().resolve_conj().tolist())
    if isinstance(value, dict):
        return type(value).__name__, [(key, facts(item)) for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [facts(item) for item in value]
    return type(value).__name__, str(value)


def saved(library, obj, **arguments):
    buffer = io.BytesIO()
    library.save(obj, buffer, **arguments)
    return buffer.getvalue()


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("protocol", [2, 4, 5])
@pytest.mark.parametrize("archive", [True, False])
@pytest.mark.parametrize("writer, reader", [(flambeau, torch), (torch, flambeau), (flambeau, flambeau)])
def test_both_ways(writer, reader, archive, protocol, weights_only):
    if reader is torch and weights_only and protocol > 2:
        pytest.skip("PyTorch's restricted reader knows protocol 2 only")
    data = saved(writer, contents(writer), pickle_protocol=protocol, _use_new_zipfile_serialization=archive)
    loaded = reader.load(io.BytesIO(data), weights_only=weights_only)
    assert facts(loaded) == facts(contents(reader))


@pytest.mark.parametrize("archive", [True, False])
def test_tensors_that_share_memory_share_it_again(archive):
    data = saved(flambeau, contents(flambeau), _use_new_zipfile_serialization=archive)
    for reader in (flambeau, torch):
        loaded = reader.load(io.BytesIO(data))
        loaded["matrix"][1, 2] = -1
        assert loaded["transposed"][2, 1] == -1 and loaded["part"][0, 0] == -1


@pytest.mark.parametrize("archive", [True, False])
def test_only_the_part_of_a_storage_in_use_is_written(archive):
    big = flambeau.arange(200_000.0)
    data = saved(flambeau, {"a": big[10:20], "b": big[15:40]}, _use_new_zipfile_serialization=archive)
    assert len(data) < 5000
    for reader in (flambeau, torch):
        loaded = reader.load(io.BytesIO(data))
        assert loaded["a"].tolist() == big[10:20].tolist() and loaded["b"].tolist() == big[15:40].tolist()
        loaded["a"][6] = -1
        assert loaded["b"][1] == -1


def test_the_whole_storage_is_written_when_it_is_asked_for():
    big = flambeau.arange(200_000.0)
    whole = flambeau.storage.TypedStorage(wrap_storage=big.untyped_storage(), dtype=flambeau.float32)
    loaded = flambeau.load(io.BytesIO(saved(flambeau, {"part": big[10:20], "whole": whole})))
    assert len(loaded["whole"]) == 200_000 and loaded["part"].storage_offset() == 10


def test_one_memory_seen_as_two_types_is_refused():
    tensor = flambeau.ones(4)
    with pytest.raises(RuntimeError, match=r"float32.*int32"):
        saved(flambeau, [tensor, tensor.view(flambeau.int32)])


@pytest.mark.parametrize("writer, reader", [(flambeau, torch), (torch, flambeau), (flambeau, flambeau)])
def test_mapped_files(tmp_path, writer, reader):
    path = tmp_path / "file.pt"
    writer.save(contents(writer), path)
    loaded = reader.load(path, mmap=True)
    assert facts(loaded) == facts(contents(reader))
    loaded["matrix"][0, 0] = 100
    assert reader.load(path)["matrix"][0, 0] == 0


def test_mapping_needs_a_path_and_an_archive(tmp_path):
    path = tmp_path / "old.pt"
    flambeau.save(flambeau.ones(2), path, _use_new_zipfile_serialization=False)
    with pytest.raises(RuntimeError, match="zip format"):
        flambeau.load(path, mmap=True)
    with pytest.raises(ValueError, match="path"):
        flambeau.load(io.BytesIO(saved(flambeau, 1)), mmap=True)


def test_records_are_aligned_and_readable_by_other_tools(tmp_path):
    path = tmp_path / "weights.pt"
    flambeau.save(contents(flambeau), path)
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert {name.partition("/")[0] for name in archive.namelist()} == {"weights"}
        assert archive.read("weights/byteorder") in (b"little", b"big")
        for entry in archive.infolist():
            with archive.open(entry) as record:
                assert record._orig_compress_start % 64 == 0


def test_compressed_archives_are_read():
    packed = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(saved(torch, contents(torch)))) as source,
        zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for name in source.namelist():
            target.writestr(name, source.read(name))
    packed.seek(0)
    assert facts(flambeau.load(packed)) == facts(contents(flambeau))


def test_files_of_the_other_byte_order():
    plain = saved(flambeau, contents(flambeau))
    swapped = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(plain)) as source, zipfile.ZipFile(swapped, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            if name.endswith("byteorder"):
                data = b"big"
            target.writestr(name, data)
    ours, theirs = (library.load(io.BytesIO(swapped.getvalue())) for library in (flambeau, torch))
    for name in ("float64", "int16", "complex64", "uint8"):
        assert ours[name].tolist() == theirs[name].tolist(), name


def tar_file():
    """A file of the oldest format, made by hand."""
    protocol, parts = 2, {}
    parts["sys_info"] = pickle.dumps({"little_endian": True}, protocol)
    numbers = torch.arange(4.0)
    storage = pickle.dumps(1, protocol) + b"\x80\x02(K\x01U\x03cpuctorch\nFloatStorage\nt."
    parts["storages"] = storage + (4).to_bytes(8, "little") + bytes(numbers.numpy()) + pickle.dumps([], protocol)
    tensor = pickle.dumps(1, protocol) + b"\x80\x02(K\x02K\x01ctorch\nFloatTensor\nt."
    geometry = [2, 2, 1, 2, 0]
    parts["tensors"] = tensor + (2).to_bytes(8, "little") + b"".join(n.to_bytes(8, "little") for n in geometry)
    parts["pickle"] = b"\x80\x02}U\x01wU\x012Qs."
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in parts.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return buffer


def test_the_oldest_format(tmp_path):
    path = tmp_path / "old.pt"
    path.write_bytes(tar_file().getvalue())
    for reader in (torch, flambeau):
        assert reader.load(path, weights_only=False)["w"].tolist() == [[0.0, 2.0], [1.0, 3.0]]


# ---- places


def test_map_location():
    data = saved(flambeau, {"w": flambeau.ones(2)})
    asked = []

    def place(storage, location):
        asked.append((storage.nbytes(), location))

    for where in ("cpu", flambeau.device("cpu"), {"cpu": "cpu"}, place, None):
        assert flambeau.load(io.BytesIO(data), map_location=where)["w"].tolist() == [1.0, 1.0]
    assert asked == [(8, "cpu")]
    assert flambeau.load(io.BytesIO(data), map_location="meta")["w"].device.type == "meta"
    with pytest.raises(RuntimeError, match="cuda"):
        flambeau.load(io.BytesIO(data), map_location="cuda")


# ---- writing


def test_a_failed_save_keeps_the_old_file(tmp_path):
    path = tmp_path / "file.pt"
    flambeau.save({"step": 1}, path)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        flambeau.save({"w": flambeau.ones(5), "f": lambda: 0}, path)
    assert flambeau.load(path) == {"step": 1} and os.listdir(tmp_path) == ["file.pt"]


def test_permissions_and_links_survive_a_save(tmp_path):
    path, link = tmp_path / "file.pt", tmp_path / "link.pt"
    flambeau.save(1, path)
    path.chmod(0o640)
    link.symlink_to(path)
    flambeau.save(2, link)
    assert link.is_symlink() and stat.S_IMODE(path.stat().st_mode) == 0o640 and flambeau.load(path) == 2


def test_targets_that_cannot_be_written(tmp_path):
    with pytest.raises(RuntimeError, match="does not exist"):
        flambeau.save(1, tmp_path / "missing" / "file.pt")
    with pytest.raises(AttributeError, match="write"):
        flambeau.save(1, object())
    flambeau.save(1, "/dev/null")


def test_sources_that_cannot_be_read(tmp_path):
    with pytest.raises(FileNotFoundError):
        flambeau.load(tmp_path / "missing.pt")
    with pytest.raises(EOFError):
        flambeau.load(io.BytesIO(b""))
    with pytest.raises(AttributeError, match="seek"):
        flambeau.load(object())


# ---- damage


@pytest.mark.parametrize("archive", [True, False])
@pytest.mark.parametrize("verify", [True, False])
def test_damaged_files_load_or_raise(archive, verify):
    state = {"w": flambeau.arange(64.0), "p": flambeau.nn.Parameter(flambeau.ones(3)), "o": OrderedDict(a=[1])}
    good, rng = saved(flambeau, state, _use_new_zipfile_serialization=archive), random.Random(5)
    flambeau.serialization.set_crc32_options(verify)
    try:
        for _ in range(400):
            data = bytearray(good)
            if rng.random() < 0.2:
                del data[rng.randrange(len(data)) :]
            else:
                for _ in range(rng.choice((1, 1, 2, 5))):
                    data[rng.randrange(len(data))] = rng.randrange(256)
            try:
                loaded = flambeau.load(io.BytesIO(bytes(data)))
            except (RuntimeError, pickle.UnpicklingError, EOFError, UnicodeDecodeError):
                continue
            repr(loaded)
    finally:
        flambeau.serialization.set_crc32_options(True)


def test_a_changed_number_is_noticed():
    data = bytearray(saved(flambeau, {"w": flambeau.arange(64.0)}))
    data[data.index(flambeau.arange(64.0).numpy().tobytes()) + 17] ^= 1
    with pytest.raises(RuntimeError, match="checksum"):
        flambeau.load(io.BytesIO(bytes(data)))


# ---- pickle and copy


def test_whole_modules_travel():
    module = flambeau.nn.Linear(3, 2)
    for reader in (flambeau, torch):
        loaded = reader.load(io.BytesIO(saved(flambeau, module)), weights_only=False)
        assert loaded.weight.tolist() == module.weight.tolist() and isinstance(loaded, reader.nn.Linear)


def test_pickle_keeps_attributes():
    tensor = flambeau.arange(3.0)
    tensor.note = "mine"
    for copy in (pickle.loads(pickle.dumps(tensor)), flambeau.load(io.BytesIO(saved(flambeau, tensor)))):
        assert copy.tolist() == [0.0, 1.0, 2.0] and copy.note == "mine"
