"""Store image files of the catalog under keys that cannot be guessed.

A file never changes and a key is never reused, so browsers may cache images forever. Writing to a remote storage can be
slow, so a file is written before the transaction that stores a reference to the file. If the transaction fails, the
caller discards the file.

The images of a product and of its copies refer to the same files, as do those of a collection and its copies. A file is
deleted when no row refers to it. A copy is created while the original is locked, so the original refers to the file
until the transaction of the copy ends.
"""

import hashlib
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.core import signing
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import transaction
from django.utils.translation import gettext as _

from apps.catalog.models import Collection, ProductImage
from apps.core.exceptions import DomainError
from apps.core.i18n.messages import define_text
from apps.core.media import uploads
from apps.core.media.metadata import strip_metadata
from apps.core.media.storage import StorageFailed, convert_storage_errors, list_files, read_file

_GONE = define_text("images.gone", "no longer exists")

_IMAGE_PATH = re.compile(
    r"([0-9]{1,18})/([0-9a-f]{32})/([A-Za-z0-9][A-Za-z0-9_@-]{0,199}\.(?:png|gif|jpe?g))", re.ASCII
)


@dataclass(slots=True)
class StoredImage:
    """A stored image file.

    Attributes:
        key: The random key in the storage path and the URL.
        name: The sanitized file name.
        width: The width in pixels, as displayed.
        height: The height in pixels, as displayed.
        is_referenced: True if a row refers to the image. Otherwise, the file must be discarded.
        source: The hash of the URL that the image was imported from.
    """

    shop_id: int
    key: str
    name: str
    width: int
    height: int
    is_referenced: bool = False
    source: str = ""


def store_image_from_body(
    shop_id: int, *, attachment: object, src: object, filename: object, seconds: float
) -> StoredImage:
    """Store the image of a request body (see ``apps.core.media.uploads.load_image_from_body``).

    Raises:
        UploadRefused: The body has no image or two images, or the image cannot be downloaded, read or stored.
        StorageFailed: The storage rejects the file.
    """
    return _save_image(
        shop_id, uploads.load_image_from_body(attachment=attachment, src=src, filename=filename, seconds=seconds)
    )


def store_uploaded_image(shop_id: int, data: bytes, name: str) -> StoredImage:
    """Check that the data is an image, and store the image under a new key.

    Raises:
        UploadRefused: The file is not in an accepted format, is damaged, or exceeds a limit.
        StorageFailed: The storage rejects the file.
    """
    return _save_image(shop_id, uploads.load_uploaded_image(data, name))


def _save_image(shop_id: int, source_file: uploads.ValidatedImage) -> StoredImage:
    image = StoredImage(shop_id, secrets.token_hex(16), source_file.name, source_file.width, source_file.height)
    path = get_image_path(shop_id, image.key, image.name)
    try:
        with convert_storage_errors(path, "stored"):
            default_storage.save(path, ContentFile(source_file.data))
    except StorageFailed:
        discard_images([image])
        raise
    return image


def store_image_from_url(shop_id: int, src: str, *, seconds: float) -> StoredImage:
    """Store a copy of the image at a URL.

    If the URL refers to an image of this installation, the image is read from the storage and not downloaded.

    Raises:
        UploadRefused: The image cannot be downloaded, read or stored.
        StorageFailed: The storage rejects the file.
    """
    served = parse_image_url(src)
    if served is None:
        image = store_image_from_body(shop_id, attachment=None, src=src, filename=None, seconds=seconds)
    else:
        path = get_image_path(*served)
        with convert_storage_errors(path, "read"):
            data = read_file(default_storage, path)
        if data is None:
            raise uploads.UploadRefused(_GONE, field="src")
        image = store_uploaded_image(shop_id, data, served[2])
    image.source = hash_source_url(src)
    return image


def parse_image_url(src: str) -> tuple[int, str, str] | None:
    """Return the shop id, key and name in an image URL of this installation, or None for any other URL."""
    base_url = f"{settings.BASE_URL}/content/images/"
    match = _IMAGE_PATH.fullmatch(src.removeprefix(base_url)) if src.startswith(base_url) else None
    return (int(match[1]), match[2], match[3]) if match else None


