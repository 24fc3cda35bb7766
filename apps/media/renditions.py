"""Resized versions of images, which are created on the first request and stored up to a limit per image."""

import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

from django.core.files.base import ContentFile
from django.core.files.storage import Storage

from apps.media.storage import list_files, read_file

logger = logging.getLogger(__name__)

# The maximum number of stored renditions per image, so that requests cannot fill the storage.
MAX_RENDITIONS = 50
# The number of renditions to delete at once. Deleting several is faster, because some storages are slow to return the
# age of each file.
DELETED_AT_ONCE = 10


def get_or_create_rendition(storage: Storage, folder: str, name: str, make: Callable[[], bytes]) -> bytes:
    """Return a rendition of an image. Create and store the rendition if necessary.

    If the image already has the maximum number of renditions, the oldest renditions are deleted.

    Args:
        storage: The storage for renditions.
        folder: A folder for this image only.
        name: The name of this rendition, unique in the folder.
        make: A function that creates the rendition and returns its bytes.
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
            # Another request stored the same rendition first, so the storage has chosen another name. Delete this copy.
            storage.delete(stored_name)
    except Exception:
        # Storages raise various errors when they are full or unavailable. Ignore all errors, because the rendition can
        # be served even if it is not stored.
        logger.exception("Could not store image rendition %s", path)
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
