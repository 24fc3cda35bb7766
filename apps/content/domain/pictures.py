"""The pictures of articles, kept as contents, and the renditions that file names ask for.

Rule: decisions, Content (Articles); ``apps.media`` decides what a picture is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apps.content.domain import contents
from apps.content.models import FileContent
from apps.media import intake, renditions
from apps.media.intake import PictureRefused
from apps.media.names import Transformation
from apps.media.pictures import ImageFormat
from apps.media.storage import content_storage
from apps.media.transform import transform

MAX_URL = 4096


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that is stored and may be referred to."""

    content: FileContent
    name: str
    width: int
    height: int


def take_picture(given: Mapping[str, Any]) -> Picture | None:
    """Store the picture of a body's ``image``; None where it brings none.

    May download, so it is called before the transaction opens.

    Raises:
        PictureRefused: It brings two, or one that is not usable.
    """
    attachment, src, filename = given.get("attachment"), given.get("src"), given.get("filename")
    if attachment is None and src is None:
        return None
    name = filename if isinstance(filename, str) else None
    try:
        return _stored(intake.from_body(attachment=attachment, src=src, filename=name, longest_url=MAX_URL))
    except PictureRefused as refusal:
        # Here the members of the image have no place of their own among the errors.
        raise PictureRefused(refusal.sentence.removeprefix("image ")) from refusal


def store_picture(data: bytes, name: str) -> Picture:
    """Store a picture under a safe name.

    Raises:
        PictureRefused: The content is no image that is kept.
    """
    return _stored(intake.from_upload(data, name))


def _stored(taken: intake.TakenPicture) -> Picture:
    return Picture(contents.store(taken.data), taken.name, taken.width, taken.height)


def format_of(name: str) -> ImageFormat:
    """The format that a stored picture's name tells."""
    suffix = name.rpartition(".")[2].lower()
    return ImageFormat.JPEG if suffix in {"jpg", "jpeg"} else ImageFormat(suffix)


def rendition(content: FileContent, wish: Transformation) -> bytes:
    """A stored picture made smaller; made on the first read and kept."""
    return renditions.rendition(
        content_storage(), content.renditions, str(wish), lambda: transform(contents.read(content), wish)
    )
