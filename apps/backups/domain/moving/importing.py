"""A shop out of an archive into this installation."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from cryptography.fernet import InvalidToken
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction
from django.db.models import Q
from django.utils.text import slugify

from apps.backups.domain.manifests import BackupRefused
from apps.backups.domain.moving import files, verifying
from apps.backups.domain.moving.archives import Archive, Manifest, migrations_now, part_of_table
from apps.backups.domain.moving.arriving import Arrival, Place
from apps.backups.domain.moving.callers import Known
from apps.backups.domain.moving.tables import Table, tables
from apps.backups.domain.moving.values import row_of, stored
from apps.ground import ids
from apps.ground.tenancy import every_shop
from apps.shops.models import Shop
from apps.shops.models.secrets import decrypt
from apps.shops.models.shops import DOMAIN

T = TypeVar("T")

_AT_ONCE = 2000
# Of what stands in the way; more of the same says no more.
_SHOWN = 10


def bring(folder: Path, *, copy_as: str = "") -> tuple[Manifest, int]:
    """Make the shop of an archive here; returns what it held, and how many files were not here yet.

    Args:
        folder: The archive.
        copy_as: The domain of a staging copy, see ``arriving``; blank for the shop itself.

    Raises:
        BackupRefused: It does not fit here, or what came out is not what went in; then no row of it is here.
    """
    archive = Archive(folder)
    manifest = archive.manifest()
    _fits(manifest)
    place = _place(manifest, copy_as)
    _is_free(manifest, place)
    with every_shop():
        _nothing_taken(archive, manifest)
        known = Known.read(archive)
        arrival = Arrival(archive, manifest, known, place)
        if not place.is_copy and (lacking := list(known.unapplied())):
            raise BackupRefused(
                f"Subscriptions of the configuration file are missing here for {', '.join(lacking)}:"
                " run apply_app_config first, then import again."
            )
        new_files = files.put(archive, manifest)
        try:
            with transaction.atomic():
                _write(arrival)
                _prove(verifying.rows_differing(arrival))
        except IntegrityError as error:
            raise BackupRefused(f"The database refused a row: {error}") from error
    _prove(files.differing(archive, manifest))
    return manifest, new_files


def verify(folder: Path, *, copy_as: str = "") -> Manifest:
    """Compare the shop that is here, or its staging copy, with an archive, row by row and file by file.

    Raises:
        BackupRefused: Something differs, or the archive is damaged.
    """
    archive = Archive(folder)
    manifest = archive.manifest()
    _fits(manifest)
    with every_shop():
        _prove(verifying.differing(Arrival(archive, manifest, Known.read(archive), _place(manifest, copy_as))))
    return manifest


def _fits(manifest: Manifest) -> None:
    here = migrations_now()
    if other := sorted(app for app in {*here, *manifest.migrations} if here.get(app) != manifest.migrations.get(app)):
        shown = ", ".join(
            f"{app} {manifest.migrations.get(app, '—')} there, {here.get(app, '—')} here" for app in other
        )
        raise BackupRefused(f"The archive is of another release ({shown}): upgrade the older one, and export again.")
    columns = {table.name: [one.attname for one in table.fields] for table in tables()}
    if columns != {name: table.columns for name, table in manifest.tables.items()}:
        raise BackupRefused("The archive has other tables or columns: it is of another release.")
    try:
        decrypt(manifest.sealed)
    except InvalidToken:
        raise BackupRefused(
            "Secrets of the archive cannot be opened: add the secret key of the installation that it comes from to"
            " BACKOFFICE_SECRET_KEY_FALLBACKS of this one, for links that it signed too."
        ) from None


def _place(manifest: Manifest, copy_as: str) -> Place:
    """Where the shop shall be.

    Raises:
        BackupRefused: What a copy shall be called is no domain, or the shop's own.
    """
    if not copy_as:
        return Place(manifest.domain, manifest.handle)
    domain = copy_as.lower()
    try:
        DOMAIN(domain)
    except ValidationError:
        raise BackupRefused(f"{copy_as} is no domain that a shop can have.") from None
    if domain == manifest.domain:
        raise BackupRefused("A copy needs a domain of its own: links of the shop's customers must not lead to it.")
    return Place(domain, slugify(domain.partition(".")[0])[:63] or "copy", is_copy=True)


def _is_free(manifest: Manifest, place: Place) -> None:
    if here := Shop.objects.filter(pk=manifest.shop_id).first():
        raise BackupRefused(
            f"The shop is here already: {here.domain}, with the id {here.pk}. As ids stay, a staging copy needs"
            " another installation."
        )
    names = Q(domain=place.domain) | Q(handle=place.handle)
    if other := Shop.objects.filter(names).first():
        raise BackupRefused(f"Another shop has the domain {other.domain} or the handle {other.handle} here.")


def _nothing_taken(archive: Archive, manifest: Manifest) -> None:
    """No id of the archive, and no other value that is unique in the installation, is another shop's."""
    taken = []
    for table in tables():
        unique = [(place, one) for place, one in enumerate(table.fields) if _is_unique(one)]
        held = manifest.tables[table.name]
        if not held.rows or not unique:
            continue
        rows = table.model._base_manager
        if len(unique) == 1 and not rows.filter(pk__range=(held.lowest, held.highest)).exists():
            continue
        for some in _some(archive.read(part_of_table(table.name)), _AT_ONCE):
            values = [row_of(table.fields, line) for line in some]
            for place, one in unique:
                there = rows.filter(**{f"{one.attname}__in": [row[place] for row in values]})
                taken += [f"{table.name}.{one.attname} {value}" for value in there.values_list(one.attname, flat=True)]
    if taken:
        more = f", and {len(taken) - _SHOWN} more" if len(taken) > _SHOWN else ""
        raise BackupRefused(f"Taken by another shop here: {', '.join(sorted(taken)[:_SHOWN])}{more}.")


def _is_unique(field: Any) -> bool:
    """Whether a value can stand once in the installation; a domain or handle was looked at before."""
    return field.unique and not (field.is_relation and not field.primary_key) and field.model is not Shop


def _write(arrival: Arrival) -> None:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL statement_timeout = 0")
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        else:
            cursor.execute("PRAGMA defer_foreign_keys = ON")
    everything = tables()
    (shop,) = (table for table in everything if table.model is Shop)
    _insert(shop, arrival)
    arrival.known.make()
    for table in everything:
        if table is not shop:
            _insert(table, arrival)
    ids.move_past()


def _insert(table: Table, arrival: Arrival) -> None:
    """Write rows with their ids and time stamps."""
    rows = ([stored(one, value) for one, value in zip(table.fields, row, strict=True)] for row in arrival.rows(table))
    quote = connection.ops.quote_name
    names = ", ".join(quote(one.column) for one in table.fields)
    into = f"{quote(table.name)} ({names})"
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            with cursor.copy(f"COPY {into} FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
            return
        places = ", ".join(["%s"] * len(table.fields))
        for some in _some(rows, _AT_ONCE):
            cursor.executemany(f"INSERT INTO {into} VALUES ({places})", some)  # noqa: S608 - names of our own


def _some(things: Iterable[T], number: int) -> Iterator[list[T]]:
    left = iter(things)
    while some := list(islice(left, number)):
        yield some


def _prove(differences: Iterator[str]) -> None:
    found = [one for one, _ in zip(differences, range(_SHOWN), strict=False)]
    if found:
        raise BackupRefused(f"What is here is not what the archive holds: {'; '.join(found)}.")
