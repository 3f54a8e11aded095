"""Memory shared with others: NumPy, DLPack, buffers, copies and pickles; and how the package's own memory is kept."""

from __future__ import annotations

import copy
import gc
import pickle

import numpy as np
import pytest

import flambeau as fl

NUMPY_DTYPES = [
    "float64",
    "float32",
    "float16",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "bool",
    "complex64",
    "complex128",
]


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
def test_numpy_both_ways_without_a_copy(dtype):
    array = np.arange(6).astype(dtype).reshape(2, 3)
    t = fl.from_numpy(array)
    assert str(t.dtype) == f"torch.{dtype}"
    array[0, 1] = 0
    t[1, 2] = 1
    np.testing.assert_array_equal(t.numpy(), array)
    assert t.numpy().ctypes.data == array.ctypes.data
    np.testing.assert_array_equal(t.T.numpy(), array.T)


def test_lifetimes():
    t = fl.from_numpy(np.arange(1000.0))
    array = (t + 0).numpy()
    gc.collect()
    assert t.sum().item() == array.sum() == 499500
    view = fl.arange(10.0)[3:].numpy()
    gc.collect()
    assert view[0] == 3


def test_numpy_refusals():
    with pytest.raises(RuntimeError):
        fl.ones(1, requires_grad=True).numpy()
    with pytest.raises(TypeError):
        fl.from_numpy([1, 2])
    with pytest.raises(TypeError):
        fl.from_numpy(np.array(["a"]))
    with pytest.raises((TypeError, RuntimeError)):
        fl.ones(2, device="meta").numpy()
    with pytest.raises(ValueError, match="stride"):
        fl.from_numpy(np.arange(4)[::-1])
    assert fl.tensor(np.arange(4)[::-1].copy()).tolist() == [3, 2, 1, 0]


def test_dlpack_both_ways():
    t = fl.arange(6.0).reshape(2, 3)
    array = np.from_dlpack(t)
    t[0, 0] = 7
    assert array[0, 0] == 7
    back = fl.from_dlpack(np.arange(4.0))
    assert back.tolist() == [0, 1, 2, 3]
    torch = pytest.importorskip("torch")
    shared = torch.from_dlpack(t.T)
    t[1, 2] = 9
    assert shared[2, 1].item() == 9
    assert fl.from_dlpack(torch.arange(3)[1:]).tolist() == [1, 2]


def test_buffers():
    data = bytearray(16)
    t = fl.frombuffer(data, dtype=fl.float32)
    t.fill_(1.0)
    assert bytes(data[:4]) == np.float32(1).tobytes()
    assert memoryview(fl.arange(3)).tolist() == [0, 1, 2]


def test_copies_keep_ties():
    weight = fl.nn.Parameter(fl.ones(3))
    pair = copy.deepcopy([weight, weight])
    assert pair[0] is pair[1] and isinstance(pair[0], fl.nn.Parameter)
    base = fl.arange(6.0)
    halves = copy.deepcopy([base, base[3:]])
    halves[0][3] = 100
    assert halves[1][0] == 100
    with pytest.raises(RuntimeError, match=r"deepcopy|leaf|leaves"):
        copy.deepcopy(weight * 2)
    shallow = copy.copy(base)
    assert shallow is not base and shallow.data_ptr() == base.data_ptr()


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickles(protocol):
    for t in (
        fl.arange(6).reshape(2, 3).T,
        fl.tensor(1.5),
        fl.zeros(0, 3),
        fl.ones(2, dtype=fl.bfloat16),
        fl.tensor([True]),
    ):
        again = pickle.loads(pickle.dumps(t, protocol))
        assert again.dtype == t.dtype and again.shape == t.shape and again.stride() == t.stride()
        assert again.tolist() == t.tolist()
    for thing in (fl.float32, fl.device("meta"), fl.Size([1, 2]), fl.strided, fl.channels_last):
        assert pickle.loads(pickle.dumps(thing, protocol)) == thing


class Named(fl.Tensor):
    pass


def test_subclasses_pickle_and_copy():
    t = fl.ones(2).as_subclass(Named)
    t.label = "x"
    for again in (pickle.loads(pickle.dumps(t)), copy.deepcopy(t)):
        assert type(again) is Named and again.label == "x" and again.tolist() == [1, 1]
    assert type(t + 1) is Named


def test_memory_is_reused():
    fl._C._empty_cache()
    for _ in range(20):
        fl.empty(1 << 20)
    before = fl._C._memory_stats()
    for _ in range(50):
        fl.empty(1 << 20)
    after = fl._C._memory_stats()
    assert after["reused"] - before["reused"] >= 50
    assert after["allocated"] == before["allocated"]


def test_impossible_sizes_are_out_of_memory_errors():
    for size in (1 << 45, 1 << 58):
        with pytest.raises(fl.OutOfMemoryError):
            fl.empty(size)
    for sizes in ((1 << 62, 4), (1 << 62,), (2**31, 2**31, 2**31)):
        with pytest.raises(RuntimeError):
            fl.zeros(*sizes)
    with pytest.raises(RuntimeError, match="negative"):
        fl.empty(-1)


def test_limit_on_memory():
    fl._C._empty_cache()
    fl._C._set_memory_limit(fl._C._memory_stats()["allocated"] + (64 << 20))
    try:
        with pytest.raises(fl.OutOfMemoryError):
            fl.empty(32 << 20)
        assert fl.ones(1 << 20).sum().item() == 1 << 20
    finally:
        fl._C._set_memory_limit(0)
