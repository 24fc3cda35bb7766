"""Recognise a picture by decoding it; names and declared types count for nothing.

Importing this module lowers Pillow's own limit for the whole process and turns its decompression-bomb warning into an
error, so that no other use of Pillow in the process is laxer than this one. It also silences Pillow's remarks about odd
metadata, which anyone could fill the logs with.
"""

import io
import struct
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import BinaryIO

from PIL import Image

from apps.ground.phrases import INVALID, larger_than
from apps.media.gif import GifRefused, GifStructure, read_structure

MAX_BYTES = 20 * 1024 * 1024
MAX_MEGAPIXELS = 25
MAX_PIXELS = MAX_MEGAPIXELS * 10**6
MAX_FRAMES = 250
# Pillow parses headers in Python, a few bytes at a time: an honest 20 MiB file needs well under 200,000 reads, while
# one made of millions of empty chunks would hold the process for several seconds.
MAX_READS = 500_000

TOO_MANY_BYTES = f"is {larger_than(MAX_BYTES)}"
TOO_MANY_PIXELS = f"is larger than {MAX_MEGAPIXELS} megapixels"
TOO_MANY_FRAMES = f"has more than {MAX_FRAMES} frames"

Image.MAX_IMAGE_PIXELS = MAX_PIXELS
# Set once and not around each call: `catch_warnings` is not safe among threads.
warnings.filterwarnings("ignore", category=UserWarning, module=r"PIL\.")
warnings.simplefilter("error", Image.DecompressionBombWarning)

_ORIENTATION_TAG = 0x0112
_ORIENTATIONS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_SIDEWAYS = frozenset({5, 6, 7, 8})


class ImageRefused(ValueError):
    """The data is no image that the product keeps; the text completes "Image …"."""


class ImageFormat(StrEnum):
    """The formats that are kept, by the names of the specification."""

    PNG = "png"
    GIF = "gif"
    JPEG = "jpeg"

    @property
    def content_type(self) -> str:
        """The media type to serve it with."""
        return f"image/{self.value}"

    @property
    def extension(self) -> str:
        """The usual file name extension, without the dot."""
        return "jpg" if self is ImageFormat.JPEG else self.value


# A JPEG with a second picture inside (most cameras write one as a preview) is "MPO" to Pillow and a JPEG to browsers.
_FORMATS = {"PNG": ImageFormat.PNG, "GIF": ImageFormat.GIF, "JPEG": ImageFormat.JPEG, "MPO": ImageFormat.JPEG}


@dataclass(frozen=True, slots=True)
class ImageInfo:
    """What an image is, as its pixels say.

    Attributes:
        format: The format of the content.
        width: Pixels across as displayed, that is with the EXIF orientation applied.
        height: Pixels down as displayed.
        content_type: The media type to serve it with.
        extension: The usual extension of the format, without the dot.
        frames: The number of pictures of an animated GIF; 1 for all others.
    """

    format: ImageFormat
    width: int
    height: int
    content_type: str
    extension: str
    frames: int = 1


@dataclass(frozen=True, slots=True)
class OpenedImage:
    """An image whose header has been vetted and whose pixels have not been decoded yet.

    Attributes:
        picture: The Pillow image, at its first frame.
        format: The format of the content.
        orientation: The EXIF orientation, 1 to 8; 1 where there is none or it makes no sense.
        gif: The block structure of a GIF; None for other formats.
    """

    picture: Image.Image
    format: ImageFormat
    orientation: int
    gif: GifStructure | None

    @property
    def sideways(self) -> bool:
        """Whether displaying swaps width and height."""
        return self.orientation in _SIDEWAYS

    @property
    def displayed_size(self) -> tuple[int, int]:
        """Width and height once the orientation is applied."""
        width, height = self.picture.size
        return (height, width) if self.sideways else (width, height)

    @property
    def transposition(self) -> Image.Transpose | None:
        """The operation that turns the stored pixels upright; None where they already are."""
        return _ORIENTATIONS.get(self.orientation)


