"""``manage.py export_shop``: one shop, whole, into an archive."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.backups.domain.moving import exporting
from apps.ground.errors import DomainError


class Command(BaseCommand):
    """Exports a shop while everything runs; goes on where an export broke off."""

    help = "Export a shop with its rows, files, tokens' digests and history into an archive, while everything runs."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which shop, and where to."""
        parser.add_argument("domain", help="the shop's domain")
        parser.add_argument("archive", type=Path, help="a folder; one that an export broke off in is gone on with")
        parser.add_argument("--refresh", action="store_true", help="bring a finished archive up to date")

        parser.add_argument(
            "--final", action="store_true", help="the last one before the shop moves: from now on it is read-only here"
        )

    def handle(self, *args: object, **options: Any) -> None:
        """Export it, and say what the archive holds."""
        try:
            made = exporting.export(
                options["domain"], options["archive"], refresh=options["refresh"], final=options["final"]
            )
        except DomainError as refusal:
            raise CommandError(refusal.sentence) from None
        self.stdout.write(
            f"{made.domain} of {made.made_at} is exported: {made.rows} rows,"
            f" {made.files} files, {made.bytes / 1024 / 1024:.1f} MiB of files."
        )
        if options["final"]:
            self.stdout.write(f"It can only be read here from now on; read_only_shop {made.domain} --off undoes that.")
