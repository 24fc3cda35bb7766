"""Parse an import file into objects. An object that can't be read has an error message instead of a body."""

import re
from collections.abc import Iterator
from contextlib import closing
from itertools import chain, islice
from typing import IO, NamedTuple

import orjson

from apps.core.i18n.messages import Message, as_message, define_message
from apps.core.strict_json import InvalidJson, parse_json
from apps.imports_exports.domain.column_mapping import (
    ColumnMapping,
    ColumnReading,
    apply_mapping,
    detect_columns,
    normalize_columns,
)
from apps.imports_exports.domain.csv_reader import BadRow, Table
from apps.imports_exports.domain.duplicate_index import DuplicateIndex
from apps.imports_exports.domain.foreign_tables.conversion import convert_table
from apps.imports_exports.domain.foreign_tables.formats import ConvertedRow
from apps.imports_exports.domain.formats.file_columns import FileColumns
from apps.imports_exports.domain.formats.table_files import TableFile
from apps.imports_exports.domain.resources import get_importers, resources
from apps.imports_exports.domain.row_groups import Rows, SeparateRows, create_bad_row, create_row, iterate_groups
from apps.imports_exports.domain.rows import ImportRow
from apps.imports_exports.models import Import

_NO_JSON = define_message("imports.not_json", "is not valid JSON: {error}")
_NO_OBJECT = define_message("imports.wrong_line", "the line must be {forms}")
_TOO_LONG = define_message("imports.line_too_long", "is longer than {limit} bytes")

# The number of sample values per column, the maximum length of a sample value, and the number of rows to read.
_SAMPLE_COUNT, _MAX_SAMPLE_LENGTH, _SAMPLED_ROWS = 3, 40, 50
# Maximum length of a JSON line in bytes. An order with 500 line items can have several mebibytes.
MAX_JSON_LINE = 16 * 1024 * 1024
# Maximum number of unknown columns that staff see.
MAX_UNKNOWN = 100
# The number of cells that show the encoding, and the number of rows to search for them.
_SPECIAL_COUNT, _SEARCHED_ROWS = 5, 20_000
# The member with the reason in a JSON line of a refused row. An import ignores this member.
REASON_KEY = "import_error"
_REASON_LINE = re.compile(rb'\{\s*"import_error"\s*:\s*"(?:[^"\\]|\\.)*"\s*\}')
_REASON_MEMBER = re.compile(rb',\s*"import_error"\s*:\s*"(?:[^"\\]|\\.)*"\s*\}$')


def parse_file(file: IO[bytes], import_job: Import) -> Iterator[ImportRow]:
    """Yield the objects of the file of an import. Detect the columns, unless the import has a mapping.

    Raises:
        UnreadableFile: If the header of a table is unusable, or a workbook is damaged.
    """
    if not import_job.has_table:
        yield from _parse_json_lines(file)
        return
    with open_table_file(file, import_job) as table_file:
        table = table_file.open(again=True)
        reading = _read_columns(table, import_job.mapping)
        rows = _iterate_rows(table, reading)
        if reading.importer.group_by and reading.importer.max_rows > 1:
            with closing(DuplicateIndex()) as known_cells, closing(SeparateRows()) as separate_rows:
                if reading.importer.loose_rows and reading.foreign_table is None:
                    separate_rows.collect(reading, rows)
                    rows = _iterate_rows(table_file.open(), reading)
                yield from iterate_groups(reading, rows, known_cells, separate_rows)
            return
        for line, row in rows:
            if isinstance(row, BadRow):
                yield create_bad_row(line, reading, row)
            else:
                assert not isinstance(row, ConvertedRow), "Converted rows are always grouped"
                yield create_row(line, reading, [reading.get_cells(row)], [row])


class IgnoredColumns(NamedTuple):
    """Columns of a table, or members of JSON objects, that an import would ignore (see ``ColumnReading``).

    Attributes:
        note: What staff should know about how the file is read.
    """

    unknown: list[str]
    unsupported: list[str]
    note: Message | None = None


def open_table_file(file: IO[bytes], import_job: Import) -> TableFile:
    return TableFile(file, import_job.format, import_job.encoding)


