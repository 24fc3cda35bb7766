"""Strip metadata from images: location, author, comments and trailing bytes.

Pixels are re-encoded only to apply an EXIF orientation. Color profiles are kept, because they define the colors.
"""

import struct
from collections.abc import Callable, Iterator

from apps.core.i18n.error_messages import INVALID
from apps.core.i18n.messages import define_text
from apps.core.media.gif_parser import parse_gif_structure
from apps.core.media.image_validation import ImageFormat, ImageRefused, open_image
from apps.core.media.names import Transformation
from apps.core.media.transform import transform_image
from apps.core.registry import Registry

_SOI, _EOI, _SOS = 0xD8, 0xD9, 0xDA
# Markers without a length: the temporary marker (0x01), restart markers, start of image and end of image.
_MARKERS_WITHOUT_LENGTH = frozenset({0x01, *range(0xD0, 0xDA)})
# The first bytes of the segments that are kept: JFIF (density), ICC profile and Adobe (color encoding).
_JFIF, _JFIF_SIZE = 0xE0, 14
_KEPT_SEGMENTS = {_JFIF: b"JFIF\0", 0xE2: b"ICC_PROFILE\0", 0xEE: b"Adobe"}
# Chunks that affect how PNG and APNG images are drawn. Text, time, EXIF and all other chunks are dropped.
_KEPT_CHUNKS = frozenset(
    {b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"cHRM", b"gAMA", b"iCCP", b"sBIT", b"sRGB", b"cICP", b"mDCV"}
    | {b"cLLI", b"bKGD", b"pHYs", b"acTL", b"fcTL", b"fdAT"}
)


def strip_metadata(data: bytes) -> bytes:
    """Return an image without metadata.

    Raises:
        ImageRefused: The structure is broken. Pixels are only checked if the image is rotated.
    """
    image = open_image(data)
    if image.transposition is not None:
        return transform_image(data, Transformation())
    try:
        if image.format is ImageFormat.GIF:
            return parse_gif_structure(data).clean(data)
        parts = _iterate_jpeg(data) if image.format is ImageFormat.JPEG else _iterate_png(data)
        return b"".join(parts)
    except (IndexError, ValueError, struct.error) as error:
        raise ImageRefused(INVALID) from error


def _iterate_png(data: bytes) -> Iterator[bytes]:
    yield data[:8]
    position, kind = 8, b""
    while kind != b"IEND":
        length, kind = struct.unpack_from(">I4s", data, position)
        end = position + 12 + length
        if kind in _KEPT_CHUNKS:
            yield data[position:end]
        position = end


def _iterate_jpeg(data: bytes) -> Iterator[bytes]:
    """Yield the segments of the first image of a JPEG, and the data of each scan."""
    yield data[:2]
    position, marker = 2, _SOI
    while marker != _EOI:
        start = position
        if data[start] != 0xFF:
            raise ValueError("no marker where one belongs")
        while data[position] == 0xFF:
            position += 1
        marker = data[position]
        position += 1
        if marker in _MARKERS_WITHOUT_LENGTH:
            yield bytes((0xFF, marker))
            continue
        position += struct.unpack_from(">H", data, position)[0]
        if marker == _SOS:
            position = _find_end_of_scan(data, position)
        if _keep_segment(data[start:position], marker):
            yield data[start:position]


def _find_end_of_scan(data: bytes, position: int) -> int:
    """Return the position of the next marker. Stuffed bytes and restart markers are part of the scan."""
    while True:
        position = data.index(0xFF, position)
        following = data[position + 1]
        if following and not 0xD0 <= following <= 0xD7 and following != 0xFF:
            return position
        position += 1 if following == 0xFF else 2


def _keep_segment(segment: bytes, marker: int) -> bool:
    if marker == 0xFE:
        return False
    if not 0xE0 <= marker <= 0xEF:
        return True
    content = segment.lstrip(b"\xff")[3:]
    prefix = _KEPT_SEGMENTS.get(marker)
    if prefix is None or not content.startswith(prefix):
        return False
    # Drop longer JFIF segments. They contain a thumbnail, which may show the image before it was cropped.
    return marker != _JFIF or len(content) == _JFIF_SIZE


METADATA_REMOVED = define_text("images.metadata_removed", "Removed metadata")
# Functions that strip metadata from the current shop's images and return the number of changed images.
metadata_strippers = Registry[str, Callable[[], int]]("metadata strippers")


def strip_all_metadata() -> dict[str, int]:
    """Strip metadata from all images of the current shop. Return the number of changed images by registered name."""
    return {name: clean() for name, clean in metadata_strippers.items()}
