"""Reading and writing the zip archives that hold checkpoints.

The reader trusts nothing in the file: every offset and size is compared with the length of the file before anything is
allocated or read, and what was read is compared with its checksum. The writer streams: it never seeks, so it writes to
pipes and sockets too, and every record starts at a multiple of 64 bytes, so that a file can be mapped into memory.
"""

from __future__ import annotations

import io
import struct
import zlib
from typing import IO, Any, NamedTuple

ALIGNMENT = 64
_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_END64 = struct.Struct("<4sQ2H2I4Q")
_LOCATOR64 = struct.Struct("<4sIQI")
_LOCAL_SIGNATURE, _CENTRAL_SIGNATURE = b"PK\x03\x04", b"PK\x01\x02"
_END_SIGNATURE, _END64_SIGNATURE, _LOCATOR64_SIGNATURE = b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07"
_MAX16, _MAX32 = 0xFFFF, 0xFFFFFFFF
_ZIP64_EXTRA, _PADDING_EXTRA = 1, 0x4246
_STORED, _DEFLATED = 0, 8
_UTF8_NAMES = 1 << 11
_CHUNK = 1 << 20


class Record(NamedTuple):
    """An entry of the central directory."""

    name: str
    method: int
    checksum: int
    stored_size: int
    size: int
    header_offset: int


def is_archive(file: IO[bytes]) -> bool:
    """Whether a zip archive starts where the file stands; leaves the position alone."""
    start = file.tell()
    signature = file.read(4)
    file.seek(start)
    return signature == _LOCAL_SIGNATURE


def _damaged(what: str) -> RuntimeError:
    return RuntimeError(f"load: the file is not a valid checkpoint archive: {what}")


