"""Imports: a file is kept, checked without any effect (``checking``), and after a yes taken in (``running``).

A batch (``batches``) is a transaction together with the notes of its rows' fates, so an import that was cut off goes on
where it stopped, and a bad row stops nothing else. Of a file no more than a batch is held at a time; the keys of rows
before it lie on disk (``seen``).
"""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import IO

from django.core.files.storage import default_storage
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.events.domain.recording import record_event
from apps.exchange.domain.columns import Mapped, check_mapping
from apps.exchange.domain.files import remove, store
from apps.exchange.domain.kinds import importers
from apps.exchange.domain.parsing import LeftOut, NothingKnown, UnreadableFile, columns_in, left_out_in
from apps.exchange.models import Format, Import, ImportedRow
from apps.ground.errors import DomainError, TransitionRefused
from apps.ground.phrases import too_large
from apps.ground.retelling import tells
from apps.ground.tenancy import current_shop
from apps.jobs.domain import queue as jobs
from apps.shops.domain.read_only import writable

_ABANDONED = tells(gettext_noop("Nobody went on with it for {days} days; the file is deleted."))

CHECK, RUN = "orders.check_import", "orders.run_import"
UPLOADED, MAPPED, CONFIRMED = "imports/upload", "imports/map", "imports/confirm"
FINISHED = "imports/finish"
State = Import.State
PREVIEW = 50
REPORT_EVERY = 50
GONE = gettext_noop("The file is no longer there; upload it again.")
MAX_BYTES = 200 * 1024 * 1024
# Files hold personal data: one that nobody goes on with does not stay.
KEEP_UNTOUCHED = timedelta(days=7)


class FileRefused(DomainError):
    """The file cannot be taken."""

    code = "file_refused"
    field = "file"


class NotChecked(TransitionRefused):
    """Only a file that was checked is imported, and only once."""

    code = "import_not_checked"


class NotMapped(TransitionRefused):
    """What columns mean can be said of a table that was checked and is not imported yet."""

    code = "import_not_mapped"


class UnknownColumns(DomainError):
    """What stands in columns that nobody knows is left out only after a yes to that."""

    code = "import_unknown_columns"


def format_of(name: str) -> Format:
    """How a file holds its rows, by its name.

    Raises:
        FileRefused: By the name it is neither.
    """
    ending = name.lower().rpartition(".")[2]
    if ending == "csv":
        return Format.CSV
    if ending in {"jsonl", "ndjson", "json"}:
        return Format.JSON_LINES
    raise FileRefused(_("must end in .csv or .jsonl"))


def keep(file: IO[bytes], name: str, *, actor: str, at: datetime) -> Import:
    """Keep a file that came in; ``check`` or ``run`` come next.

    Raises:
        FileRefused: It is empty, too large, or of a kind that is not read.
        NotStored: The storage does not take it.
    """
    form = format_of(name)
    digest, size = hashlib.sha256(), 0
    while chunk := file.read(1024 * 1024):
        digest.update(chunk)
        size += len(chunk)
        if size > MAX_BYTES:
            raise FileRefused(too_large(MAX_BYTES))
    if not size:
        raise FileRefused(_("is empty"))
    file.seek(0)
    kept = Import(shop=current_shop(), name=name[-255:], format=form, digest=digest.hexdigest(), actor=actor)
    store(kept.place, file)
    try:
        with transaction.atomic():
            kept.created_at = at
            kept.save(force_insert=True)
            record_event(UPLOADED, kept, actor=actor, at=at)
    except BaseException:
        remove(kept.place)
        raise
    return kept


@transaction.atomic
def ask_for_check(kept: Import, *, actor: str) -> None:
    """Let a worker check a file."""
    jobs.enqueue(CHECK, actor=actor, import_id=kept.pk)


@transaction.atomic
def confirm(kept: Import, *, without_unknown: bool = False, actor: str, at: datetime) -> None:
    """Let a worker import a file that was checked.

    Args:
        kept: The import.
        without_unknown: Whether the person agrees that unknown columns are left out.
        actor: Who.
        at: When.

    Raises:
        NotChecked: It was not checked, or is imported already.
        UnknownColumns: It has unknown columns, and nobody agreed to leave them out.
    """
    if kept.problem:
        raise NotChecked(kept.problem)
    if kept.unknown and not without_unknown:
        raise UnknownColumns(
            _("Say first whether these columns may be left out: {names}").format(names=", ".join(kept.unknown))
        )
    if not Import.objects.filter(pk=kept.pk, state=State.CHECKED).update(state=State.IMPORTING, done=0):
        raise NotChecked(_("This file is not waiting for a confirmation"))
    record_event(CONFIRMED, kept, actor=actor, at=at)
    jobs.enqueue(RUN, actor=actor, import_id=kept.pk)


