"""The life cycle of an import: save the file, validate it (``dry_run``), and after confirmation import it (``runner``).

Each batch and its row results are saved in one transaction. An interrupted import therefore continues where it stopped,
and an invalid row does not stop the import. Only one batch is in memory at a time. The keys of earlier rows are on disk
(``duplicate_index``).
"""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import IO

from django.core.files.storage import default_storage
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.core.events.recording import record_event
from apps.core.exceptions import DomainError, TransitionRefused
from apps.core.i18n.error_messages import too_large
from apps.core.i18n.messages import define_message, define_text
from apps.core.jobs import queue as jobs
from apps.core.tenancy.read_only import writable_shops
from apps.core.tenancy.scope import get_current_shop
from apps.imports_exports.domain import saved_mappings
from apps.imports_exports.domain.column_mapping import ColumnMapping, check_mapping
from apps.imports_exports.domain.csv_reader import NoColumnKnown, UnreadableFile
from apps.imports_exports.domain.files import remove_file, store_file
from apps.imports_exports.domain.formats.encodings import CHOICES, EncodingDetector
from apps.imports_exports.domain.parser import IgnoredColumns, find_ignored_in_file, read_columns, read_special_cells
from apps.imports_exports.domain.resources import get_importers
from apps.imports_exports.models import TABLES, Format, Import, ImportedRow

_ABANDONED_MESSAGE = define_message("imports.abandoned", "The file was deleted after {days} days without activity.")

VALIDATE_TASK, RUN_TASK = "imports_exports.validate_import", "imports_exports.run_import"
UPLOADED, MAPPED, CONFIRMED = "imports/upload", "imports/map", "imports/confirm"
ENCODED = "imports/choose_encoding"
FINISHED = "imports/finish"
State = Import.State
PREVIEW_ROWS = 50
REPORT_EVERY = 50
FILE_GONE = define_text("imports.file_gone", "The file no longer exists. Upload the file again.")
MAX_BYTES = 200 * 1024 * 1024
# The formats of files, keyed by the ending of their names.
_FORMATS = {
    "csv": Format.CSV,
    "txt": Format.CSV,
    "tsv": Format.CSV,
    "xlsx": Format.XLSX,
    "xlsm": Format.XLSX,
    **dict.fromkeys(("jsonl", "ndjson", "json"), Format.JSON_LINES),
}
# Abandoned files and files of refused rows are deleted after this time, because they may contain personal data.
ABANDONED_AFTER = timedelta(days=7)


class ImportNotValidated(TransitionRefused):
    """Raised when an import is not validated yet or was already confirmed."""


def get_file_format(name: str) -> Format:
    ending = name.lower().rpartition(".")[2]
    if ending in _FORMATS:
        return _FORMATS[ending]
    raise DomainError(_("must end in .csv, .xlsx or .jsonl"), field="file")


def save_upload(file: IO[bytes], name: str, *, encoding: str = "", actor: str, at: datetime) -> Import:
    """Save an uploaded file. The caller must then call ``enqueue_validation`` or ``run_import``.

    Without ``encoding``, detect the encoding of a CSV file.

    Raises:
        DomainError: If the file is empty, too large, or has an unknown format.
        NotStored: If the storage fails.
    """
    form = get_file_format(name)
    digest, size, detector = hashlib.sha256(), 0, EncodingDetector()
    while chunk := file.read(1024 * 1024):
        digest.update(chunk)
        if form == Format.CSV and not encoding:
            detector.feed(chunk)
        size += len(chunk)
        if size > MAX_BYTES:
            raise DomainError(too_large(MAX_BYTES), field="file")
    if not size:
        raise DomainError(_("is empty"), field="file")
    file.seek(0)
    import_job = Import(
        shop=get_current_shop(),
        name=name[-255:],
        format=form,
        encoding=encoding or detector.finish(),
        digest=digest.hexdigest(),
        actor=actor,
    )
    store_file(import_job.path, file)
    try:
        with transaction.atomic():
            import_job.created_at = at
            import_job.save(force_insert=True)
            record_event(UPLOADED, import_job, actor=actor, at=at)
    except BaseException:
        remove_file(import_job.path)
        raise
    return import_job


@transaction.atomic
def enqueue_validation(import_job: Import, *, actor: str) -> None:
    jobs.enqueue(VALIDATE_TASK, actor=actor, import_id=import_job.pk)


