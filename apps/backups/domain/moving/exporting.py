"""A shop into an archive, while everything runs."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from apps.backups.domain.manifests import BackupRefused, Part
from apps.backups.domain.moving.archives import BEGUN, FILES, Archive, Manifest, Stored, migrations_now, part
from apps.backups.domain.moving.archives import part_of_table as place_of
from apps.backups.domain.moving.callers import MODELS, Columns, Named
from apps.backups.domain.moving.files import Copying
from apps.backups.domain.moving.tables import Table, tables
from apps.backups.domain.moving.values import Row, line_of
from apps.ground.tenancy import every_shop
from apps.shops.models import Shop
from apps.shops.models.secrets import encrypt

SEALED = "a shop of ours"


def export(domain: str, folder: Path, *, refresh: bool = False) -> Manifest:
    """Write a shop into an archive, or go on where an export of it broke off.

    Args:
        domain: The shop's.
        folder: The archive.
        refresh: Whether a finished archive is brought up to date; its files are not copied again.

    Raises:
        BackupRefused: There is no such shop, or something else is in the folder.
    """
    shop = Shop.objects.filter(domain=domain).first()
    if shop is None:
        raise BackupRefused(f"There is no shop {domain}.")
    archive = Archive(folder)
    old = os.umask(0o077)
    try:
        archive.begin(shop.pk, shop.domain, refresh=refresh)
        files = Copying(archive, shop.pk)
        files.copy()
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
