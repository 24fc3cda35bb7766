"""Load images from Base64 attachments, URLs and uploads, and validate them."""

from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from apps.core.exceptions import DomainError
from apps.core.http.errors import HttpRequestFailed
from apps.core.http.sync_client import Limits, download_file
from apps.core.i18n.error_messages import BLANK, INVALID
from apps.core.i18n.messages import as_message, define_message
from apps.core.media.attachments import AttachmentRefused, decode_attachment
from apps.core.media.conversion import convert_image
from apps.core.media.image_validation import MAX_BYTES, ImageRefused, identify_image
from apps.core.media.metadata import strip_metadata
from apps.core.media.names import normalize_filename

_NOT_DOWNLOADED = define_message("images.not_downloaded", "Could not download image: {error}")
MAX_URL = 2048
MAX_SECONDS = 10.0


class UploadRefused(DomainError):
    """Raised when an image is missing or invalid, or cannot be downloaded."""

    field = "image"


@dataclass(frozen=True, slots=True)
class ValidatedImage:
    """A validated image, upright and without metadata, with a safe file name and its displayed size in pixels."""

    data: bytes
    name: str
    width: int
    height: int


def load_image_from_body(
    *, attachment: object, src: object, filename: object, seconds: float = MAX_SECONDS, longest_url: int = MAX_URL
) -> ValidatedImage:
    """Load the image from a request body, either from a Base64 attachment or from a URL.

    Without a file name, the name is taken from the URL, or a generic name is used.

    Raises:
        UploadRefused: The image is missing, is given twice, is invalid or cannot be downloaded.
    """
    # Clients in typed languages also send the source that they do not use.
    if src == "" and attachment:
        src = None
    if attachment == "" and src:
        attachment = None
    if attachment is not None and src is not None:
        raise UploadRefused("cannot have both attachment and src")
    if filename is not None and not isinstance(filename, str):
        raise UploadRefused(INVALID, field="filename")
    if attachment is not None:
        return load_uploaded_image(_decode(attachment), filename or "")
    if not isinstance(src, str) or not 0 < len(src) <= longest_url:
        raise UploadRefused(INVALID if src else BLANK, field="src" if src else "image")
    return load_uploaded_image(_download(src, seconds), filename or unquote(urlsplit(src).path))


def load_uploaded_image(data: bytes, name: str) -> ValidatedImage:
    """Validate the bytes of an image, strip its metadata, and convert WebP and AVIF to PNG, JPEG or GIF.

    Raises:
        UploadRefused: The file is not in an accepted format, is damaged, or exceeds a limit.
    """
    try:
        data = convert_image(data)
        info = identify_image(data, is_cleaned_next=True)
        data = strip_metadata(data)
    except ImageRefused as error:
        raise UploadRefused(str(error)) from error
    return ValidatedImage(data, normalize_filename(name, info.format), info.width, info.height)


def _decode(attachment: object) -> bytes:
    try:
        return decode_attachment(attachment, MAX_BYTES)
    except AttachmentRefused as error:
        raise UploadRefused(str(error), field="attachment") from error


def _download(src: str, seconds: float) -> bytes:
    limits = Limits(max_bytes=MAX_BYTES, total_seconds=min(seconds, MAX_SECONDS))
    try:
        with download_file(src, limits=limits) as download:
            return download.file.read()
    except HttpRequestFailed as error:
        raise UploadRefused(_NOT_DOWNLOADED(error=as_message(str(error)))) from error
