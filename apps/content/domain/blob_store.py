"""Store blobs. A blob is file content identified by a digest, so each shop stores equal bytes only once.

Blobs that no row refers to are deleted.

Storing a blob inserts a row, writes the file, and then marks the row as stored. Deleting runs in the opposite order.
Each step is committed before the next step, so a process may be killed at any time. At worst, an unused row remains,
which the cleanup deletes together with its file. Code must store a blob, or call ``protect_blobs``, before a new row
refers to the blob. Either call protects the blob from the cleanup for ``GRACE_PERIOD``.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import IO

from django.core.files.base import ContentFile
from django.db import transaction
from django.db.models import Exists, ForeignObjectRel, Model, OuterRef, QuerySet
from django.utils import timezone

from apps.content.models import FileContent
from apps.core.media.storage import StorageFailed, convert_storage_errors, get_content_storage
from apps.core.tenancy.read_only import writable_shops
from apps.core.tenancy.scope import get_current_shop

GRACE_PERIOD = timedelta(hours=1)
BATCH = 500


def store_blob(data: bytes) -> FileContent:
    """Store bytes as a blob. Must be called before the transaction starts, because files are not rolled back."""
    return store_blobs([data])[0]


def store_blobs(datas: Sequence[bytes]) -> list[FileContent]:
    """Store several blobs and return their rows in the same order. Equal blobs share a row."""
    if len(datas) > BATCH:
        return [row for start in range(0, len(datas), BATCH) for row in store_blobs(datas[start : start + BATCH])]
    digests = [hashlib.sha256(data).hexdigest() for data in datas]
    by_digest = dict(zip(digests, datas, strict=True))
    rows = _claim_rows(by_digest)
    new_rows = [row for row in rows.values() if not row.stored]
    storage = get_content_storage()
    for row in new_rows:
        with _convert_errors(row, "stored"):
            storage.save(row.name, ContentFile(by_digest[row.sha256]))
        row.stored = True
    if new_rows:
        _update_in_order(FileContent.objects.filter(pk__in=[row.pk for row in new_rows]), stored=True)
    return [rows[digest] for digest in digests]


def _claim_rows(by_digest: dict[str, bytes]) -> dict[str, FileContent]:
    """Get or create the rows of these blobs, and protect the rows from the cleanup."""
    shop, now = get_current_shop(), timezone.now()
    rows: dict[str, FileContent] = {}
    new: set[str] = set()
    while len(rows) < len(by_digest):
        missing = [
            FileContent(
                shop=shop,
                sha256=digest,
                md5=hashlib.md5(data, usedforsecurity=False).hexdigest(),
                size=len(data),
                used_at=now,
            )
            for digest, data in sorted(by_digest.items())
            if digest not in rows
        ]
        with transaction.atomic():
            FileContent.objects.bulk_create(missing, ignore_conflicts=True)
            existing = FileContent.objects.filter(sha256__in=list(by_digest)).order_by("sha256")
            rows = {row.sha256: row for row in existing.select_for_update(no_key=True)}
            existing.order_by().update(used_at=now)
        for row in rows.values():
            if row.used_at == now and not row.stored:
                new.add(row.sha256)
            row.is_new, row.used_at = row.sha256 in new, now
    return rows


@transaction.atomic
def _update_in_order(queryset: QuerySet[FileContent], **values: object) -> None:
    """Update rows after locking them in the order of their digests, which avoids deadlocks."""
    ids = list(queryset.order_by("sha256").select_for_update(no_key=True).values_list("pk", flat=True))
    FileContent.objects.filter(pk__in=ids).update(**values)


def protect_blobs(contents: Iterable[int]) -> None:
    """Protect blobs from the cleanup, because new rows are about to refer to them."""
    _update_in_order(FileContent.objects.filter(pk__in=list(contents)), used_at=timezone.now())


def release_blobs(rows: Iterable[FileContent]) -> None:
    """Delete blobs that were stored for a failed change, unless another request has stored them since."""
    for row in rows:
        if row.is_new:
            idle = get_unreferenced_blobs().filter(used_at=row.used_at)
            idle.filter(pk=row.pk).update(stored=False)
            _delete_if_unused(row.pk, idle)


def read_blob(content: FileContent) -> bytes:
    """Return the bytes of a blob, or raise ``StorageFailed``."""
    with open_blob(content) as file, _convert_errors(content, "read"):
        data: bytes = file.read()
    return data


def open_blob(content: FileContent) -> IO[bytes]:
    """Open the file of a blob, or raise ``StorageFailed``. The caller must close the file."""
    with _convert_errors(content, "read"):
        return get_content_storage().open(content.name)


def is_blob_intact(content: FileContent) -> bool:
    """Return True if the file of a blob exists and has not changed. Raise ``StorageFailed`` if that is unknown."""
    digest = hashlib.sha256()
    try:
        with _convert_errors(content, "read"), get_content_storage().open(content.name) as file:
            for chunk in file.chunks():
                digest.update(chunk)
    except StorageFailed as failure:
        if isinstance(failure.__cause__, FileNotFoundError):
            return False
        raise
    return digest.hexdigest() == content.sha256


def mark_blob_lost(content: FileContent) -> None:
    """Mark a blob as not stored, so that the next attempt to store the same bytes writes the file again."""
    _update_in_order(FileContent.objects.filter(pk=content.pk), stored=False)


@contextmanager
def _convert_errors(content: FileContent, operation: str) -> Iterator[None]:
    """Convert storage errors, and mark the blob as lost if a read finds no file."""
    try:
        with convert_storage_errors(content.name, operation):
            yield
    except StorageFailed as failure:
        if isinstance(failure.__cause__, FileNotFoundError) and operation == "read":
            mark_blob_lost(content)
        raise


def get_unreferenced_blobs() -> QuerySet[FileContent]:
    """Return the blobs that no row refers to, in the shops of the current scope."""
    queryset: QuerySet[FileContent] = FileContent.objects.all()
    for model, column in _iterate_referring_columns():
        queryset = queryset.filter(~Exists(model._base_manager.filter(**{column: OuterRef("pk")})))
    return queryset


def describe_uses(content: FileContent) -> list[str]:
    return [
        f"{model._meta.verbose_name} {row.pk} ({row})"
        for model, column in _iterate_referring_columns()
        for row in model._base_manager.filter(**{column: content}).order_by("pk")
    ]


def _iterate_referring_columns() -> Iterator[tuple[type[Model], str]]:
    for relation in FileContent._meta.get_fields(include_hidden=True):
        if isinstance(relation, ForeignObjectRel):
            yield relation.related_model, relation.field.name


def delete_unused_blobs(at: datetime) -> int:
    """Delete blobs that no row refers to and that were not stored recently. Return the number of deleted blobs."""
    idle = get_unreferenced_blobs().filter(writable_shops(), used_at__lt=at - GRACE_PERIOD)
    cleared = 0
    while ids := list(idle.order_by("used_at", "id").values_list("pk", flat=True)[:BATCH]):
        # Mark the blobs as not stored, so that a concurrent request that stores the same bytes writes the files again.
        _update_in_order(idle.filter(pk__in=ids), stored=False)
        cleared += sum(_delete_if_unused(pk, idle) for pk in ids)
    return cleared


@transaction.atomic
def _delete_if_unused(pk: int, idle: QuerySet[FileContent]) -> bool:
    row = idle.select_for_update().filter(pk=pk, stored=False).first()
    if row is None:
        return False
    _delete_renditions(row)
    get_content_storage().delete(row.name)
    row.delete()
    return True


def _delete_renditions(row: FileContent) -> None:
    storage = get_content_storage()
    try:
        names = storage.listdir(row.renditions)[1]
    except FileNotFoundError:
        return
    for name in names:
        storage.delete(f"{row.renditions}/{name}")
