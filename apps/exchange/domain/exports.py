"""Exports: asked for by staff, written by a worker, fetched by the same person until they expire."""

import io
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import IO

import orjson
from django.contrib.auth.base_user import AbstractBaseUser
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy

from apps.events.domain.recording import record_event
from apps.exchange.domain.files import remove, store
from apps.exchange.domain.kinds import Exporter, Shown, exporters, named
from apps.exchange.domain.parts import Overtaken, Parts, Reached
from apps.exchange.models import Export, Format
from apps.ground.cells import Writer
from apps.ground.rows import ShopOwned
from apps.ground.tenancy import current_shop
from apps.jobs.domain import queue as jobs
from apps.jobs.models import Job

EXPORT, EXPIRE = "orders.export", "orders.expire_export"
LIFETIME = timedelta(days=2)
BATCH = 500
# So many chosen objects go into one file; all of a kind always do.
MOST = 100_000


@transaction.atomic
def start(
    *,
    kind: str,
    format: str,
    filters: Mapping[str, object],
    user: AbstractBaseUser,
    actor: str,
    at: datetime,
) -> Export:
    """Ask for a file of the objects of one kind.

    Args:
        kind: The name of a kind that goes out.
        format: Of ``Format``.
        filters: ``ids``, or lookups that the kind can be narrowed by.
        user: Who gets it.
        actor: The same, for the audit trail.
        at: When.
    """
    exporter = exporters()[kind]
    known = {name: filters[name] for name in ("ids", *exporter.filters) if filters.get(name)}
    export = Export(shop=current_shop(), kind=kind, format=format, filters=known, user_id=user.pk, created_at=at)
    export.save(force_insert=True)
    ids = known.get("ids")
    told = {**known, "ids": len(ids)} if isinstance(ids, list) else known
    changes = {"kind": [None, kind], "filters": [None, told]}
    record_event(exporter.topic, export, actor=actor, at=at, changes=changes)
    jobs.enqueue(EXPORT, actor=actor, export_id=export.pk)
    return export


def rows_of(export: Export, some: Sequence[int] = ()) -> QuerySet[ShopOwned]:
    """What the file is to hold, oldest first; of the chosen only ``some``, for no database takes all in one query."""
    filters = dict(export.filters)
    chosen = filters.pop("ids", None)
    ids = some or chosen
    queryset = exporters()[export.kind].model.objects.filter(**filters)
    return (queryset.filter(pk__in=ids) if ids else queryset).order_by("pk")


def write(job: Job, **arguments: int) -> None:
    """Write the file, also where that had been given up, and go on where another was killed.

    Of two who write it at once, one file stays.

    Raises:
        NotStored: The storage does not take it.
    """
    asked = Export.objects.filter(pk=arguments["export_id"])
    asked.filter(state=Export.State.FAILED).update(state=Export.State.WAITING)
    export = asked.filter(state=Export.State.WAITING).first()
    if export is None:
        return
    document = exporters()[export.kind].document
    total = _size(export) if document is None else document.size(export)
    with suppress(Overtaken), tempfile.TemporaryFile() as file:
        parts = Parts(export, file)
        reached = parts.reached
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        for reached in _write(export, text, parts.reached):
            jobs.report_progress(job, done=reached.done, total=max(reached.done, total))
            text.flush()
            parts.keep(reached)
        text.flush()
        file.seek(0)
        place = store(export.new_place(), file)
        text.detach()
        _offer(export, place, reached.done)
        parts.discard()


def _offer(export: Export, place: str, rows: int) -> None:
    """Offer the file, or delete it.

    Raises:
        Overtaken: It is not wanted.
    """
    try:
        if not _ready(export, place, rows):
            raise Overtaken
    except BaseException:
        remove(place)
        raise


@transaction.atomic
def _ready(export: Export, place: str, rows: int) -> bool:
    """Offer the file to the person; returns False where another one is offered already."""
    expires_at = timezone.now() + LIFETIME
    waiting = Export.objects.filter(pk=export.pk, state=Export.State.WAITING)
    if not waiting.update(state=Export.State.READY, file=place, row_count=rows, expires_at=expires_at, parts=None):
        return False
    jobs.enqueue(EXPIRE, due_at=expires_at, export_id=export.pk)
    return True


def _write(export: Export, file: IO[str], begun: Reached) -> Iterator[Reached]:
    """Write what is behind ``begun``, batch by batch; gives how far the file goes."""
    kind, exporter = named(export.kind), exporters()[export.kind]
    if exporter.document is not None:
        yield from exporter.document.write(export, file, begun)
        return
    put = _table(file, exporter, begun) if export.format == Format.CSV else _json_lines(file, kind.singular)
    done = begun.done
    for ids in _batches(export, begun.last):
        objects = exporter.read(ids)
        for shown in objects:
            put(shown)
        done += len(objects)
        yield Reached(ids[-1], done)


def _table(file: IO[str], exporter: Exporter, begun: Reached) -> Callable[[Shown], None]:
    """Begin a table, or go on with it; gives what writes an object into it."""
    if not begun.last:
        # So that spreadsheets know the encoding.
        file.write("\ufeff")
    writer = Writer(file, exporter.columns, has_header=bool(begun.last))

    def put(shown: Shown) -> None:
        for row in exporter.cells(shown):
            writer.write(row)

    return put


def _json_lines(file: IO[str], key: str) -> Callable[[Shown], None]:
    return lambda shown: print(orjson.dumps({key: shown}).decode(), file=file)


def _size(export: Export) -> int:
    """About how many objects the file is to hold."""
    chosen = export.filters.get("ids")
    return len(chosen) if chosen else rows_of(export).count()


def _batches(export: Export, last: int) -> Iterator[list[int]]:
    """The ids of what the file is to hold behind an id: of the chosen that are still there, else by keyset."""
    if chosen := export.filters.get("ids"):
        rest = [pk for pk in sorted(chosen) if pk > last]
        for start in range(0, len(rest), BATCH):
            if ids := list(rows_of(export, rest[start : start + BATCH]).values_list("pk", flat=True)):
                yield ids
        return
    while ids := list(rows_of(export).filter(pk__gt=last).values_list("pk", flat=True)[:BATCH]):
        yield ids
        last = ids[-1]


def job_of(export: Export) -> Job | None:
    """The job that makes the file, until it has ended."""
    unfinished = Job.objects.filter(state__in=(Job.State.WAITING, Job.State.RUNNING))
    found: Job | None = unfinished.filter(task=EXPORT, arguments__export_id=export.pk).order_by("due_at", "pk").first()
    return found


def give_up(job: Job) -> None:
    """Say that the file will not come, unless it is there."""
    waiting = Export.objects.filter(pk=job.arguments["export_id"], state=Export.State.WAITING)
    waiting.update(state=Export.State.FAILED)


def expire(job: Job, **arguments: int) -> None:
    """Delete the file of an export whose time is over."""
    export = Export.objects.filter(pk=arguments["export_id"]).first()
    if export is not None:
        default_storage.delete(export.place)
        Export.objects.filter(pk=export.pk).update(state=Export.State.EXPIRED)


def register_all() -> None:
    """Add the tasks."""
    jobs.register(EXPORT, write, gettext_lazy("Export"), on_give_up=give_up)
    jobs.register(EXPIRE, expire, gettext_lazy("Deleting an old export"))
