"""Sharing memory with NumPy, through DLPack and between processes."""

import os

import numpy as np
import pytest

import flambeau as torch

reference = pytest.importorskip("torch")


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "int64", "uint8", "uint32", "bool", "complex64"])
def test_dlpack_to_numpy_and_back(dtype):
    x = torch.arange(12).reshape(3, 4).to(getattr(torch, dtype))[:, ::2]
    array = np.from_dlpack(x)
    assert array.dtype.name == dtype
    np.testing.assert_array_equal(array, x.numpy())
    back = torch.from_dlpack(array)
    assert back.data_ptr() == x.data_ptr() and back.stride() == x.stride()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int16", "complex128"])
def test_dlpack_with_pytorch(dtype):
    theirs = reference.arange(6).to(getattr(reference, dtype))
    ours = torch.from_dlpack(theirs)
    assert str(ours.dtype) == str(theirs.dtype) and ours.data_ptr() == theirs.data_ptr()
    assert reference.from_dlpack(ours).data_ptr() == theirs.data_ptr()


def test_dlpack_keeps_memory_alive():
    x = torch.from_dlpack(torch.full((1000,), 3.0))
    assert x.sum().item() == 3000


def test_capsule_is_used_once():
    capsule = torch.arange(3).__dlpack__()
    assert torch.from_dlpack(capsule).tolist() == [0, 1, 2]
    with pytest.raises(RuntimeError):
        torch.from_dlpack(capsule)


def test_what_dlpack_refuses():
    for refused, error in [
        (lambda: torch.ones(2, requires_grad=True).__dlpack__(), BufferError),
        (lambda: torch.ones(2, device="meta").__dlpack__(), BufferError),
        (lambda: torch.from_dlpack(object()), RuntimeError),
        (lambda: torch.from_dlpack(np.arange(3)[::-1]), BufferError),
        (lambda: torch.ones(2).__dlpack__(stream="a"), TypeError),
    ]:
        with pytest.raises(error):
            refused()


def test_asarray_shares_where_it_can():
    array = np.arange(3.0)
    assert np.shares_memory(torch.asarray(array).numpy(), array)
    assert not np.shares_memory(torch.asarray(array, copy=True).numpy(), array)
    x = torch.ones(2)
    assert torch.asarray(x) is x and torch.as_tensor(x) is x
    assert torch.asarray(bytearray(8), dtype=torch.int32).tolist() == [0, 0]


def test_shared_memory_is_seen_by_other_processes():
    whole = torch.arange(5.0)
    part = whole[1:3]
    assert not whole.is_shared()
    whole.share_memory_()
    assert part.is_shared()
    child = os.fork()
    if child == 0:
        part.fill_(9)
        os._exit(0)
    os.waitpid(child, 0)
    assert whole.tolist() == [0, 9, 9, 3, 4]


def test_shared_storage_by_descriptor():
    x = torch.arange(4)
    descriptor, size = x.untyped_storage()._share_fd_cpu_()
    other = torch.empty(0, dtype=torch.int64).set_(torch.UntypedStorage._new_shared_fd_cpu(descriptor, size))
    other[0] = 5
    assert x.tolist() == [5, 1, 2, 3]
    with pytest.raises(RuntimeError):
        torch.UntypedStorage._new_shared_fd_cpu(descriptor, size + 1)
    with pytest.raises(RuntimeError):
        x.resize_(100)


def test_read_only_memory_is_not_written_to():
    for change in (lambda x: x.fill_(0), lambda x: x.add_(1), lambda x: x.uniform_(), lambda x: x.zero_()):
        with pytest.raises(RuntimeError):
            change(torch.frombuffer(b"12345678", dtype=torch.float32))
