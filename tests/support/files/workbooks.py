"""Build and read small .xlsx workbooks."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import openpyxl
import xlsxwriter


class Formula(str):
    """A formula with the value 9.5."""

    __slots__ = ()


def build_workbook(
    rows: Sequence[Sequence[object]], *, others: Mapping[str, Sequence[Sequence[object]]] | None = None
) -> bytes:
    """Return a workbook with the sheet "Data". ``others`` are sheets before it. Numbers can be ``(value, format)``."""
    target = io.BytesIO()
    workbook = xlsxwriter.Workbook(target, {"strings_to_formulas": False})
    for name, sheet_rows in {**(others or {}), "Data": rows}.items():
        sheet = workbook.add_worksheet(name)
        for number, cells in enumerate(sheet_rows):
            for column, cell in enumerate(cells):
                if isinstance(cell, Formula):
                    sheet.write_formula(number, column, cell, value=9.5)
                elif isinstance(cell, date):
                    sheet.write_datetime(number, column, cell, workbook.add_format({"num_format": "dd/mm/yyyy hh:mm"}))
                elif isinstance(cell, tuple):
                    sheet.write_number(number, column, cell[0], workbook.add_format({"num_format": cell[1]}))
                else:
                    sheet.write(number, column, cell)
    workbook.close()
    return target.getvalue()


def replace_part(content: bytes, name: str, old: bytes, new: bytes) -> bytes:
    """Return a workbook in which a text in one of its parts is replaced."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry in source.namelist():
            part = source.read(entry)
            assert entry != name or old in part, part
            archive.writestr(entry, part.replace(old, new) if entry == name else part)
    return target.getvalue()


def read_workbook(content: bytes) -> list[list[Any]]:
    """Return the values of all cells of the first sheet. A blank cell is None."""
    workbook = openpyxl.load_workbook(io.BytesIO(content))
    return [[cell.value for cell in row] for row in workbook.worksheets[0].iter_rows()]
