"""Parse an import file into objects. An object that can't be read has an error message instead of a body."""

import io
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from typing import IO, NamedTuple

from apps.core.i18n.messages import as_message, define_message
from apps.core.strict_json import InvalidJson, parse_json
from apps.imports_exports.domain.column_mapping import ColumnMapping, ColumnReading, apply_mapping, detect_columns
from apps.imports_exports.domain.csv_reader import BadRow, open_table
from apps.imports_exports.domain.duplicate_index import DuplicateIndex
from apps.imports_exports.domain.resources import get_importers, resources
from apps.imports_exports.domain.row_groups import Rows, SeparateRows, create_row, iterate_groups
from apps.imports_exports.domain.rows import ImportRow
from apps.imports_exports.models import Format

_NO_JSON = define_message("imports.not_json", "is not valid JSON: {error}")
_NO_OBJECT = define_message("imports.wrong_line", "the line must be {forms}")
_TOO_LONG = define_message("imports.line_too_long", "is longer than {limit} bytes")

# The number of sample values per column, the maximum length of a sample value, and the number of rows to read.
_SAMPLE_COUNT, _MAX_SAMPLE_LENGTH, _SAMPLED_ROWS = 3, 40, 50
# Maximum length of a JSON line in bytes. An order with 500 line items can have several mebibytes.
MAX_JSON_LINE = 16 * 1024 * 1024
# Maximum number of unknown columns that staff see.
MAX_UNKNOWN = 100


def parse_file(file: IO[bytes], file_format: str, mapping: ColumnMapping | None = None) -> Iterator[ImportRow]:
    """Yield the objects of a file. Without ``mapping``, detect the columns.

    Raises:
        UnreadableFile: If the header of a CSV file is unusable.
    """
    if file_format == Format.JSON_LINES:
        yield from _parse_json_lines(file)
        return
    text = _decode(file)
    reading, rows = _read_table(text, mapping)
    if reading.importer.group_by:
        with closing(DuplicateIndex()) as known_cells, closing(SeparateRows()) as separate_rows:
            if reading.importer.loose_rows:
                separate_rows.collect(reading, rows)
                text.seek(0)
                rows = _read_table(text, mapping)[1]
            yield from iterate_groups(reading, rows, known_cells, separate_rows)
        return
    for line, row in rows:
        if isinstance(row, BadRow):
            yield ImportRow(line, reading.kind, problem=row.reason)
        else:
            yield create_row(line, reading, [reading.get_cells(row)])


class IgnoredColumns(NamedTuple):
    """Columns of a CSV file, or members of JSON objects, that an import would ignore (see ``ColumnReading``)."""

    unknown: list[str]
    unsupported: list[str]


def find_ignored_in_file(file: IO[bytes], file_format: str, mapping: ColumnMapping | None = None) -> IgnoredColumns:
    """Find the columns or members of a file that would be ignored.

    Raises:
        UnreadableFile: If the header of a CSV file is unusable.
    """
    if file_format != Format.JSON_LINES:
        reading = _read_table(_decode(file), mapping)[0]
        return IgnoredColumns(list(reading.unknown)[:MAX_UNKNOWN], list(reading.unsupported)[:MAX_UNKNOWN])
    unknown: dict[str, None] = {}
    for row in _parse_json_lines(file):
        unknown |= dict.fromkeys(sorted(row.unknown))
        if len(unknown) > MAX_UNKNOWN:
            break
    return IgnoredColumns(list(unknown)[:MAX_UNKNOWN], [])


def _parse_json_lines(file: IO[bytes]) -> Iterator[ImportRow]:
    kinds = {resources[name].singular: name for name in get_importers()}
    line = 0
    while text := file.readline(MAX_JSON_LINE + 1):
        line += 1
        if len(text) > MAX_JSON_LINE:
            while text and not text.endswith(b"\n"):
                text = file.readline(MAX_JSON_LINE)
            yield ImportRow(line, problem=_TOO_LONG(limit=MAX_JSON_LINE))
        elif text.strip():
            yield _parse_json_row(line, text.strip().removeprefix(b"\xef\xbb\xbf"), kinds)


def _parse_json_row(line: int, text: bytes, kinds: dict[str, str]) -> ImportRow:
    """Parse a line. ``kinds`` are resource names, keyed by the keys that a line may have, such as ``order``."""
    try:
        value = parse_json(text, limit=MAX_JSON_LINE)
    except InvalidJson as error:
        return ImportRow(line, problem=_NO_JSON(error=as_message(str(error))))
    if isinstance(value, dict) and len(value) == 1:
        [(key, body)] = value.items()
        if key in kinds and isinstance(body, dict):
            kind = kinds[key]
            return ImportRow(line, kind, body, unknown=frozenset(body) - get_importers()[kind].members)
    forms = " or ".join(f'{{"{key}": {{…}}}}' for key in sorted(kinds))
    return ImportRow(line, problem=_NO_OBJECT(forms=forms))


def read_columns(file: IO[bytes]) -> dict[str, list[str]]:
    """Return the column names of a CSV file, each with a few sample values.

    Raises:
        UnreadableFile: If the header is unusable.
    """
    table = open_table(_decode(file))
    samples: list[dict[str, None]] = [{} for _ in table.columns]
    for _, row in islice(table.rows, _SAMPLED_ROWS):
        cells = [] if isinstance(row, BadRow) else row
        for values, cell in zip(samples, cells, strict=False):
            if cell.strip() and len(values) < _SAMPLE_COUNT:
                values[cell.strip()[:_MAX_SAMPLE_LENGTH]] = None
    return {column: list(values) for column, values in zip(table.columns, samples, strict=True)}


def _read_table(text: IO[str], mapping: ColumnMapping | None) -> tuple[ColumnReading, Rows]:
    table = open_table(text)
    reading = (
        detect_columns(table.columns, get_importers()) if mapping is None else apply_mapping(table.columns, mapping)
    )
    return reading, table.rows


def _decode(file: IO[bytes]) -> IO[str]:
    return io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline="")
