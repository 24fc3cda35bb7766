"""``manage.py import_shop``: a shop out of an archive, proven row by row and file by file."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.backups.domain.moving import importing
from apps.ground.errors import DomainError


class Command(BaseCommand):
    """Imports a shop, or compares one that is here with its archive."""

    help = "Import a shop that export_shop exported, with its ids, and prove it row by row and file by file."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Where from."""
        parser.add_argument("archive", type=Path, help="what manage.py export_shop made")
        parser.add_argument(
            "--as-copy",
            metavar="DOMAIN",
            default="",
            help="make a staging copy under this domain: no token, app, webhook, job or mail of the shop works in it",
        )
        parser.add_argument("--verify", action="store_true", help="only compare the shop that is here with the archive")

    def handle(self, *args: object, **options: Any) -> None:
        """Import or compare; ends with exit code 1 where something does not agree."""
        folder, copy_as = options["archive"], options["as_copy"]
        try:
            if options["verify"]:
                manifest = importing.verify(folder, copy_as=copy_as)
                self.stdout.write(f"{manifest.rows} rows and {manifest.files} files agree with the archive.")
                return
            manifest, new_files = importing.bring(folder, copy_as=copy_as)
        except DomainError as refusal:
            raise CommandError(refusal.sentence) from None
        if copy_as:
            self.stdout.write(
                f"{copy_as} is a copy of {manifest.domain} with {new_files} new files, and agrees with the archive but"
                " for what would reach out: tokens are revoked, apps not installed, payment handlers switched off;"
                " webhooks, scripts of apps, jobs and what warehouses are asked were left behind; mails are not sent."
            )
            return
        self.stdout.write(
            f"{manifest.domain} is here: {manifest.rows} rows and {manifest.files} files"
            f" ({new_files} of them new) agree with the archive."
        )
