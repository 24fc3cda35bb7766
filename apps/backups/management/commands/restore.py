"""``manage.py restore``: fill an empty installation from a backup."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from apps.backups.domain import backups
from apps.ground.errors import DomainError


class Command(BaseCommand):
    """Restores a backup, brings its tables up to this release, and proves what it can."""

    help = "Fill this empty installation from a backup, migrate it, and prove its files and sums."
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Where from."""
        parser.add_argument("folder", type=Path, help="what manage.py backup made")

    def handle(self, *args: object, **options: Any) -> None:
        """Restore it; ends with exit code 1 where something does not agree."""
        try:
            manifest = backups.restore(options["folder"])
        except DomainError as refusal:
            raise CommandError(refusal.sentence) from None
        self.stdout.write(f"{manifest.rows} rows and {manifest.files} files of {manifest.made_at} are back.")
        for command in ("migrate", "check_contents", "reconcile"):
            call_command(command, **({"verbosity": 0} if command == "migrate" else {}), stdout=self.stdout)
