"""Imports: a file is kept, checked without any effect, and after a yes taken in batch by batch.

A batch (``batches``) is a transaction together with the notes of its rows' fates, so an import that was cut off goes on
where it stopped, and a bad row stops nothing else. Of a file no more than a batch is held at a time; the keys of rows
before it lie on disk (``seen``).
"""

import hashlib
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice
from typing import IO, TypeAlias

from django.contrib.auth import get_user_model
from django.core.files.storage import default_storage
from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.events.domain.recording import record_event
from apps.exchange.domain.batches import AT_ONCE, Numbered, batches, numbered
from apps.exchange.domain.claims import Claim, claimed
from apps.exchange.domain.files import remove, store
from apps.exchange.domain.kinds import importers
from apps.exchange.domain.parsing import UnreadableFile, rows_of, unknown_in
from apps.exchange.domain.rows import Fate, Outcome, RawRow, failed
from apps.exchange.domain.seen import Seen
from apps.exchange.models import Format, Import, ImportedRow
from apps.ground import statistics
from apps.ground.constraints import breach_of
from apps.ground.errors import DomainError, TransitionRefused
from apps.ground.phrases import too_large
from apps.ground.tenancy import current_shop
from apps.jobs.domain import queue as jobs
from apps.shops.domain.read_only import writable

CHECK, RUN = "orders.check_import", "orders.run_import"
UPLOADED, CONFIRMED, FINISHED = "imports/upload", "imports/confirm", "imports/finish"
# Of each object of a file, and what became of it.
Told: TypeAlias = Generator[tuple[RawRow, Outcome]]
State = Import.State
PREVIEW = 50
REPORT_EVERY = 50
# Characters of a value in the preview.
MAX_TOLD = 120
GONE = "The file is no longer there; upload it again."
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


class UnknownColumns(DomainError):
    """What stands in columns that nobody knows is left out only after a yes to that."""

    code = "import_unknown_columns"


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
        raise FileRefused("is empty")
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
    if kept.unknown and not without_unknown:
        raise UnknownColumns(f"Say first whether these columns may be left out: {', '.join(kept.unknown)}")
    if not Import.objects.filter(pk=kept.pk, state=State.CHECKED).update(state=State.IMPORTING, done=0):
        raise NotChecked("This file is not waiting for a confirmation")
    record_event(CONFIRMED, kept, actor=actor, at=at)
    jobs.enqueue(RUN, actor=actor, import_id=kept.pk)


@contextmanager
def _opened(kept: Import) -> Iterator[IO[bytes]]:
    """The file; where it is gone, or cannot be read as a whole, the import has failed and says why."""
    try:
        file = default_storage.open(kept.place)
    except FileNotFoundError:
        _fail(kept, GONE)
        raise UnreadableFile(GONE) from None
    try:
        with file:
            yield file
    except UnreadableFile as error:
        _fail(kept, str(error))
        raise


def _fail(kept: Import, problem: str) -> None:
    now = timezone.now()
    Import.objects.filter(pk=kept.pk).update(state=State.FAILED, problem=problem[:500], finished_at=now)
    remove(kept.place)


def find_unknown(kept: Import) -> list[str]:
    """The columns of a file that nobody knows, noted on the import.

    Raises:
        UnreadableFile: The file as a whole cannot be read.
    """
    with _opened(kept) as file:
        kept.unknown = unknown_in(file, kept.format)
    Import.objects.filter(pk=kept.pk).update(unknown=kept.unknown)
    return kept.unknown


def check(kept: Import) -> Told:
    """Find out what would become of each row, without any effect; notes the first rows and all failures.

    A check that was cut off goes on behind the last row that it had noted.

    Raises:
        Busy: Somebody else works on the file.
        ClaimLost: Somebody else has taken it over.
        UnreadableFile: It cannot be read as a whole.
    """
    allowed = _allowed(kept.actor)
    with claimed(kept, State.CHECKING) as claim, Seen() as seen:
        kept.refresh_from_db(fields=("done", "counts"))
        begun = held = kept.done
        counts = Counter[str](kept.counts)
        if not begun:
            find_unknown(kept)
        with _opened(kept) as file:
            rows = numbered(rows_of(file, kept.format))
            _recall(kept, islice(rows, begun), seen)
            for batch in batches(rows):
                outcomes = _compared(batch, _tried(batch, allowed, kept.actor), seen)
                counts.update(outcome.fate for outcome in outcomes)
                told = zip(batch, outcomes, strict=True)
                noted = [(each.row, what) for each, what in told if each.number <= PREVIEW or what.fate == Fate.FAILED]
                kept.done = batch[-1].number
                if noted or kept.done >= held + REPORT_EVERY:
                    held = kept.done
                    with transaction.atomic():
                        claim.hold(done=held, counts=dict(counts))
                        _note(kept, noted, dry=True)
                yield from _told_of(batch, outcomes)
        with transaction.atomic():
            claim.hold(done=kept.done, counts=dict(counts))
            Import.objects.filter(pk=kept.pk).update(state=State.CHECKED, total=kept.done)


