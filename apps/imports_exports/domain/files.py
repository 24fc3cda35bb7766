"""Store the files of imports and exports, and delete orphaned files.

An unfinished export is stored in parts, so that another worker can continue the export if the first one is killed. The
row of the export contains the paths of the parts, the id of the last object, the number of objects, and, for a
document, the section. Another worker copies the parts and continues after the last part. Text that was not stored in a
part is written again. If a part is missing, the export starts over. The parts are deleted when the file is complete.
The parts of a failed export are deleted as orphans after a day.
"""

import secrets
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from io import BytesIO
from shutil import copyfileobj
from typing import IO

from django.core.files.base import File
from django.core.files.storage import default_storage
from django.utils.translation import gettext as _

from apps.core.exceptions import DomainError
from apps.core.media.storage import FAILURES, list_files, list_folders
from apps.imports_exports.models import EXPORTS, IMPORTS, Export, Import

# Newer files are not deleted as orphans, because their rows may not be saved yet.
GRACE = timedelta(days=1)


class NotStored(DomainError):
    """Raised when the storage is full or unavailable. A partly stored file is deleted."""

    field = "file"
    status = 503


def store_file(path: str, file: IO[bytes]) -> str:
    """Store a complete file and return its path. Raise ``NotStored`` if the storage fails."""
    try:
        return default_storage.save(path, File(file))
    except FAILURES as error:
        remove_file(path)
        raise NotStored(_("can't be stored right now. Try again later")) from error


def remove_file(path: str) -> None:
    """Delete a file. If the storage fails, the hourly cleanup deletes the file later. A blank path is ignored."""
    if path:
        with suppress(*FAILURES):
            default_storage.delete(path)


def delete_orphan_files(at: datetime) -> int:
    """Delete old files that belong to no export, no unfinished import and no refused rows. Return their number."""
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
        imports = Import.objects.filter(shop_id=shop)
        return imports.filter(key=key, finished_at=None).exists() or imports.filter(refused_file=path).exists()
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


PART_BYTES = 8 * 1024 * 1024


class ExportSuperseded(Exception):
    """Raised when another worker has taken over the export, or when the export is no longer needed."""


@dataclass(frozen=True, slots=True)
class ExportCheckpoint:
    """A checkpoint of an unfinished export file.

    Attributes:
        last: The id of the last object in the file, or in the current section. 0 if there is none.
        done: The number of objects in the file.
        section: The section of a document that is being written. Blank for a sequence of objects.
    """

    last: int = 0
    done: int = 0
    section: str = ""


class ExportParts:
    """The stored parts of an export. The worker also has a local file with the content of all parts."""

    def __init__(self, export: Export, file: IO[bytes]) -> None:
        """Copy the stored parts into the empty local file."""
        self._export, self._file = export, file
        self._paths: list[str] = []
        self.checkpoint = ExportCheckpoint()
        if export.parts is not None:
            checkpoint = ExportCheckpoint(export.parts["last"], export.row_count, export.parts.get("section", ""))
            self._copy_parts(export.parts["places"], checkpoint)
        self._stored_bytes = file.tell()

    def _copy_parts(self, paths: list[str], checkpoint: ExportCheckpoint) -> None:
        try:
            for path in paths:
                with default_storage.open(path) as part:
                    copyfileobj(part, self._file)
        except FileNotFoundError:
            self._file.seek(0)
            self._file.truncate()
            self._save_checkpoint(ExportCheckpoint(), [], previous=checkpoint)
            discard_parts(paths)
        else:
            self._paths, self.checkpoint = paths, checkpoint

    def store_part(self, checkpoint: ExportCheckpoint) -> None:
        """Store a new part if enough has been written since the last one. The file position must be at the end.

        Raises:
            ExportSuperseded: If another worker has taken over, or the export is no longer needed.
            NotStored: If the storage fails.
        """
        end = self._file.tell()
        if end - self._stored_bytes < PART_BYTES:
            return
        self._file.seek(self._stored_bytes)
        name = f"{EXPORTS}/{self._export.shop_id}/{self._export.key}-{secrets.token_hex(8)}.part"
        path = store_file(name, BytesIO(self._file.read(end - self._stored_bytes)))
        try:
            self._save_checkpoint(checkpoint, [*self._paths, path], previous=self.checkpoint)
        except BaseException:
            remove_file(path)
            raise
        self._paths, self.checkpoint, self._stored_bytes = [*self._paths, path], checkpoint, end

    def _save_checkpoint(self, checkpoint: ExportCheckpoint, paths: list[str], *, previous: ExportCheckpoint) -> None:
        parts = {"places": paths, "last": checkpoint.last, "section": checkpoint.section} if paths else None
        ours = Export.objects.filter(pk=self._export.pk, state=Export.State.WAITING, row_count=previous.done)
        if not ours.update(parts=parts, row_count=checkpoint.done):
            raise ExportSuperseded

    def discard(self) -> None:
        """Delete all parts, because the file is complete."""
        discard_parts(self._paths)


def discard_parts(paths: Iterable[str]) -> None:
    for path in paths:
        remove_file(path)