def find_ignored_in_file(file: IO[bytes], import_job: Import) -> IgnoredColumns:
    """Find the columns or members of a file that would be ignored.

    Raises:
        UnreadableFile: If the header of a table is unusable, or a workbook is damaged.
    """
    if import_job.has_table:
        table = open_table_file(file, import_job).open()
        reading = _read_columns(table, import_job.mapping)
        ignored, unsupported = (list(columns)[:MAX_UNKNOWN] for columns in (reading.unknown, reading.unsupported))
        return IgnoredColumns(ignored, unsupported, table.note)
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
            yield ImportRow(line, problem=_TOO_LONG(limit=MAX_JSON_LINE), source=b"")
        elif (text := text.strip().removeprefix(b"\xef\xbb\xbf")) and not _REASON_LINE.fullmatch(text):
            yield _parse_json_row(line, text, kinds)


def add_reason_to_line(text: bytes, reason: str) -> bytes:
    """Add the reason of a refused row to its JSON line. If the line is no object, add a line that imports skip."""
    text, member = _REASON_MEMBER.sub(b"}", text), b'"%s":%s}' % (REASON_KEY.encode(), orjson.dumps(reason))
    is_object = text.startswith(b"{") and text.endswith(b"}") and text[1:-1].strip()
    return b"%s,%s\n" % (text[:-1], member) if is_object else b"{%s\n%s%s" % (member, text, b"\n" if text else b"")


def _parse_json_row(line: int, text: bytes, kinds: dict[str, str]) -> ImportRow:
    """Parse a line. ``kinds`` are resource names, keyed by the keys that a line may have, such as ``order``."""
    try:
        value = parse_json(text, limit=MAX_JSON_LINE)
    except InvalidJson as error:
        return ImportRow(line, problem=_NO_JSON(error=as_message(str(error))), source=text)
    if isinstance(value, dict) and len(value := {key: value[key] for key in value if key != REASON_KEY}) == 1:
        [(key, body)] = value.items()
        if key in kinds and isinstance(body, dict):
            kind = kinds[key]
            unknown = frozenset(body) - get_importers()[kind].members
            file_columns = FileColumns(None, get_importers()[kind].field_columns)
            return ImportRow(line, kind, body, unknown=unknown, source=text, file_columns=file_columns)
    forms = " or ".join(f'{{"{key}": {{…}}}}' for key in sorted(kinds))
    return ImportRow(line, problem=_NO_OBJECT(forms=forms), source=text)


def read_columns(file: IO[bytes], import_job: Import) -> dict[str, list[str]]:
    """Return the column names of a table, each with a few sample values.

    Raises:
        UnreadableFile: If the header is unusable.
    """
    table = open_table_file(file, import_job).open()
    samples: list[dict[str, None]] = [{} for _ in table.columns]
    for _, row in islice(table.rows, _SAMPLED_ROWS):
        cells = [] if isinstance(row, BadRow) else row
        for values, cell in zip(samples, cells, strict=False):
            if cell.strip() and len(values) < _SAMPLE_COUNT:
                values[cell.strip()[:_MAX_SAMPLE_LENGTH]] = None
    return {column: list(values) for column, values in zip(table.columns, samples, strict=True)}


def read_special_cells(file: IO[bytes], import_job: Import) -> list[str]:
    """Return the first cells that show if the encoding of a CSV file is right: those with characters beyond ASCII."""
    table = open_table_file(file, import_job).open()
    rows = (row for _, row in islice(table.rows, _SEARCHED_ROWS) if not isinstance(row, BadRow))
    cells = (cell.strip() for row in chain([table.columns], rows) for cell in row if not cell.isascii())
    found: dict[str, None] = {}
    for cell in cells:
        start = next(index for index, character in enumerate(cell) if not character.isascii())
        found[cell[max(start - _MAX_SAMPLE_LENGTH // 2, 0) :][:_MAX_SAMPLE_LENGTH]] = None
        if len(found) == _SPECIAL_COUNT:
            break
    return list(found)


def _iterate_rows(table: Table, reading: ColumnReading) -> Rows:
    if reading.foreign_table is None:
        return table.rows
    names = normalize_columns(table.columns)
    return convert_table(table, names, reading.foreign_table, reading.importer.group_by)


def _read_columns(table: Table, mapping: ColumnMapping | None) -> ColumnReading:
    return detect_columns(table.columns, get_importers()) if mapping is None else apply_mapping(table.columns, mapping)
