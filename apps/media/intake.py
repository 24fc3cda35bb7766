"""Taking pictures in: attached as Base64, downloaded from an address, or uploaded; checked by their pixels."""

from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from django.utils.translation import gettext_noop

from apps.ground.errors import DomainError
from apps.ground.phrases import BLANK, INVALID
from apps.ground.retelling import retold, tells
from apps.media.attachments import AttachmentRefused, decode_attachment
from apps.media.metadata import without_metadata
from apps.media.names import normalise_filename
from apps.media.pictures import MAX_BYTES, ImageRefused, identify
from apps.outgoing.client import Limits, fetch
from apps.outgoing.errors import FetchFailed

_NOT_DOWNLOADED = tells(gettext_noop("Could not download image: {error}"), error=retold)
MAX_URL = 2048
MAX_SECONDS = 10.0


class PictureRefused(DomainError):
    """The picture could not be had, or is none that the product keeps."""

    code = "picture_refused"
    field = "image"


@dataclass(frozen=True, slots=True)
class TakenPicture:
    """A picture that may be stored.

    Attributes:
        data: Its bytes, upright and without metadata.
        name: Its file name, safe anywhere.
        width: In pixels, as displayed.
        height: In pixels, as displayed.
    """

    data: bytes
    name: str
    width: int
    height: int


def from_body(
    *, attachment: object, src: object, filename: object, seconds: float = MAX_SECONDS, longest_url: int = MAX_URL
) -> TakenPicture:
    """Take the picture of a body, which is either attached or named by its address.

    Args:
        attachment: Base64.
        src: An address to download it from.
        filename: What the client calls it; else the address or a neutral name says.
        seconds: How long a download may take.
        longest_url: The most characters of an address.

    Raises:
        PictureRefused: There is none, there are two, or it cannot be had, read or kept.
    """
    if attachment is not None and src is not None:
        raise PictureRefused("cannot have both attachment and src")
    if filename is not None and not isinstance(filename, str):
        raise PictureRefused(INVALID, field="filename")
    if attachment is not None:
        return from_upload(_decoded(attachment), filename or "")
    if not isinstance(src, str) or not 0 < len(src) <= longest_url:
        raise PictureRefused(INVALID if src else BLANK, field="src" if src else "image")
    return from_upload(_downloaded(src, seconds), filename or unquote(urlsplit(src).path))


def from_upload(data: bytes, name: str) -> TakenPicture:
    """Take the bytes of a picture, without what they tell beyond its pixels.

    Args:
        data: The whole file.
        name: What it was called.

    Raises:
        PictureRefused: It is no PNG, GIF or JPEG, is damaged, or exceeds a limit.
    """
    try:
        info = identify(data, is_cleaned_next=True)
        data = without_metadata(data)
    except ImageRefused as error:
        raise PictureRefused(str(error)) from error
    return TakenPicture(data, normalise_filename(name, info.format), info.width, info.height)


def _decoded(attachment: object) -> bytes:
    try:
        return decode_attachment(attachment, MAX_BYTES)
    except AttachmentRefused as error:
        raise PictureRefused(str(error), field="attachment") from error


def _downloaded(src: str, seconds: float) -> bytes:
    limits = Limits(max_bytes=MAX_BYTES, total_seconds=min(seconds, MAX_SECONDS))
    try:
        with fetch(src, limits=limits) as download:
            return download.file.read()
    except FetchFailed as error:
        raise PictureRefused(_NOT_DOWNLOADED.format(error=error)) from error
