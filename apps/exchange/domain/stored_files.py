"""Store the files of imports and exports, and delete orphaned files."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from typing import IO

from django.core.files.base import File
from django.core.files.storage import default_storage
from django.utils.translation import gettext as _

from apps.exchange.models import EXPORTS, IMPORTS, Export, Import
from apps.ground.exceptions import DomainError
from apps.media.storage import FAILURES, list_files, list_folders

# Newer files are not deleted as orphans, because their rows may not be saved yet.
GRACE = timedelta(days=1)


class NotStored(DomainError):
    """Raised when the storage is full or unavailable. A partly stored file is deleted."""

    code = "file_not_stored"
    field = "file"
    status = 503


def store_file(path: str, file: IO[bytes]) -> str:
    """Store a complete file and return its path.

    Raises:
        NotStored: If the storage fails.
    """
    try:
        return default_storage.save(path, File(file))
    except FAILURES as error:
        remove_file(path)
        raise NotStored(_("can't be stored right now. Try again later")) from error


def remove_file(path: str) -> None:
    """Delete a file. If the storage fails, the hourly cleanup deletes the file later."""
    with suppress(*FAILURES):
        default_storage.delete(path)


def delete_orphan_files(at: datetime) -> int:
    """Delete old files that belong to no export and no unfinished import. Return the number of deleted files."""
    orphans = [path for path in _iterate_paths() if not _has_row(path) and _is_old(path, at)]
    for path in orphans:
        default_storage.delete(path)
    return len(orphans)


def _iterate_paths() -> Iterator[str]:
    for root in (EXPORTS, IMPORTS):
        for shop in list_folders(default_storage, root):
            for name in list_files(default_storage, f"{root}/{shop}"):
                yield f"{root}/{shop}/{name}"


def _has_row(path: str) -> bool:
    root, shop, name = path.split("/")
    key = name.partition(".")[0]
    if root == IMPORTS:
        return Import.objects.filter(key=key, shop_id=shop, finished_at=None).exists()
    if name.endswith(".part"):
        writing = Export.objects.filter(shop_id=shop, state=Export.State.WAITING)
        return writing.filter(key=key.rpartition("-")[0]).exists()
    ready = Export.objects.filter(shop_id=shop, state=Export.State.READY)
    return ready.filter(file=path).exists() or ready.filter(file="", key=key).exists()


def _is_old(path: str, at: datetime) -> bool:
    try:
        return default_storage.get_modified_time(path) < at - GRACE
    except FileNotFoundError:
        return False
