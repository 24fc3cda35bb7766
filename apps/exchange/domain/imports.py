"""Imports: a file is kept, checked without any effect, and after a yes taken in row by row.

Each row is a transaction of its own together with the note of its fate, so an import that was cut off goes on where it
stopped, and a bad row stops nothing else.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import IO, Any

from django.core.files.base import File
from django.core.files.storage import default_storage
from django.db import transaction
from django.utils import timezone

from apps.events.domain.recording import record_event
from apps.exchange.domain.parsing import RawRow, UnreadableFile, rows_of
from apps.exchange.kinds.rows import Outcome, source_key_of, take_in
from apps.exchange.models import Format, Import, ImportedRow, Kind
from apps.ground.errors import DomainError, TransitionRefused
from apps.ground.phrases import too_large
from apps.ground.tenancy import current_shop
from apps.jobs.domain import queue as jobs
from apps.jobs.models import Job
from apps.staff.models import User

CHECK, RUN = "orders.check_import", "orders.run_import"
State = Import.State
Fate = ImportedRow.Fate
PREVIEW = 50
REPORT_EVERY = 50
MAX_BYTES = 200 * 1024 * 1024
# Files hold personal data: one that nobody goes on with does not stay.
KEEP_UNTOUCHED = timedelta(days=7)
# By kind of row, what somebody must hold in the panel to import it.
NEEDED = {Kind.CUSTOMERS: "customers.add_customer", Kind.ORDERS: "orders.change_order"}


class FileRefused(DomainError):
    """The file cannot be taken."""

    code = "file_refused"
    field = "file"


class NotChecked(TransitionRefused):
    """Only a file that was checked is imported, and only once."""

    code = "import_not_checked"


class _Undo(Exception):
    """Rolls a row back that is only checked."""


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
    raise FileRefused("must end in .csv or .jsonl")


def keep(file: IO[bytes], name: str, *, actor: str, at: datetime) -> Import:
    """Keep a file that came in; ``check`` or ``run`` come next.

    Raises:
        FileRefused: It is empty, too large, or of a kind that is not read.
    """
    form = format_of(name)
    digest, size = hashlib.sha256(), 0
    while chunk := file.read(1024 * 1024):
        digest.update(chunk)
        size += len(chunk)
        if size > MAX_BYTES:
            raise FileRefused(too_large(MAX_BYTES))
    if not size:
        raise FileRefused("is empty")
    file.seek(0)
    kept = Import(shop=current_shop(), name=name[-255:], format=form, digest=digest.hexdigest(), actor=actor)
    default_storage.save(kept.place, File(file))
    with transaction.atomic():
        kept.created_at = at
        kept.save(force_insert=True)
        record_event("orders/import", kept, actor=actor, at=at, message="File uploaded for import")
    return kept


@transaction.atomic
def ask_for_check(kept: Import, *, actor: str) -> None:
    """Let a worker check a file."""
    jobs.enqueue(CHECK, actor=actor, import_id=kept.pk)


@transaction.atomic
def confirm(kept: Import, *, actor: str, at: datetime) -> None:
    """Let a worker import a file that was checked.

    Raises:
        NotChecked: It was not checked, or is imported already.
    """
    if not Import.objects.filter(pk=kept.pk, state=State.CHECKED).update(state=State.IMPORTING, done=0):
        raise NotChecked("This file is not waiting for a confirmation")
    record_event("orders/import", kept, actor=actor, at=at, message="Import confirmed")
    jobs.enqueue(RUN, actor=actor, import_id=kept.pk)


@contextmanager
def _opened(kept: Import) -> Iterator[Iterator[RawRow]]:
    with default_storage.open(kept.place) as file:
        yield rows_of(file, kept.format)


def check(kept: Import) -> Iterator[tuple[RawRow, Outcome]]:
    """Find out what would become of each row, without any effect; notes the first rows and all failures."""
    ImportedRow.objects.filter(file=kept, dry=True).delete()
    seen: set[str] = set()
    counts: Counter[str] = Counter()
    number = 0
    allowed = _allowed(kept.actor)
    with _opened(kept) as rows:
        for number, row in enumerate(rows, 1):
            outcome = _forbidden(row, allowed) or _tried(row, kept.actor, seen)
            counts[outcome.fate] += 1
            if number <= PREVIEW or outcome.fate == Fate.FAILED:
                _note(kept, row, outcome, dry=True)
            if number % REPORT_EVERY == 0:
                Import.objects.filter(pk=kept.pk).update(done=number)
            yield row, outcome
    Import.objects.filter(pk=kept.pk, state=State.CHECKING).update(
        state=State.CHECKED, total=number, done=number, counts=dict(counts)
    )


def _allowed(actor: str) -> frozenset[str]:
    """The kinds of rows that somebody may import, now; the operator's command may import all."""
    kind, _, number = actor.partition(":")
    if kind != "staff":
        return frozenset(NEEDED)
    user = User.objects.filter(pk=number).first()
    return frozenset(kind for kind, permission in NEEDED.items() if user is not None and user.has_perm(permission))


def _forbidden(row: RawRow, allowed: frozenset[str]) -> Outcome | None:
    """The fate of a row that the importing person may not bring; None for any other."""
    if row.body is None or row.kind in allowed:
        return None
    return Outcome(row.kind, Fate.FAILED, reason=f"You have no permission to import {row.kind}")


