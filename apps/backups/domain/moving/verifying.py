"""Whether a shop here is what an archive says: row by row, file by file."""

from collections.abc import Iterator
from itertools import zip_longest

from apps.backups.domain.moving import files
from apps.backups.domain.moving.archives import Archive, Manifest, part_of_table
from apps.backups.domain.moving.callers import MODELS, Columns, Known
from apps.backups.domain.moving.exporting import streamed
from apps.backups.domain.moving.tables import tables
from apps.backups.domain.moving.values import row_of, same


def rows_differing(archive: Archive, manifest: Manifest, known: Known) -> Iterator[str]:
    """Each row that differs, is missing, or is one too many; call it with every shop in sight."""
    for kind in MODELS:
        for values in known.missing[kind]:
            yield f"{kind}: {values.get('email') or values.get('api_key') or values.get('topic')} is not here"
    for table in tables():
        columns, fields = Columns.of(table), table.fields
        key = next(place for place, one in enumerate(fields) if one.primary_key)
        lines = archive.read(part_of_table(table.name))
        for line, row in zip_longest(lines, streamed(table, manifest.shop_id)):
            if line is None or row is None:
                yield f"{table.name}: other numbers of rows"
                break
            wanted = columns.renamed(row_of(fields, line), known)
            if not same(wanted, row):
                names = [one.attname for one, a, b in zip(fields, wanted, row, strict=True) if not same((a,), (b,))]
                yield f"{table.name} {wanted[key]}: {', '.join(names) or 'another row'}"


def differing(archive: Archive, manifest: Manifest, known: Known) -> Iterator[str]:
    """Rows and files that differ."""
    yield from rows_differing(archive, manifest, known)
    yield from files.differing(archive, manifest)
