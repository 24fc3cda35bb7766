"""``manage.py webhook_topics``: write the examples of payloads and docs/topics.md, or check the page."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from apps.ground.tenancy import shop_scope
from apps.shops.models import Shop
from apps.webhooks.domain import examples

PAGE = Path(settings.BASE_DIR) / "docs" / "topics.md"


class Command(BaseCommand):
    """Keeps the page of topics equal to the registry."""

    help = "Write the examples of webhook payloads, made from a store, and docs/topics.md."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which store, and whether to check only."""
        parser.add_argument("--shop", default="demo-store.localhost", help="domain of the store, of manage.py demo")
        parser.add_argument("--check", action="store_true", help="fail where the page differs; write nothing")

    def handle(self, *args: object, **options: Any) -> None:
        """Write or compare."""
        if options["check"]:
            if not PAGE.exists() or PAGE.read_text() != examples.as_markdown():
                raise CommandError("docs/topics.md is out of date: run manage.py webhook_topics on a fresh demo store")
            return
        shop = Shop.objects.filter(domain=options["shop"]).first()
        if shop is None:
            raise CommandError(f"No shop has the domain {options['shop']}: run manage.py demo first")
        with shop_scope(shop):
            made = examples.make_examples()
        examples.PATH.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n")
        examples.kept_examples.cache_clear()
        PAGE.write_text(examples.as_markdown())
        silent = [topic.name for topic in examples.told_topics() if topic.name not in made]
        self.stdout.write(f"{len(made)} examples; the store has nothing to show for {len(silent)}: {', '.join(silent)}")