def _tried(row: RawRow, actor: str, seen: set[str]) -> Outcome:
    """What a row would do after those before it."""
    outcome = Outcome(row.kind, Fate.FAILED)
    try:
        with transaction.atomic():
            outcome = take_in(row, actor=actor, at=timezone.now())
            raise _Undo
    except _Undo:
        pass
    if row.body is None or outcome.fate == Fate.FAILED:
        return outcome
    if row.kind == Kind.ORDERS:
        key = source_key_of(row, row.body)
    else:
        key = f"customer:{str(row.body.get('email') or row.body.get('phone') or row.digest).casefold()}"
    if outcome.fate == Fate.NEW and key in seen:
        if row.kind == Kind.ORDERS:
            return Outcome(row.kind, Fate.SKIPPED, reason="stands in the file before")
        return Outcome(row.kind, Fate.CHANGED, reason="stands in the file before")
    seen.add(key)
    # A number that nobody got means nothing.
    return Outcome(row.kind, outcome.fate, reason=outcome.reason)


def run(kept: Import) -> Iterator[tuple[RawRow, Outcome]]:
    """Import a file; rows that were dealt with before a break are left out."""
    allowed = _allowed(kept.actor)
    dealt_with = set(ImportedRow.objects.filter(file=kept, dry=False).values_list("line", flat=True))
    number = 0
    with _opened(kept) as rows:
        for number, row in enumerate(rows, 1):
            if row.line not in dealt_with:
                yield row, _imported(kept, row, allowed)
            if number % REPORT_EVERY == 0:
                Import.objects.filter(pk=kept.pk).update(done=number)
    with transaction.atomic():
        finished = Import.objects.filter(pk=kept.pk).exclude(state=State.DONE)
        if finished.update(state=State.DONE, total=number, done=number, finished_at=timezone.now()):
            ImportedRow.objects.filter(file=kept, dry=True).delete()
            record_event("orders/import", kept, actor=kept.actor, at=timezone.now(), message="Import finished")
    default_storage.delete(kept.place)


@transaction.atomic
def _imported(kept: Import, row: RawRow, allowed: frozenset[str]) -> Outcome:
    outcome = _forbidden(row, allowed) or take_in(row, actor=kept.actor, at=timezone.now())
    _note(kept, row, outcome, dry=False)
    return outcome


def _note(kept: Import, row: RawRow, outcome: Outcome, *, dry: bool) -> None:
    ImportedRow.objects.update_or_create(
        file=kept,
        dry=dry,
        line=row.line,
        defaults={
            "shop": kept.shop,
            "kind": outcome.kind,
            "fate": outcome.fate,
            "label": outcome.label[:255],
            "reason": outcome.reason[:1000],
            "source_key": outcome.source_key,
        },
    )


def discard(kept: Import) -> None:
    """Forget a file that was only looked at; one that is being imported stays."""
    if kept.state != State.IMPORTING:
        default_storage.delete(kept.place)
        kept.delete()


def clear_left(at: datetime) -> int:
    """Delete the files of imports that nobody went on with for a week; what became of their rows is kept."""
    left = list(Import.objects.filter(finished_at=None, updated_at__lt=at - KEEP_UNTOUCHED).order_by("pk"))
    for kept in left:
        default_storage.delete(kept.place)
        problem = kept.problem or f"Nobody went on with it for {KEEP_UNTOUCHED.days} days; the file is deleted."
        Import.objects.filter(pk=kept.pk).update(state=State.FAILED, problem=problem, finished_at=at)
    return len(left)


def unfinished(digest: str) -> Import | None:
    """An import of the same file that was begun and not finished."""
    found: Import | None = Import.objects.filter(digest=digest, state=State.IMPORTING).first()
    return found


def mark_importing(kept: Import) -> None:
    """Begin without a check, as the command does when it is told to."""
    Import.objects.filter(pk=kept.pk).exclude(state=State.DONE).update(state=State.IMPORTING)


def _job(job: Job, *, import_id: int, checking: bool) -> None:
    kept = Import.objects.select_related("shop").filter(pk=import_id).first()
    wanted = State.CHECKING if checking else State.IMPORTING
    if kept is None or kept.state != wanted:
        return
    try:
        for number, _ in enumerate(check(kept) if checking else run(kept), 1):
            if number % REPORT_EVERY == 0:
                jobs.report_progress(job, done=number, total=max(kept.total, number))
    except UnreadableFile as error:
        Import.objects.filter(pk=kept.pk).update(state=State.FAILED, problem=str(error)[:500])


def check_task(job: Job, **arguments: Any) -> None:
    """Check a file; ``import_id`` names it."""
    _job(job, import_id=arguments["import_id"], checking=True)


def run_task(job: Job, **arguments: Any) -> None:
    """Import a file; ``import_id`` names it."""
    _job(job, import_id=arguments["import_id"], checking=False)


def give_up(job: Job) -> None:
    """Say that the file could not be dealt with."""
    Import.objects.filter(pk=job.arguments["import_id"]).update(state=State.FAILED, problem=job.error[:500])


def register_all() -> None:
    """Add the tasks."""
    jobs.register(CHECK, check_task, on_give_up=give_up)
    jobs.register(RUN, run_task, on_give_up=give_up)
