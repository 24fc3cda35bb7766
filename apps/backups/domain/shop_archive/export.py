"""Exports a shop into an archive while the installation runs."""

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

from apps.backups.domain.manifests import BackupRefused, FileDigest
from apps.backups.domain.shop_archive.files import FileCopier
from apps.backups.domain.shop_archive.format import (
    FILES,
    IDENTITY,
    Archive,
    Manifest,
    TableInfo,
    digest_file,
    get_current_migrations,
)
from apps.backups.domain.shop_archive.format import get_table_path as place_of
from apps.backups.domain.shop_archive.identities import MODELS, ReferenceColumns, ReferencedIds
from apps.backups.domain.shop_archive.schema import Table, list_tables
from apps.backups.domain.shop_archive.serialization import Row, serialize_row
from apps.core.db.encrypted_fields import encrypt
from apps.core.jobs.models import Job
from apps.core.tenancy import read_only
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import all_shops_scope
from apps.webhooks.models import Delivery

SEALED_TEXT = "a shop of ours"


# The maximum wait for running work. A lease that is not renewed expires within this time.
_PATIENCE_SECONDS = 60
_POLL_SECONDS = 0.1


def export_shop(domain: str, folder: Path, *, refresh: bool = False, final: bool = False) -> Manifest:
    """Export a shop into an archive, or resume an interrupted export.

    Args:
        domain: The domain of the shop.
        folder: The directory of the archive.
        refresh: Whether to update a finished archive. Files that are already in the archive are not copied again.
        final: Whether this is the last export before the shop moves. The shop becomes read-only after its files are
            copied, and stays read-only even if the export fails. The archive then contains every committed write.

    Raises:
        BackupRefused: The shop does not exist, the directory has other contents, or running jobs or deliveries do not
            finish in time.
        TableBusy: The shop could not be made read-only.
    """
    shop = Shop.objects.filter(domain=domain).first()
    if shop is None:
        raise BackupRefused(f"There is no shop {domain}.")
    archive = Archive(folder)
    old = os.umask(0o077)
    try:
        archive.create_directory(shop.pk, shop.domain, refresh=refresh or final)
        files = FileCopier(archive, shop.pk)
        files.copy()
        if final:
            read_only.make_read_only(shop, at=timezone.now())
            _wait_for_running_work(shop)
        with all_shops_scope(), read_snapshot():
            manifest = _write_rows(archive, shop.pk)
        files.copy()
        manifest.parts[FILES], number, size = files.finish()
        manifest.parts[IDENTITY] = digest_file(folder / IDENTITY)
        manifest = replace(manifest, files=number, bytes=size)
        archive.finish(manifest)
        return manifest
    finally:
        os.umask(old)


def _wait_for_running_work(shop: Shop) -> None:
    """Wait until the shop's running jobs and deliveries finish. A read-only shop starts no new jobs or deliveries."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    with all_shops_scope():
        jobs = Job.objects.filter(shop=shop, state=Job.State.RUNNING, lease_until__gt=Now())
        deliveries = Delivery.objects.filter(shop=shop, state=Delivery.State.LEASED, lease_until__gt=Now())
        while jobs.exists() or deliveries.exists():
            if time.monotonic() > deadline:
                raise BackupRefused(
                    f"{shop.domain} is now read-only, but a job or webhook delivery of the shop is still running."
                    " Export again later, or make the shop writable with set_shop_read_only --off."
                )
            time.sleep(_POLL_SECONDS)


def _write_rows(archive: Archive, shop_id: int) -> Manifest:
    """Write all rows of the snapshot and return the manifest, without the number and size of the files."""
    shop = Shop.objects.get(pk=shop_id)
    references = ReferencedIds()
    parts: dict[str, FileDigest] = {}
    table_infos: dict[str, TableInfo] = {}
    made_at = timezone.now().isoformat(timespec="seconds")
    for table in list_tables():
        lines = _CountedLines(table, shop_id, references)
        parts[place_of(table.name)] = archive.write(place_of(table.name), lines)
        columns = [column.attname for column in table.fields]
        table_infos[table.name] = TableInfo(columns, lines.rows, lines.lowest, lines.highest)
    for kind in MODELS:
        parts[f"{kind}.jsonl.gz"] = archive.write(f"{kind}.jsonl.gz", references.lines(kind, shop_id))
    return Manifest(
        made_at=made_at,
        shop_id=shop_id,
        domain=shop.domain,
        handle=shop.handle,
        sealed=encrypt(SEALED_TEXT),
        migrations=get_current_migrations(),
        tables=table_infos,
        files=0,
        bytes=0,
        parts=parts,
    )


class _CountedLines:
    """Serializes the rows of a table, counts them and collects their references."""

    def __init__(self, table: Table, shop_id: int, references: ReferencedIds) -> None:
        self.rows = 0
        self.lowest: Any = None
        self.highest: Any = None
        self._table, self._shop_id, self._named = table, shop_id, references

    def __iter__(self) -> Iterator[bytes]:
        columns, fields = ReferenceColumns.from_table(self._table), self._table.fields
        key = next(index for index, column in enumerate(fields) if column.primary_key)
        for row in stream_rows(self._table, self._shop_id):
            self._named.add_row(columns, row)
            self.lowest = row[key] if self.lowest is None else self.lowest
            self.highest = row[key]
            self.rows += 1
            yield serialize_row(fields, row)


def stream_rows(table: Table, shop_id: int) -> Iterator[Row]:
    """Yield the rows of a shop by ascending primary key, from a server-side cursor."""
    compiler = table.rows(shop_id).query.get_compiler(connection.alias)
    yield from compiler.results_iter(tuple_expected=True, chunked_fetch=True, chunk_size=2000)


@contextmanager
def read_snapshot() -> Iterator[None]:
    """Make all queries in the context read from the same snapshot, without blocking writers.

    Raises:
        BackupRefused: A transaction is already open, so no new snapshot is possible.
    """
    if connection.in_atomic_block:
        raise BackupRefused("Run the export outside a transaction.")
    if connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            cursor.execute("SET LOCAL statement_timeout = 0")
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            yield
        return
    # Begin the transaction with SQL, because ``transaction.atomic()`` would acquire SQLite's write lock.
    with connection.cursor() as cursor:
        cursor.execute("BEGIN DEFERRED")
        try:
            yield
        finally:
            cursor.execute("ROLLBACK")