def identify(data: bytes | BinaryIO, *, is_cleaned_next: bool = False) -> ImageInfo:
    """Say what an image is, after decoding its first frame completely.

    Args:
        data: The content, or a binary file that is read from where it stands.
        is_cleaned_next: Whether its metadata is about to be taken away, which decodes what is to be turned, and refuses
            damage: then that is not decoded here, too.

    Raises:
        ImageRefused: The content is no PNG, GIF or JPEG, is damaged or cut short, or exceeds a limit.
    """
    content = data if isinstance(data, bytes) else data.read(MAX_BYTES + 1)
    opened = open_image(content)
    width, height = opened.displayed_size
    if opened.transposition is None or not is_cleaned_next:
        with refusing():
            opened.picture.load()
            check_pixels(opened.picture)

    return ImageInfo(
        format=opened.format,
        width=width,
        height=height,
        content_type=opened.format.content_type,
        extension=opened.format.extension,
        frames=opened.gif.frames if opened.gif else 1,
    )


def open_image(content: bytes) -> OpenedImage:
    """Vet the header of an image without decoding its pixels.

    Raises:
        ImageRefused: As for `identify`, except for damage inside the pixel data.
    """
    if len(content) > MAX_BYTES:
        raise ImageRefused(TOO_MANY_BYTES)

    with refusing():
        picture = Image.open(_MeteredBytes(content), formats=("PNG", "GIF", "JPEG"))
        image_format = _FORMATS[picture.format or ""]
        check_pixels(picture)
        gif = read_structure(content) if image_format is ImageFormat.GIF else None
        if image_format is ImageFormat.PNG:
            _check_png_end(content)
    if gif and gif.frames > MAX_FRAMES:
        raise ImageRefused(TOO_MANY_FRAMES)

    return OpenedImage(picture=picture, format=image_format, orientation=_orientation(picture), gif=gif)


def check_pixels(picture: Image.Image) -> None:
    """Refuse a picture beyond the limit; to be repeated after each GIF frame, which can enlarge the canvas."""
    if picture.width * picture.height > MAX_PIXELS:
        raise ImageRefused(TOO_MANY_PIXELS)


@contextmanager
def refusing() -> Iterator[None]:
    """Turn whatever hostile bytes provoke inside Pillow's decoders into `ImageRefused`."""
    try:
        yield
    except ImageRefused:
        raise
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise ImageRefused(TOO_MANY_PIXELS) from error
    except GifRefused as error:
        raise ImageRefused(INVALID) from error
    except Exception as error:
        # Pillow documents no closed list: damage raises SyntaxError, struct.error, IndexError, zlib.error and more.
        raise ImageRefused(INVALID) from error


class _MeteredBytes(io.BytesIO):
    """Bytes in memory that refuse to be read in endlessly many small pieces."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self._reads_left = MAX_READS

    def read(self, size: int | None = -1, /) -> bytes:
        self._reads_left -= 1
        if self._reads_left < 0:
            raise ImageRefused(INVALID)
        return super().read(size)


def _check_png_end(content: bytes) -> None:
    """Refuse a PNG without its last chunk, which Pillow accepts as soon as all pixels can be decoded."""
    position, kind = 8, b""
    while kind != b"IEND":
        # Raises struct.error where the data ends first.
        length, kind = struct.unpack_from(">I4s", content, position)
        position += 12 + length
    if position > len(content):
        raise ImageRefused(INVALID)


def _orientation(picture: Image.Image) -> int:
    # Not `getexif()`, which falls back on XMP, as no browser does: the picture would be turned unlike the original.
    exif = Image.Exif()
    try:
        exif.load(picture.info.get("exif", b""))
        value = exif.get(_ORIENTATION_TAG, 1)
    except Exception:
        # EXIF is often damaged in honest photographs, and raises anything; the picture is then shown as stored.
        return 1
    return value if isinstance(value, int) and value in _ORIENTATIONS else 1
