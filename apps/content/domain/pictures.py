"""Pictures that clients hand over as Base64 or as a URL, and the smaller versions that file names ask for.

Rule: decisions, Content (Product images, Articles); ``apps.media`` decides what an image is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from apps.content.domain import contents
from apps.content.domain.storage import content_storage
from apps.content.models import FileContent
from apps.ground.errors import DomainError
from apps.media import renditions
from apps.media.attachments import AttachmentRefused, decode_attachment
from apps.media.gif import read_structure
from apps.media.images import MAX_BYTES, ImageFormat, ImageRefused, identify
from apps.media.names import Transformation, normalise_filename
from apps.media.transform import transform
from apps.outgoing.client import IMAGE, fetch
from apps.outgoing.errors import FetchFailed


class PictureRefused(DomainError):
    """The picture cannot be had, or is none that is kept."""

    code = "picture_refused"
    field = "image"


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
    attachment, src = given.get("attachment"), given.get("src")
    if attachment is not None and src is not None:
        raise PictureRefused("cannot have both attachment and src")
    if attachment is not None:
        try:
            data = decode_attachment(attachment, MAX_BYTES)
        except AttachmentRefused as error:
            raise PictureRefused(f"attachment {error}") from error
        name = given.get("filename") or ""
    elif src is not None:
        data, name = _download(src)
        name = given.get("filename") or name
    else:
        return None
    return store_picture(data, name if isinstance(name, str) else "")


def store_picture(data: bytes, name: str) -> Picture:
    """Store a picture under a safe name.

    Raises:
        PictureRefused: The content is no image that is kept.
    """
    try:
        info = identify(data)
    except ImageRefused as error:
        raise PictureRefused(str(error)) from error
    if info.format is ImageFormat.GIF:
        # What follows the last frame is no picture, whatever else it is.
        data = read_structure(data).clean(data)
    return Picture(contents.store(data), normalise_filename(name, info.format), info.width, info.height)


def _download(src: object) -> tuple[bytes, str]:
    if not isinstance(src, str):
        raise PictureRefused("src is invalid")
    try:
        with fetch(src, limits=IMAGE) as download:
            return download.file.read(), unquote(urlsplit(download.url).path.rpartition("/")[2])
    except FetchFailed as error:
        raise PictureRefused(f"Could not download image: {error}") from error


def format_of(name: str) -> ImageFormat:
    """The format that a stored picture's name tells."""
    suffix = name.rpartition(".")[2].lower()
    return ImageFormat.JPEG if suffix in {"jpg", "jpeg"} else ImageFormat(suffix)


def rendition(content: FileContent, wish: Transformation) -> bytes:
    """A stored picture made smaller; made on the first read and kept."""
    return renditions.rendition(
        content_storage(), content.renditions, str(wish), lambda: transform(contents.read(content), wish)
    )
