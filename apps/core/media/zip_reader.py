"""Read untrusted ZIP files.

The standard library's reader is not safe enough. It creates an object per entry before entries can be counted, accepts
overlapping entries (up to Python 3.12), silently truncates entries that are longer than declared, and repairs dangerous
names instead of rejecting them. This module adds the missing checks and writes nothing to disk. The caller decides
which names of files are allowed.
"""

import copy
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, BinaryIO

from apps.core.i18n.error_messages import format_bytes, larger_than

MIB = 1024 * 1024
CHUNK = 64 * 1024

_END_RECORD = struct.Struct("<4s4H2LH")
_END_SIGNATURE = b"PK\x05\x06"
_ZIP64_LOCATOR_SIGNATURE = b"PK\x06\x07"
_ZIP64_LOCATOR_SIZE = 20
_ENTRY_SIGNATURE = b"PK\x01\x02"
_LOCAL_HEADER = struct.Struct("<4s22x2H")
_LOCAL_SIGNATURE = b"PK\x03\x04"
_MAX_COMMENT = 0xFFFF
# A directory entry consists of 46 bytes, the name, and a few dozen bytes of extra fields.
_MAX_DIRECTORY_BYTES_PER_ENTRY = 1024

# Entries with these flags are rejected: encryption, compressed patch data, strong encryption and masked headers.
_REFUSED_FLAGS = 0x0001 | 0x0020 | 0x0040 | 0x2000
_UTF8_FLAG = 0x0800
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_RESERVED = frozenset({"con", "prn", "aux", "nul", "conin$", "conout$"}) | {
    f"{device}{digit}" for device in ("com", "lpt") for digit in range(10)
}


# A RuntimeError means that the entry is encrypted, or has an unknown method or version (NotImplementedError).
_ZIP_ERRORS = (zipfile.BadZipFile, RuntimeError, zlib.error, EOFError, struct.error, OverflowError, UnicodeDecodeError)


class ArchiveRefused(ValueError):
    """Raised when an archive is unsafe, damaged or too large. The message is a full sentence for display."""


@dataclass(frozen=True, slots=True)
class ZipEntry:
    """A validated entry of an archive.

    Attributes:
        name: The path inside the archive, without a trailing slash for directories.
        size: The declared size in bytes.
        offset: The position of the entry in the file.
    """

    name: str
    is_dir: bool
    size: int
    offset: int
    info: zipfile.ZipInfo


class EntryReader:
    """Reads an entry, counts all bytes, and verifies the size and the CRC at the end."""

    def __init__(self, stream: IO[bytes], entry: ZipEntry, meter: "_Meter") -> None:
        self._stream = stream
        self._entry = entry
        self._meter = meter
        self._read = 0
        self._ended = False

    @property
    def size(self) -> int:
        """Return the declared size in bytes, which the data must match."""
        return self._entry.size

    def read(self, size: int = -1) -> bytes:
        """Read up to `size` bytes, or all remaining bytes of the entry.

        Raises:
            ArchiveRefused: The data is damaged or differs from the declared size.
        """
        if size < 0:
            return b"".join(self.chunks())
        if size == 0 or self._ended:
            return b""
        with _convert_errors():
            chunk = self._stream.read(size)
        self._read += len(chunk)
        self._meter.add(len(chunk))
        if self._read > self.size or (not chunk and self._read < self.size):
            raise ArchiveRefused(_format_wrong_size(self._entry.name))
        self._ended = not chunk
        return chunk

    def chunks(self, size: int = CHUNK) -> Iterator[bytes]:
        """Yield the remaining data in chunks of at most `size` bytes. Raise the same errors as ``read``."""
        while chunk := self.read(size):
            yield chunk


class ValidatedZip:
    """A ZIP file with a fully validated central directory. ``entries`` includes directories."""

    def __init__(self, file: BinaryIO, *, packed_bytes: int, unpacked_bytes: int, max_entries: int) -> None:
        """Validate the central directory without unpacking any entry. All sizes are maximums.

        The file must be seekable, and must stay open while entries are read.

        Raises:
            ArchiveRefused: The archive is unsafe, damaged or too large.
        """
        directory_start = _check_end_record(file, packed_bytes, max_entries)
        with _convert_errors():
            self._archive = zipfile.ZipFile(file)
        self._unpacked_bytes = unpacked_bytes
        self.entries = tuple(_validate_entry(info) for info in self._archive.infolist())
        with _convert_errors():
            _check_disjoint(file, self.entries, directory_start)
        refuse_if(sum(entry.size for entry in self.entries) > unpacked_bytes, _format_too_large(unpacked_bytes))

    def unpack(self, entries: Iterable[ZipEntry]) -> Iterator[tuple[ZipEntry, EntryReader]]:
        """Unpack entries one at a time.

        If the caller does not read an entry to the end, the iterator reads and verifies it before yielding the next
        entry. A completed iteration has therefore verified all entries.

        Raises:
            ArchiveRefused: An entry is damaged, or larger than declared or allowed.
        """
        meter = _Meter(self._unpacked_bytes)
        for entry in entries:
            # zipfile silently stops at the declared size. Requesting one more byte reveals whether the data is longer.
            probe = copy.copy(entry.info)
            probe.file_size += 1
            with _convert_errors():
                stream = self._archive.open(probe)
            with stream:
                reader = EntryReader(stream, entry, meter)
                yield entry, reader
                for _ in reader.chunks():
                    pass


def refuse_if(condition: bool, reason: str) -> None:
    if condition:
        raise ArchiveRefused(reason)


