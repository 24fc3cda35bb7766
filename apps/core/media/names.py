"""Sanitize the file names of images, and parse the transformations in requested names.

A name such as `mug_200x200.jpg` is ambiguous. It may be a file with exactly that name, or a smaller version of
`mug.jpg`. The exact name takes precedence. Views therefore look up the requested name first, and only then call
`parse_transformation`. If the result is None or the original does not exist, the response is 404.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from slugify import slugify

from apps.core.media.image_validation import ImageFormat

MAX_STEM = 100
MAX_NAME = 255
MAX_SIDE = 5760

FALLBACK_STEM = "image"
NAMED_SIZES = {
    "pico": 16,
    "icon": 32,
    "thumb": 50,
    "small": 100,
    "compact": 160,
    "medium": 240,
    "large": 480,
    "grande": 600,
}
ORIGINAL_SIZES = frozenset({"master", "original"})

_IMAGE_EXTENSION = re.compile(r"\.(png|gif|jpe?g|jpe|jfif|webp|avif|heic|heif|bmp|tiff?|svg|ico)$", re.IGNORECASE)
_EXTENSIONS = {ImageFormat.PNG: ("png",), ImageFormat.GIF: ("gif",), ImageFormat.JPEG: ("jpg", "jpeg")}
_TRANSFORMED = re.compile(
    r"(?P<stem>[^/\\]+?)"
    rf"_(?:(?P<named>{'|'.join((*NAMED_SIZES, *sorted(ORIGINAL_SIZES)))})"
    r"|(?P<width>[1-9][0-9]{0,3})?x(?P<height>[1-9][0-9]{0,3})?)"
    r"(?:_crop_(?P<crop>top|center|bottom|left|right))?"
    r"(?:@(?P<scale>[23])x)?"
    r"\.(?P<extension>png|gif|jpe?g)",
    re.ASCII,
)


class Crop(StrEnum):
    """The part of an image to keep when the image is cropped."""

    TOP = "top"
    CENTER = "center"
    BOTTOM = "bottom"
    LEFT = "left"
    RIGHT = "right"


@dataclass(frozen=True, slots=True)
class Transformation:
    """A requested size of an image.

    Different spellings of the same size, such as `_small` and `_100x100`, compare equal and have the same `str()`,
    which can therefore be used as a cache key.

    Attributes:
        width: The maximum width in CSS pixels, or None for no limit.
        height: The maximum height in CSS pixels, or None for no limit.
        crop: The part to keep, or None to fit the whole image. A crop needs width and height.
        scale: Device pixels per CSS pixel: 1, 2 or 3.
    """

    width: int | None = None
    height: int | None = None
    crop: Crop | None = None
    scale: int = 1

    @property
    def box(self) -> tuple[int | None, int | None]:
        return (
            None if self.width is None else self.width * self.scale,
            None if self.height is None else self.height * self.scale,
        )

    def __str__(self) -> str:
        if self.width is None and self.height is None:
            return "master"
        crop = f"_crop_{self.crop}" if self.crop else ""
        scale = f"@{self.scale}x" if self.scale > 1 else ""
        return f"{self.width or ''}x{self.height or ''}{crop}{scale}"


def normalize_filename(name: str, image_format: ImageFormat) -> str:
    """Return a file name that is safe in paths, URLs and headers.

    The result consists of ASCII letters, digits, `-` and `_`, starts and ends with a letter or digit, and has the
    extension of the content's format. Directories are dropped.
    """
    base = re.split(r"[/\\]", name[-1000:])[-1].strip()
    extension_match = _IMAGE_EXTENSION.search(base)
    stem = base[: extension_match.start()] if extension_match else base
    stem = slugify(stem, entities=False, decimal=False, hexadecimal=False, lowercase=False, regex_pattern=r"[^\w-]+")
    stem = stem[:MAX_STEM].strip("-_") or FALLBACK_STEM
    extension = extension_match[1].lower() if extension_match else ""
    valid_extensions = _EXTENSIONS[image_format]
    return f"{stem}.{extension if extension in valid_extensions else valid_extensions[0]}"


def parse_transformation(name: str) -> tuple[str, Transformation] | None:
    """Split a file name, without a directory, into the original's name and the requested transformation.

    Return None if the name does not request a valid size.
    """
    match = _TRANSFORMED.fullmatch(name) if len(name) <= MAX_NAME else None
    if match is None:
        return None
    size_name, crop = match["named"], match["crop"]
    scale = int(match["scale"] or 1)
    if size_name in ORIGINAL_SIZES:
        transformation = None if crop or scale > 1 else Transformation()
    else:
        width, height = (NAMED_SIZES[size_name] if size_name else int(match[side] or 0) for side in ("width", "height"))
        transformation = _build_transformation(width, height, Crop(crop) if crop else None, scale)
    return None if transformation is None else (f"{match['stem']}.{match['extension']}", transformation)


def _build_transformation(width: int, height: int, crop: Crop | None, scale: int) -> Transformation | None:
    if not (width or height) or max(width, height) * scale > MAX_SIDE:
        return None
    # If only the width or only the height is given, nothing is cropped. Drop the crop, so that equal sizes compare
    # equal.
    return Transformation(width or None, height or None, crop if width and height else None, scale)
