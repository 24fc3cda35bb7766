"""Identify images by decoding them. File names and declared types are ignored.

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

from PIL import Image

from apps.core.i18n.error_messages import INVALID, is_larger_than
from apps.core.i18n.messages import define_message
from apps.core.media.gif_parser import GifStructure, parse_gif_structure

MAX_BYTES = 20 * 1024 * 1024
MAX_MEGAPIXELS = 25
MAX_PIXELS = MAX_MEGAPIXELS * 10**6
MAX_FRAMES = 250
# Pillow parses headers in Python, a few bytes at a time. A normal 20 MiB file needs far fewer than 200,000 reads. A
# file with millions of empty chunks would block the process for several seconds.
MAX_READS = 500_000

TOO_MANY_BYTES = is_larger_than(MAX_BYTES)
ACCEPTED = "PNG, JPEG, GIF, WebP, AVIF"
WRONG_FORMAT = define_message("images.wrong_format", "must be in one of the formats {formats}")(formats=ACCEPTED)
TOO_MANY_PIXELS = define_message("images.too_many_pixels", "is larger than {count} megapixels")(count=MAX_MEGAPIXELS)
TOO_MANY_FRAMES = define_message("images.too_many_frames", "has more than {count} frames")(count=MAX_FRAMES)

Image.MAX_IMAGE_PIXELS = MAX_PIXELS
# Set the filters once for the whole process, because `catch_warnings` around each call is not thread-safe.
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
# Orientations that swap width and height.
_SIDEWAYS = frozenset({5, 6, 7, 8})


class ImageRefused(ValueError):
    """Raised when data is not an acceptable image. The message continues a sentence that starts with "Image"."""


class ImageFormat(StrEnum):
    PNG = "png"
    GIF = "gif"
    JPEG = "jpeg"

    @property
    def content_type(self) -> str:
        return f"image/{self.value}"


_SIGNATURES = (b"\x89PNG\r\n\x1a\n", b"GIF87a", b"GIF89a", b"\xff\xd8\xff")
# Pillow reports a JPEG that contains a second image, such as a camera preview, as "MPO". Browsers treat it as JPEG.
_FORMATS = {"PNG": ImageFormat.PNG, "GIF": ImageFormat.GIF, "JPEG": ImageFormat.JPEG, "MPO": ImageFormat.JPEG}


@dataclass(frozen=True, slots=True)
class ImageInfo:
    """The format of an image, and its displayed size in pixels with the EXIF orientation applied."""

    format: ImageFormat
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class OpenedImage:
    """An image with a validated header, but without decoded pixels.

    Attributes:
        picture: The Pillow image, positioned at the first frame.
        orientation: The EXIF orientation from 1 to 8. A missing or invalid value becomes 1.
    """

    picture: Image.Image
    format: ImageFormat
    orientation: int
    gif: GifStructure | None

    @property
    def displayed_size(self) -> tuple[int, int]:
        """Return the width and height with the orientation applied."""
        width, height = self.picture.size
        return (height, width) if self.orientation in _SIDEWAYS else (width, height)

    @property
    def transposition(self) -> Image.Transpose | None:
        """Return the operation that turns the pixels upright, or None if the pixels are already upright."""
        return get_transposition(self.orientation)


def get_transposition(orientation: int) -> Image.Transpose | None:
    return _ORIENTATIONS.get(orientation)


def identify_image(content: bytes, *, is_cleaned_next: bool = False) -> ImageInfo:
    """Identify an image by decoding its first frame completely.

    Args:
        content: The whole file.
        is_cleaned_next: True if the caller strips metadata next. Stripping decodes rotated images and rejects damaged
            images, so this function does not decode rotated images.

    Raises:
        ImageRefused: The content is not a PNG, GIF or JPEG, is damaged or truncated, or exceeds a limit.
    """
    image = open_image(content)
    if image.transposition is None or not is_cleaned_next:
        with convert_pillow_errors():
            image.picture.load()
            check_pixels(image.picture)
    return ImageInfo(image.format, *image.displayed_size)


def open_image(content: bytes) -> OpenedImage:
    """Validate the header of an image without decoding its pixels.

    Raises:
        ImageRefused: The content is not a PNG, GIF or JPEG, has a damaged structure, or exceeds a limit. Damaged pixel
            data is not detected.
    """
    check_size(content)
    if not content.startswith(_SIGNATURES):
        raise ImageRefused(WRONG_FORMAT)
    with convert_pillow_errors():
        pillow_image = Image.open(_MeteredBytes(content), formats=("PNG", "GIF", "JPEG"))
        image_format = _FORMATS[pillow_image.format or ""]
        check_pixels(pillow_image)
        gif = parse_gif_structure(content) if image_format is ImageFormat.GIF else None
        if image_format is ImageFormat.PNG:
            _check_png_end(content)
    if gif and gif.frames > MAX_FRAMES:
        raise ImageRefused(TOO_MANY_FRAMES)
    return OpenedImage(pillow_image, image_format, read_orientation(pillow_image), gif)


def check_size(content: bytes) -> None:
    if len(content) > MAX_BYTES:
        raise ImageRefused(TOO_MANY_BYTES)


def check_pixels(pillow_image: Image.Image) -> None:
    """Check the number of pixels. Repeat this check after each GIF frame, because a frame can enlarge the canvas."""
    if pillow_image.width * pillow_image.height > MAX_PIXELS:
        raise ImageRefused(TOO_MANY_PIXELS)


@contextmanager
def convert_pillow_errors() -> Iterator[None]:
    try:
        yield
    except ImageRefused:
        raise
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise ImageRefused(TOO_MANY_PIXELS) from error
    except Exception as error:
        # ``InvalidGif``, or any error of Pillow, which does not document all exceptions. Damaged files raise
        # SyntaxError, struct.error, IndexError, zlib.error and more.
        raise ImageRefused(INVALID) from error


class _MeteredBytes(io.BytesIO):
    """An in-memory file that raises ``ImageRefused`` after too many reads."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self._reads_left = MAX_READS

    def read(self, size: int | None = -1, /) -> bytes:
        self._reads_left -= 1
        if self._reads_left < 0:
            raise ImageRefused(INVALID)
        return super().read(size)


def _check_png_end(content: bytes) -> None:
    """Reject a PNG without its last chunk. Pillow accepts a truncated PNG if all pixels can be decoded."""
    position, kind = 8, b""
    while kind != b"IEND":
        # A truncated file raises struct.error, which the caller converts to ``ImageRefused``.
        length, kind = struct.unpack_from(">I4s", content, position)
        position += 12 + length
    if position > len(content):
        raise ImageRefused(INVALID)


def read_orientation(pillow_image: Image.Image) -> int:
    """Return the EXIF orientation from 1 to 8. A missing or invalid value becomes 1."""
    # Do not use `getexif()`, which falls back to XMP. Browsers ignore XMP, so they would rotate the image differently.
    exif = Image.Exif()
    try:
        exif.load(pillow_image.info.get("exif", b""))
        value = exif.get(_ORIENTATION_TAG, 1)
    except Exception:
        # Damaged EXIF data is common in valid photos and raises all kinds of errors. Do not rotate such images.
        return 1
    return value if isinstance(value, int) and value in _ORIENTATIONS else 1