def _recall(kept: Import, rows: Iterator[Numbered], seen: Seen) -> None:
    """Note what stood in the rows that were checked before; those that failed are as if they were not there."""
    while some := list(islice(rows, AT_ONCE)):
        noted = ImportedRow.objects.filter(
            file=kept, dry=True, fate=Fate.FAILED, line__in=[each.row.line for each in some]
        )
        failures = set(noted.values_list("line", flat=True))
        for each in some:
            if each.row.line not in failures:
                _remember(each, seen)


def _told_of(batch: Sequence[Numbered], outcomes: Sequence[Outcome]) -> Told:
    for each, outcome in zip(batch, outcomes, strict=True):
        yield each.row, outcome


def _allowed(actor: str) -> frozenset[str]:
    """The kinds of rows that somebody may import, now; the operator's command may import all."""
    needed = {name: importer.permission for name, importer in importers().items()}
    kind, _, number = actor.partition(":")
    if kind != "staff":
        return frozenset(needed)
    user = get_user_model().objects.filter(pk=number).first()
    return frozenset(name for name, permission in needed.items() if user is not None and user.has_perm(permission))


def _forbidden(row: RawRow, allowed: frozenset[str]) -> Outcome | None:
    """The fate of a row that the importing person may not bring; None for any other."""
    if row.body is None or row.kind in allowed:
        return None
    return Outcome(Fate.FAILED, reason=f"You have no permission to import {row.kind}")


def _tried(batch: Sequence[Numbered], allowed: frozenset[str], actor: str) -> list[Outcome]:
    """What rows would do if they stood alone; nothing of it stays.

    Kinds that take in many look without writing; of others the row is taken in and rolled back.
    """
    outcomes: list[Outcome] = []
    try:
        with transaction.atomic():
            outcomes = _taken_in_together(batch, allowed, actor=actor, dry=True)
            raise _Undo
    except _Undo:
        pass
    return outcomes


def _compared(batch: Sequence[Numbered], outcomes: Sequence[Outcome], seen: Seen) -> list[Outcome]:
    """What rows would do after those before them."""
    return [_after(each, outcome, seen) for each, outcome in zip(batch, outcomes, strict=True)]


def _after(each: Numbered, outcome: Outcome, seen: Seen) -> Outcome:
    row, keys = each.row, each.keys
    if row.body is None or outcome.fate == Fate.FAILED:
        return outcome
    importer = importers()[row.kind]
    before = [(key, *found) for key in keys if (found := seen.find(row.kind, key))]
    if outcome.fate == Fate.NEW and before:
        key, first, line = before[0]
        if keys[0] not in {key, first} and first != key:
            return Outcome(Fate.FAILED, reason=f"{key} stands in line {line}, in which other things differ")
    _remember(each, seen)
    if outcome.fate == Fate.NEW and before:
        return Outcome(importer.repeated, reason="stands in the file before", changes=outcome.changes)
    # A number that nobody got means nothing.
    return replace(outcome, label="", source_key="") if outcome.fate == Fate.NEW else replace(outcome, source_key="")


def _remember(each: Numbered, seen: Seen) -> None:
    for key in each.keys:
        seen.add(each.row.kind, key, each.keys[0], each.row.line)


def _taken_in_together(
    batch: Sequence[Numbered], allowed: frozenset[str], *, actor: str, dry: bool = False
) -> list[Outcome]:
    """Do what rows of one kind say, of which no two have a key in common; those that cannot be say why.

    Raises:
        IntegrityError: Somebody else brought one of them meanwhile; nothing of the rows stays.
    """
    outcomes = [_forbidden(each.row, allowed) for each in batch]
    asked = [
        (row, row.body)
        for (_, row, _), known in zip(batch, outcomes, strict=True)
        if row.body is not None and not known
    ]
    many = importers()[asked[0][0].kind].take_in_many if asked else None
    if many is not None and (dry or len(asked) > 1):
        taken = iter(many(asked, actor=actor, at=timezone.now(), dry=dry))
        return [
            known or (next(taken) if row.body is not None else _taken_in(row, actor=actor, at=timezone.now()))
            for (_, row, _), known in zip(batch, outcomes, strict=True)
        ]
    now = timezone.now()
    return [known or _taken_in(row, actor=actor, at=now) for (_, row, _), known in zip(batch, outcomes, strict=True)]


def _taken_in(row: RawRow, *, actor: str, at: datetime) -> Outcome:
    """Do what a row says; a row that cannot be changes nothing, and says why."""
    if row.body is None:
        return Outcome(Fate.FAILED, reason=row.problem)
    try:
        with transaction.atomic():
            return importers()[row.kind].take_in(row, row.body, actor=actor, at=at)
    except DomainError as refusal:
        return failed(refusal)
    except IntegrityError as error:
        breach = breach_of(error)
        if breach is None:
            raise
        return Outcome(Fate.FAILED, reason=f"{breach.field} {breach.message}")


