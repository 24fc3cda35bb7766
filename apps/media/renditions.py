"""The smaller versions of a picture: made on the first read, and kept while there is room."""

import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

from django.core.files.base import ContentFile
from django.core.files.storage import Storage

from apps.media.storage import names_in, read_file

logger = logging.getLogger(__name__)

# Versions of one picture that are kept, so that nobody can fill the storage by asking for ever more.
MOST = 50
# As many as must go at once for the next to find room: storages are asked for the age of each.
ROOM = 10


def rendition(storage: Storage, folder: str, name: str, make: Callable[[], bytes]) -> bytes:
    """A version of a picture; where there are too many of it, those that were made first go.

    Args:
        storage: Where they are kept.
        folder: Of this picture's versions alone.
        name: Of this version; it says all that distinguishes it from the others.
        make: Makes it.
    """
    place = f"{folder}/{name}"
    kept = read_file(storage, place)
    if kept is not None:
        return kept
    data = make()
    try:
        _make_room(storage, folder)
        saved = storage.save(place, ContentFile(data))
        if saved != place:
            # Another request made the same version meanwhile, and this storage never overwrites.
            storage.delete(saved)
    except Exception:
        # A full disk, a bucket that is away: each storage has its own errors, and the picture is there all the same.
        logger.exception("A version of a picture cannot be kept: %s", place)
    return data


def _make_room(storage: Storage, folder: str) -> None:
    names = names_in(storage, folder)
    if len(names) < MOST:
        return
    made: list[tuple[datetime, str]] = []
    for name in names:
        with suppress(FileNotFoundError):
            made.append((storage.get_modified_time(f"{folder}/{name}"), name))
    for _, name in sorted(made)[: len(names) - MOST + ROOM]:
        storage.delete(f"{folder}/{name}")
