"""What a picture tells beyond its pixels, taken away: where and by whom it was made, texts, bytes behind its end.

Pixels are never encoded anew for it, but where the picture says that it is to be turned: then the pixels are turned.
Colour profiles stay, since without them the pixels mean other colours.
"""

import struct
from collections.abc import Iterator

from apps.ground.phrases import INVALID
from apps.media.gif import read_structure
from apps.media.names import Transformation
from apps.media.pictures import ImageFormat, ImageRefused, open_image
from apps.media.transform import transform

_SOI, _EOI, _SOS = 0xD8, 0xD9, 0xDA
# Markers without a length: a byte for old decoders, the restarts and the two ends.
_BARE = frozenset({0x01, *range(0xD0, 0xDA)})
# JFIF (density), ICC profile and Adobe (how colours are encoded), by what their segments begin with.
_JFIF, _JFIF_SIZE = 0xE0, 14
_KEPT_SEGMENTS = {_JFIF: b"JFIF\0", 0xE2: b"ICC_PROFILE\0", 0xEE: b"Adobe"}
# What PNG and APNG need to be drawn as meant; text, time, EXIF and whatever else is not among them.
_KEPT_CHUNKS = frozenset(
    {b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"cHRM", b"gAMA", b"iCCP", b"sBIT", b"sRGB", b"cICP", b"mDCV"}
    | {b"cLLI", b"bKGD", b"pHYs", b"acTL", b"fcTL", b"fdAT"}
)


def without_metadata(data: bytes) -> bytes:
    """A picture as it may be shown to anybody.

    Args:
        data: A picture as ``apps.media.pictures.identify`` accepts it.

    Raises:
        ImageRefused: Its structure is broken.
    """
    opened = open_image(data)
    if opened.transposition is not None:
        return transform(data, Transformation())
    try:
        if opened.format is ImageFormat.GIF:
            # Extensions that only say something, and what follows the last frame.
            return read_structure(data).clean(data)
        parts = _jpeg_parts(data) if opened.format is ImageFormat.JPEG else _png_parts(data)
        return b"".join(parts)
    except (IndexError, ValueError, struct.error) as error:
        raise ImageRefused(INVALID) from error


def _png_parts(data: bytes) -> Iterator[bytes]:
    yield data[:8]
    position, kind = 8, b""
    while kind != b"IEND":
        length, kind = struct.unpack_from(">I4s", data, position)
        end = position + 12 + length
        if kind in _KEPT_CHUNKS:
            yield data[position:end]
        position = end


def _jpeg_parts(data: bytes) -> Iterator[bytes]:
    """The first picture of a JPEG: its segments, and after each scan's header the scan itself."""
    yield data[:2]
    position, marker = 2, _SOI
    while marker != _EOI:
        start = position
        if data[start] != 0xFF:
            message = "no marker where one belongs"
            raise ValueError(message)
        while data[position] == 0xFF:
            position += 1
        marker = data[position]
        position += 1
        if marker in _BARE:
            yield bytes((0xFF, marker))
            continue
        position += struct.unpack_from(">H", data, position)[0]
        if marker == _SOS:
            position = _end_of_scan(data, position)
        if _is_kept(data[start:position], marker):
            yield data[start:position]


def _end_of_scan(data: bytes, position: int) -> int:
    """Where the next marker stands: stuffed bytes and restarts belong to the scan; one cut short ends with the data."""
    while True:
        position = data.index(0xFF, position)
        following = data[position + 1]
        if following and not 0xD0 <= following <= 0xD7 and following != 0xFF:
            return position
        position += 1 if following == 0xFF else 2


def _is_kept(segment: bytes, marker: int) -> bool:
    if marker == 0xFE:
        return False
    if not 0xE0 <= marker <= 0xEF:
        return True
    content = segment.lstrip(b"\xff")[3:]
    kept = _KEPT_SEGMENTS.get(marker)
    if kept is None or not content.startswith(kept):
        return False
    # A JFIF segment that is longer holds a small copy of the picture, perhaps from before it was cut.
    return marker != _JFIF or len(content) == _JFIF_SIZE
