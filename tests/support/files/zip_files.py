import stat
import struct
import zipfile
import zlib
from dataclasses import dataclass, field

LAYOUT = b"<html>{{ content_for_layout }}</html>"
REGULAR = (stat.S_IFREG | 0o644) << 16


@dataclass
class ZipEntry:
    """An entry of a manually built ZIP file. Fields that are None are calculated from the data."""

    name: str | bytes
    data: bytes = LAYOUT
    method: int = zipfile.ZIP_DEFLATED
    flags: int = 0x0800
    attributes: int = REGULAR
    size: int | None = None
    packed_size: int | None = None
    crc: int | None = None
    offset: int | None = None
    local_extra: bytes = b""
    packed: bytes = field(init=False)

    def __post_init__(self) -> None:
        if isinstance(self.name, str):
            self.name = self.name.encode()
        deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
        deflated = deflate.compress(self.data) + deflate.flush()
        self.packed = deflated if self.method == zipfile.ZIP_DEFLATED else self.data

    def numbers(self) -> tuple[int, int, int]:
        return (
            zlib.crc32(self.data) if self.crc is None else self.crc,
            len(self.packed) if self.packed_size is None else self.packed_size,
            len(self.data) if self.size is None else self.size,
        )


def make_zip(*entries: ZipEntry, comment: bytes = b"", count: int | None = None) -> bytes:
    body, directory = b"", b""
    for entry in entries:
        assert isinstance(entry.name, bytes)
        offset = len(body) if entry.offset is None else entry.offset
        fields = (entry.flags, entry.method, 0, 0x21, *entry.numbers(), len(entry.name))
        if entry.offset is None:
            body += struct.pack("<4s5H3L2H", b"PK\x03\x04", 20, *fields, len(entry.local_extra))
            body += entry.name + entry.local_extra + entry.packed
        numbers = (0x0314, 20, *fields, 0, 0, 0, 0, entry.attributes, offset)
        directory += struct.pack("<4s6H3L5H2L", b"PK\x01\x02", *numbers) + entry.name
    number = len(entries) if count is None else count
    sizes = (number, number, len(directory), len(body), len(comment))
    return body + directory + struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, *sizes) + comment