def hash_source_url(src: str) -> str:
    return hashlib.sha256(src.encode()).hexdigest()


def store_without_metadata(shop_id: int, key: str, name: str) -> StoredImage | None:
    """Store and return a copy of an image without metadata, or return None if the image has no metadata.

    Raises:
        ImageRefused: The image is damaged.
        StorageFailed: The storage fails.
    """
    path = get_image_path(shop_id, key, name)
    with convert_storage_errors(path, "read"), default_storage.open(path) as file:
        data: bytes = file.read()
    return None if strip_metadata(data) == data else store_uploaded_image(shop_id, data, name)


def get_image_folder(shop_id: int, key: str) -> str:
    return f"images/{shop_id}/{key[:2]}/{key}"


def get_sizes_folder(shop_id: int, key: str) -> str:
    """Return the storage folder of the smaller versions of an image."""
    return f"{get_image_folder(shop_id, key)}/sizes"


def get_image_path(shop_id: int, key: str, name: str) -> str:
    return f"{get_image_folder(shop_id, key)}/{name}"


def get_image_url(shop_id: int, key: str, name: str) -> str:
    """Return the public URL of an image, including the host."""
    return f"{settings.BASE_URL}{get_local_image_url(shop_id, key, name)}"


def get_local_image_url(shop_id: int, key: str, name: str) -> str:
    """Return the URL of an image without the host."""
    return f"/content/images/{shop_id}/{key}/{name}"


def discard_images(images: Iterable[StoredImage]) -> None:
    for image in images:
        delete_image_files(image.shop_id, image.key)


def delete_files_on_commit(shop_id: int, keys: Iterable[str]) -> None:
    """Delete image files after the transaction, unless another row refers to them by then."""
    removed_keys = [key for key in keys if key]

    def delete_unused() -> None:
        used_keys = get_referenced_keys(shop_id, removed_keys)
        for key in removed_keys:
            if key not in used_keys:
                delete_image_files(shop_id, key)

    if removed_keys:
        transaction.on_commit(delete_unused, robust=True)


def get_referenced_keys(shop_id: int, keys: Sequence[str]) -> set[str]:
    """Return the keys that an image of the shop refers to. This can be called outside of the shop's scope."""
    images = ProductImage._base_manager.filter(shop_id=shop_id, key__in=keys)
    # The index does not contain collections without an image.
    collections = Collection._base_manager.filter(shop_id=shop_id, image_key__in=keys).exclude(image_key="")
    return {*images.values_list("key", flat=True), *collections.values_list("image_key", flat=True)}


def delete_image_files(shop_id: int, key: str) -> None:
    """Delete an image file and its smaller versions immediately, even if a row refers to the file."""
    folder = get_image_folder(shop_id, key)
    for path in (get_sizes_folder(shop_id, key), folder):
        for name in list_files(default_storage, path):
            default_storage.delete(f"{path}/{name}")
        default_storage.delete(path)


# A file without a reference is deleted after this time.
ORPHAN_MIN_AGE = timedelta(days=1)
TICKET_MAX_AGE = ORPHAN_MIN_AGE - timedelta(hours=2)
_SALT = "catalog.staged-picture"


def sign_ticket(image: StoredImage) -> str:
    """Return a signed ticket that identifies a stored image until a product uses the image."""
    return signing.dumps([image.shop_id, image.key, image.name, image.width, image.height], salt=_SALT, compress=True)


def load_staged_image(ticket: str, shop_id: int) -> StoredImage:
    """Return the stored image that a ticket identifies.

    Raises:
        DomainError: The ticket is invalid, expired or from another shop, or the image is already in use.
    """
    try:
        ticket_shop_id, key, name, width, height = signing.loads(ticket, salt=_SALT, max_age=TICKET_MAX_AGE)
    except (signing.BadSignature, ValueError) as error:
        raise DomainError(_("The uploaded image has expired. Upload it again."), field="pictures") from error
    if ticket_shop_id != shop_id or ProductImage.objects.filter(key=key).exists():
        raise DomainError(_("The uploaded image is already in use. Upload it again."), field="pictures")
    return StoredImage(shop_id, key, name, width, height)
