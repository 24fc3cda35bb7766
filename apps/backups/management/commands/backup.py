"""``manage.py backup``: database, files and key in one folder."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.backups.domain import backups, manifests
from apps.ground.errors import DomainError


class Command(BaseCommand):
    """Makes a backup while everything runs, or looks whether one is undamaged."""

    help = "Make a backup of the database, the files and the key, while everything runs."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Where to."""
        parser.add_argument("folder", type=Path, help="is made; must not be there yet")
        parser.add_argument("--check", action="store_true", help="only look whether the backup there is undamaged")

    def handle(self, *args: object, **options: Any) -> None:
        """Make it, and say what it holds."""
        folder: Path = options["folder"]
        try:
            manifest = manifests.read(folder) if options["check"] else backups.make(folder)
        except DomainError as refusal:
            raise CommandError(refusal.sentence) from None
        size = sum(part.size for part in manifest.parts.values()) / 1024 / 1024
        said = "is undamaged" if options["check"] else "is made"
        self.stdout.write(
            f"The backup of {manifest.made_at} {said}: {manifest.rows} rows, {manifest.files} files, {size:.1f} MiB."
        )
