"""Picture files that no row names.

A file is written before the transaction that refers to it and deleted after the one that lets it go, so a process that
is killed in between leaves it behind. A file that is older than a day has no such transaction any more.

The folders of pictures are named by random keys; each hour looks at those of one twenty-fourth of all keys.
"""

import re
from datetime import datetime, timedelta

from django.core.files.storage import default_storage
from django.utils import timezone

from apps.catalog.domain.pictures import delete_files, folder_of, sizes_of
from apps.catalog.models import Collection, ProductImage
from apps.media.storage import folders_in, names_in
from apps.shops.models import Shop

KEEP = timedelta(days=1)
HOURS = 24
_PREFIX = re.compile(r"[0-9a-f]{2}", re.ASCII)


def clear(at: datetime) -> int:
    """Delete the files of this hour's keys that no row has named for a day; returns of how many pictures."""
    cleared = 0
    for shop_id in Shop.objects.order_by("pk").values_list("pk", flat=True):
        for prefix in folders_in(default_storage, f"images/{shop_id}"):
            if _PREFIX.fullmatch(prefix) and int(prefix, 16) % HOURS == at.hour:
                cleared += _clear(shop_id, prefix, at - KEEP)
    return cleared


def _clear(shop_id: int, prefix: str, before: datetime) -> int:
    # Files first: a row that is committed from here on names a file that is younger than a day.
    stored = folders_in(default_storage, f"images/{shop_id}/{prefix}")
    named = _named(shop_id, prefix)
    gone = [key for key in stored if key not in named and _last_written(shop_id, key) < before]
    for key in gone:
        delete_files(shop_id, key)
    return len(gone)


def _named(shop_id: int, prefix: str) -> set[str]:
    """The keys that rows name."""
    images = ProductImage.objects.filter(shop_id=shop_id, key__startswith=prefix)
    collections = Collection.objects.filter(shop_id=shop_id, image_key__startswith=prefix)
    return {*images.values_list("key", flat=True), *collections.values_list("image_key", flat=True)}


def _last_written(shop_id: int, key: str) -> datetime:
    """When the original was written, else the smaller versions that were left of it, else the empty folder."""
    places = [folder_of(shop_id, key)]
    for folder in (folder_of(shop_id, key), sizes_of(shop_id, key)):
        if names := names_in(default_storage, folder):
            places = [f"{folder}/{name}" for name in names]
            break
    try:
        return max(map(default_storage.get_modified_time, places))
    except FileNotFoundError:
        # It is being deleted just now.
        return timezone.now()
