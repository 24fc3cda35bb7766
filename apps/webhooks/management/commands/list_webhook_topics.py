"""``manage.py list_webhook_topics``: write docs/topics.md and examples.json, or check docs/topics.md."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.webhooks.domain import topic_examples

PAGE = Path(settings.BASE_DIR) / "docs" / "topics.md"


class Command(BaseCommand):
    help = "Write docs/topics.md and the example payloads of all topics, rendered from a demo shop."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--shop", default="demo-store.localhost", help="domain of the demo shop (see manage.py demo)"
        )
        parser.add_argument("--check", action="store_true", help="fail if docs/topics.md is out of date; write nothing")

    def handle(self, *args: object, **options: Any) -> None:
        if options["check"]:
            if not PAGE.exists() or PAGE.read_text() != topic_examples.render_topics_page():
                raise CommandError(
                    "docs/topics.md is out of date. Run manage.py list_webhook_topics on a new demo shop."
                )
            return
        shop = Shop.objects.filter(domain=options["shop"]).first()
        if shop is None:
            raise CommandError(f"No shop has the domain {options['shop']}. Run manage.py demo first.")
        with shop_scope(shop):
            rendered = topic_examples.render_examples()
        topic_examples.PATH.write_text(json.dumps(rendered, indent=1, ensure_ascii=False) + "\n")
        topic_examples.load_examples.cache_clear()
        PAGE.write_text(topic_examples.render_topics_page())
        missing = [topic.name for topic in topic_examples.list_subscribable_topics() if topic.name not in rendered]
        self.stdout.write(
            f"{len(rendered)} examples. The shop has no data for {len(missing)} topics: {', '.join(missing)}"
        )