@transaction.atomic
def start_import(
    import_job: Import,
    *,
    without_unknown: bool = False,
    has_checked_encoding: bool = False,
    actor: str,
    at: datetime,
) -> None:
    """Confirm a validated file, and enqueue its import.

    Raises:
        ImportNotValidated: If the file is not validated yet or was already confirmed.
        DomainError: If there are unknown columns that the user has not agreed to ignore, or the user has not checked an
            encoding that can't be detected reliably.
    """
    if import_job.problem:
        raise ImportNotValidated(import_job.problem)
    if import_job.has_guessed_encoding and not has_checked_encoding:
        raise DomainError(_("Check the letters of the file, and confirm that they are correct"))
    if import_job.unknown and not without_unknown:
        text = _("Confirm that these columns will be ignored: {names}")
        raise DomainError(text.format(names=", ".join(import_job.unknown)))
    if not Import.objects.filter(pk=import_job.pk, state=State.CHECKED).update(state=State.IMPORTING, done=0):
        raise ImportNotValidated(_("This file is not waiting for confirmation"))
    record_event(CONFIRMED, import_job, actor=actor, at=at)
    jobs.enqueue(RUN_TASK, actor=actor, import_id=import_job.pk)


def get_file_columns(import_job: Import) -> dict[str, list[str]]:
    """Return the first values of each column of a table, keyed by column name. For JSON lines, return an empty dict.

    Raises:
        UnreadableFile: If the file was deleted or can't be read as a whole.
    """
    if not import_job.has_table:
        return {}
    with open_import_file(import_job) as file:
        return read_columns(file, import_job)


def keep_mapping(import_job: Import, corrected: Import) -> bool:
    """Give a new import the column mapping of the import that its file corrects.

    Call this function before the validation. Return False if the file lacks a mapped column. A file that can't be read
    keeps no mapping either, and the validation reports the reason.
    """
    if corrected.mapping is None:
        return True
    if not import_job.has_table:
        return False
    try:
        with default_storage.open(import_job.path) as file:
            columns = read_columns(file, import_job)
    except (UnreadableFile, FileNotFoundError):
        return False
    if not set(corrected.mapping["columns"]) <= set(columns):
        return False
    import_job.mapping = corrected.mapping
    Import.objects.filter(pk=import_job.pk).update(mapping=corrected.mapping)
    return True


def get_special_cells(import_job: Import) -> list[str]:
    """Return cells that show if a guessed encoding is right. Return an empty list if the file can't be read."""
    try:
        with open_import_file(import_job) as file:
            return read_special_cells(file, import_job)
    except UnreadableFile:
        return []


@transaction.atomic
def choose_encoding(import_job: Import, *, encoding: str, actor: str, at: datetime) -> None:
    """Save the encoding that a user chose for a CSV file, and validate the file again.

    A column mapping is removed, because the names of the columns in the file may have changed.

    Raises:
        DomainError: If the encoding is unknown.
        TransitionRefused: If the import is not waiting for confirmation.
    """
    if encoding not in dict(CHOICES):
        raise DomainError(_("Select an encoding from the list"))
    before = import_job.encoding
    _validate_again(import_job, format=Format.CSV, encoding=encoding, mapping=None)
    record_event(ENCODED, import_job, actor=actor, at=at, changes={"encoding": [before, encoding]})
    jobs.enqueue(VALIDATE_TASK, actor=actor, import_id=import_job.pk)


@transaction.atomic
def map_columns(
    import_job: Import,
    *,
    kind: str,
    names: Mapping[str, str],
    copies: Mapping[str, str] | None = None,
    save_as: str = "",
    actor: str,
    at: datetime,
) -> None:
    """Save a column mapping, and validate the file again.

    ``names`` are our column names, keyed by the names in the file. The name of an ignored column is blank. ``copies``
    are second names. With ``save_as``, the mapping is also saved under this name for later files.

    Raises:
        MappingRefused: If two columns have the same name, or the grouping column is missing.
        TransitionRefused: If the import is not waiting for confirmation.
    """
    second_names = {column: name for column, name in (copies or {}).items() if name and names.get(column)}
    check_mapping([*names.values(), *second_names.values()], get_importers()[kind])
    mapping: ColumnMapping = {"kind": kind, "columns": {column: name for column, name in names.items() if name}}
    if second_names:
        mapping["copies"] = second_names
    _validate_again(import_job, mapping=mapping)
    record_event(MAPPED, import_job, actor=actor, at=at, changes={"kind": [None, kind]})
    if save_as.strip():
        saved_mappings.save_mapping(save_as.strip(), mapping, list(names), actor=actor, at=at)
    jobs.enqueue(VALIDATE_TASK, actor=actor, import_id=import_job.pk)


