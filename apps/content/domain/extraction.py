"""Getting a theme's files into place: from an archive elsewhere, an uploaded one, or the starter theme.

The work has two steps. Contents are stored piece by piece, where nobody sees them; then one transaction gives the theme
all of its files. A worker that dies in the first step leaves contents that nothing refers to, and the theme as it was,
so that the job simply starts over.
"""

import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, Any, BinaryIO, cast

from django.utils import timezone
from django.utils.translation import gettext_noop

from apps.content.domain import contents, themes
from apps.content.domain.archive import DEFAULT, LAYOUT, ArchiveRefused, open_theme
from apps.content.models import Asset, FileContent, Theme
from apps.events.domain.recording import record_event
from apps.ground.retelling import tells
from apps.jobs.domain.queue import GiveUp, report_progress
from apps.jobs.models import Job
from apps.media.storage import StorageFailed
from apps.media.zips import refuse_if
from apps.outgoing.client import Limits, fetch
from apps.outgoing.errors import FetchFailed
from apps.shops.models import Shop

_NO_LAYOUT = tells(gettext_noop("The archive has no {key}, without which a theme shows nothing."))
_COULD_NOT_DOWNLOAD = tells(gettext_noop("Could not download the archive: {error}."))

STARTER = Path(__file__).parent / "starter_theme"
DOWNLOAD = Limits(max_bytes=DEFAULT.packed_bytes, total_seconds=30)
BATCH_FILES = 100
BATCH_BYTES = 2 * 1024 * 1024

Progress = Callable[[int, int], None]


def extract_theme(job: Job, **arguments: Any) -> None:
    """Get the files of the theme ``theme_id``, which waits for them; the job may be run again at any time.

    Raises:
        GiveUp: There are no usable files; the message says why.
    """
    theme_id: int = arguments["theme_id"]
    themes.resume(theme_id)
    theme = Theme.objects.select_related("upload").filter(pk=theme_id, processing=True).first()
    if theme is None:
        return
    if theme.src or theme.upload:
        try:
            with _archive(theme) as file:
                files = stage(file, lambda done, total: report_progress(job, done=done, total=total))
        except FetchFailed as error:
            raise GiveUp(_COULD_NOT_DOWNLOAD.format(error=error)) from error
        except ArchiveRefused as error:
            raise GiveUp(str(error)) from error
    else:
        files = stored_folder(STARTER)
    themes.complete(theme_id, files, actor=job.actor, at=timezone.now())


def give_up(job: Job) -> None:
    """Note on the theme why it has no files."""
    themes.fail(int(job.arguments["theme_id"]), reason=job.error, actor=job.actor, at=timezone.now())


def stage(file: BinaryIO, progress: Progress) -> dict[str, FileContent]:
    """Store the contents of a theme archive.

    Args:
        file: The archive, seekable.
        progress: Told how many files are done, of how many.

    Returns:
        The contents by key; no row refers to them yet.

    Raises:
        ArchiveRefused: The archive is not taken; what was stored of it is gone again.
    """
    archive = open_theme(file)
    refuse_if(LAYOUT not in archive.keys, _NO_LAYOUT.format(key=LAYOUT))
    total = len(archive)
    staged: dict[str, FileContent] = {}
    keys: list[str] = []
    datas: list[bytes] = []

    def flush() -> None:
        staged.update(zip(keys, contents.store_many(datas), strict=True))
        progress(len(staged), total)
        keys.clear()
        datas.clear()

    size = 0
    try:
        for key, reader in archive:
            data = reader.read()
            keys.append(key)
            datas.append(data)
            size += len(data)
            if len(keys) >= BATCH_FILES or size >= BATCH_BYTES:
                flush()
                size = 0
        flush()
    except ArchiveRefused:
        contents.release(staged.values())
        raise
    return staged


def stored_folder(folder: Path) -> dict[str, FileContent]:
    """Store the files of a theme that comes with the product, by key."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    keys = [path.relative_to(folder).as_posix() for path in paths]
    return dict(zip(keys, contents.store_many([path.read_bytes() for path in paths]), strict=True))


def start_shop(shop: Shop, at: datetime) -> None:
    """Give a new shop its published theme."""
    files = stored_folder(STARTER)
    theme = Theme.objects.create(
        shop=shop, name="Starter", role=Theme.Role.MAIN, processing=False, previewable=True, created_at=at
    )
    Asset.objects.bulk_create(
        Asset(shop=shop, theme=theme, key=key, content=content, created_at=at) for key, content in files.items()
    )
    record_event("themes/create", theme, actor="system", at=at)


def archived(theme: Theme) -> IO[bytes]:
    """A theme's files as a ZIP archive: a temporary file at its start, which the caller closes.

    Raises:
        StorageFailed: One of them cannot be read.
    """
    file = SpooledTemporaryFile(max_size=BATCH_BYTES)  # noqa: SIM115 - the caller closes it
    try:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for asset in Asset.objects.select_related("content").filter(theme=theme).order_by("key"):
                archive.writestr(asset.key, contents.read(asset.content))
    except StorageFailed:
        file.close()
        raise
    file.seek(0)
    return file


@contextmanager
def _archive(theme: Theme) -> Iterator[BinaryIO]:
    """The theme's archive as an open file."""
    if theme.upload is not None:
        with contents.open_content(theme.upload) as file:
            yield cast("BinaryIO", file)
        return
    with fetch(theme.src, limits=DOWNLOAD) as download:
        yield cast("BinaryIO", download.file)
