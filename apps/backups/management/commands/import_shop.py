"""``manage.py import_shop``: import a shop from an archive and verify it, or only compare an existing shop."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.backups.domain.disk_space import report_full_disk
from apps.backups.domain.shop_archive import import_
from apps.core.exceptions import DomainError


class Command(BaseCommand):
    help = "Import a shop from an export_shop archive with its IDs, and verify every row and file."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("archive", type=Path, help="an archive that manage.py export_shop created")
        parser.add_argument(
            "--as-copy",
            metavar="DOMAIN",
            default="",
            help="create a staging copy under this domain, with inactive tokens, apps, webhooks, jobs and emails",
        )
        parser.add_argument("--verify", action="store_true", help="only compare the existing shop with the archive")

    def handle(self, *args: object, **options: Any) -> None:
        """Import the shop or compare it with the archive. Exit with code 1 if anything differs."""
        folder, copy_as = options["archive"], options["as_copy"]
        try:
            if options["verify"]:
                manifest = import_.verify_shop(folder, copy_as=copy_as)
                self.stdout.write(f"{manifest.rows} rows and {manifest.files} files match the archive.")
                return
            with report_full_disk():
                manifest, new_files = import_.import_shop(folder, copy_as=copy_as)
        except DomainError as error:
            raise CommandError(error.sentence) from None
        if copy_as:
            self.stdout.write(
                f"{copy_as} is a copy of {manifest.domain} with {new_files} new files, and matches the archive."
                " Tokens are revoked, apps uninstalled and payment handlers disabled. Webhooks, app scripts, jobs and"
                " fulfillment requests were not copied. The copy sends no emails."
            )
            return
        self.stdout.write(
            f"Imported {manifest.domain}: {manifest.rows} rows and {manifest.files} files"
            f" ({new_files} new files) match the archive."
        )
