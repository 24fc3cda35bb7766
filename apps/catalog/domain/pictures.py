"""Picture files: taken in from outside, kept in storage, named by a key that nobody can guess.

A file never changes and a key is never used twice, so what is served under it may be cached for good. The storage may
be far away, so files are written before the transaction that refers to them; a face that fails afterwards discards
them.
"""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import transaction

from apps.ground.errors import DomainError
from apps.media.attachments import AttachmentRefused, decode_attachment
from apps.media.gif import read_structure
from apps.media.images import MAX_BYTES, ImageFormat, ImageRefused, identify
from apps.media.names import normalise_filename
from apps.media.storage import names_in
from apps.outgoing.client import IMAGE, Limits, fetch
from apps.outgoing.errors import FetchFailed

MAX_URL = 2048


class PictureRefused(DomainError):
    """The picture could not be had, or is none that the product keeps."""

    code = "picture_refused"
    field = "image"


@dataclass(slots=True)
class Picture:
    """A stored picture.

    Attributes:
        shop_id: Whose it is.
        key: Names it in storage and addresses.
        name: Its file name, safe anywhere.
        width: In pixels, as displayed.
        height: In pixels, as displayed.
        kept: Whether a row refers to it; until then whoever stored it must discard it on failure.
    """

    shop_id: int
    key: str
    name: str
    width: int
    height: int
    kept: bool = False


def take(
    shop_id: int,
    *,
    attachment: object = None,
    src: object = None,
    filename: object = None,
    seconds: float = IMAGE.total_seconds,
) -> Picture:
    """Take a picture from a body in, either attached or by its address, and store it.

    Args:
        shop_id: Whose it will be.
        attachment: Base64.
        src: An address to download it from.
        filename: What the client calls it; else the address or a neutral name says.
        seconds: How long a download may take.

    Raises:
        PictureRefused: There is none, there are two, or it cannot be had, read or kept.
    """
    if attachment is not None and src is not None:
        raise PictureRefused("cannot have both an attachment and a src")
    if filename is not None and not isinstance(filename, str):
        raise PictureRefused("is invalid", field="filename")
    if attachment is not None:
        return store(shop_id, _decoded(attachment), filename or "")
    if not isinstance(src, str) or not 0 < len(src) <= MAX_URL:
        raise PictureRefused("is invalid" if src else "can't be blank", field="src" if src else "image")
    return store(shop_id, _downloaded(src, seconds), filename or unquote(urlsplit(src).path))


def _decoded(attachment: object) -> bytes:
    try:
        return decode_attachment(attachment, MAX_BYTES)
    except AttachmentRefused as error:
        raise PictureRefused(str(error), field="attachment") from error


def _downloaded(src: str, seconds: float) -> bytes:
    limits = Limits(max_bytes=MAX_BYTES, total_seconds=min(seconds, IMAGE.total_seconds))
    try:
        with fetch(src, limits=limits) as download:
            return download.file.read()
    except FetchFailed as error:
        raise PictureRefused(f"Could not download image: {error}") from error


def store(shop_id: int, data: bytes, name: str) -> Picture:
    """Check a picture by its pixels and write it to storage under a new key.

    Raises:
        PictureRefused: It is no PNG, GIF or JPEG, is damaged, or exceeds a limit.
    """
    try:
        info = identify(data)
    except ImageRefused as error:
        raise PictureRefused(str(error)) from error
    if info.format is ImageFormat.GIF:
        # What follows the last frame is no picture, whatever else it is.
        data = read_structure(data).clean(data)
    picture = Picture(shop_id, secrets.token_hex(16), normalise_filename(name, info.format), info.width, info.height)
    default_storage.save(path_of(picture.shop_id, picture.key, picture.name), ContentFile(data))
    return picture


def folder_of(shop_id: int, key: str) -> str:
    """Where a picture and its smaller versions lie in storage."""
    return f"images/{shop_id}/{key[:2]}/{key}"


def sizes_of(shop_id: int, key: str) -> str:
    """Where the smaller versions of a picture lie in storage."""
    return f"{folder_of(shop_id, key)}/sizes"


def path_of(shop_id: int, key: str, name: str) -> str:
    """Where a picture lies in storage."""
    return f"{folder_of(shop_id, key)}/{name}"


def address_of(shop_id: int, key: str, name: str) -> str:
    """The public address of a picture."""
    return f"{settings.BASE_URL}{local_address_of(shop_id, key, name)}"


def local_address_of(shop_id: int, key: str, name: str) -> str:
    """The address of a picture on whatever host a page is read from."""
    return f"/content/images/{shop_id}/{key}/{name}"


def discard(pictures: Iterable[Picture]) -> None:
    """Delete pictures that no row refers to."""
    for picture in pictures:
        delete_files(picture.shop_id, picture.key)


def delete_later(shop_id: int, keys: Iterable[str]) -> None:
    """Delete the files of rows that are being deleted, once that is certain."""
    going = [key for key in keys if key]
    if going:
        transaction.on_commit(partial(_delete_all, shop_id, going), robust=True)


def _delete_all(shop_id: int, keys: Iterable[str]) -> None:
    for key in keys:
        delete_files(shop_id, key)


def delete_files(shop_id: int, key: str) -> None:
    """Delete a picture and its smaller versions now."""
    folder = folder_of(shop_id, key)
    for place in (sizes_of(shop_id, key), folder):
        for name in names_in(default_storage, place):
            default_storage.delete(f"{place}/{name}")
        default_storage.delete(place)
