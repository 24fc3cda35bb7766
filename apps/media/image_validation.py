"""Identify images by decoding them; file names and declared types are ignored.

Importing this module lowers Pillow's pixel limit for the whole process and turns its decompression bomb warning into an
error, so that no other use of Pillow is less strict. It also silences Pillow's warnings about odd metadata, which
uploads could use to fill the logs.
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

from apps.ground.error_messages import INVALID, larger_than
from apps.media.gif_parser import GifStructure, InvalidGif, parse_gif_structure

MAX_BYTES = 20 * 1024 * 1024
MAX_MEGAPIXELS = 25
MAX_PIXELS = MAX_MEGAPIXELS * 10**6
MAX_FRAMES = 250
# Pillow parses headers in Python, a few bytes at a time. A normal 20 MiB file needs well below 200,000 reads; a file of
# millions of empty chunks would block the process for several seconds.
MAX_READS = 500_000

TOO_MANY_BYTES = f"is {larger_than(MAX_BYTES)}"
TOO_MANY_PIXELS = f"is larger than {MAX_MEGAPIXELS} megapixels"
TOO_MANY_FRAMES = f"has more than {MAX_FRAMES} frames"

Image.MAX_IMAGE_PIXELS = MAX_PIXELS
# Set the filters once and not around each call, because `catch_warnings` is not thread-safe.
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
    """Raised when data is not an acceptable image; the message completes "Image …"."""


class ImageFormat(StrEnum):
    """Accepted image formats."""

    PNG = "png"
    GIF = "gif"
    JPEG = "jpeg"

    @property
    def content_type(self) -> str:
        return f"image/{self.value}"

    @property
    def extension(self) -> str:
        return "jpg" if self is ImageFormat.JPEG else self.value


# Pillow reports JPEGs with a second image inside (most cameras add a preview) as "MPO"; browsers treat them as JPEG.
_FORMATS = {"PNG": ImageFormat.PNG, "GIF": ImageFormat.GIF, "JPEG": ImageFormat.JPEG, "MPO": ImageFormat.JPEG}


@dataclass(frozen=True, slots=True)
class ImageInfo:
    """Properties of an image, determined from its pixels.

    Attributes:
        format: The format of the content.
        width: The displayed width in pixels, with the EXIF orientation applied.
        height: The displayed height in pixels.
        content_type: The media type.
        extension: The usual file extension, without the dot.
        frames: The number of frames of an animated GIF; otherwise 1.
    """

    format: ImageFormat
    width: int
    height: int
    content_type: str
    extension: str
    frames: int = 1


@dataclass(frozen=True, slots=True)
class OpenedImage:
    """An image with a validated header, but without decoded pixels.

    Attributes:
        picture: The Pillow image, at its first frame.
        format: The format of the content.
        orientation: The EXIF orientation, 1 to 8; 1 if missing or invalid.
        gif: The block structure of a GIF; None for other formats.
    """

    picture: Image.Image
    format: ImageFormat
    orientation: int
    gif: GifStructure | None

    @property
    def is_sideways(self) -> bool:
        """True if the orientation swaps width and height."""
        return self.orientation in _SIDEWAYS

    @property
    def displayed_size(self) -> tuple[int, int]:
        """Width and height with the orientation applied."""
        width, height = self.picture.size
        return (height, width) if self.is_sideways else (width, height)

    @property
    def transposition(self) -> Image.Transpose | None:
        """The operation that turns the pixels upright, or None if they are already upright."""
        return _ORIENTATIONS.get(self.orientation)


def identify_image(data: bytes | BinaryIO, *, is_cleaned_next: bool = False) -> ImageInfo:
    """Identify an image by decoding its first frame completely.

    Args:
        data: The content, or a binary file that is read from its current position.
        is_cleaned_next: True if the caller strips metadata next. That step decodes rotated images and refuses damaged
            ones, so they are not decoded twice.

    Raises:
        ImageRefused: The content is not a PNG, GIF or JPEG, is damaged or truncated, or exceeds a limit.
    """
    content = data if isinstance(data, bytes) else data.read(MAX_BYTES + 1)
    image = open_image(content)
    width, height = image.displayed_size
    if image.transposition is None or not is_cleaned_next:
        with convert_pillow_errors():
            image.picture.load()
            check_pixels(image.picture)

    return ImageInfo(
        format=image.format,
        width=width,
        height=height,
        content_type=image.format.content_type,
        extension=image.format.extension,
        frames=image.gif.frames if image.gif else 1,
    )


def open_image(content: bytes) -> OpenedImage:
    """Validate the header of an image without decoding its pixels.

    Raises:
        ImageRefused: As for `identify_image`, except for damaged pixel data.
    """
    if len(content) > MAX_BYTES:
        raise ImageRefused(TOO_MANY_BYTES)

    with convert_pillow_errors():
        pillow_image = Image.open(_MeteredBytes(content), formats=("PNG", "GIF", "JPEG"))
        image_format = _FORMATS[pillow_image.format or ""]
        check_pixels(pillow_image)
        gif = parse_gif_structure(content) if image_format is ImageFormat.GIF else None
        if image_format is ImageFormat.PNG:
            _check_png_end(content)
    if gif and gif.frames > MAX_FRAMES:
        raise ImageRefused(TOO_MANY_FRAMES)

    return OpenedImage(picture=pillow_image, format=image_format, orientation=_read_orientation(pillow_image), gif=gif)


def check_pixels(pillow_image: Image.Image) -> None:
    """Refuse images beyond the pixel limit.

    Repeat this check after each GIF frame, because a frame can enlarge the canvas.
    """
    if pillow_image.width * pillow_image.height > MAX_PIXELS:
        raise ImageRefused(TOO_MANY_PIXELS)


@contextmanager
def convert_pillow_errors() -> Iterator[None]:
    """Convert all errors of Pillow's decoders to `ImageRefused`."""
    try:
        yield
    except ImageRefused:
        raise
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise ImageRefused(TOO_MANY_PIXELS) from error
    except InvalidGif as error:
        raise ImageRefused(INVALID) from error
    except Exception as error:
        # Pillow documents no complete list: damage raises SyntaxError, struct.error, IndexError, zlib.error and more.
        raise ImageRefused(INVALID) from error


class _MeteredBytes(io.BytesIO):
    """Bytes in memory with a limited number of reads."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self._reads_left = MAX_READS

    def read(self, size: int | None = -1, /) -> bytes:
        self._reads_left -= 1
        if self._reads_left < 0:
            raise ImageRefused(INVALID)
        return super().read(size)


def _check_png_end(content: bytes) -> None:
    """Refuse a PNG without its last chunk. Pillow accepts such files if all pixels can be decoded."""
    position, kind = 8, b""
    while kind != b"IEND":
        # struct.error means that the data ends early.
        length, kind = struct.unpack_from(">I4s", content, position)
        position += 12 + length
    if position > len(content):
        raise ImageRefused(INVALID)


def _read_orientation(pillow_image: Image.Image) -> int:
    # `getexif()` would fall back to XMP, which browsers ignore: the image would be rotated differently.
    exif = Image.Exif()
    try:
        exif.load(pillow_image.info.get("exif", b""))
        value = exif.get(_ORIENTATION_TAG, 1)
    except Exception:
        # Damaged EXIF is common in valid photos and raises all kinds of errors; such images are shown as stored.
        return 1
    return value if isinstance(value, int) and value in _ORIENTATIONS else 1
