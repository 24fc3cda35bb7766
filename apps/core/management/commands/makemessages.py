"""Update the translation catalogs from the sources, or check that they are up to date."""

import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.core.i18n import catalogs as messages


class Command(BaseCommand):
    """``manage.py makemessages [--check] [--from FILE.json …]``."""

    help = "Update the catalogs in locale/ from the sources and compile them."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--check", action="store_true", help="change nothing and fail if a text is not translated")
        parser.add_argument("--language", default="", help="only this language")
        parser.add_argument(
            "--from", dest="files", nargs="+", default=[], help="JSON files with translations by message"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Update the catalogs, unless ``--check`` is set, and report problems such as missing translations."""
        texts = messages.collect_texts(Path(settings.BASE_DIR))
        translations = {
            key: text for name in options["files"] for key, text in json.loads(Path(name).read_text()).items()
        }
        problems = []
        for path in sorted(Path(settings.LOCALE_PATHS[0]).glob("*/LC_MESSAGES/django.po")):
            if options["language"] not in {"", path.parts[-3]}:
                continue
            if not options["check"]:
                messages.update_catalog(path, texts, translations)
            problems += [f"{path.parts[-3]}: {problem}" for problem in messages.find_problems(path, texts)]
        if options["check"] and problems:
            raise CommandError("\n".join(problems))
        for problem in problems:
            self.stderr.write(problem)
        self.stdout.write(f"{len(texts)} texts, {len(problems)} problems.")
