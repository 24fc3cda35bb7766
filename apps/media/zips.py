"""Read ZIP files from outside, of which nothing is believed.

The standard library's reader is used behind checks of its own, because by itself it builds an object per entry before
anyone can count them, takes overlapping entries (up to Python 3.12), quietly cuts an entry that is longer than
declared, and repairs dangerous names instead of refusing them. Nothing is written to disk here.
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

from apps.ground.phrases import larger_than, size_of

MIB = 1024 * 1024
CHUNK = 64 * 1024
MAX_NAME = 255

_END_RECORD = struct.Struct("<4s4H2LH")
_END_SIGNATURE = b"PK\x05\x06"
_ZIP64_LOCATOR_SIGNATURE = b"PK\x06\x07"
_ZIP64_LOCATOR_SIZE = 20
_ENTRY_SIGNATURE = b"PK\x01\x02"
_LOCAL_HEADER = struct.Struct("<4s22x2H")
_LOCAL_SIGNATURE = b"PK\x03\x04"
_MAX_COMMENT = 0xFFFF
# In the directory an entry is 46 bytes, its name and a few dozen bytes of extra fields.
_MAX_DIRECTORY_BYTES_PER_ENTRY = 1024

# Encrypted; compressed patch data; strong encryption; masked headers.
_REFUSED_FLAGS = 0x0001 | 0x0020 | 0x0040 | 0x2000
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_RESERVED = frozenset({"con", "prn", "aux", "nul", "conin$", "conout$"}) | {
    f"{device}{digit}" for device in ("com", "lpt") for digit in range(10)
}


class ArchiveRefused(ValueError):
    """The archive is unsafe, damaged, too large or not what it should hold; the text is a sentence for people."""


@dataclass(frozen=True, slots=True)
class ZipEntry:
    """An entry whose name and kind are harmless.

    Attributes:
        name: The path inside the archive, without the final slash of a directory.
        is_dir: Whether it is a directory.
        size: The declared number of bytes.
        offset: Where it begins in the file.
    """

    name: str
    is_dir: bool
    size: int
    offset: int
    info: zipfile.ZipInfo


class EntryReader:
    """One entry while it is unpacked; every byte is counted, and the end is verified against size and CRC."""

    def __init__(self, stream: IO[bytes], entry: ZipEntry, meter: "_Meter") -> None:
        self._stream = stream
        self._entry = entry
        self._meter = meter
        self._read = 0
        self._ended = False

    @property
    def size(self) -> int:
        """The declared number of bytes, which the data is held to."""
        return self._entry.size

    def read(self, size: int = -1) -> bytes:
        """Read up to `size` bytes, or all that is left.

        Raises:
            ArchiveRefused: The data is damaged or differs from what the directory declares.
        """
        if size < 0:
            return b"".join(self.chunks())
        if size == 0 or self._ended:
            return b""
        with _refusing():
            chunk = self._stream.read(size)
        self._read += len(chunk)
        self._meter.add(len(chunk))
        if self._read > self.size or (not chunk and self._read < self.size):
            raise ArchiveRefused(_wrong_size(self._entry.name))
        self._ended = not chunk
        return chunk

    def chunks(self, size: int = CHUNK) -> Iterator[bytes]:
        """Read what is left in pieces of at most `size` bytes.

        Raises:
            ArchiveRefused: As for `read`.
        """
        while chunk := self.read(size):
            yield chunk


class VettedZip:
    """A ZIP file whose whole directory has been vetted.

    Attributes:
        entries: All entries, directories included, in the order of the directory.
    """

    def __init__(self, file: BinaryIO, *, packed_bytes: int, unpacked_bytes: int, max_entries: int) -> None:
        """Vet the directory, without unpacking anything.

        Args:
            file: A seekable binary file; it must stay open for as long as entries are read.
            packed_bytes: The most that the file may hold.
            unpacked_bytes: The most that all entries together may hold.
            max_entries: The most entries, directories included.

        Raises:
            ArchiveRefused: Something about the archive is unsafe, damaged or too large.
        """
        directory_start = _check_end_record(file, packed_bytes, max_entries)
        with _refusing():
            self._archive = zipfile.ZipFile(file)
        self._unpacked_bytes = unpacked_bytes
        self.entries = tuple(_vetted(info) for info in self._archive.infolist())
        _check_unique(self.entries)
        with _refusing():
            _check_disjoint(file, self.entries, directory_start)
        refuse_if(sum(entry.size for entry in self.entries) > unpacked_bytes, _too_much(unpacked_bytes))

    def unpack(self, entries: Iterable[ZipEntry]) -> Iterator[tuple[ZipEntry, EntryReader]]:
        """Unpack entries one after the other.

        An entry that is not read to its end is verified all the same before the next one, so an iteration that ends
        without an exception has verified all of them.

        Raises:
            ArchiveRefused: The data of an entry is damaged, or more than declared or allowed.
        """
        meter = _Meter(self._unpacked_bytes)
        for entry in entries:
            # zipfile stops in silence at the declared size; asking for one byte more shows what goes on beyond.
            probe = copy.copy(entry.info)
            probe.file_size += 1
            with _refusing():
                stream = self._archive.open(probe)
            with stream:
                reader = EntryReader(stream, entry, meter)
                yield entry, reader
                for _ in reader.chunks():
                    pass


def refuse_if(condition: bool, reason: str) -> None:
    """Raise `ArchiveRefused` with the reason if the condition holds."""
    if condition:
        raise ArchiveRefused(reason)


def shown(name: str) -> str:
    """Quote a name from outside so that it is safe in a sentence."""
    text = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in name[:80])
    return f"“{text}…”" if len(name) > len(text) else f"“{text}”"


class _Meter:
    """The running count of bytes really unpacked, over all entries."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._left = limit

    def add(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise ArchiveRefused(_too_much(self._limit))


@contextmanager
def _refusing() -> Iterator[None]:
    try:
        yield
    except (
        zipfile.BadZipFile,
        RuntimeError,  # encrypted; its subclass NotImplementedError: unknown methods and versions
        zlib.error,
        EOFError,
        struct.error,
        OverflowError,
        UnicodeDecodeError,
    ) as error:
        message = "The archive is damaged or no ZIP file."
        raise ArchiveRefused(message) from error


def _check_end_record(file: BinaryIO, packed_bytes: int, max_entries: int) -> int:
    """Bound the directory before zipfile builds an object for each of its entries; return where it starts."""
    size = file.seek(0, 2)
    refuse_if(size > packed_bytes, f"The archive is {larger_than(packed_bytes)}.")
    tail_start = max(0, size - _MAX_COMMENT - _END_RECORD.size - _ZIP64_LOCATOR_SIZE)
    file.seek(tail_start)
    tail = file.read()
    # zipfile searches in the same way; that the record must end the file leaves no room for a second reading.
    found = tail.rfind(_END_SIGNATURE)
    refuse_if(found < 0 or len(tail) - found < _END_RECORD.size, "The file is no ZIP archive, or is cut short.")
    _, disk, start_disk, on_disk, count, length, start, comment = _END_RECORD.unpack_from(tail, found)
    exact = found + _END_RECORD.size + comment == len(tail) and start + length == tail_start + found
    refuse_if(not exact, "The archive is damaged, or has foreign data before or after it.")
    zip64 = found >= _ZIP64_LOCATOR_SIZE and tail.startswith(_ZIP64_LOCATOR_SIGNATURE, found - _ZIP64_LOCATOR_SIZE)
    unusual = bool(disk or start_disk or on_disk != count or zip64)
    refuse_if(unusual, "The archive has several volumes or the ZIP64 form, for which it is too small.")
    refuse_if(length > max_entries * _MAX_DIRECTORY_BYTES_PER_ENTRY, "The archive's directory is too large.")
    file.seek(start)
    # The declared count is only a claim; no more entries can be listed than there are signatures.
    entries = max(count, file.read(length).count(_ENTRY_SIGNATURE))
    refuse_if(entries > max_entries, f"The archive has more than {max_entries:,} entries.")
    return int(start)


def _vetted(info: zipfile.ZipInfo) -> ZipEntry:
    name = info.orig_filename
    path = name.removesuffix("/")
    quoted = shown(name)
    refuse_if(
        not name or len(name) > MAX_NAME, f"The archive has a name that is empty or longer than {MAX_NAME} characters."
    )
    control = not name.isprintable() and any(unicodedata.category(character) == "Cc" for character in name)
    refuse_if(control, f"The archive has a control character in a name: {quoted}")
    # Windows ignores final dots and blanks, so that ".. " is "..", and anything after the dot of a device's name.
    parts = path.split("/")
    refuse_if(not _is_relative(parts, name), f"The archive has a name that is no plain relative path: {quoted}")
    reserved = any(_is_reserved(part) for part in parts)
    refuse_if(reserved, f"The archive has a name that is reserved on some systems: {quoted}")
    refuse_if(bool(info.flag_bits & _REFUSED_FLAGS), f"The archive has an encrypted entry: {quoted}")
    refuse_if(info.compress_type not in _METHODS, f"The archive has an unknown compression method: {quoted}")
    kind = stat.S_IFMT(info.external_attr >> 16)
    refuse_if(kind not in {0, stat.S_IFREG, stat.S_IFDIR}, f"The archive has a link or a device: {quoted}")
    is_dir = name.endswith("/")
    stored = info.compress_type == zipfile.ZIP_STORED
    lying = (stored and info.compress_size != info.file_size) or (is_dir and info.file_size > 0)
    refuse_if(lying, _wrong_size(name))
    return ZipEntry(path, is_dir, info.file_size, info.header_offset, info)


def is_plain_path(path: str) -> bool:
    """Whether a path, without a final slash, may stand in an archive that is taken in."""
    parts = path.split("/")
    return len(path) <= MAX_NAME and _is_relative(parts, path) and not any(_is_reserved(part) for part in parts)


def _is_relative(parts: list[str], name: str) -> bool:
    return "\\" not in name and ":" not in name and all(part.rstrip(". ") for part in parts)


def _is_reserved(part: str) -> bool:
    return unicodedata.normalize("NFKC", part).partition(".")[0].rstrip().casefold() in _RESERVED


def _check_unique(entries: Iterable[ZipEntry]) -> None:
    """Refuse names that some file system takes for the same, and files that are also directories."""
    seen: set[str] = set()
    files: set[str] = set()
    parents: set[str] = set()
    for entry in entries:
        folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", entry.name).casefold())
        refuse_if(folded in seen, f"The archive has a name twice: {shown(entry.name)}")
        seen.add(folded)
        if not entry.is_dir:
            files.add(folded)
        while (folded := folded.rpartition("/")[0]) and folded not in parents:
            parents.add(folded)
    both = files & parents
    refuse_if(bool(both), f"The archive has a file that is also a directory: {shown(min(both, default=''))}")


def _check_disjoint(file: BinaryIO, entries: Iterable[ZipEntry], directory_start: int) -> None:
    """Refuse entries that share bytes: so a small file could unpack the same data thousands of times."""
    end = 0
    for entry in sorted(entries, key=lambda entry: entry.offset):
        overlapping = entry.offset < end or entry.offset + _LOCAL_HEADER.size > directory_start
        refuse_if(overlapping, f"The archive has overlapping entries: {shown(entry.name)}")
        file.seek(entry.offset)
        signature, name_size, extra_size = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
        refuse_if(signature != _LOCAL_SIGNATURE, f"The archive is damaged at {shown(entry.name)}.")
        end = entry.offset + _LOCAL_HEADER.size + name_size + extra_size + entry.info.compress_size
        refuse_if(end > directory_start, f"The archive has overlapping entries: {shown(entry.name)}")


def _wrong_size(name: str) -> str:
    return f"{shown(name)} does not have the size that the archive declares."


def _too_much(limit: int) -> str:
    return f"The archive unpacks to more than {size_of(limit)}."
