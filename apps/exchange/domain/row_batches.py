"""Group the rows of a file into batches. Each batch is imported in one transaction."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from apps.exchange.domain.import_rows import Body, ImportRow
from apps.exchange.domain.resources import BATCH_SIZE, Importer, get_importers


class NumberedRow(NamedTuple):
    """A row of a file, with its number (counting from 1) and the keys that identify its object within the file."""

    number: int
    row: ImportRow
    keys: Sequence[str]


def number_rows(rows: Iterator[ImportRow]) -> Iterator[NumberedRow]:
    """Yield the rows with their numbers and keys."""
    for number, row in enumerate(rows, 1):
        yield NumberedRow(number, row, () if row.body is None else get_importers()[row.kind].keys(row, row.body))


def create_batches(rows: Iterator[NumberedRow]) -> Iterator[list[NumberedRow]]:
    """Yield batches of consecutive rows of one resource in which no two rows share a key.

    Rows for the same object are in different batches, so that the later row sees the changes made by the earlier row. A
    row that must be imported alone is in a separate batch. An unreadable row is added to the current batch.
    """
    batch: list[NumberedRow] = []
    kind, keys = "", set[str]()
    for numbered_row in rows:
        row = numbered_row.row
        can_batch = row.body is None or _can_batch(get_importers()[row.kind], row.body)
        is_other_kind = row.body is not None and kind not in {"", row.kind}
        limit = min(BATCH_SIZE, get_importers()[kind or row.kind].batch_size) if kind or row.kind else BATCH_SIZE
        if batch and (not can_batch or is_other_kind or len(batch) >= limit or not keys.isdisjoint(numbered_row.keys)):
            yield batch
            batch, kind, keys = [], "", set()
        batch.append(numbered_row)
        keys.update(numbered_row.keys)
        kind = kind if row.body is None else row.kind
        if not can_batch:
            yield batch
            batch, kind, keys = [], "", set()
    if batch:
        yield batch


def _can_batch(importer: Importer, body: Body) -> bool:
    return importer.import_rows is not None and not importer.must_be_alone(body)
