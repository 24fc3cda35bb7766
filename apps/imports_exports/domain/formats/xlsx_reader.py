"""Read the first sheet with rows of an .xlsx workbook, with the same results as a CSV file with the same cells.

The reader is openpyxl, because it reads a sheet row by row and has an MIT license. Faster readers load the whole sheet,
including all blank cells up to the last cell of a sheet that was made to exhaust memory. Before openpyxl opens a
workbook, this module checks the archive's size and structure.
"""

import re
import warnings
import zipfile
import zlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import IO, Any, BinaryIO, cast

from apps.core.i18n.error_messages import format_bytes
from apps.core.i18n.messages import COLUMN_ERROR, as_message, define_message, define_text, join_messages
from apps.core.media.zip_reader import ArchiveRefused, EntryReader, ValidatedZip
from apps.imports_exports.domain.csv_reader import (
    BadRow,
    Table,
    UnreadableFile,
    clean_cells,
    format_bool,
    name_columns,
)

_NO_WORKBOOK = define_message(
    "imports.no_workbook",
    "The file can't be read as an .xlsx workbook: {error} Remove a password, or save the workbook as CSV UTF-8.",
)
_DAMAGED = define_text(
    "imports.damaged_workbook",
    "The workbook is damaged. Save it again in a spreadsheet program and upload it.",
)
_TOO_LARGE = define_message(
    "imports.large_workbook", "The workbook has too many cells, or unpacks to more than {limit}. Save it as CSV UTF-8."
)
_NOT_CALCULATED = define_text(
    "imports.not_calculated",
    "The workbook has formulas without values. Save it again in a spreadsheet program and upload it.",
)
_NO_ROWS = define_text("imports.no_rows", "The workbook has no sheet with rows.")
_SHEET = define_message("imports.sheet", "Only the sheet {sheet} is read. Other sheets with rows: {others}")
_ERROR_VALUE = define_message("imports.error_value", "contains the error {value} of a formula")

MAX_UNPACKED = 200 * 1024 * 1024
_MAX_PACKED, _MAX_ENTRIES = 200 * 1024 * 1024, 5_000
# The limits of a sheet in spreadsheet programs.
_MAX_ROWS, _MAX_COLUMNS = 1_048_576, 16_384
# openpyxl holds the tags of a row, and fills up blank cells before the last cell of a row.
_MAX_TAGS, _MAX_CELLS = 4_000_000, 50_000_000
_OVERLAP = 1024
_DOCTYPE = b"<!DOCTYPE"
# A formula without a value. If the value is an empty text, the cell has the type "str".
_NO_VALUE = re.compile(
    rb"<(?:\w+:)?c(?:\s(?![^>]*\bt=\"str\")[^>]*)?><(?:\w+:)?f\b(?:[^>]*/>|[^>]*>[^<]*</(?:\w+:)?f>)"
    rb"(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v></(?:\w+:)?v>)?</(?:\w+:)?c>"
)
# The errors that openpyxl raises for damaged workbooks.
_ERRORS = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
)
# A character that XML can't contain, as spreadsheet programs write it.
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_ZEROS = re.compile(r"0+")


def open_workbook(file: IO[bytes]) -> Table:
    """Open the first visible sheet with rows.

    Raises:
        UnreadableFile: If the workbook is damaged, unsafe or too large, or has no rows. Iterating over the rows raises
            the same error.
    """
    _check_archive(file)
    with _convert_errors(), warnings.catch_warnings():
        # openpyxl warns about features that it ignores, such as conditional formats.
        warnings.simplefilter("ignore")
        from openpyxl import load_workbook

        workbook = load_workbook(cast(Any, file), read_only=True, data_only=True, keep_links=False)
        # sorted() is stable, so that the visible sheets come first in their order.
        sheets = sorted(workbook.worksheets, key=lambda sheet: sheet.sheet_state != "visible")
        filled = [sheet for sheet in sheets if _has_rows(sheet)]
    if not filled:
        raise UnreadableFile(_NO_ROWS)
    rows = _iterate_rows(filled[0])
    columns = name_columns(_strip_end([_format_cell(cell) for cell in next(rows)[1]]))
    others = ", ".join(sheet.title for sheet in filled[1:])
    note = _SHEET(sheet=filled[0].title, others=others) if others else None
    return Table(columns, _read_rows(rows, columns), note)


