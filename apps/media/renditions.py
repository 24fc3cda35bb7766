"""Resized versions of images: created on first request and stored up to a limit."""

import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

from django.core.files.base import ContentFile
from django.core.files.storage import Storage

from apps.media.storage import list_files, read_file

logger = logging.getLogger(__name__)

# Maximum number of stored renditions per image, so that requests cannot fill the storage.
MAX_RENDITIONS = 50
# Number of renditions to delete at once; checking the age of each file is slow on some storages.
DELETED_AT_ONCE = 10


def get_or_create_rendition(storage: Storage, folder: str, name: str, make: Callable[[], bytes]) -> bytes:
    """Return a stored rendition of an image, or create and store the rendition.

    Beyond the limit, the oldest renditions are deleted.

    Args:
        storage: The storage of renditions.
        folder: A folder for this image only.
        name: The name of this rendition, unique in the folder.
        make: Creates the rendition.
    """
    path = f"{folder}/{name}"
    stored_data = read_file(storage, path)
    if stored_data is not None:
        return stored_data
    data = make()
    try:
        _delete_oldest_renditions(storage, folder)
        stored_name = storage.save(path, ContentFile(data))
        if stored_name != path:
            # Another request stored the same rendition first, and this storage never overwrites.
            storage.delete(stored_name)
    except Exception:
        # Storages raise various errors when full or unavailable; the rendition can be served anyway.
        logger.exception("Could not store an image rendition: %s", path)
    return data


def _delete_oldest_renditions(storage: Storage, folder: str) -> None:
    names = list_files(storage, folder)
    if len(names) < MAX_RENDITIONS:
        return
    renditions: list[tuple[datetime, str]] = []
    for name in names:
        with suppress(FileNotFoundError):
            renditions.append((storage.get_modified_time(f"{folder}/{name}"), name))
    for _, name in sorted(renditions)[: len(names) - MAX_RENDITIONS + DELETED_AT_ONCE]:
        storage.delete(f"{folder}/{name}")
