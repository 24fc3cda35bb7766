"""Store the refused rows of an import in a file with the columns of the imported file and the reasons.

An import ignores the reasons, so the corrected file can be imported. All rows of an object are in the file, because an
object is only imported as a whole.
"""

import io
import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import IO

from django.db.models import QuerySet

from apps.core.i18n import formats
from apps.core.i18n.messages import translate
from apps.core.sanitizing import SafeCsvWriter
from apps.core.tenancy.models import User
from apps.core.tenancy.scope import get_current_shop
from apps.imports_exports.domain.column_mapping import REASON_COLUMN, is_reason_column
from apps.imports_exports.domain.csv_reader import has_name
from apps.imports_exports.domain.files import store_file
from apps.imports_exports.domain.formats.xlsx_writer import encode_cells, write_workbook
from apps.imports_exports.domain.imports import open_import_file
from apps.imports_exports.domain.parser import add_reason_to_line, open_table_file, parse_file
from apps.imports_exports.domain.rows import ImportRow
from apps.imports_exports.models import Format, Import, ImportedRow

_BATCH_SIZE = 500


def store_refused_rows(import_job: Import, *, alive: Callable[[], None]) -> str:
    """Store the refused rows of an imported file, and return the path of the new file. Return "" if there are none.

    ``alive`` is called for each batch of rows.

    Raises:
        NotStored: If the storage fails.
    """
    if not _get_failed_rows(import_job).exists():
        return ""
    language = formats.language_override(_get_language(import_job.actor), get_current_shop().primary_locale)
    with language, open_import_file(import_job) as source, tempfile.TemporaryFile() as target:
        if import_job.has_table:
            with open_table_file(source, import_job) as table_file:
                columns = table_file.open().columns
        source.seek(0)
        refused = _iterate_refused(source, import_job, alive)
        if not import_job.has_table:
            _write_lines(refused, target)
        elif import_job.format == Format.XLSX:
            rows = _iterate_cells(refused, columns)
            write_workbook(next(rows), map(encode_cells, rows), target)
        else:
            _write_csv(_iterate_cells(refused, columns), target)
        target.seek(0)
        return store_file(import_job.create_refused_path(), target)


def _get_language(actor: str) -> str:
    """Return the language of the staff member who imports the file, or an empty string."""
    kind, _, number = actor.partition(":")
    user = User.objects.filter(pk=number).first() if kind == "staff" else None
    return user.language if user else ""


def _get_failed_rows(import_job: Import) -> QuerySet[ImportedRow]:
    return ImportedRow.objects.filter(file=import_job, dry=False, fate=ImportedRow.Fate.FAILED)


def _iterate_refused(file: IO[bytes], import_job: Import, alive: Callable[[], None]) -> Iterator[tuple[ImportRow, str]]:
    """Yield the refused rows with their reasons in the active language."""
    rows = parse_file(file, import_job)
    while batch := list(islice(rows, _BATCH_SIZE)):
        alive()
        failed = _get_failed_rows(import_job).filter(line__in=[row.line for row in batch])
        reasons = dict(failed.values_list("line", "reason"))
        yield from ((row, translate(reasons[row.line])) for row in batch if row.line in reasons)


def _iterate_cells(refused: Iterator[tuple[ImportRow, str]], columns: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the header, and the reason and the cells of each row. The reason is in the first column."""
    width = len(columns)
    kept = [index for index, column in enumerate(columns) if not is_reason_column(column)]
    yield [REASON_COLUMN, *(columns[index] if has_name(columns[index]) else "" for index in kept)]
    for row, reason in refused:
        assert not isinstance(row.source, bytes)
        for cells in row.source or [[]]:
            padded = [*cells, *[""] * (width - len(cells))]
            yield [reason, *(padded[index] for index in kept), *padded[width:]]


def _write_csv(rows: Iterator[Sequence[str]], target: IO[bytes]) -> None:
    # Bytes that are not in the encoding of the file become question marks.
    text = io.TextIOWrapper(target, encoding="utf-8-sig", errors="replace", newline="")
    writer = SafeCsvWriter(text, next(rows))
    for cells in rows:
        writer.write_cells(cells)
    text.detach()


def _write_lines(refused: Iterator[tuple[ImportRow, str]], target: IO[bytes]) -> None:
    for row, reason in refused:
        assert isinstance(row.source, bytes)
        target.write(add_reason_to_line(row.source, reason))
