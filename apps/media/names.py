"""File names of images: made safe on the way in, read as transformations on the way out.

A name such as `mug_200x200.jpg` is ambiguous: it may be a file of that very name or `mug.jpg` made smaller. The exact
name wins. Who serves an image therefore looks up the requested name as it stands first, and only if there is none asks
`parse_transformation` for the base name to look up; None, or an unknown base, is a 404.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from slugify import slugify

from apps.media.pictures import ImageFormat

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
MASTERS = frozenset({"master", "original"})

_IMAGE_EXTENSION = re.compile(r"\.(png|gif|jpe?g|jpe|jfif|webp|avif|heic|heif|bmp|tiff?|svg|ico)$", re.IGNORECASE)
_EXTENSIONS = {
    ImageFormat.PNG: ("png",),
    ImageFormat.GIF: ("gif",),
    ImageFormat.JPEG: ("jpg", "jpeg"),
}
_TRANSFORMED = re.compile(
    r"(?P<stem>[^/\\]+?)"
    rf"_(?:(?P<named>{'|'.join((*NAMED_SIZES, *sorted(MASTERS)))})"
    r"|(?P<width>[1-9][0-9]{0,3})?x(?P<height>[1-9][0-9]{0,3})?)"
    r"(?:_crop_(?P<crop>top|center|bottom|left|right))?"
    r"(?:@(?P<scale>[23])x)?"
    r"\.(?P<extension>png|gif|jpe?g)",
    re.ASCII,
)


class Crop(StrEnum):
    """Which part stays when an image is cut to the proportions of its box."""

    TOP = "top"
    CENTER = "center"
    BOTTOM = "bottom"
    LEFT = "left"
    RIGHT = "right"


@dataclass(frozen=True, slots=True)
class Transformation:
    """A wish for a smaller picture.

    Equal wishes are equal values, however they were spelled (`_small`, `_100x100`), so `str()` serves as a cache key.

    Attributes:
        width: The widest it may be, in CSS pixels; None for any.
        height: The highest it may be, in CSS pixels; None for any.
        crop: The part to keep if both sides are to be filled; None to fit the whole picture in. Needs both sides.
        scale: Device pixels per CSS pixel: 1, 2 or 3.
    """

    width: int | None = None
    height: int | None = None
    crop: Crop | None = None
    scale: int = 1

    @property
    def box(self) -> tuple[int | None, int | None]:
        """Width and height in device pixels."""
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


def normalise_filename(name: str, image_format: ImageFormat) -> str:
    """Make a file name that is safe in paths, URLs and headers.

    Only ASCII letters, digits, `-` and `_` remain, starting and ending with a letter or digit, then one dot and an
    extension that is true to the content. Rule: spec part A, ProductImage, file naming.

    Args:
        name: Whatever the client sent; directories are dropped.
        image_format: The format of the content, which decides the extension.
    """
    base = re.split(r"[/\\]", name[-1000:])[-1].strip()
    sent = _IMAGE_EXTENSION.search(base)
    stem = base[: sent.start()] if sent else base
    stem = slugify(stem, entities=False, decimal=False, hexadecimal=False, lowercase=False, regex_pattern=r"[^\w-]+")
    stem = stem[:MAX_STEM].strip("-_") or FALLBACK_STEM
    known = _EXTENSIONS[image_format]
    extension = sent[1].lower() if sent and sent[1].lower() in known else known[0]
    return f"{stem}.{extension}"


def parse_transformation(name: str) -> tuple[str, Transformation] | None:
    """Split the name of a transformed image into the original's name and the transformation.

    Args:
        name: The requested file name, without directory, for which no file of that exact name exists.

    Returns:
        The name of the original and the wish, or None if the name asks for no size that exists.
    """
    match = _TRANSFORMED.fullmatch(name) if len(name) <= MAX_NAME else None
    if match is None:
        return None

    named, crop = match["named"], match["crop"]
    scale = int(match["scale"] or 1)
    if named in MASTERS:
        wish = None if crop or scale > 1 else Transformation()
    else:
        width = NAMED_SIZES[named] if named else int(match["width"] or 0)
        height = NAMED_SIZES[named] if named else int(match["height"] or 0)
        wish = _sized(width, height, Crop(crop) if crop else None, scale)
    return None if wish is None else (f"{match['stem']}.{match['extension']}", wish)


def _sized(width: int, height: int, crop: Crop | None, scale: int) -> Transformation | None:
    if not (width or height) or max(width, height) * scale > MAX_SIDE:
        return None
    # With one side free there is nothing to cut, so that spelling means the same as the one without.
    return Transformation(width or None, height or None, crop if width and height else None, scale)
