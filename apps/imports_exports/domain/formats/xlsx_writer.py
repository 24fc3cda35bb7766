"""Write .xlsx workbooks in constant memory.

XlsxWriter writes each row to disk at once. Texts are always stored as texts, so that a spreadsheet program neither runs
them as formulas nor changes codes such as 00501. An apostrophe that an import would remove is doubled, as in CSV files.
"""

import tempfile
from collections.abc import Iterable, Sequence
from typing import IO

import orjson
import xlsxwriter
from xlsxwriter.worksheet import Worksheet

from apps.core.exceptions import DomainError
from apps.core.i18n.messages import define_message
from apps.imports_exports.domain.csv_reader import remove_guard

# The limits of a sheet in spreadsheet programs: rows with the header, characters per cell, and digits per number.
MAX_ROWS, MAX_CELL, _MAX_DIGITS = 1_048_576, 32_767, 15
_TOO_LONG = define_message(
    "exports.long_cell",
    "{row}: the value of {column} has more than {limit} characters, which no .xlsx workbook can contain. "
    "Export as CSV or JSON lines",
)
_TOO_MANY = define_message(
    "exports.many_rows", "An .xlsx workbook can't contain more than {limit} rows. Export as CSV or JSON lines"
)


class WorkbookRefused(DomainError):
    """Raised when a workbook can't contain the rows."""


def encode_cells(cells: Iterable[object]) -> bytes:
    """Encode the cells of a row as a line of an intermediate file, from which ``write_workbook`` creates a workbook."""
    return orjson.dumps([_encode_cell(cell) for cell in cells]) + b"\n"


def _encode_cell(cell: object) -> str | float | None:
    if cell is None or cell == "":
        return None
    if isinstance(cell, float) or (isinstance(cell, int) and not isinstance(cell, bool)):
        # A number with more digits would be rounded.
        return cell if len(str(abs(cell)).replace(".", "")) <= _MAX_DIGITS else str(cell)
    return str(cell)


def write_workbook(columns: Iterable[str], lines: Iterable[bytes], target: IO[bytes]) -> None:
    """Write a workbook with one sheet. The temporary files are deleted, even if the disk is full.

    ``lines`` are rows from ``encode_cells``.

    Raises:
        WorkbookRefused: If there are too many rows, or a text is too long.
    """
    with tempfile.TemporaryDirectory() as folder:
        workbook = xlsxwriter.Workbook(target, {"constant_memory": True, "tmpdir": folder})
        sheet = workbook.add_worksheet()
        try:
            _write_rows(sheet, list(columns), lines)
            workbook.close()
        finally:
            # After an error, the file with the rows is still open.
            sheet.row_data_fh.close()


def _write_rows(sheet: Worksheet, names: Sequence[str], lines: Iterable[bytes]) -> None:
    sheet.freeze_panes(1, 0)
    for column, name in enumerate(names):
        sheet.write_string(0, column, name)
    for row, line in enumerate(lines, 1):
        if row >= MAX_ROWS:
            raise WorkbookRefused(_TOO_MANY(limit=MAX_ROWS))
        cells = orjson.loads(line)
        for column, cell in enumerate(cells):
            if isinstance(cell, str):
                text = cell if remove_guard(cell) == cell else f"'{cell}"
                if len(text) > MAX_CELL:
                    label, name = str(cells[0])[:100], names[column] if column < len(names) else str(column + 1)
                    raise WorkbookRefused(_TOO_LONG(row=label, column=name, limit=MAX_CELL))
                sheet.write_string(row, column, text)
            elif cell is not None:
                sheet.write_number(row, column, cell)
