"""``manage.py read_only_shop DOMAIN [--off]``: a shop that can only be read, or be written again."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from apps.ground.errors import DomainError
from apps.shops.domain import read_only
from apps.shops.models import Shop


class Command(BaseCommand):
    """Refuses all writes of a shop, and waits for those that are under way."""

    help = "Refuse all writes of a shop with 503, as while it moves; it can be read, and its jobs and webhooks wait."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which shop, and whether it may be written again."""
        parser.add_argument("domain", help="the shop's domain")
        parser.add_argument("--off", action="store_true", help="let it be written again")

    def handle(self, *args: object, **options: Any) -> None:
        """Switch, and say how it is now."""
        shop = Shop.objects.filter(domain=options["domain"].lower()).first()
        if shop is None:
            raise CommandError(f"There is no shop {options['domain']}.")
        try:
            if options["off"]:
                read_only.switch_off(shop)
            else:
                read_only.switch_on(shop, at=timezone.now())
        except DomainError as refusal:
            raise CommandError(refusal.sentence) from None
        self.stdout.write(
            f"{shop.domain} can be written again." if options["off"] else f"{shop.domain} can only be read from now on."
        )
