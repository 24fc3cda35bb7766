"""Keeping bytes once per shop: storing, reading, and letting go of what nothing refers to.

Storing writes a row, then the file, then marks the row as stored; clearing goes the other way. Each step is committed
before the next begins, so a process may die at any moment: what it leaves is a row that nobody refers to, and the
clearing takes it away with its file. Whoever is about to refer to a content stores it (or calls ``keep``) first, which
protects it for ``GRACE``.
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
from apps.ground.tenancy import current_shop
from apps.media.storage import StorageFailed, content_storage, reporting
from apps.shops.domain.read_only import writable

GRACE = timedelta(hours=1)
BATCH = 500


def store(data: bytes) -> FileContent:
    """Keep some bytes; call it before the transaction that refers to them, since a file knows no rollback."""
    return store_many([data])[0]


def store_many(datas: Sequence[bytes]) -> list[FileContent]:
    """Keep several contents, in their order; equal ones are one."""
    if len(datas) > BATCH:
        return [row for start in range(0, len(datas), BATCH) for row in store_many(datas[start : start + BATCH])]
    digests = [hashlib.sha256(data).hexdigest() for data in datas]
    by_digest = dict(zip(digests, datas, strict=True))
    rows = _claimed(by_digest)
    fresh = [row for row in rows.values() if not row.stored]
    storage = content_storage()
    for row in fresh:
        with _reporting(row, "stored"):
            storage.save(row.name, ContentFile(by_digest[row.sha256]))
        row.stored = True
    if fresh:
        _update(FileContent.objects.filter(pk__in=[row.pk for row in fresh]), stored=True)
    return [rows[digest] for digest in digests]


def _claimed(by_digest: dict[str, bytes]) -> dict[str, FileContent]:
    """The rows of some contents, protected from being cleared."""
    shop, now = current_shop(), timezone.now()
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
            known = FileContent.objects.filter(sha256__in=list(by_digest)).order_by("sha256")
            rows = {row.sha256: row for row in known.select_for_update(no_key=True)}
            known.order_by().update(used_at=now)
        for row in rows.values():
            if row.used_at == now and not row.stored:
                new.add(row.sha256)
            row.is_new, row.used_at = row.sha256 in new, now
    return rows


@transaction.atomic
def _update(queryset: QuerySet[FileContent], **values: object) -> None:
    """Change rows, locked in the order of their digests, so that two writers cannot block each other."""
    ids = list(queryset.order_by("sha256").select_for_update(no_key=True).values_list("pk", flat=True))
    FileContent.objects.filter(pk__in=ids).update(**values)


def keep(contents: Iterable[int]) -> None:
    """Protect contents that are about to be referred to by further rows."""
    _update(FileContent.objects.filter(pk__in=list(contents)), used_at=timezone.now())


def release(rows: Iterable[FileContent]) -> None:
    """Let go at once of what was stored for a change that failed, as far as nobody else has asked for it."""
    for row in rows:
        if row.is_new:
            idle = unreferenced().filter(used_at=row.used_at)
            idle.filter(pk=row.pk).update(stored=False)
            _clear(row.pk, idle)


def read(content: FileContent) -> bytes:
    """The bytes of a content.

    Raises:
        StorageFailed: They cannot be had.
    """
    with open_content(content) as file, _reporting(content, "read"):
        data: bytes = file.read()
    return data


def open_content(content: FileContent) -> IO[bytes]:
    """The file of a content; the caller closes it.

    Raises:
        StorageFailed: It cannot be had.
    """
    with _reporting(content, "read"):
        return content_storage().open(content.name)


def is_intact(content: FileContent) -> bool:
    """Whether a content's file is there with the bytes that it had.

    Raises:
        StorageFailed: The storage does not answer.
    """
    digest = hashlib.sha256()
    try:
        with _reporting(content, "read"), content_storage().open(content.name) as file:
            for chunk in file.chunks():
                digest.update(chunk)
    except StorageFailed as failure:
        if isinstance(failure.__cause__, FileNotFoundError):
            return False
        raise
    return digest.hexdigest() == content.sha256


def note_loss(content: FileContent) -> None:
    """Let the next who stores these bytes write the file again, since what is there cannot be used."""
    _update(FileContent.objects.filter(pk=content.pk), stored=False)


@contextmanager
def _reporting(content: FileContent, done: str) -> Iterator[None]:
    """As ``reporting``; what was to be read and is lost may be stored again."""
    try:
        with reporting(content.name, done):
            yield
    except StorageFailed as failure:
        if isinstance(failure.__cause__, FileNotFoundError) and done == "read":
            note_loss(content)
        raise


def unreferenced() -> QuerySet[FileContent]:
    """Contents to which no row refers, in the shops of the scope."""
    queryset: QuerySet[FileContent] = FileContent.objects.all()
    for model, column in _referring():
        queryset = queryset.filter(~Exists(model._base_manager.filter(**{column: OuterRef("pk")})))
    return queryset


def uses_of(content: FileContent) -> list[str]:
    """The rows that refer to a content, in words."""
    return [
        f"{model._meta.verbose_name} {row.pk} ({row})"
        for model, column in _referring()
        for row in model._base_manager.filter(**{column: content}).order_by("pk")
    ]


def _referring() -> Iterator[tuple[type[Model], str]]:
    """The models that refer to contents, and by which column."""
    for relation in FileContent._meta.get_fields(include_hidden=True):
        if isinstance(relation, ForeignObjectRel):
            yield relation.related_model, relation.field.name


def clear_unused(at: datetime) -> int:
    """Let go of contents that nothing has referred to for a while; returns how many."""
    idle = unreferenced().filter(writable(), used_at__lt=at - GRACE)
    cleared = 0
    while ids := list(idle.order_by("used_at", "id").values_list("pk", flat=True)[:BATCH]):
        # From here on a writer who wants this content again writes the file again.
        _update(idle.filter(pk__in=ids), stored=False)
        cleared += sum(_clear(pk, idle) for pk in ids)
    return cleared


@transaction.atomic
def _clear(pk: int, idle: QuerySet[FileContent]) -> bool:
    row = idle.select_for_update().filter(pk=pk, stored=False).first()
    if row is None:
        return False
    _delete_renditions(row)
    content_storage().delete(row.name)
    row.delete()
    return True


def _delete_renditions(row: FileContent) -> None:
    storage = content_storage()
    try:
        names = storage.listdir(row.renditions)[1]
    except FileNotFoundError:
        return
    for name in names:
        storage.delete(f"{row.renditions}/{name}")
