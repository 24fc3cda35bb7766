"""Whether a shop here is what an archive says: row by row, file by file."""

from collections.abc import Iterator
from itertools import zip_longest

from apps.backups.domain.moving import files
from apps.backups.domain.moving.arriving import Arrival
from apps.backups.domain.moving.callers import MODELS
from apps.backups.domain.moving.exporting import streamed
from apps.backups.domain.moving.tables import tables
from apps.backups.domain.moving.values import same


def rows_differing(arrival: Arrival) -> Iterator[str]:
    """Each row that differs, is missing, or is one too many; call it with every shop in sight."""
    for kind in MODELS:
        for values in arrival.known.missing[kind]:
            yield f"{kind}: {values.get('email') or values.get('api_key') or values.get('topic')} is not here"
    for table in tables():
        fields = table.fields
        key = next(place for place, one in enumerate(fields) if one.primary_key)
        for wanted, row in zip_longest(arrival.rows(table), streamed(table, arrival.manifest.shop_id)):
            if wanted is None or row is None:
                yield f"{table.name}: other numbers of rows"
                break
            if not same(wanted, row):
                names = [one.attname for one, a, b in zip(fields, wanted, row, strict=True) if not same((a,), (b,))]
                yield f"{table.name} {wanted[key]}: {', '.join(names) or 'another row'}"


def differing(arrival: Arrival) -> Iterator[str]:
    """Rows and files that differ."""
    yield from rows_differing(arrival)
    yield from files.differing(arrival.archive, arrival.manifest)