class ArchiveReader:
    """The records of an archive in a seekable file. `verify` compares what is read with the stored checksums."""

    def __init__(self, file: IO[bytes], *, verify: bool = True):
        self._file = file
        self._verify = verify
        self._length = file.seek(0, io.SEEK_END)
        records = self._directory()
        if not records:
            raise _damaged("it has no records")
        stored = sum(record.stored_size for record in records)
        if stored > self._length:
            raise _damaged(f"its records claim {stored} bytes, the file has {self._length}")
        self.prefix = records[0].name.partition("/")[0]
        self._records = {record.name: record for record in records}

    def _read_at(self, offset: int, size: int, what: str) -> bytes:
        if offset < 0 or offset + size > self._length:
            raise _damaged(f"{what} lies outside the file")
        self._file.seek(offset)
        data = self._file.read(size)
        if len(data) != size:
            raise _damaged(f"{what} is cut off")
        return data

    def _directory(self) -> list[Record]:
        tail_start = max(0, self._length - _END.size - _MAX16)
        tail = self._read_at(tail_start, self._length - tail_start, "the end of the archive")
        position = tail.rfind(_END_SIGNATURE)
        if position < 0 or len(tail) - position < _END.size:
            raise _damaged("the end of the archive is missing (the file is cut off)")
        _, _, _, _, count, size, offset, _ = _END.unpack_from(tail, position)
        if count == _MAX16 or _MAX32 in (size, offset):
            locator_start = tail_start + position - _LOCATOR64.size
            signature, _, end64, _ = _LOCATOR64.unpack(
                self._read_at(locator_start, _LOCATOR64.size, "the 64-bit locator")
            )
            if signature == _LOCATOR64_SIGNATURE:
                fields = _END64.unpack(self._read_at(end64, _END64.size, "the 64-bit end record"))
                if fields[0] != _END64_SIGNATURE:
                    raise _damaged("the 64-bit end record is missing")
                count, size, offset = fields[7:10]
        directory = self._read_at(offset, size, "the directory")
        if count * _CENTRAL.size > size:
            raise _damaged(f"the directory claims {count} records in {size} bytes")
        records, at = [], 0
        for _ in range(count):
            record, at = self._entry(directory, at)
            records.append(record)
        return records

    def _entry(self, directory: bytes, at: int) -> tuple[Record, int]:
        if at + _CENTRAL.size > len(directory):
            raise _damaged("the directory is cut off")
        fields = _CENTRAL.unpack_from(directory, at)
        signature, flags, method, checksum = fields[0], fields[3], fields[4], fields[7]
        stored_size, size, name_length, extra_length, comment_length = fields[8:13]
        header_offset = fields[16]
        if signature != _CENTRAL_SIGNATURE:
            raise _damaged("a directory entry does not start as one")
        at += _CENTRAL.size
        name = directory[at : at + name_length].decode("utf-8" if flags & _UTF8_NAMES else "cp437", "replace")
        extra = directory[at + name_length : at + name_length + extra_length]
        size, stored_size, header_offset = _wide_fields(extra, size, stored_size, header_offset)
        if flags & 1:
            raise _damaged(f"record {name!r} is encrypted")
        if header_offset + stored_size > self._length:
            raise _damaged(f"record {name!r} claims {stored_size} bytes, the file has {self._length}")
        record = Record(name, method, checksum, stored_size, size, header_offset)
        return record, at + name_length + extra_length + comment_length

    def names(self) -> list[str]:
        """Record names without the archive's own prefix."""
        start = len(self.prefix) + 1
        return [name[start:] for name in self._records]

    def __contains__(self, name: str) -> bool:
        return f"{self.prefix}/{name}" in self._records

    def _record(self, name: str) -> Record:
        try:
            return self._records[f"{self.prefix}/{name}"]
        except KeyError:
            raise _damaged(f"record {name!r} is missing") from None

    def size(self, name: str) -> int:
        """Bytes the record claims to hold; at most the length of the file unless the record is compressed."""
        return self._record(name).size

    def span(self, name: str) -> tuple[int, int] | None:
        """Where a record's bytes lie in the file: (begin, end). None if it is compressed."""
        record = self._record(name)
        if record.method != _STORED:
            return None
        if record.size != record.stored_size:
            raise _damaged(f"record {name!r} claims {record.size} bytes and stores {record.stored_size}")
        begin = self._data_offset(record)
        return begin, begin + record.size

    def _data_offset(self, record: Record) -> int:
        header = self._read_at(record.header_offset, _LOCAL.size, f"the header of record {record.name!r}")
        fields = _LOCAL.unpack(header)
        if fields[0] != _LOCAL_SIGNATURE:
            raise _damaged(f"the header of record {record.name!r} is missing")
        begin = record.header_offset + _LOCAL.size + fields[9] + fields[10]
        if begin + record.stored_size > self._length:
            raise _damaged(f"record {record.name!r} lies outside the file")
        return begin

    def _check(self, record: Record, checksum: int) -> None:
        if self._verify and checksum != record.checksum:
            raise RuntimeError(
                f"load: record {record.name!r} is damaged: its checksum is {checksum:#010x}, the file says "
                f"{record.checksum:#010x}"
            )

    def read(self, name: str) -> bytes:
        """The record's bytes, verified."""
        record, span = self._record(name), self.span(name)
        if span is None:
            data = self._inflate(record)
        else:
            data = self._read_at(span[0], record.size, f"record {name!r}")
        self._check(record, zlib.crc32(data))
        return data

    def read_into(self, name: str, target: memoryview) -> None:
        """Fills `target` with the start of the record; the whole record is verified."""
        record, span = self._record(name), self.span(name)
        if span is None or len(target) != record.size:
            target[:] = self.read(name)[: len(target)]
            return
        self._file.seek(span[0])
        checksum, at = 0, 0
        while at < len(target):
            chunk = target[at : at + _CHUNK]
            got = self._read_chunk(chunk)
            if got == 0:
                raise _damaged(f"record {name!r} is cut off")
            checksum = zlib.crc32(chunk[:got], checksum)
            at += got
        self._check(record, checksum)

    def _read_chunk(self, chunk: memoryview) -> int:
        readinto = getattr(self._file, "readinto", None)
        if readinto is not None:
            return readinto(chunk)
        data = self._file.read(len(chunk))
        chunk[: len(data)] = data
        return len(data)

    def _inflate(self, record: Record) -> bytes:
        """Decompresses step by step, so that a small file cannot make us allocate what it merely claims."""
        if record.method != _DEFLATED:
            raise _damaged(f"record {record.name!r} is packed by unknown method {record.method}")
        packed = self._read_at(self._data_offset(record), record.stored_size, f"record {record.name!r}")
        unpacker, pieces, total = zlib.decompressobj(-zlib.MAX_WBITS), [], 0
        try:
            while packed and not unpacker.eof:
                piece = unpacker.decompress(packed, _CHUNK)
                packed = unpacker.unconsumed_tail
                pieces.append(piece)
                total += len(piece)
                if total > record.size:
                    break
        except zlib.error as error:
            raise _damaged(f"record {record.name!r}: {error}") from None
        if total != record.size:
            raise _damaged(f"record {record.name!r} does not unpack to the {record.size} bytes it claims")
        return b"".join(pieces)


