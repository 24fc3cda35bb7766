"""Imports a shop from an archive into this installation."""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any, TypeVar

from cryptography.fernet import InvalidToken
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction
from django.db.models import Q
from django.utils.text import slugify

from apps.backups.domain.databases import disable_timeouts
from apps.backups.domain.manifests import BackupRefused, get_current_migrations
from apps.backups.domain.shop_archive import files
from apps.backups.domain.shop_archive.export import stream_rows
from apps.backups.domain.shop_archive.format import Archive, Manifest, get_table_path
from apps.backups.domain.shop_archive.identities import MODELS, IdentityMap
from apps.backups.domain.shop_archive.import_policies import ArchiveImport, ShopNames
from apps.backups.domain.shop_archive.schema import Table, list_tables
from apps.backups.domain.shop_archive.serialization import parse_row, rows_equal, to_driver_value
from apps.core.db import id_sequences
from apps.core.db.encrypted_fields import decrypt
from apps.core.tenancy.models import Shop
from apps.core.tenancy.models.shops import DOMAIN
from apps.core.tenancy.scope import all_shops_scope

T = TypeVar("T")

_BATCH_SIZE = 2000
# The maximum number of conflicting values that an error message lists.
_MAX_LISTED = 10


def import_shop(folder: Path, *, copy_as: str = "") -> tuple[Manifest, int]:
    """Import the shop of an archive, and return the manifest and the number of new files.

    Args:
        folder: The directory of the archive.
        copy_as: The domain of a staging copy (see ``import_policies``), or "" to import the shop itself.

    Raises:
        BackupRefused: The archive cannot be imported here, or the result differs from the archive. No rows are imported
            in either case.
    """
    archive = Archive(folder)
    manifest = archive.read_manifest()
    _check_compatibility(manifest)
    names = _get_names(manifest, copy_as)
    _check_names_free(manifest, names)
    with all_shops_scope():
        _check_values_free(archive, manifest)
        identities = IdentityMap.read(archive)
        arrival = ArchiveImport(archive, manifest, identities, names)
        if not names.is_copy and (incomplete_apps := identities.get_incomplete_apps()):
            raise BackupRefused(
                f"Configuration-file subscriptions are missing here for {', '.join(incomplete_apps)}."
                " Run apply_app_config, then import again."
            )
        new_files = files.import_files(archive, manifest)
        try:
            with transaction.atomic():
                _insert_all(arrival)
                _raise_on_differences(_compare_rows(arrival))
        except IntegrityError as error:
            raise BackupRefused(f"The database refused a row: {error}") from error
    _raise_on_differences(files.compare_files(archive, manifest))
    return manifest, new_files


def verify_shop(folder: Path, *, copy_as: str = "") -> Manifest:
    """Compare the existing shop, or its staging copy, with an archive, row by row and file by file.

    Raises:
        BackupRefused: The shop differs from the archive, or the archive is damaged.
    """
    archive = Archive(folder)
    manifest = archive.read_manifest()
    _check_compatibility(manifest)
    with all_shops_scope():
        arrival = ArchiveImport(archive, manifest, IdentityMap.read(archive), _get_names(manifest, copy_as))
        _raise_on_differences(chain(_compare_rows(arrival), files.compare_files(archive, manifest)))
    return manifest


def _check_compatibility(manifest: Manifest) -> None:
    here, there = get_current_migrations(), manifest.migrations
    if differing_apps := sorted(app for app in {*here, *there} if here.get(app) != there.get(app)):
        differences = ", ".join(
            f"{app} {there.get(app, '—')} there, {here.get(app, '—')} here" for app in differing_apps
        )
        raise BackupRefused(
            f"The archive is from another release ({differences}). Upgrade the older installation, and export again."
        )
    columns = {table.name: [column.attname for column in table.fields] for table in list_tables()}
    if columns != {name: table.columns for name, table in manifest.tables.items()}:
        raise BackupRefused("The archive has different tables or columns, because it is from another release.")
    try:
        decrypt(manifest.sealed)
    except InvalidToken:
        raise BackupRefused(
            "Cannot decrypt the secrets of the archive. Add the secret key of the source installation to"
            " BACKOFFICE_SECRET_KEY_FALLBACKS here. Links signed by the source installation need this key, too."
        ) from None


def _get_names(manifest: Manifest, copy_as: str) -> ShopNames:
    """Return the domain and handle for the imported shop.

    Raises:
        BackupRefused: The domain for the staging copy is invalid, or is the domain of the original shop.
    """
    if not copy_as:
        return ShopNames(manifest.domain, manifest.handle)
    domain = copy_as.lower()
    try:
        DOMAIN(domain)
    except ValidationError:
        raise BackupRefused(f"{copy_as} is not a valid shop domain.") from None
    if domain == manifest.domain:
        raise BackupRefused("A copy needs its own domain, so that customers' links don't lead to the copy.")
    return ShopNames(domain, slugify(domain.partition(".")[0])[:63] or "copy", is_copy=True)


