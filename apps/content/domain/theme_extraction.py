"""Install theme files from an uploaded archive, an archive at a URL, or the starter theme.

The installation has two steps. First, the files are stored as blobs in batches. Then one transaction adds all files to
the theme. If a worker is killed in the first step, the theme is unchanged and no row refers to the blobs, so the job
can start over.
"""

import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, Any, BinaryIO, NamedTuple, cast

from django.utils import timezone

from apps.content.domain import blob_store, themes
from apps.content.domain.theme_archive import DEFAULT_LIMITS, ThemeArchive, open_theme
from apps.content.domain.theme_files.contents import ContentRefused, Conversion, check_content, describe_conversions
from apps.content.domain.theme_files.keys import LAYOUT
from apps.content.models import Asset, FileContent, Theme
from apps.core.events.recording import record_event
from apps.core.http.errors import HttpRequestFailed
from apps.core.http.sync_client import Limits, download_file
from apps.core.i18n.messages import Message, as_message, define_message, join_messages
from apps.core.jobs.models import Job
from apps.core.jobs.queue import GiveUp, report_progress
from apps.core.media.storage import StorageFailed
from apps.core.media.zip_reader import ArchiveRefused, refuse_if
from apps.core.tenancy.models import Shop

_NO_LAYOUT = define_message("theme_archive.no_layout", "The archive has no {key}. Every theme needs this file.")
_COULD_NOT_DOWNLOAD = define_message("theme_archive.could_not_download", "Could not download the archive: {error}.")

STARTER = Path(__file__).parent / "starter_theme"
DOWNLOAD = Limits(max_bytes=DEFAULT_LIMITS.packed_bytes, total_seconds=30)
BATCH_FILES = 100
BATCH_BYTES = 2 * 1024 * 1024
# The number of files with errors that are reported at once.
MAX_PROBLEMS = 20


class StoredFiles(NamedTuple):
    """The blobs of a theme by key, and notes about files that were left out or converted."""

    blobs: dict[str, FileContent]
    notes: str = ""


def extract_theme(job: Job, **arguments: Any) -> None:
    """Install the files of the theme ``theme_id`` if the theme is processing. The job can safely run more than once."""
    theme_id: int = arguments["theme_id"]
    themes.resume_processing(theme_id)
    theme = Theme.objects.select_related("upload").filter(pk=theme_id, processing=True).first()
    if theme is None:
        return
    if theme.src or theme.upload:
        try:
            with _open_archive(theme) as file:
                files = store_archive_files(file, lambda done, total: report_progress(job, completed=done, total=total))
        except HttpRequestFailed as error:
            raise GiveUp(_COULD_NOT_DOWNLOAD(error=as_message(str(error)))) from error
        except ArchiveRefused as error:
            raise GiveUp(str(error)) from error
    else:
        files = StoredFiles(store_folder(STARTER))
    themes.install_theme_files(theme_id, files.blobs, notes=files.notes, actor=job.actor, at=timezone.now())


def record_extraction_failure(job: Job) -> None:
    themes.mark_theme_failed(int(job.arguments["theme_id"]), reason=job.error, actor=job.actor, at=timezone.now())


def store_archive_files(file: BinaryIO, progress: Callable[[int, int], None]) -> StoredFiles:
    """Store the files of a seekable theme archive, and report the numbers of stored and of all files.

    No row refers to the blobs yet. If the archive or one of its files is invalid, the blobs are released.
    """
    archive = open_theme(file)
    refuse_if(LAYOUT not in archive.keys, _NO_LAYOUT(key=LAYOUT))
    total = len(archive)
    staged: dict[str, FileContent] = {}
    batch: dict[str, bytes] = {}

    def flush() -> None:
        staged.update(zip(batch, blob_store.store_blobs([*batch.values()]), strict=True))
        progress(len(staged), total)
        batch.clear()

    size = 0
    conversions: dict[Conversion, list[str]] = defaultdict(list)
    try:
        for key, data in _iterate_checked(archive, conversions):
            batch[key] = data
            size += len(data)
            if len(batch) >= BATCH_FILES or size >= BATCH_BYTES:
                flush()
                size = 0
        flush()
    except ArchiveRefused:
        blob_store.release_blobs(staged.values())
        raise
    notes: list[Message] = [*filter(None, [archive.left_out]), *describe_conversions(conversions)]
    return StoredFiles(staged, join_messages(notes) if notes else "")


def _iterate_checked(archive: ThemeArchive, conversions: dict[Conversion, list[str]]) -> Iterator[tuple[str, bytes]]:
    """Yield the files of an archive, and collect the keys of converted files. Raise one error about all bad files."""
    problems: list[Message] = []
    for key, reader in archive:
        try:
            data, conversion = check_content(key, reader.read())
        except ContentRefused as error:
            problems.append(as_message(str(error)))
            if len(problems) == MAX_PROBLEMS:
                break
            continue
        if conversion:
            conversions[conversion].append(key)
        yield key, data
    if problems:
        raise ArchiveRefused(join_messages(problems))


def store_folder(folder: Path) -> dict[str, FileContent]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    keys = [path.relative_to(folder).as_posix() for path in paths]
    return dict(zip(keys, blob_store.store_blobs([path.read_bytes() for path in paths]), strict=True))


def create_starter_theme(shop: Shop, at: datetime) -> None:
    files = store_folder(STARTER)
    theme = Theme.objects.create(
        shop=shop, name="Starter", role=Theme.Role.MAIN, processing=False, previewable=True, created_at=at
    )
    Asset.objects.bulk_create(
        Asset(shop=shop, theme=theme, key=key, content=content, created_at=at) for key, content in files.items()
    )
    record_event("themes/create", theme, actor="system", at=at)


def create_theme_archive(theme: Theme) -> IO[bytes]:
    """Return a theme's files as a ZIP archive in a temporary file. The caller must close the file."""
    file = SpooledTemporaryFile(max_size=BATCH_BYTES)  # noqa: SIM115 - the caller closes it
    try:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for asset in Asset.objects.select_related("content").filter(theme=theme).order_by("key"):
                archive.writestr(asset.key, blob_store.read_blob(asset.content))
    except StorageFailed:
        file.close()
        raise
    file.seek(0)
    return file


@contextmanager
def _open_archive(theme: Theme) -> Iterator[BinaryIO]:
    if theme.upload is not None:
        with blob_store.open_blob(theme.upload) as file:
            yield cast("BinaryIO", file)
        return
    with download_file(theme.src, limits=DOWNLOAD) as download:
        yield cast("BinaryIO", download.file)