def _validate_again(import_job: Import, *, format: str = "", **values: object) -> None:
    """Save how a table is read, and delete the results of the last validation."""
    formats = [format] if format else list(TABLES)
    waiting = Import.objects.filter(pk=import_job.pk, state=State.CHECKED, format__in=formats)
    cleared = {"counts": {}, "unknown": [], "passed_over": [], "problem": "", "reading_note": ""}
    if not waiting.update(state=State.CHECKING, done=0, total=0, **cleared, **values):
        raise TransitionRefused(_("This file is not waiting for confirmation"))
    ImportedRow.objects.filter(file=import_job, dry=True).delete()


@contextmanager
def open_import_file(import_job: Import) -> Iterator[IO[bytes]]:
    """Open the file of an import. Mark the import as failed if the file was deleted or can't be read as a whole."""
    try:
        file = default_storage.open(import_job.path)
    except FileNotFoundError:
        _fail(import_job, FILE_GONE)
        raise UnreadableFile(FILE_GONE) from None
    try:
        with file:
            yield file
    except NoColumnKnown:
        # Keep the file, because the user can map its columns.
        raise
    except UnreadableFile as error:
        _fail(import_job, str(error))
        raise


def _fail(import_job: Import, problem: str) -> None:
    now = timezone.now()
    Import.objects.filter(pk=import_job.pk).update(state=State.FAILED, problem=problem, finished_at=now)
    remove_file(import_job.path)


def find_ignored_columns(import_job: Import) -> IgnoredColumns:
    """Find the unknown and unsupported columns of a file, and save them on the import.

    Raises:
        UnreadableFile: If the file can't be read as a whole.
    """
    with open_import_file(import_job) as file:
        ignored = find_ignored_in_file(file, import_job)
    import_job.unknown, import_job.passed_over, import_job.reading_note = ignored[0], ignored[1], ignored.note or ""
    Import.objects.filter(pk=import_job.pk).update(
        unknown=import_job.unknown, passed_over=import_job.passed_over, reading_note=import_job.reading_note
    )
    return ignored


def discard_import(import_job: Import) -> None:
    """Delete an import that was only used for a dry run, together with its file."""
    remove_file(import_job.path)
    import_job.delete()


def delete_abandoned_files(at: datetime) -> int:
    """Delete the files of imports without activity for a week. The row results are kept."""
    unfinished = Import.objects.filter(writable_shops(), finished_at=None)
    abandoned = list(unfinished.filter(updated_at__lt=at - ABANDONED_AFTER).order_by("pk"))
    for import_job in abandoned:
        default_storage.delete(import_job.path)
        problem = import_job.problem or _ABANDONED_MESSAGE(days=ABANDONED_AFTER.days)
        Import.objects.filter(pk=import_job.pk).update(state=State.FAILED, problem=problem, finished_at=at)
        ImportedRow.objects.filter(file=import_job, dry=True).update(changes=[])
    return len(abandoned)


def delete_refused_files(at: datetime) -> int:
    """Delete the files of refused rows of imports that finished a week ago."""
    finished = Import.objects.filter(writable_shops(), finished_at__lt=at - ABANDONED_AFTER).exclude(refused_file="")
    expired = list(finished.order_by("pk"))
    for import_job in expired:
        default_storage.delete(import_job.refused_file)
        Import.objects.filter(pk=import_job.pk).update(refused_file="")
    return len(expired)


def find_unfinished_import(digest: str) -> Import | None:
    return Import.objects.filter(digest=digest, state=State.IMPORTING).first()


def skip_validation(import_job: Import) -> None:
    """Start an import without validation, for the ``import_orders`` command."""
    Import.objects.filter(pk=import_job.pk).exclude(state=State.DONE).update(state=State.IMPORTING)