def run(kept: Import) -> Told:
    """Import a file; rows that were dealt with before a break are left out.

    Raises:
        Busy: Somebody else works on the file.
        ClaimLost: Somebody else has taken it over.
        UnreadableFile: It cannot be read as a whole.
    """
    allowed = _allowed(kept.actor)
    with claimed(kept, State.IMPORTING) as claim:
        with _opened(kept) as file:
            for batch in batches(numbered(rows_of(file, kept.format))):
                kept.done = batch[-1].number
                if left := _not_dealt_with(kept, batch):
                    yield from _told_of(left, _imported(kept, left, allowed, claim))
        with transaction.atomic():
            claim.hold(done=kept.done)
            now = timezone.now()
            Import.objects.filter(pk=kept.pk).update(state=State.DONE, total=kept.done, finished_at=now)
            ImportedRow.objects.filter(file=kept, dry=True).delete()
            record_event(FINISHED, kept, actor=kept.actor, at=now)
    remove(kept.place)
    if kept.done >= statistics.MANY:
        statistics.renew()


def _not_dealt_with(kept: Import, batch: Sequence[Numbered]) -> list[Numbered]:
    noted = ImportedRow.objects.filter(file=kept, dry=False, line__in=[each.row.line for each in batch])
    dealt_with = set(noted.values_list("line", flat=True))
    return [each for each in batch if each.row.line not in dealt_with]


def _imported(kept: Import, batch: Sequence[Numbered], allowed: frozenset[str], claim: Claim) -> list[Outcome]:
    """Take rows in, once; where one brings what is there by now, each by itself, and what was brought is known."""
    try:
        return _taken_and_noted(kept, batch, allowed, claim)
    except IntegrityError:
        if len(batch) == 1:
            return _taken_and_noted(kept, batch, allowed, claim)
        return [outcome for one in batch for outcome in _imported(kept, [one], allowed, claim)]


@transaction.atomic
def _taken_and_noted(kept: Import, batch: Sequence[Numbered], allowed: frozenset[str], claim: Claim) -> list[Outcome]:
    claim.hold(done=batch[-1].number)
    outcomes = _taken_in_together(batch, allowed, actor=kept.actor)
    _note(kept, [(each.row, outcome) for each, outcome in zip(batch, outcomes, strict=True)], dry=False)
    return outcomes


def _note(kept: Import, told: Sequence[tuple[RawRow, Outcome]], *, dry: bool) -> None:
    """Write down what became of rows; it is written once. What they change is kept for the preview alone."""
    ImportedRow.objects.bulk_create([
        ImportedRow(
            shop=kept.shop,
            file=kept,
            dry=dry,
            line=row.line,
            kind=row.kind,
            fate=outcome.fate,
            label=outcome.label[:255],
            reason=outcome.reason[:1000],
            source_key=outcome.source_key,
            changes=_told(outcome) if dry else [],
        )
        for row, outcome in told
    ])  # fmt: skip


def _told(outcome: Outcome) -> list[list[str]]:
    """Field, old value and new one, as people read them."""
    return [[name, *(_in_words(value) for value in values)] for name, values in outcome.changes.items()]


def _in_words(value: object) -> str:
    words = {None: "", "": "", True: "yes", False: "no"}
    text = words[value] if value is None or isinstance(value, bool) else str(value)
    return text if len(text) <= MAX_TOLD else f"{text[:MAX_TOLD]}…"


def discard(kept: Import) -> None:
    """Forget a file that was only looked at, with what was found in it."""
    remove(kept.place)
    kept.delete()


def clear_left(at: datetime) -> int:
    """Delete the files of imports that nobody went on with for a week; what became of their rows is kept."""
    left = list(Import.objects.filter(writable(), finished_at=None, updated_at__lt=at - KEEP_UNTOUCHED).order_by("pk"))
    for kept in left:
        default_storage.delete(kept.place)
        problem = kept.problem or f"Nobody went on with it for {KEEP_UNTOUCHED.days} days; the file is deleted."
        Import.objects.filter(pk=kept.pk).update(state=State.FAILED, problem=problem, finished_at=at)
        ImportedRow.objects.filter(file=kept, dry=True).update(changes=[])
    return len(left)


def unfinished(digest: str) -> Import | None:
    """An import of the same file that was begun and not finished."""
    return Import.objects.filter(digest=digest, state=State.IMPORTING).first()


def mark_importing(kept: Import) -> None:
    """Begin without a check, as the command does when it is told to."""
    Import.objects.filter(pk=kept.pk).exclude(state=State.DONE).update(state=State.IMPORTING)
