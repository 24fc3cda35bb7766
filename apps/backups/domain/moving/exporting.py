"""A shop into an archive, while everything runs."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.db import connection, transaction
from django.db.models.functions import Now
from django.utils import timezone

from apps.backups.domain.manifests import BackupRefused, Part
from apps.backups.domain.moving.archives import BEGUN, FILES, Archive, Manifest, Stored, migrations_now, part
from apps.backups.domain.moving.archives import part_of_table as place_of
from apps.backups.domain.moving.callers import MODELS, Columns, Named
from apps.backups.domain.moving.files import Copying
from apps.backups.domain.moving.tables import Table, tables
from apps.backups.domain.moving.values import Row, line_of
from apps.ground.tenancy import every_shop
from apps.jobs.models import Job
from apps.shops.domain import read_only
from apps.shops.models import Shop
from apps.shops.models.secrets import encrypt
from apps.webhooks.models import Delivery

SEALED = "a shop of ours"


# As long as a delivery or a job that was begun may hold its lease without renewing it.
_PATIENCE_SECONDS = 60
_LOOK_SECONDS = 0.1


def export(domain: str, folder: Path, *, refresh: bool = False, final: bool = False) -> Manifest:
    """Write a shop into an archive, or go on where an export of it broke off.

    Args:
        domain: The shop's.
        folder: The archive.
        refresh: Whether a finished archive is brought up to date; its files are not copied again.
        final: Whether it is the last export before the shop moves: from the copy of its files on it can only be read
            here, also where this fails, and nothing that was acknowledged is missing in the archive.

    Raises:
        BackupRefused: There is no such shop, something else is in the folder, or what was begun does not end.
        StillInUse: The shop could not be made read-only.
    """
    shop = Shop.objects.filter(domain=domain).first()
    if shop is None:
        raise BackupRefused(f"There is no shop {domain}.")
    archive = Archive(folder)
    old = os.umask(0o077)
    try:
        archive.begin(shop.pk, shop.domain, refresh=refresh or final)
        files = Copying(archive, shop.pk)
        files.copy()
        if final:
            read_only.switch_on(shop, at=timezone.now())
            _await_what_was_begun(shop)
        with every_shop(), snapshot():
            manifest = _rows(archive, shop.pk)
        files.copy()
        manifest.parts[FILES], number, size = files.finish()
        manifest.parts[BEGUN] = part(folder / BEGUN)
        manifest = replace(manifest, files=number, bytes=size)
        archive.finish(manifest)
        return manifest
    finally:
        os.umask(old)


def _await_what_was_begun(shop: Shop) -> None:
    """Until no job of the shop runs and no webhook is under way; new ones are not begun."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    with every_shop():
        jobs = Job.objects.filter(shop=shop, state=Job.State.RUNNING, lease_until__gt=Now())
        deliveries = Delivery.objects.filter(shop=shop, state=Delivery.State.LEASED, lease_until__gt=Now())
        while jobs.exists() or deliveries.exists():
            if time.monotonic() > deadline:
                raise BackupRefused(
                    f"{shop.domain} can only be read now, but a job or a webhook of it that had begun does not end."
                    " Export again, or let it be written again with read_only_shop --off."
                )
            time.sleep(_LOOK_SECONDS)


def _rows(archive: Archive, shop_id: int) -> Manifest:
    """The rows in their moment; files are yet to be counted."""
    shop = Shop.objects.get(pk=shop_id)
    named = Named()
    parts: dict[str, Part] = {}
    stored: dict[str, Stored] = {}
    made_at = timezone.now().isoformat(timespec="seconds")
    for table in tables():
        passing = _Passing(table, shop_id, named)
        parts[place_of(table.name)] = archive.write(place_of(table.name), passing)
        columns = [one.attname for one in table.fields]
        stored[table.name] = Stored(columns, passing.rows, passing.lowest, passing.highest)
    for kind in MODELS:
        parts[f"{kind}.jsonl.gz"] = archive.write(f"{kind}.jsonl.gz", named.lines(kind, shop_id))
    return Manifest(
        made_at=made_at,
        shop_id=shop_id,
        domain=shop.domain,
        handle=shop.handle,
        sealed=encrypt(SEALED),
        migrations=migrations_now(),
        tables=stored,
        files=0,
        bytes=0,
        parts=parts,
    )


class _Passing:
    """The lines of a table's rows, counted as they pass."""

    def __init__(self, table: Table, shop_id: int, named: Named) -> None:
        self.rows = 0
        self.lowest: Any = None
        self.highest: Any = None
        self._table, self._shop_id, self._named = table, shop_id, named

    def __iter__(self) -> Iterator[bytes]:
        columns, fields = Columns.of(self._table), self._table.fields
        key = next(place for place, one in enumerate(fields) if one.primary_key)
        for row in streamed(self._table, self._shop_id):
            self._named.gather(columns, row)
            self.lowest = row[key] if self.lowest is None else self.lowest
            self.highest = row[key]
            self.rows += 1
            yield line_of(fields, row)


def streamed(table: Table, shop_id: int) -> Iterator[Row]:
    """The rows of a shop by ascending primary key, from a cursor of the server, also behind a pooler."""
    compiler = table.rows(shop_id).query.get_compiler(connection.alias)
    yield from compiler.results_iter(tuple_expected=True, chunked_fetch=True, chunk_size=2000)


@contextmanager
def snapshot() -> Iterator[None]:
    """Within it all reads see one moment, and no writer waits.

    Raises:
        BackupRefused: A transaction is under way, whose moment is another.
    """
    if connection.in_atomic_block:
        raise BackupRefused("A shop is exported outside of transactions.")
    if connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            cursor.execute("SET LOCAL statement_timeout = 0")
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            yield
        return
    # Django would begin with the lock of a writer.
    with connection.cursor() as cursor:
        cursor.execute("BEGIN DEFERRED")
        try:
            yield
        finally:
            cursor.execute("ROLLBACK")
