"""Open the tables in import files: CSV files and workbooks."""

import io
import tempfile
from collections.abc import Iterator
from types import TracebackType
from typing import IO, Self

import orjson

from apps.core.i18n.messages import decode
from apps.imports_exports.domain.csv_reader import BadRow, Table, open_table
from apps.imports_exports.domain.formats.encodings import get_codec
from apps.imports_exports.domain.formats.xlsx_reader import open_workbook
from apps.imports_exports.models import Format


class TableFile:
    """A file with a table that can be read twice. The rows of a workbook are kept on disk, because parsing is slow."""

    def __init__(self, file: IO[bytes], file_format: str, encoding: str) -> None:
        self._file, self._format, self._encoding = file, file_format, encoding
        self._text: IO[str] | None = None
        self._kept: tuple[Table, IO[bytes]] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._kept is not None:
            self._kept[1].close()

    def open(self, *, again: bool = False) -> Table:
        """Open the table. With ``again``, the next call can also read the rows, after all rows were read.

        Raises:
            UnreadableFile: If the header or the workbook is unusable.
        """
        if self._format == Format.XLSX:
            return self._open_workbook(again=again)
        if self._text is None:
            codec = get_codec(self._encoding)
            self._text = io.TextIOWrapper(self._file, encoding=codec, errors="surrogateescape", newline="")
        else:
            self._text.seek(0)
        return open_table(self._text, self._encoding)

    def _open_workbook(self, *, again: bool) -> Table:
        if self._kept is not None:
            table, rows = self._kept
            rows.seek(0)
            return Table(table.columns, map(_decode_row, rows), table.note)
        table = open_workbook(self._file)
        if not again:
            return table
        self._kept = table, tempfile.TemporaryFile()  # noqa: SIM115 - closed on exit
        return Table(table.columns, _keep_rows(*self._kept), table.note)


def _keep_rows(table: Table, file: IO[bytes]) -> Iterator[tuple[int, list[str] | BadRow]]:
    for line, row in table.rows:
        values = [line, row.cells, row.extra, row.reason.to_json()] if isinstance(row, BadRow) else [line, row]
        try:
            text = orjson.dumps(values)
        except orjson.JSONEncodeError:
            # The row is refused because of its invalid characters, which become question marks.
            text = orjson.dumps(_clean(values))
        file.write(text + b"\n")
        yield line, row


def _clean(value: object) -> object:
    if isinstance(value, str):
        return value if value.isascii() else value.encode(errors="replace").decode()
    return [_clean(item) for item in value] if isinstance(value, list | tuple) else value


def _decode_row(line: bytes) -> tuple[int, list[str] | BadRow]:
    number, cells, *problem = orjson.loads(line)
    return number, BadRow(decode(problem[1]), cells, problem[0]) if problem else cells
