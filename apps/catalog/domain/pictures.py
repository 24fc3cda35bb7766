"""Picture files: kept in storage, named by a key that nobody can guess.

A file never changes and a key is never used twice, so what is served under it may be cached for good. The storage may
be far away, so files are written before the transaction that refers to them; a face that fails afterwards discards
them.
"""

import hashlib
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import transaction
from django.utils.translation import gettext as _

from apps.media import intake
from apps.media.metadata import without_metadata
from apps.media.storage import StorageFailed, names_in, read_file, reporting

_SERVED = re.compile(r"([0-9]{1,18})/([0-9a-f]{32})/([A-Za-z0-9][A-Za-z0-9_@-]{0,199}\.(?:png|gif|jpe?g))", re.ASCII)


@dataclass(slots=True)
class Picture:
    """A stored picture.

    Attributes:
        shop_id: Whose it is.
        key: Names it in storage and addresses.
        name: Its file name, safe anywhere.
        width: In pixels, as displayed.
        height: In pixels, as displayed.
        source: What the address that it was imported from is known again by.
        kept: Whether a row refers to it; until then whoever stored it must discard it on failure.
    """

    shop_id: int
    key: str
    name: str
    width: int
    height: int
    kept: bool = False
    source: str = ""


def take(shop_id: int, *, attachment: object, src: object, filename: object, seconds: float) -> Picture:
    """Take the picture of a body in, and store it; see ``intake.from_body``.

    Raises:
        PictureRefused: There is none, there are two, or it cannot be had, read or kept.
        StorageFailed: The storage does not take it.
    """
    return _kept(shop_id, intake.from_body(attachment=attachment, src=src, filename=filename, seconds=seconds))


def store(shop_id: int, data: bytes, name: str) -> Picture:
    """Check a picture by its pixels and write it to storage under a new key.

    Raises:
        PictureRefused: It is no PNG, GIF or JPEG, is damaged, or exceeds a limit.
        StorageFailed: The storage does not take it.
    """
    return _kept(shop_id, intake.from_upload(data, name))


def _kept(shop_id: int, taken: intake.TakenPicture) -> Picture:
    picture = Picture(shop_id, secrets.token_hex(16), taken.name, taken.width, taken.height)
    place = path_of(shop_id, picture.key, picture.name)
    try:
        with reporting(place, "stored"):
            default_storage.save(place, ContentFile(taken.data))
    except StorageFailed:
        discard([picture])
        raise
    return picture


def take_from(shop_id: int, src: str, *, seconds: float) -> Picture:
    """Take the picture at an address; one that this installation serves is read from the storage, as anybody may.

    Raises:
        PictureRefused: It cannot be had, read or kept.
        StorageFailed: The storage does not take it.
    """
    served = served_at(src)
    if served is None:
        picture = take(shop_id, attachment=None, src=src, filename=None, seconds=seconds)
    else:
        place = path_of(*served)
        with reporting(place, "read"):
            data = read_file(default_storage, place)
        if data is None:
            raise intake.PictureRefused(_("is no longer there"), field="src")
        picture = store(shop_id, data, served[2])
    picture.source = source_of(src)
    return picture


def served_at(src: str) -> tuple[int, str, str] | None:
    """The shop, the key and the name of the picture that this installation serves at an address; None for another."""
    own = f"{settings.BASE_URL}/content/images/"
    found = _SERVED.fullmatch(src.removeprefix(own)) if src.startswith(own) else None
    return (int(found[1]), found[2], found[3]) if found else None


def source_of(src: str) -> str:
    """What an address is known again by."""
    return hashlib.sha256(src.encode()).hexdigest()


def cleaned(shop_id: int, key: str, name: str) -> Picture | None:
    """Store a stored picture once more, without what it tells beyond its pixels; None where it tells nothing.

    Raises:
        ImageRefused: It is damaged.
        StorageFailed: The storage has lost it, or does not take it.
    """
    place = path_of(shop_id, key, name)
    with reporting(place, "read"), default_storage.open(place) as file:
        data: bytes = file.read()
    if without_metadata(data) == data:
        return None
    return store(shop_id, data, name)


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