def _wide_fields(extra: bytes, size: int, stored_size: int, header_offset: int) -> tuple[int, int, int]:
    """Replaces fields that do not fit 32 bits by their 64-bit values from the extra field."""
    values = [size, stored_size, header_offset]
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, at)
        at += 4
        if kind == _ZIP64_EXTRA:
            field_end = min(at + length, len(extra))
            for i, value in enumerate(values):
                if value == _MAX32 and at + 8 <= field_end:
                    (values[i],) = struct.unpack_from("<Q", extra, at)
                    at += 8
            break
        at += length
    return values[0], values[1], values[2]


class ArchiveWriter:
    """Writes records one after another; `finish` adds the directory."""

    def __init__(self, file: IO[bytes], prefix: str):
        self._file = file
        self._prefix = prefix
        self._offset = 0
        self._entries: list[bytes] = []

    def _write(self, data: Any) -> None:
        self._file.write(data)
        self._offset += len(data)

    def write(self, name: str, data: Any) -> None:
        """Adds a record; `data` is bytes or a flat memoryview of bytes."""
        encoded = f"{self._prefix}/{name}".encode()
        checksum, size, header_offset = zlib.crc32(data), len(data), self._offset
        narrow_size = min(size, _MAX32)
        wide = struct.pack("<HHQQ", _ZIP64_EXTRA, 16, size, size) if size >= _MAX32 else b""
        version = 45 if wide or header_offset >= _MAX32 else 20
        unpadded = header_offset + _LOCAL.size + len(encoded) + len(wide) + 4
        padding = -unpadded % ALIGNMENT
        extra = wide + struct.pack("<HH", _PADDING_EXTRA, padding) + b"\0" * padding
        common = (_UTF8_NAMES, _STORED, 0, 0x21, checksum, narrow_size, narrow_size, len(encoded))
        self._write(_LOCAL.pack(_LOCAL_SIGNATURE, version, *common, len(extra)) + encoded + extra)
        self._write(data)
        self._entries.append(self._central_entry(version, common, encoded, size, header_offset))

    @staticmethod
    def _central_entry(version: int, common: tuple, encoded: bytes, size: int, header_offset: int) -> bytes:
        wide = b""
        if size >= _MAX32:
            wide += struct.pack("<QQ", size, size)
        if header_offset >= _MAX32:
            wide += struct.pack("<Q", header_offset)
        extra = struct.pack("<HH", _ZIP64_EXTRA, len(wide)) + wide if wide else b""
        fields = (_CENTRAL_SIGNATURE, version, version, *common, len(extra), 0, 0, 0, 0, min(header_offset, _MAX32))
        return _CENTRAL.pack(*fields) + encoded + extra

    def finish(self) -> None:
        start, count = self._offset, len(self._entries)
        directory = b"".join(self._entries)
        self._write(directory)
        if start >= _MAX32 or count >= _MAX16 or len(directory) >= _MAX32:
            end64 = self._offset
            sizes = (count, count, len(directory), start)
            self._write(_END64.pack(_END64_SIGNATURE, _END64.size - 12, 45, 45, 0, 0, *sizes))
            self._write(_LOCATOR64.pack(_LOCATOR64_SIGNATURE, 0, end64, 1))
        narrow = min(count, _MAX16)
        sizes = (narrow, narrow, min(len(directory), _MAX32), min(start, _MAX32))
        self._write(_END.pack(_END_SIGNATURE, 0, 0, *sizes, 0))