def columns_of(kept: Import) -> dict[str, list[str]]:
    """The columns of a table, as it names them, each with its first values; none of lines of JSON.

    Raises:
        UnreadableFile: It is gone, or cannot be read as a whole.
    """
    if kept.format == Format.JSON_LINES:
        return {}
    with opened(kept) as file:
        return columns_in(file)


@transaction.atomic
def map_columns(kept: Import, *, kind: str, names: Mapping[str, str], actor: str, at: datetime) -> None:
    """Say what the columns of a table mean, and let it be checked again.

    Args:
        kept: The import, which was checked and not confirmed.
        kind: What its rows are.
        names: By the table's names, what we call the columns; blank for one that is left out.
        actor: Who.
        at: When.

    Raises:
        MappingRefused: Two columns mean the same, or one is missing without which nothing can be told apart.
        NotMapped: It is not waiting for a confirmation.
    """
    check_mapping(names.values(), importers()[kind])
    mapping: Mapped = {"kind": kind, "columns": {column: name for column, name in names.items() if name}}
    waiting = Import.objects.filter(pk=kept.pk, state=State.CHECKED, format=Format.CSV)
    again = {
        "state": State.CHECKING,
        "done": 0,
        "total": 0,
        "counts": {},
        "unknown": [],
        "passed_over": [],
        "problem": "",
    }
    if not waiting.update(mapping=mapping, **again):
        raise NotMapped(_("This file is not waiting for a confirmation"))
    ImportedRow.objects.filter(file=kept, dry=True).delete()
    record_event(MAPPED, kept, actor=actor, at=at, changes={"kind": [None, kind]})
    jobs.enqueue(CHECK, actor=actor, import_id=kept.pk)


@contextmanager
def opened(kept: Import) -> Iterator[IO[bytes]]:
    """The file; where it is gone, or cannot be read as a whole, the import has failed and says why."""
    try:
        file = default_storage.open(kept.place)
    except FileNotFoundError:
        _fail(kept, GONE)
        raise UnreadableFile(GONE) from None
    try:
        with file:
            yield file
    except NothingKnown:
        # The file stays: people can say what its columns mean.
        raise
    except UnreadableFile as error:
        _fail(kept, str(error))
        raise


def _fail(kept: Import, problem: str) -> None:
    now = timezone.now()
    Import.objects.filter(pk=kept.pk).update(state=State.FAILED, problem=problem[:500], finished_at=now)
    remove(kept.place)


def find_left_out(kept: Import) -> LeftOut:
    """The columns of a file that nobody knows, and those that have no place here, noted on the import.

    Raises:
        UnreadableFile: The file as a whole cannot be read.
    """
    with opened(kept) as file:
        left_out = left_out_in(file, kept.format, kept.mapping)
    kept.unknown, kept.passed_over = left_out
    Import.objects.filter(pk=kept.pk).update(unknown=kept.unknown, passed_over=kept.passed_over)
    return left_out


def discard(kept: Import) -> None:
    """Forget a file that was only looked at, with what was found in it."""
    remove(kept.place)
    kept.delete()


def clear_left(at: datetime) -> int:
    """Delete the files of imports that nobody went on with for a week; what became of their rows is kept."""
    left = list(Import.objects.filter(writable(), finished_at=None, updated_at__lt=at - KEEP_UNTOUCHED).order_by("pk"))
    for kept in left:
        default_storage.delete(kept.place)
        problem = kept.problem or _ABANDONED.format(days=KEEP_UNTOUCHED.days)
        Import.objects.filter(pk=kept.pk).update(state=State.FAILED, problem=problem, finished_at=at)
        ImportedRow.objects.filter(file=kept, dry=True).update(changes=[])
    return len(left)


def unfinished(digest: str) -> Import | None:
    """An import of the same file that was begun and not finished."""
    return Import.objects.filter(digest=digest, state=State.IMPORTING).first()


def mark_importing(kept: Import) -> None:
    """Begin without a check, as the command does when it is told to."""
    Import.objects.filter(pk=kept.pk).exclude(state=State.DONE).update(state=State.IMPORTING)
