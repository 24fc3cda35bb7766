"""Compares a shop with its archive, row by row and file by file."""

from collections.abc import Iterator
from itertools import zip_longest

from apps.backups.domain.shop_archive import files
from apps.backups.domain.shop_archive.export import stream_rows
from apps.backups.domain.shop_archive.identities import MODELS
from apps.backups.domain.shop_archive.import_policies import ArchiveImport
from apps.backups.domain.shop_archive.schema import list_tables
from apps.backups.domain.shop_archive.serialization import rows_equal


def compare_rows(arrival: ArchiveImport) -> Iterator[str]:
    """Yield a description of each difference between the rows of the shop and the archive.

    Call this within ``all_shops_scope()``.
    """
    for kind in MODELS:
        for values in arrival.identities.missing[kind]:
            yield f"{kind}: {values.get('email') or values.get('api_key') or values.get('topic')} is missing"
    for table in list_tables():
        fields = table.fields
        key = next(index for index, column in enumerate(fields) if column.primary_key)
        for expected, row in zip_longest(arrival.rows(table), stream_rows(table, arrival.manifest.shop_id)):
            if expected is None or row is None:
                yield f"{table.name}: the number of rows differs"
                break
            if not rows_equal(expected, row):
                names = [
                    column.attname
                    for column, a, b in zip(fields, expected, row, strict=True)
                    if not rows_equal((a,), (b,))
                ]
                yield f"{table.name} {expected[key]}: {', '.join(names) or 'another row'}"


def compare_shop(arrival: ArchiveImport) -> Iterator[str]:
    """Yield a description of each difference between the shop and the archive, in rows and files."""
    yield from compare_rows(arrival)
    yield from files.compare_files(arrival.archive, arrival.manifest)
