"""``manage.py import_orders FILE``: orders, products and customers out of a file; dry run, progress, resumption."""

import hashlib
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from apps.exchange.domain import checking, imports, running
from apps.exchange.domain.parsing import UnreadableFile
from apps.exchange.domain.rows import Outcome, RawRow
from apps.exchange.models import Import, ImportedRow
from apps.ground.errors import DomainError
from apps.ground.tenancy import shop_scope
from apps.shops.models import Shop

PROGRESS_EVERY = 100


class Command(BaseCommand):
    """Takes a file in; run again after a break, it goes on where it stopped. Exits with 1 where rows failed."""

    help = "Import orders, products and customers from a file of JSON lines or CSV."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The file, the shop, and whether it is only a try."""
        parser.add_argument("file", type=Path, help="ends in .jsonl or .csv; see docs/imports.md")
        parser.add_argument("--shop", help="domain of the shop; may be left out where there is one shop only")
        parser.add_argument("--dry-run", action="store_true", help="show each row's fate, and change nothing")
        parser.add_argument(
            "--ignore-unknown", action="store_true", help="import although columns of the file are not known"
        )

    def handle(self, *args: object, **options: Any) -> None:
        """Keep the file, or find the import of it that was begun; then check it or take it in."""
        shop = _shop(options["shop"])
        path: Path = options["file"]
        if not path.is_file():
            raise CommandError(f"There is no file {path}")
        try:
            with shop_scope(shop):
                if options["dry_run"]:
                    counts = self._try(path)
                else:
                    counts = self._take_in(path, ignore_unknown=options["ignore_unknown"])
        except UnreadableFile as error:
            raise CommandError(str(error)) from error
        except DomainError as error:
            raise CommandError(error.sentence) from error
        words = ", ".join(f"{counts[fate.value]} {fate.label.lower()}" for fate in ImportedRow.Fate)
        self.stdout.write(f"{'Would be' if options['dry_run'] else 'Done'}: {words}.")
        if failed := counts[ImportedRow.Fate.FAILED]:
            raise CommandError(f"{failed} {'row' if failed == 1 else 'rows'} failed.")

    def _try(self, path: Path) -> Counter[str]:
        """Show the fate of each row; nothing of the file stays."""
        with path.open("rb") as file:
            kept = imports.keep(file, path.name, actor="system", at=timezone.now())
        try:
            if unknown := self._left_out(kept):
                self.stdout.write(f"Not known, and left out: {', '.join(unknown)}")
            with closing(checking.check(kept)) as outcomes:
                return self._tell(outcomes, every_row=True)
        finally:
            imports.discard(kept)

    def _take_in(self, path: Path, *, ignore_unknown: bool) -> Counter[str]:
        kept, begun = _kept(path)
        if not begun:
            unknown = self._left_out(kept)
            if unknown and not ignore_unknown:
                imports.discard(kept)
                raise CommandError(
                    f"These columns are not known, and would be left out: {', '.join(unknown)}. "
                    "Rename them (docs/imports.md), or say --ignore-unknown."
                )
            imports.mark_importing(kept)
        with closing(running.run(kept)) as outcomes:
            return self._tell(outcomes, every_row=False)

    def _left_out(self, kept: Import) -> list[str]:
        """The columns that nobody knows; says which have no place here."""
        unknown, passed_over = imports.find_left_out(kept)
        if passed_over:
            self.stdout.write(f"No place here, and passed over: {', '.join(passed_over)}")
        return unknown

    def _tell(self, outcomes: Iterable[tuple[RawRow, Outcome]], *, every_row: bool) -> Counter[str]:
        """Print fates and progress; returns how many rows had which fate."""
        counts: Counter[str] = Counter()
        for number, (row, outcome) in enumerate(outcomes, 1):
            counts[outcome.fate] += 1
            if every_row or outcome.fate == ImportedRow.Fate.FAILED:
                told = " ".join(part for part in (outcome.label, outcome.reason) if part)
                self.stdout.write(f"line {row.line}: {outcome.fate}{f' – {told}' if told else ''}")
            if number % PROGRESS_EVERY == 0 and sys.stderr.isatty():
                self.stderr.write(f"{number} rows …", ending="\r")
        return counts


def _shop(domain: str | None) -> Shop:
    shops = Shop.objects.filter(domain=domain.lower()) if domain else Shop.objects.all()
    found = list(shops[:2])
    if not found:
        raise CommandError(f"No shop has the domain {domain}" if domain else "There is no shop yet")
    if len(found) > 1:
        raise CommandError("Say with --shop which shop it is")
    return found[0]


def _kept(path: Path) -> tuple[Import, bool]:
    """The import of this very file that was cut off, else a new one; and whether it was begun before."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        begun = imports.unfinished(digest)
        if begun is not None:
            return begun, True
        file.seek(0)
        return imports.keep(file, path.name, actor="system", at=timezone.now()), False
