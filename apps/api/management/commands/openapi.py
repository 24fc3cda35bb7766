"""``manage.py openapi``: write the OpenAPI document of the newest version, or check that it is up to date."""

import json
from argparse import ArgumentParser
from pathlib import Path

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from apps.api.openapi.documents import newest_document

PATH = Path(settings.BASE_DIR) / "docs" / "openapi.json"


class Command(BaseCommand):
    """Keeps the committed document equal to the interface, so that every change of it is seen in review."""

    help = "Write docs/openapi.json, or check it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Whether to check only."""
        parser.add_argument("--check", action="store_true", help="fail where the file differs; write nothing")

    def handle(self, *args: object, **options: object) -> None:
        """Write or compare."""
        text = json.dumps(newest_document(), indent=1, sort_keys=True) + "\n"
        if not options["check"]:
            PATH.write_text(text)
        elif not PATH.exists() or PATH.read_text() != text:
            raise CommandError("docs/openapi.json is out of date: run manage.py openapi and review the difference")