def _check_archive(file: IO[bytes]) -> None:
    try:
        archive = ValidatedZip(
            cast(BinaryIO, file), packed_bytes=_MAX_PACKED, unpacked_bytes=MAX_UNPACKED, max_entries=_MAX_ENTRIES
        )
        parts = [entry for entry in archive.entries if not entry.is_dir and entry.name.endswith((".xml", ".rels"))]
        for _, reader in archive.unpack(parts):
            _check_part(reader)
    except ArchiveRefused as error:
        raise UnreadableFile(_NO_WORKBOOK(error=as_message(str(error)))) from None


def _check_part(reader: EntryReader) -> None:
    """Refuse a part with too many tags in a row, or with formulas without values."""
    tags, end = 0, b""
    for chunk in reader.chunks():
        _, is_row_end, rest = chunk.rpartition(b"row>")
        tags = rest.count(b"<") if is_row_end else tags + chunk.count(b"<")
        window = end + chunk
        if tags > _MAX_TAGS or _DOCTYPE in window:
            raise UnreadableFile(_TOO_LARGE(limit=format_bytes(MAX_UNPACKED)))
        if _NO_VALUE.search(window):
            raise UnreadableFile(_NOT_CALCULATED)
        end = window[-_OVERLAP:]


@contextmanager
def _convert_errors() -> Iterator[None]:
    try:
        yield
    except UnreadableFile:
        raise
    except OSError as error:
        # An error with a number comes from the storage. openpyxl raises one without a number for a damaged workbook.
        if error.errno is not None:
            raise
        raise UnreadableFile(_DAMAGED) from error
    except _ERRORS as error:
        raise UnreadableFile(_DAMAGED) from error


def _has_rows(sheet: Any) -> bool:
    with closing(_iterate_rows(sheet)) as rows:
        return next(rows, None) is not None


def _iterate_rows(sheet: Any) -> Generator[tuple[int, Sequence[Any]]]:
    """Yield the number and the cells of each row with a value."""
    # Do not trust the size that the sheet declares.
    sheet.reset_dimensions()
    count = 0
    with _convert_errors():
        for number, cells in enumerate(sheet.iter_rows(), 1):
            count += len(cells)
            if number > _MAX_ROWS or len(cells) > _MAX_COLUMNS or count > _MAX_CELLS:
                raise UnreadableFile(_TOO_LARGE(limit=format_bytes(MAX_UNPACKED)))
            if any(cell.value not in (None, "") for cell in cells):
                yield number, cells


def _read_rows(
    rows: Iterator[tuple[int, Sequence[Any]]], columns: Sequence[str]
) -> Iterator[tuple[int, list[str] | BadRow]]:
    for number, cells in rows:
        texts = [_format_cell(cell) for cell in cells]
        errors = [
            COLUMN_ERROR(column=column, error=_ERROR_VALUE(value=text))
            for column, text, cell in zip(columns, texts, cells, strict=False)
            if cell.data_type == "e"
        ]
        yield number, BadRow(join_messages(errors), texts[: len(columns)]) if errors else clean_cells(texts, columns)


def _strip_end(cells: list[str]) -> list[str]:
    while cells and not cells[-1].strip():
        cells.pop()
    return cells


def _format_cell(cell: Any) -> str:
    """Return the value of a cell as it would be in a CSV file. Dates are in ISO format."""
    value = cell.value
    if value is None:
        return ""
    if isinstance(value, str):
        return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), value) if "_x" in value else value
    if isinstance(value, bool):
        return format_bool(value)
    if isinstance(value, date | time | timedelta):
        return _format_time(value)
    return _format_number(value, cell)


def _format_time(value: date | time | timedelta) -> str:
    if isinstance(value, datetime):
        # Times are stored as fractions of a day.
        rounded = (value + timedelta(milliseconds=500)).replace(microsecond=0)
        return f"{rounded:%Y-%m-%d}" if rounded.time() == time() else rounded.isoformat(" ")
    return str(value) if isinstance(value, timedelta) else value.isoformat()


def _format_number(value: Any, cell: Any) -> str:
    """Return a number with the 15 digits that spreadsheet programs show, and with the zeros of a format like 00000."""
    if isinstance(value, float):
        text = format(Decimal(f"{value:.15g}"), "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    text = str(value)
    return text.zfill(len(cell.number_format)) if _ZEROS.fullmatch(cell.number_format) else text
