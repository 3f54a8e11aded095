"""A two-way channel between the loader and one worker.

A message is a pickle and, beside it, the contents of its tensors and arrays. Together they are sent as they are when
small, otherwise as anonymous shared memory (memfd), whose descriptor travels with the message and is closed once the
receiver has mapped it. So contents are copied once; nothing needs a name or room in /dev/shm; descriptors do not pile
up, however many batches are kept; and the memory goes when the last tensor on it does.

Every worker has a channel of its own: there is no lock that a dying worker could leave locked. What is in flight
always fits the socket's buffer, so neither side ever blocks in sending while the other does too.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
import struct
import sys
import threading
import weakref
from multiprocessing import reduction
from typing import Any

from .... import Tensor, empty, frombuffer, strided

# Bytes that may be under way as plain messages in one direction; a socket's buffer holds a multiple of it.
_IN_FLIGHT = 64 * 1024
_ALIGNMENT = 64
_HEADER = struct.Struct("<?Q")

# The loader's ends in this process. A forked child must not keep them open: workers see from end-of-file that the
# loader is gone.
_loader_ends: weakref.WeakSet[Channel] = weakref.WeakSet()
_unpickling = threading.local()


class Channel:
    """One end of a channel; ``messages`` is how many may be under way at once."""

    def __init__(self, connection: Any, messages: int) -> None:
        self._connection = connection
        self._inline_limit = _IN_FLIGHT // messages

    @classmethod
    def pair(cls, context: Any, messages: int) -> tuple[Channel, Channel]:
        """(the loader's end, the worker's end)."""
        ours, theirs = context.Pipe(duplex=True)
        loader_end = cls(ours, messages)
        _loader_ends.add(loader_end)
        return loader_end, cls(theirs, messages)

    def fileno(self) -> int:
        return self._connection.fileno()

    def close(self) -> None:
        self._connection.close()

    def poll(self, timeout: float) -> bool:
        """Whether a message, or the end of the channel, is there within ``timeout`` seconds."""
        return self._connection.poll(timeout)

    def send(self, message: Any) -> None:
        stream = io.BytesIO()
        pickler = _Pickler(stream)
        pickler.dump(message)
        text = stream.getbuffer()
        size = pickler.size + len(text)
        if size <= self._inline_limit:
            payload = bytearray(size)
            pickler.write_contents(payload)
            payload[pickler.size :] = text
            self._connection.send_bytes(_HEADER.pack(False, pickler.size) + payload)
            return
        descriptor = os.memfd_create("loader-batch")
        try:
            os.ftruncate(descriptor, size)
            arena = mmap.mmap(descriptor, size)
            pickler.write_contents(arena)
            arena[pickler.size :] = text
            self._connection.send_bytes(_HEADER.pack(True, pickler.size))
            reduction.send_handle(self._connection, descriptor, None)
        finally:
            os.close(descriptor)

    def receive(self) -> Any:
        """The next message. Raises EOFError when the other side is gone."""
        data = self._connection.recv_bytes()
        is_shared, contents_size = _HEADER.unpack_from(data)
        if is_shared:
            descriptor = reduction.recv_handle(self._connection)
            try:
                arena = _map(descriptor)
            finally:
                os.close(descriptor)
        else:
            arena = bytearray(memoryview(data)[_HEADER.size :])
        _unpickling.arena = arena
        try:
            return pickle.loads(memoryview(arena)[contents_size:])
        finally:
            _unpickling.arena = None


def close_loader_ends() -> None:
    """Call in a new worker, before anything else."""
    for end in list(_loader_ends):
        end.close()


class _Pickler(pickle.Pickler):
    """Pickles all but the contents of tensors and arrays, for which it reserves places in an arena."""

    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream, pickle.HIGHEST_PROTOCOL)
        self.size = 0
        self._contents: list[tuple[int, Any]] = []

    def _reserve(self, value: Any, nbytes: int) -> int:
        offset = self.size
        self._contents.append((offset, value))
        self.size += -(-nbytes // _ALIGNMENT) * _ALIGNMENT
        return offset

    def reducer_override(self, value: Any) -> Any:
        if type(value) is Tensor and value.layout is strided and value.device.type == "cpu":
            if value.requires_grad and not value.is_leaf:
                raise RuntimeError(
                    "a batch holds a tensor that is a result of recorded operations, whose graph cannot be sent to "
                    "another process: .detach() it in the dataset or in collate_fn"
                )
            offset = self._reserve(value.detach(), value.numel() * value.element_size())
            return _tensor_at, (offset, value.dtype, tuple(value.shape), value.requires_grad)
        numpy = sys.modules.get("numpy")
        if numpy is not None and type(value) is numpy.ndarray and not value.dtype.hasobject and value.size:
            offset = self._reserve(value, value.nbytes)
            return _array_at, (offset, value.dtype, value.shape)
        return NotImplemented

    def write_contents(self, arena: Any) -> None:
        for offset, value in self._contents:
            if isinstance(value, Tensor):
                if value.numel() == 0:
                    continue
                place = frombuffer(arena, dtype=value.dtype, count=value.numel(), offset=offset)
                place.view(value.shape).copy_(value)
            else:
                numpy = sys.modules["numpy"]
                place = numpy.frombuffer(arena, dtype=value.dtype, count=value.size, offset=offset)
                numpy.copyto(place.reshape(value.shape), value)


def _tensor_at(offset: int, dtype: Any, shape: tuple[int, ...], requires_grad: bool) -> Tensor:
    count = 1
    for n in shape:
        count *= n
    if count == 0:
        tensor = empty(shape, dtype=dtype)
    else:
        tensor = frombuffer(_unpickling.arena, dtype=dtype, count=count, offset=offset).view(shape)
    return tensor.requires_grad_() if requires_grad else tensor


def _array_at(offset: int, dtype: Any, shape: tuple[int, ...]) -> Any:
    import numpy

    count = 1
    for n in shape:
        count *= n
    return numpy.frombuffer(_unpickling.arena, dtype=dtype, count=count, offset=offset).reshape(shape)


def _map(descriptor: int) -> Any:
    """The shared memory of ``descriptor`` as a writable buffer that is unmapped when nothing uses it any more.

    Python's own mmap objects keep a descriptor each, which would limit how many batches a program can hold.
    """
    import ctypes

    libc = _libc()
    size = os.fstat(descriptor).st_size
    flags = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)
    address = libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, descriptor, 0)
    if address == ctypes.c_void_p(-1).value:
        number = ctypes.get_errno()
        raise OSError(number, f"mapping a batch of {size} bytes from a worker: {os.strerror(number)}")
    buffer = (ctypes.c_ubyte * size).from_address(address)
    weakref.finalize(buffer, libc.munmap, ctypes.c_void_p(address), ctypes.c_size_t(size)).atexit = False
    return buffer


_libc_functions: Any = None


def _libc() -> Any:
    global _libc_functions
    if _libc_functions is None:
        import ctypes

        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
        _libc_functions = libc
    return _libc_functions
