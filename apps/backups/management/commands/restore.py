"""``manage.py restore``: restore a backup into an empty installation."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from apps.backups.domain import create_restore
from apps.backups.domain.disk_space import report_full_disk
from apps.core.exceptions import DomainError


class Command(BaseCommand):
    help = "Restore a backup into this empty installation, migrate the database, and verify files and totals."
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="a backup that manage.py backup created")

    def handle(self, *args: object, **options: Any) -> None:
        """Restore the backup. Exit with code 1 if anything differs."""
        try:
            with report_full_disk():
                manifest = create_restore.restore_backup(options["folder"])
        except DomainError as error:
            raise CommandError(error.sentence) from None
        self.stdout.write(
            f"{manifest.rows} rows and {manifest.files} files from the backup of {manifest.created_at} were restored."
        )
        for command in ("migrate", "check_blobs", "check_consistency"):
            call_command(command, **({"verbosity": 0} if command == "migrate" else {}), stdout=self.stdout)