def _check_names_free(manifest: Manifest, new_names: ShopNames) -> None:
    if existing := Shop.objects.filter(pk=manifest.shop_id).first():
        raise BackupRefused(
            f"The shop already exists here: {existing.domain}, with the ID {existing.pk}. A staging copy keeps the IDs,"
            " so it needs another installation."
        )
    condition = Q(domain=new_names.domain) | Q(handle=new_names.handle)
    if conflicting := Shop.objects.filter(condition).first():
        raise BackupRefused(
            f"Another shop here has the domain {conflicting.domain} or the handle {conflicting.handle}."
        )


def _check_values_free(archive: Archive, manifest: Manifest) -> None:
    """Raise an error if an ID or another unique value in the archive already exists here."""
    conflicting_values = []
    for table in list_tables():
        unique = [(index, column) for index, column in enumerate(table.fields) if _is_unique(column)]
        table_info = manifest.tables[table.name]
        if not table_info.rows or not unique:
            continue
        rows = table.model._base_manager
        # ``range`` does not exist for primary keys that are foreign keys.
        if len(unique) == 1 and not rows.filter(pk__gte=table_info.lowest, pk__lte=table_info.highest).exists():
            continue
        parse = partial(parse_row, table.fields)
        for values in _batch(archive.read(get_table_path(table.name), parse), _BATCH_SIZE):
            for index, column in unique:
                conflicts = rows.filter(**{f"{column.attname}__in": [row[index] for row in values]})
                conflicting_values += [
                    f"{table.name}.{column.attname} {value}"
                    for value in conflicts.values_list(column.attname, flat=True)
                ]
    if conflicting_values:
        more = f", and {len(conflicting_values) - _MAX_LISTED} more" if len(conflicting_values) > _MAX_LISTED else ""
        raise BackupRefused(
            f"Another shop here already uses these values: {', '.join(sorted(conflicting_values)[:_MAX_LISTED])}{more}."
        )


def _is_unique(field: Any) -> bool:
    """Return True if a column must be checked for conflicts. The shop's domain and handle are checked separately."""
    return field.unique and not (field.is_relation and not field.primary_key) and field.model is not Shop


def _insert_all(arrival: ArchiveImport) -> None:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            disable_timeouts(cursor)
        else:
            cursor.execute("PRAGMA defer_foreign_keys = ON")
    all_tables = list_tables()
    (shop,) = (table for table in all_tables if table.model is Shop)
    _insert(shop, arrival)
    arrival.identities.create_missing()
    for table in all_tables:
        if table is not shop:
            _insert(table, arrival)
    id_sequences.advance_sequences()


def _insert(table: Table, arrival: ArchiveImport) -> None:
    """Insert the rows of a table with their IDs and timestamps."""
    fields, quote = table.fields, connection.ops.quote_name
    rows = (
        [to_driver_value(column, value) for column, value in zip(fields, row, strict=True)]
        for row in arrival.rows(table)
    )
    names = ", ".join(quote(column.column) for column in fields)
    into = f"{quote(table.name)} ({names})"
    placeholders = ", ".join(["%s"] * len(fields))
    with connection.cursor() as cursor:
        # Complete each batch before COPY, because looking up a person or an app needs the connection.
        for batch in _batch(rows, _BATCH_SIZE):
            if connection.vendor == "postgresql":
                with cursor.copy(f"COPY {into} FROM STDIN") as copy:
                    for row in batch:
                        copy.write_row(row)
            else:
                cursor.executemany(f"INSERT INTO {into} VALUES ({placeholders})", batch)  # noqa: S608 - names of our own


def _batch(items: Iterable[T], size: int) -> Iterator[list[T]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch


def _compare_rows(arrival: ArchiveImport) -> Iterator[str]:
    """Yield a description of each difference between the rows of the shop and the archive."""
    for kind in MODELS:
        for values in arrival.identities.missing[kind]:
            yield f"{kind}: {values.get('email') or values.get('api_key') or values.get('topic')} is missing"
    for table in list_tables():
        for expected, row in zip_longest(arrival.rows(table), stream_rows(table, arrival.manifest.shop_id)):
            if expected is None or row is None:
                yield f"{table.name}: the number of rows differs"
                break
            if not rows_equal(expected, row):
                columns = zip(table.fields, expected, row, strict=True)
                names = [column.attname for column, a, b in columns if not rows_equal((a,), (b,))]
                yield f"{table.name} {expected[table.key_index]}: {', '.join(names) or 'another row'}"


def _raise_on_differences(differences: Iterator[str]) -> None:
    if sample := list(islice(differences, _MAX_LISTED)):
        raise BackupRefused(f"The shop differs from the archive: {'; '.join(sample)}.")
