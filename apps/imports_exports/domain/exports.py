"""Create exports for staff, write their files in a worker, and delete the files when they expire.

Only the user who created an export can download its file.
"""

import io
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import IO

import orjson
from django.contrib.auth.base_user import AbstractBaseUser
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from apps.core.events.recording import record_event
from apps.core.jobs import queue as jobs
from apps.core.jobs.job_tasks import get_all_names
from apps.core.jobs.models import Job
from apps.core.sanitizing import SafeCsvWriter
from apps.core.tenancy.scope import get_current_shop
from apps.core.tenancy.shop_owned import ShopOwned
from apps.imports_exports.domain.files import ExportCheckpoint, ExportParts, ExportSuperseded, remove_file, store_file
from apps.imports_exports.domain.formats.xlsx_writer import WorkbookRefused, encode_cells, write_workbook
from apps.imports_exports.domain.resources import get_exporters, resources
from apps.imports_exports.models import TABLES, Export, Format

EXPORT, EXPIRE = "imports_exports.write_export", "imports_exports.expire_export"
LIFETIME = timedelta(days=2)
BATCH = 500
# Maximum number of selected rows. An export of all rows has no limit.
MAX_SELECTED = 100_000


@transaction.atomic
def create_export(
    *,
    kind: str,
    format: str,
    filters: Mapping[str, object],
    user: AbstractBaseUser,
    actor: str,
    at: datetime,
) -> Export:
    """Create an export that only ``user`` may download, and enqueue the job that writes its file.

    ``filters`` contains the ``ids`` of the rows, or lookups that the exporter allows.
    """
    exporter = get_exporters()[kind]
    allowed_filters = _get_allowed_filters(kind, filters, user)
    export = Export(
        shop=get_current_shop(), kind=kind, format=format, filters=allowed_filters, user_id=user.pk, created_at=at
    )
    export.save(force_insert=True)
    ids = allowed_filters.get("ids")
    recorded_filters = {**allowed_filters, "ids": len(ids)} if isinstance(ids, list) else allowed_filters
    changes = {"kind": [None, kind], "filters": [None, recorded_filters]}
    record_event(exporter.topic, export, actor=actor, at=at, changes=changes)
    jobs.enqueue(EXPORT, actor=actor, export_id=export.pk)
    return export


def _get_allowed_filters(kind: str, filters: Mapping[str, object], user: AbstractBaseUser) -> dict[str, object]:
    exporter = get_exporters()[kind]
    allowed_filters = {name: filters[name] for name in ("ids", *exporter.filters) if filters.get(name)}
    return {**allowed_filters, **exporter.restrict(user)}


def count_objects(*, kind: str, filters: Mapping[str, object], user: AbstractBaseUser, limit: int) -> int:
    """Return the number of objects that an export would contain now, at most ``limit``."""
    export = Export(kind=kind, filters=_get_allowed_filters(kind, filters, user))
    return get_rows(export).order_by()[:limit].count()


def get_rows(export: Export, id_batch: Sequence[int] = ()) -> QuerySet[ShopOwned]:
    """Return the rows to export, oldest first. With ``id_batch``, only return the rows with these ids."""
    filters = dict(export.filters)
    selected_ids = filters.pop("ids", None)
    ids = id_batch or selected_ids
    queryset = get_exporters()[export.kind].model.objects.filter(**filters)
    return (queryset.filter(pk__in=ids) if ids else queryset).order_by("pk")


def write_export(job: Job, **arguments: int) -> None:
    """Write the file of an export. Retry a failed export, and continue an interrupted export.

    If two workers write the same export, only one of the files is kept.

    Raises:
        NotStored: If the storage fails.
    """
    exports = Export.objects.filter(pk=arguments["export_id"])
    exports.filter(state=Export.State.FAILED).update(state=Export.State.WAITING)
    export = exports.filter(state=Export.State.WAITING).first()
    if export is None:
        return
    document = get_exporters()[export.kind].document
    total = _estimate_count(export) if document is None else document.size(export)
    with suppress(ExportSuperseded), tempfile.TemporaryFile() as file:
        parts = ExportParts(export, file)
        checkpoint = parts.checkpoint
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        for checkpoint in _write_objects(export, text, parts.checkpoint):
            jobs.report_progress(job, completed=checkpoint.done, total=max(checkpoint.done, total))
            text.flush()
            parts.store_part(checkpoint)
        text.flush()
        text.detach()
        path = _store_complete_file(export, file)
        try:
            _mark_ready(export, path, checkpoint.done)
        except BaseException:
            remove_file(path)
            raise
        parts.discard()


