"""Rows of a file that are dealt with together."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from apps.exchange.domain.kinds import AT_ONCE, Importer, importers
from apps.exchange.domain.rows import Body, RawRow


class Numbered(NamedTuple):
    """An object of a file: which one it is, from 1, what it holds, and by what it is known again within the file."""

    number: int
    row: RawRow
    keys: Sequence[str]


def numbered(rows: Iterator[RawRow]) -> Iterator[Numbered]:
    """The objects of a file with their numbers and keys."""
    for number, row in enumerate(rows, 1):
        yield Numbered(number, row, () if row.body is None else importers()[row.kind].keys(row, row.body))


def batches(rows: Iterator[Numbered]) -> Iterator[list[Numbered]]:
    """Rows that stand one behind the other, are of one kind, and have no key in common.

    What one row makes is thus known to every row of the file that is about the same. Rows that are taken in alone come
    in batches of one; rows that cannot be read go along with those before them.
    """
    batch: list[Numbered] = []
    kind, keys = "", set[str]()
    for each in rows:
        row = each.row
        together = row.body is None or _together(importers()[row.kind], row.body)
        other = row.body is not None and kind not in {"", row.kind}
        most = min(AT_ONCE, importers()[kind or row.kind].at_once) if kind or row.kind else AT_ONCE
        if batch and (not together or other or len(batch) >= most or not keys.isdisjoint(each.keys)):
            yield batch
            batch, kind, keys = [], "", set()
        batch.append(each)
        keys.update(each.keys)
        kind = kind if row.body is None else row.kind
        if not together:
            yield batch
            batch, kind, keys = [], "", set()
    if batch:
        yield batch


def _together(importer: Importer, body: Body) -> bool:
    return importer.take_in_many is not None and not importer.alone(body)
