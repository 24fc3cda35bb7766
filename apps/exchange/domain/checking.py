"""Checking a file: what would become of each row, without any effect."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from django.db import IntegrityError, transaction
from django.utils.translation import gettext_noop

from apps.exchange.domain.batches import Numbered, batches, numbered
from apps.exchange.domain.claims import Claim, claimed
from apps.exchange.domain.fates import Told, note, told_of
from apps.exchange.domain.imports import PREVIEW, REPORT_EVERY, State, find_left_out, opened
from apps.exchange.domain.kinds import AT_ONCE, importers
from apps.exchange.domain.parsing import NothingKnown, rows_of
from apps.exchange.domain.rows import Fate, Outcome
from apps.exchange.domain.seen import Seen
from apps.exchange.domain.taking import allowed_to, taken_together
from apps.exchange.models import Import, ImportedRow
from apps.ground.retelling import tells

_DIFFERS = tells(gettext_noop("{key} stands in line {line}, in which other things differ"))


class _Undo(Exception):
    """Rolls a row back that is only checked."""


def check(kept: Import) -> Told:
    """Find out what would become of each row, without any effect; notes the first rows and all failures.

    A check that was cut off goes on behind the last row that it had noted.

    Raises:
        Busy: Somebody else works on the file.
        ClaimLost: Somebody else has taken it over.
        UnreadableFile: It cannot be read as a whole.
    """
    allowed = allowed_to(kept.actor)
    with claimed(kept, State.CHECKING) as claim, Seen() as seen:
        kept.refresh_from_db(fields=("done", "counts"))
        begun = held = kept.done
        counts = Counter[str](kept.counts)
        if not begun and not _is_known(kept, claim):
            return
        with opened(kept) as file:
            rows = numbered(rows_of(file, kept.format, kept.mapping))
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
                        note(kept, noted, dry=True)
                yield from told_of(batch, outcomes)
        with transaction.atomic():
            claim.hold(done=kept.done, counts=dict(counts))
            Import.objects.filter(pk=kept.pk).update(state=State.CHECKED, total=kept.done)


def _is_known(kept: Import, claim: Claim) -> bool:
    """Whether any of its columns is known; else people are asked what they mean."""
    try:
        find_left_out(kept)
    except NothingKnown as error:
        with transaction.atomic():
            claim.hold(done=0, counts={})
            Import.objects.filter(pk=kept.pk).update(state=State.CHECKED, problem=str(error))
        return False
    return True


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


def _tried(batch: Sequence[Numbered], allowed: frozenset[str], actor: str) -> list[Outcome]:
    """What rows would do if they stood alone; nothing of it stays.

    Kinds that take in many look without writing, or are rolled back; of others the row is taken in and rolled back.
    """
    outcomes: list[Outcome] = []
    try:
        with transaction.atomic():
            outcomes = taken_together(batch, allowed, actor=actor, dry=True)
            raise _Undo
    except _Undo:
        return outcomes
    except IntegrityError:
        if len(batch) == 1:
            raise
        return [outcome for one in batch for outcome in _tried([one], allowed, actor)]


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
            return Outcome(Fate.FAILED, reason=_DIFFERS.format(key=key, line=line))
    _remember(each, seen)
    if outcome.fate == Fate.NEW and before:
        return Outcome(importer.repeated, reason=gettext_noop("stands in the file before"), changes=outcome.changes)
    # A number that nobody got means nothing.
    return replace(outcome, label="", source_key="") if outcome.fate == Fate.NEW else replace(outcome, source_key="")


def _remember(each: Numbered, seen: Seen) -> None:
    for key in each.keys:
        seen.add(each.row.kind, key, each.keys[0], each.row.line)