def _store_complete_file(export: Export, file: IO[bytes]) -> str:
    """Store the complete file and return its path. Workbooks and PDF files are only converted now."""
    exporter = get_exporters()[export.kind]
    convert = None if exporter.document is None else exporter.document.convert
    file.seek(0)
    if export.format != Format.XLSX and convert is None:
        return store_file(export.create_path(), file)
    with tempfile.TemporaryFile() as converted:
        if convert is not None:
            convert(file, converted)
        else:
            _convert_to_workbook(exporter.columns, file, converted)
        converted.seek(0)
        return store_file(export.create_path(), converted)


def _convert_to_workbook(columns: Sequence[str], file: IO[bytes], workbook: IO[bytes]) -> None:
    try:
        write_workbook(columns, file, workbook)
    except WorkbookRefused as error:
        raise jobs.GiveUp(error.sentence) from error


@transaction.atomic
def _mark_ready(export: Export, path: str, rows: int) -> None:
    expires_at = timezone.now() + LIFETIME
    waiting = Export.objects.filter(pk=export.pk, state=Export.State.WAITING)
    if not waiting.update(state=Export.State.READY, file=path, row_count=rows, expires_at=expires_at, parts=None):
        raise ExportSuperseded
    jobs.enqueue(EXPIRE, due_at=expires_at, export_id=export.pk)


def _write_objects(export: Export, file: IO[str], checkpoint: ExportCheckpoint) -> Iterator[ExportCheckpoint]:
    """Write the objects after the checkpoint in batches. Yield a checkpoint after each batch."""
    kind, exporter = resources[export.kind], get_exporters()[export.kind]
    if exporter.document is not None:
        yield from exporter.document.write(export, file, checkpoint)
        return
    count = checkpoint.done
    write = _get_writer(export, file, is_continued=bool(checkpoint.last))
    for ids in _get_id_batches(export, checkpoint.last):
        for object_data in exporter.read_objects(ids):
            count += 1
            if export.format in TABLES:
                for row in exporter.get_cells(object_data):
                    write(map(row.get, exporter.columns))
            else:
                file.write(f"{orjson.dumps({kind.singular: object_data}).decode()}\n")
        yield ExportCheckpoint(ids[-1], count)


def _get_writer(export: Export, file: IO[str], *, is_continued: bool) -> Callable[[Iterable[object]], object]:
    """Return a function that writes the cells of a row. For a workbook, it writes an intermediate file."""
    if export.format != Format.CSV:
        return lambda cells: file.write(encode_cells(cells).decode())
    if not is_continued:
        # The BOM lets spreadsheets detect UTF-8.
        file.write("\ufeff")
    return SafeCsvWriter(file, get_exporters()[export.kind].columns, has_header=is_continued).write_cells


def _estimate_count(export: Export) -> int:
    selected_ids = export.filters.get("ids")
    return len(selected_ids) if selected_ids else get_rows(export).count()


def _get_id_batches(export: Export, last: int) -> Iterator[list[int]]:
    """Yield batches of ids after ``last``, either of the selected rows that still exist or of all rows."""
    if selected_ids := export.filters.get("ids"):
        remaining_ids = [pk for pk in sorted(selected_ids) if pk > last]
        for start in range(0, len(remaining_ids), BATCH):
            if ids := list(get_rows(export, remaining_ids[start : start + BATCH]).values_list("pk", flat=True)):
                yield ids
        return
    while ids := list(get_rows(export).filter(pk__gt=last).values_list("pk", flat=True)[:BATCH]):
        yield ids
        last = ids[-1]


def get_export_job(export: Export) -> Job | None:
    """Return the unfinished job that writes the file, or None."""
    unfinished = Job.objects.filter(state__in=(Job.State.WAITING, Job.State.RUNNING))
    return (
        unfinished.filter(task__in=get_all_names(EXPORT), arguments__export_id=export.pk)
        .order_by("due_at", "pk")
        .first()
    )


def mark_export_failed(job: Job) -> None:
    waiting = Export.objects.filter(pk=job.arguments["export_id"], state=Export.State.WAITING)
    waiting.update(state=Export.State.FAILED)


def expire_export(job: Job, **arguments: int) -> None:
    export = Export.objects.filter(pk=arguments["export_id"]).first()
    if export is not None:
        default_storage.delete(export.path)
        Export.objects.filter(pk=export.pk).update(state=Export.State.EXPIRED)
