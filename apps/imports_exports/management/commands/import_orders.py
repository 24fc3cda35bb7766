"""``manage.py import_orders FILE``: import orders, products, customers and other objects from a file."""

import hashlib
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from shutil import copyfileobj
from typing import IO, Any

from django.core.files.storage import default_storage
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from apps.core.exceptions import DomainError
from apps.core.management.target_shop import get_target_shop
from apps.core.tenancy.scope import shop_scope
from apps.imports_exports.domain import dry_run, imports, runner
from apps.imports_exports.domain.csv_reader import UnreadableFile
from apps.imports_exports.domain.formats.encodings import CHOICES
from apps.imports_exports.domain.rows import ImportRow, RowOutcome, has_notes
from apps.imports_exports.models import Import, ImportedRow

PROGRESS_EVERY = 100


class Command(BaseCommand):
    """Imports a file. Exits with code 1 if rows failed. Running the command again continues an interrupted import."""

    help = "Import orders, products, customers and other objects from a CSV, .xlsx or JSON lines file."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="a .csv, .xlsx or .jsonl file; see docs/imports.md")
        parser.add_argument("--shop", help="domain of the shop (optional if there is only one shop)")
        parser.add_argument("--encoding", choices=list(dict(CHOICES)), default="", help="encoding of a CSV file")
        parser.add_argument("--refused", type=Path, metavar="FILE", help="write the refused rows to this new file")
        for name, text in (
            ("--dry-run", "show the result of each row without changing anything"),
            ("--ignore-unknown", "import the file even if it has unknown columns"),
        ):
            parser.add_argument(name, action="store_true", help=text)

    def handle(self, *args: object, **options: Any) -> None:
        shop = get_target_shop(options["shop"])
        path: Path = options["file"]
        if not path.is_file():
            raise CommandError(f"File not found: {path}")
        if options["refused"] and options["dry_run"]:
            raise CommandError("--refused needs an import. Remove --dry-run.")
        if options["refused"] and options["refused"].exists():
            raise CommandError(f"This file already exists: {options['refused']}")
        try:
            with shop_scope(shop):
                counts = self._validate_file(path, options) if options["dry_run"] else self._import_file(path, options)
        except UnreadableFile as error:
            raise CommandError(str(error)) from error
        except DomainError as error:
            raise CommandError(error.sentence) from error
        words = ", ".join(f"{counts[row_result.value]} {row_result.label.lower()}" for row_result in ImportedRow.Fate)
        self.stdout.write(f"{'Would be' if options['dry_run'] else 'Done'}: {words}.")
        if failed := counts[ImportedRow.Fate.FAILED]:
            raise CommandError(f"{failed} {'row' if failed == 1 else 'rows'} failed.")

    def _validate_file(self, path: Path, options: dict[str, Any]) -> Counter[str]:
        """Validate the file, print the result of each row, and delete the import."""
        with path.open("rb") as file:
            import_job = _save_upload(file, path, options["encoding"])
        try:
            if import_job.has_guessed_encoding and not options["encoding"]:
                self.stdout.write(_describe_encoding(import_job))
            if unknown := self._report_ignored_columns(import_job):
                self.stdout.write(f"Ignored unknown columns: {', '.join(unknown)}")
            with closing(dry_run.validate_file(import_job)) as outcomes:
                return self._print_results(outcomes, every_row=True)
        finally:
            imports.discard_import(import_job)

    def _import_file(self, path: Path, options: dict[str, Any]) -> Counter[str]:
        import_job, is_resumed = _get_or_create_import(path, options["encoding"])
        if not is_resumed:
            if import_job.has_guessed_encoding and not options["encoding"]:
                text = _describe_encoding(import_job)
                imports.discard_import(import_job)
                raise CommandError(text)
            unknown = self._report_ignored_columns(import_job)
            if unknown and not options["ignore_unknown"]:
                imports.discard_import(import_job)
                raise CommandError(
                    f"Unknown columns: {', '.join(unknown)}. "
                    "Rename the columns (see docs/imports.md) or use --ignore-unknown."
                )
            imports.skip_validation(import_job)
        with closing(runner.run_import(import_job)) as outcomes:
            counts = self._print_results(outcomes, every_row=False)
        if options["refused"] and import_job.refused_file:
            with default_storage.open(import_job.refused_file) as source, options["refused"].open("xb") as target:
                copyfileobj(source, target)
            self.stdout.write(f"Refused rows: {options['refused']}")
        return counts

    def _report_ignored_columns(self, import_job: Import) -> list[str]:
        """Return the unknown columns of the file, and print the unsupported columns and how the file is read."""
        unknown, unsupported, note = imports.find_ignored_columns(import_job)
        if note:
            self.stdout.write(note)
        if unsupported:
            self.stdout.write(f"Ignored unsupported columns: {', '.join(unsupported)}")
        return unknown

    def _print_results(self, outcomes: Iterable[tuple[ImportRow, RowOutcome]], *, every_row: bool) -> Counter[str]:
        """Print the results and the progress, and return the number of rows per result."""
        counts: Counter[str] = Counter()
        for number, (row, outcome) in enumerate(outcomes, 1):
            counts[outcome.result] += 1
            if every_row or outcome.result == ImportedRow.Fate.FAILED or has_notes(outcome):
                details = " ".join(part for part in (outcome.label, outcome.reason) if part)
                self.stdout.write(f"line {row.line}: {outcome.result}{f' – {details}' if details else ''}")
            if number % PROGRESS_EVERY == 0 and sys.stderr.isatty():
                self.stderr.write(f"{number} rows …", ending="\r")
        return counts


def _save_upload(file: IO[bytes], path: Path, encoding: str) -> Import:
    return imports.save_upload(file, path.name, encoding=encoding, actor="system", at=timezone.now())


def _describe_encoding(import_job: Import) -> str:
    cells = ", ".join(f"“{cell}”" for cell in imports.get_special_cells(import_job))
    return (
        f"The file is not UTF-8. As {import_job.get_encoding_display()}, it contains these texts: {cells}. "
        f"If they are correct, use --encoding {import_job.encoding}. Otherwise, choose another encoding."
    )


def _get_or_create_import(path: Path, encoding: str) -> tuple[Import, bool]:
    """Return the interrupted import of this file and True, or a new import and False."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        unfinished = imports.find_unfinished_import(digest)
        if unfinished is not None:
            return unfinished, True
        file.seek(0)
        return _save_upload(file, path, encoding), False
