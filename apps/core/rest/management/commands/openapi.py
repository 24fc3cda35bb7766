"""``manage.py openapi``: write or check the files that describe the API."""

import json
from argparse import ArgumentParser
from pathlib import Path

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from apps.core.rest.openapi.changelog import MARKER, render_changelog
from apps.core.rest.openapi.generators import get_latest_document
from apps.core.rest.openapi.postman import build_collection

_DOCS = Path(settings.BASE_DIR) / "docs"
DOCUMENT_PATH = _DOCS / "openapi.json"
POSTMAN_PATH = _DOCS / "postman.json"
CHANGELOG_PATH = _DOCS / "api-changelog.md"


class Command(BaseCommand):
    """Writes the committed description files, so that code reviews show every API change."""

    help = "Write docs/openapi.json, docs/postman.json and docs/api-changelog.md, or check them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true", help="fail if a file is out of date; write nothing")

    def handle(self, *args: object, **options: object) -> None:
        introduction = CHANGELOG_PATH.read_text().partition(MARKER)[0]
        texts = {
            DOCUMENT_PATH: _to_json(get_latest_document()),
            POSTMAN_PATH: _to_json(build_collection(get_latest_document()), sort_keys=False),
            CHANGELOG_PATH: f"{introduction}{MARKER}\n\n{render_changelog()}",
        }
        for path, text in texts.items():
            if not options["check"]:
                path.write_text(text)
            elif not path.exists() or path.read_text() != text:
                raise CommandError(f"docs/{path.name} is out of date. Run manage.py openapi and review the changes.")


def _to_json(value: object, *, sort_keys: bool = True) -> str:
    return json.dumps(value, indent=1, sort_keys=sort_keys) + "\n"