def quote_name(name: str) -> str:
    """Quote and shorten an untrusted name for use in a sentence."""
    text = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in name[:80])
    return f"“{text}…”" if len(name) > len(text) else f"“{text}”"


class _Meter:
    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._left = limit

    def add(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise ArchiveRefused(_format_too_large(self._limit))


@contextmanager
def _convert_errors() -> Iterator[None]:
    try:
        yield
    except _ZIP_ERRORS as error:
        raise ArchiveRefused("The file is not a ZIP archive, or it is damaged.") from error


def _check_end_record(file: BinaryIO, packed_bytes: int, max_entries: int) -> int:
    """Check the size of the central directory before zipfile creates an object per entry. Return its position."""
    size = file.seek(0, 2)
    refuse_if(size > packed_bytes, f"The archive is {larger_than(packed_bytes)}.")
    tail_start = max(0, size - _MAX_COMMENT - _END_RECORD.size - _ZIP64_LOCATOR_SIZE)
    file.seek(tail_start)
    tail = file.read()
    # Search the same way as zipfile does. The record must be at the very end of the file. Otherwise, another program
    # could find a different record and unpack other files.
    record_start = tail.rfind(_END_SIGNATURE)
    refuse_if(
        record_start < 0 or len(tail) - record_start < _END_RECORD.size, "The file is not a complete ZIP archive."
    )
    _, disk, start_disk, on_disk, count, length, start, comment = _END_RECORD.unpack_from(tail, record_start)
    exact = record_start + _END_RECORD.size + comment == len(tail) and start + length == tail_start + record_start
    refuse_if(not exact, "The archive is damaged, or the file contains other data before or after the archive.")
    zip64 = record_start >= _ZIP64_LOCATOR_SIZE and tail.startswith(
        _ZIP64_LOCATOR_SIGNATURE, record_start - _ZIP64_LOCATOR_SIZE
    )
    unusual = bool(disk or start_disk or on_disk != count or zip64)
    refuse_if(unusual, "The archive has several volumes or uses ZIP64. Create the archive without these options.")
    refuse_if(length > max_entries * _MAX_DIRECTORY_BYTES_PER_ENTRY, "The archive's directory is too large.")
    file.seek(start)
    # Do not trust the declared count. There cannot be more entries than signatures.
    entries = max(count, file.read(length).count(_ENTRY_SIGNATURE))
    refuse_if(entries > max_entries, f"The archive has more than {max_entries:,} entries.")
    return int(start)


def _validate_entry(info: zipfile.ZipInfo) -> ZipEntry:
    name = _decode_name(info)
    path = name.removesuffix("/")
    quoted_name = quote_name(name)
    refuse_if(not name, "The archive contains a file without a name.")
    # Windows ignores trailing dots and spaces, so ".. " equals "..".
    is_relative = "\\" not in name and all(part.rstrip(". ") for part in path.split("/"))
    refuse_if(not is_relative, f"The archive contains an unsafe path: {quoted_name}")
    refuse_if(bool(info.flag_bits & _REFUSED_FLAGS), f"The archive contains an encrypted entry: {quoted_name}")
    refuse_if(info.compress_type not in _METHODS, f"The archive uses an unknown compression method: {quoted_name}")
    kind = stat.S_IFMT(info.external_attr >> 16)
    refuse_if(kind not in {0, stat.S_IFREG, stat.S_IFDIR}, f"The archive contains a link or a device: {quoted_name}")
    is_dir = name.endswith("/")
    is_uncompressed = info.compress_type == zipfile.ZIP_STORED
    has_wrong_size = (is_uncompressed and info.compress_size != info.file_size) or (is_dir and info.file_size > 0)
    refuse_if(has_wrong_size, _format_wrong_size(name))
    return ZipEntry(path, is_dir, info.file_size, info.header_offset, info)


def _decode_name(info: zipfile.ZipInfo) -> str:
    """Return the path of an entry. macOS writes UTF-8 without the flag that says so."""
    name = info.orig_filename
    if name.isascii() or info.flag_bits & _UTF8_FLAG:
        return name
    try:
        return name.encode("cp437").decode()
    except UnicodeError:
        return name


def is_reserved_name(part: str) -> bool:
    """Return True if Windows reserves the name of a file or folder. Everything after the first dot is ignored."""
    return unicodedata.normalize("NFKC", part).partition(".")[0].rstrip().casefold() in _RESERVED


def _check_disjoint(file: BinaryIO, entries: Iterable[ZipEntry], directory_start: int) -> None:
    """Reject entries that share bytes, because a small archive could unpack the same bytes thousands of times."""
    end = 0
    for entry in sorted(entries, key=lambda entry: entry.offset):
        overlapping = entry.offset < end or entry.offset + _LOCAL_HEADER.size > directory_start
        refuse_if(overlapping, f"The archive contains overlapping entries: {quote_name(entry.name)}")
        file.seek(entry.offset)
        signature, name_size, extra_size = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
        refuse_if(signature != _LOCAL_SIGNATURE, f"The archive is damaged at {quote_name(entry.name)}.")
        end = entry.offset + _LOCAL_HEADER.size + name_size + extra_size + entry.info.compress_size
        refuse_if(end > directory_start, f"The archive contains overlapping entries: {quote_name(entry.name)}")


def _format_wrong_size(name: str) -> str:
    return f"{quote_name(name)} does not have the size that the archive declares."


def _format_too_large(limit: int) -> str:
    return f"The archive unpacks to more than {format_bytes(limit)}."
