"""Exports a shop into an archive while the installation runs."""

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from django.db import connection
from django.db.models.functions import Now
from django.utils import timezone

from apps.backups.domain.databases import read_snapshot
from apps.backups.domain.manifests import BackupRefused, FileDigest, digest_file, get_current_migrations
from apps.backups.domain.shop_archive.files import FileCopier
from apps.backups.domain.shop_archive.format import FILES, IDENTITY, Archive, Manifest, TableInfo, get_table_path
from apps.backups.domain.shop_archive.identities import MODELS, ReferenceColumns, serialize_identities
from apps.backups.domain.shop_archive.schema import Table, list_tables
from apps.backups.domain.shop_archive.serialization import Row, serialize_row
from apps.core.db.encrypted_fields import encrypt
from apps.core.jobs.models import Job
from apps.core.tenancy import read_only
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import all_shops_scope
from apps.webhooks.models import Delivery

# The maximum wait for running work. A lease that is not renewed expires within this time.
_PATIENCE_SECONDS = 60
_POLL_SECONDS = 0.1


def export_shop(domain: str, folder: Path, *, refresh: bool = False, final: bool = False) -> Manifest:
    """Export a shop into an archive, or resume an interrupted export.

    Args:
        domain: The domain of the shop.
        folder: The directory of the archive.
        refresh: Whether to update a finished archive.
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
    referenced_ids: dict[str, set[int]] = {kind: set() for kind in MODELS}
    parts: dict[str, FileDigest] = {}
    table_infos: dict[str, TableInfo] = {}
    made_at = timezone.now().isoformat(timespec="seconds")
    for table in list_tables():
        info = table_infos[table.name] = TableInfo([column.attname for column in table.fields])
        path = get_table_path(table.name)
        parts[path] = archive.write(path, _serialize_rows(table, shop_id, referenced_ids, info))
    for kind, ids in referenced_ids.items():
        parts[f"{kind}.jsonl.gz"] = archive.write(f"{kind}.jsonl.gz", serialize_identities(kind, ids, shop_id))
    return Manifest(
        made_at=made_at,
        shop_id=shop_id,
        domain=shop.domain,
        handle=shop.handle,
        sealed=encrypt("a shop of ours"),
        migrations=get_current_migrations(),
        tables=table_infos,
        files=0,
        bytes=0,
        parts=parts,
    )


def _serialize_rows(
    table: Table, shop_id: int, referenced_ids: dict[str, set[int]], info: TableInfo
) -> Iterator[bytes]:
    """Yield the rows of a table as lines, collect the IDs that they refer to, and count them in ``info``."""
    columns, fields, key = ReferenceColumns.from_table(table), table.fields, table.key_index

    def collect_reference(kind: str, pk: int) -> int:
        referenced_ids[kind].add(pk)
        return pk

    for row in stream_rows(table, shop_id):
        columns.map_references(row, collect_reference)
        info.highest = row[key]
        info.lowest = info.highest if info.lowest is None else info.lowest
        info.rows += 1
        yield serialize_row(fields, row)


def stream_rows(table: Table, shop_id: int) -> Iterator[Row]:
    """Yield the rows of a shop by ascending primary key, from a server-side cursor."""
    compiler = table.rows(shop_id).query.get_compiler(connection.alias)
    yield from compiler.results_iter(tuple_expected=True, chunked_fetch=True, chunk_size=2000)
