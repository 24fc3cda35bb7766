"""``manage.py export_shop``: export one shop into an archive."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.backups.domain.disk_space import report_full_disk
from apps.backups.domain.shop_archive import export
from apps.core.exceptions import DomainError


class Command(BaseCommand):
    help = (
        "Export a shop with its rows, files, token digests and history into an archive. The installation keeps running."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("domain", help="the shop's domain")
        parser.add_argument("archive", type=Path, help="the archive directory, where an interrupted export is resumed")
        parser.add_argument("--refresh", action="store_true", help="update a finished archive")

        parser.add_argument(
            "--final",
            action="store_true",
            help="the last export before the shop moves, which makes the shop read-only here",
        )

    def handle(self, *args: object, **options: Any) -> None:
        try:
            with report_full_disk():
                manifest = export.export_shop(
                    options["domain"], options["archive"], refresh=options["refresh"], final=options["final"]
                )
        except DomainError as error:
            raise CommandError(error.sentence) from None
        self.stdout.write(
            f"Exported {manifest.domain} as of {manifest.made_at}: {manifest.rows} rows,"
            f" {manifest.files} files, {manifest.bytes / 1024 / 1024:.1f} MiB of files."
        )
        if options["final"]:
            self.stdout.write(
                f"The shop is now read-only here. To undo this, run set_shop_read_only {manifest.domain} --off."
            )
