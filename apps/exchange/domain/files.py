"""Files in storage that no row knows: left behind where somebody was killed between the file and its row."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from typing import IO

from django.core.files.base import File
from django.core.files.storage import default_storage
from django.utils.translation import gettext as _

from apps.exchange.models import EXPORTS, IMPORTS, Export, Import
from apps.ground.errors import DomainError
from apps.media.storage import FAILURES, folders_in, names_in

# Nobody takes that long between a file and its row.
GRACE = timedelta(days=1)


class NotStored(DomainError):
    """The storage does not take the file, for it is full or away; nothing of it is kept."""

    code = "file_not_stored"
    field = "file"
    status = 503


def store(place: str, file: IO[bytes]) -> str:
    """Store a file whole, or not at all; returns where it lies.

    Raises:
        NotStored: It cannot be.
    """
    try:
        return default_storage.save(place, File(file))
    except FAILURES as error:
        remove(place)
        raise NotStored(_("cannot be stored right now; nothing of it was kept. Try again later")) from error


def remove(place: str) -> None:
    """Delete a file where that can be done; else the hourly clearing does."""
    with suppress(*FAILURES):
        default_storage.delete(place)


def clear_strays(at: datetime) -> int:
    """Delete the files that no export and no unfinished import knows."""
    strays = [place for place in _places() if not _is_known(place) and _is_old(place, at)]
    for place in strays:
        default_storage.delete(place)
    return len(strays)


def _places() -> Iterator[str]:
    for root in (EXPORTS, IMPORTS):
        for shop in folders_in(default_storage, root):
            for name in names_in(default_storage, f"{root}/{shop}"):
                yield f"{root}/{shop}/{name}"


def _is_known(place: str) -> bool:
    root, shop, name = place.split("/")
    key = name.partition(".")[0]
    if root == IMPORTS:
        return Import.objects.filter(key=key, shop_id=shop, finished_at=None).exists()
    if name.endswith(".part"):
        writing = Export.objects.filter(shop_id=shop, state=Export.State.WAITING)
        return writing.filter(key=key.rpartition("-")[0]).exists()
    ready = Export.objects.filter(shop_id=shop, state=Export.State.READY)
    return ready.filter(file=place).exists() or ready.filter(file="", key=key).exists()


def _is_old(place: str, at: datetime) -> bool:
    try:
        return default_storage.get_modified_time(place) < at - GRACE
    except FileNotFoundError:
        return False
