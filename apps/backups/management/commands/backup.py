"""``manage.py backup``: back up the database, the files and the secret key into one directory."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.backups.domain import create_restore, manifests
from apps.backups.domain.disk_space import report_full_disk
from apps.core.exceptions import DomainError


class Command(BaseCommand):
    help = "Back up the database, the files and the secret key of the running installation."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="the directory to create, which must not exist")
        parser.add_argument("--check", action="store_true", help="only check that the existing backup is undamaged")

    def handle(self, *args: object, **options: Any) -> None:
        folder: Path = options["folder"]
        try:
            with report_full_disk():
                manifest = manifests.read_manifest(folder) if options["check"] else create_restore.create_backup(folder)
        except DomainError as error:
            raise CommandError(error.sentence) from None
        size = sum(part.size for part in manifest.parts.values()) / 1024 / 1024
        result = "is undamaged" if options["check"] else "was created"
        self.stdout.write(
            f"The backup of {manifest.created_at} {result}: {manifest.rows} rows, {manifest.files} files,"
            f" {size:.1f} MiB."
        )
