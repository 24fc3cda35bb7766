"""Delete image files that no row refers to.

A file is written before the transaction that stores a reference to the file, and deleted after the transaction that
removes the reference. If a process is killed in between, an unreferenced file remains. The file is deleted a day later,
when no transaction that will refer to the file can still be running.

Image folders are named after random keys. Each hourly run checks one twenty-fourth of all keys.
"""

import re
from datetime import datetime, timedelta

from django.core.files.storage import default_storage
from django.utils import timezone

from apps.catalog.domain.image_files import delete_image_files, get_image_folder, get_sizes_folder
from apps.catalog.models import Collection, ProductImage
from apps.media.storage import list_files, list_folders
from apps.shops.models import Shop

ORPHAN_MIN_AGE = timedelta(days=1)
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
        delete_image_files(shop_id, key)
    return len(orphan_keys)


def _get_referenced_keys(shop_id: int, prefix: str) -> set[str]:
    """Return the image keys that products and collections refer to."""
    images = ProductImage.objects.filter(shop_id=shop_id, key__startswith=prefix)
    collections = Collection.objects.filter(shop_id=shop_id, image_key__startswith=prefix)
    return {*images.values_list("key", flat=True), *collections.values_list("image_key", flat=True)}


def _get_last_modified(shop_id: int, key: str) -> datetime:
    """Return the time when the image was last written.

    If the original is missing, return the time of the smaller versions. If there are no files, return the time of the
    folder.
    """
    paths = [get_image_folder(shop_id, key)]
    for folder in (get_image_folder(shop_id, key), get_sizes_folder(shop_id, key)):
        if names := list_files(default_storage, folder):
            paths = [f"{folder}/{name}" for name in names]
            break
    try:
        return max(map(default_storage.get_modified_time, paths))
    except FileNotFoundError:
        # Another process is deleting the folder, so treat the image as new and skip it.
        return timezone.now()
