"""Bring the catalogues of translations up to the sources, or check that they are."""

import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from backoffice import messages


class Command(BaseCommand):
    """``manage.py messages [--check] [--from FILE.json …]``."""

    help = "Updates the catalogues below locale/ from the sources and compiles them."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the options."""
        parser.add_argument("--check", action="store_true", help="Change nothing; fail where a text is not translated.")
        parser.add_argument("--language", default="", help="Only this one.")
        parser.add_argument("--from", dest="files", nargs="+", default=[], help="JSON files: translations by message.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Update each catalogue, or name its faults."""
        texts = messages.collect(Path(settings.BASE_DIR))
        given = {key: said for name in options["files"] for key, said in json.loads(Path(name).read_text()).items()}
        faults = []
        for path in sorted(Path(settings.LOCALE_PATHS[0]).glob("*/LC_MESSAGES/django.po")):
            if options["language"] not in {"", path.parts[-3]}:
                continue
            if not options["check"]:
                messages.update(path, texts, given)
            faults += [f"{path.parts[-3]}: {fault}" for fault in messages.faults(path, texts)]
        if options["check"] and faults:
            raise CommandError("\n".join(faults))
        for fault in faults:
            self.stderr.write(fault)
        self.stdout.write(f"{len(texts)} texts, {len(faults)} faults.")
