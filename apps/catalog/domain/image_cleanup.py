"""Delete image files that no row refers to, and strip metadata from stored images.

A file is written before the transaction that stores a reference to the file, and deleted after the transaction that
removes the reference. If a process is killed in between, an unreferenced file remains. The file is deleted a day later,
when no transaction that will refer to the file can still be running.
"""

import logging
import re
from datetime import datetime

from django.core.files.storage import default_storage
from django.db import transaction
from django.utils import timezone

from apps.catalog.domain import image_files
from apps.catalog.domain.image_files import ORPHAN_MIN_AGE, StoredImage, get_image_folder, get_sizes_folder
from apps.catalog.domain.locks import lock_product
from apps.catalog.domain.variants import touch_product
from apps.catalog.models import Collection, ProductImage
from apps.core.events.recording import record_event
from apps.core.media.image_validation import ImageRefused
from apps.core.media.metadata import METADATA_REMOVED
from apps.core.media.storage import StorageFailed, list_files, list_folders
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import get_current_shop

HOURS = 24
_PREFIX = re.compile(r"[0-9a-f]{2}", re.ASCII)


def delete_orphan_images(at: datetime) -> int:
    """Delete unreferenced image files that are older than a day. Return the number of deleted images.

    Each hourly run checks a different part of the keys.
    """
    cleared = 0
    for shop_id in Shop.objects.order_by("pk").values_list("pk", flat=True):
        for prefix in list_folders(default_storage, f"images/{shop_id}"):
            if _PREFIX.fullmatch(prefix) and int(prefix, 16) % HOURS == at.hour:
                cleared += _delete_orphans_in(shop_id, prefix, at - ORPHAN_MIN_AGE)
    return cleared


def _delete_orphans_in(shop_id: int, prefix: str, before: datetime) -> int:
    # List the files before the rows. A row that is committed after this point refers to a file that is less than a day
    # old.
    stored_keys = list_folders(default_storage, f"images/{shop_id}/{prefix}")
    referenced_keys = _get_referenced_keys(shop_id, prefix)
    orphan_keys = [
        key for key in stored_keys if key not in referenced_keys and _get_last_modified(shop_id, key) < before
    ]
    for key in orphan_keys:
        image_files.delete_image_files(shop_id, key)
    return len(orphan_keys)


def _get_referenced_keys(shop_id: int, prefix: str) -> set[str]:
    images = ProductImage.objects.filter(shop_id=shop_id, key__startswith=prefix)
    collections = Collection.objects.filter(shop_id=shop_id, image_key__startswith=prefix)
    return {*images.values_list("key", flat=True), *collections.values_list("image_key", flat=True)}


def _get_last_modified(shop_id: int, key: str) -> datetime:
    """Return the time of the original, or else of the smaller versions, or else of the folder."""
    folders = (get_image_folder(shop_id, key), get_sizes_folder(shop_id, key))
    files = ([f"{folder}/{name}" for name in list_files(default_storage, folder)] for folder in folders)
    try:
        return max(map(default_storage.get_modified_time, next(filter(None, files), [folders[0]])))
    except FileNotFoundError:
        # Another process is deleting the folder, so treat the image as new and skip it.
        return timezone.now()


logger = logging.getLogger(__name__)
ACTOR = "system"


def strip_product_images() -> int:
    cleaned = 0
    for pk, product_id, key, name in ProductImage.objects.order_by("pk").values_list("pk", "product_id", "key", "name"):
        image = _store_stripped_copy(key, name)
        if image is None:
            continue
        with transaction.atomic():
            product = lock_product(product_id)
            images = ProductImage.objects.filter(pk=pk, key=key)
            image.is_referenced = bool(images.update(key=image.key, width=image.width, height=image.height))
            if image.is_referenced:
                touch_product(product)
                record_event("products/update", product, actor=ACTOR, at=timezone.now(), message=METADATA_REMOVED)
        cleaned += _delete_unused_file(image, key)
    return cleaned


def strip_collection_images() -> int:
    cleaned = 0
    rows = Collection.objects.exclude(image_key="").order_by("pk")
    for pk, key, name in rows.values_list("pk", "image_key", "image_name"):
        image = _store_stripped_copy(key, name)
        if image is None:
            continue
        with transaction.atomic():
            values = {"image_key": image.key, "image_width": image.width, "image_height": image.height}
            image.is_referenced = bool(Collection.objects.filter(pk=pk, image_key=key).update(**values))
            if image.is_referenced:
                row = Collection.objects.get(pk=pk)
                record_event("collections/update", row, actor=ACTOR, at=timezone.now(), message=METADATA_REMOVED)
        cleaned += _delete_unused_file(image, key)
    return cleaned


def _store_stripped_copy(key: str, name: str) -> StoredImage | None:
    shop_id = get_current_shop().pk
    try:
        return image_files.store_without_metadata(shop_id, key, name)
    except (ImageRefused, StorageFailed) as error:
        # Skip a missing or damaged file and continue with the others.
        logger.warning("Image %s %s", image_files.get_image_path(shop_id, key, name), error)
        return None


def _delete_unused_file(image: StoredImage, before: str) -> bool:
    """Delete the original, or the copy if the row does not refer to it because the image was changed concurrently.

    The original is kept while the image of a duplicated product or collection refers to it. Return True if the row
    refers to the copy.
    """
    unused = before if image.is_referenced else image.key
    if not image_files.get_referenced_keys(image.shop_id, [unused]):
        image_files.delete_image_files(image.shop_id, unused)
    return image.is_referenced
