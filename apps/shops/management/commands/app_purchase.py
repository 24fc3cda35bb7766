"""``manage.py app_purchase``: ask a shop to pay an app once, and decide it."""

from argparse import ArgumentParser
from decimal import Decimal, InvalidOperation
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from apps.ground.errors import DomainError
from apps.ground.money import text_of
from apps.ground.tenancy import every_shop
from apps.shops.domain import purchases
from apps.shops.management.commands._output import print_result
from apps.shops.models import AppPurchase, Installation


class Command(BaseCommand):
    """Offers, approves and declines one-time purchases of apps."""

    help = "Ask a shop to pay an app once, or decide what was asked."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What to do, and with what."""
        steps = parser.add_subparsers(dest="step", required=True)
        offer = steps.add_parser("offer", help="ask a shop to pay")
        offer.add_argument("name", help="what it is for")
        offer.add_argument("--app", required=True, help="the app's key")
        offer.add_argument("--shop", required=True, help="domain of the shop")
        offer.add_argument("--price", required=True)
        offer.add_argument("--currency", default="", help="the shop's unless it is said")
        offer.add_argument("--test", action="store_true", help="no money is meant")
        offer.add_argument("--json", action="store_true", help="print one JSON object")
        for step in ("approve", "decline"):
            decision = steps.add_parser(step)
            decision.add_argument("purchase", type=int, help="the purchase's id")
            decision.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: object, **options: Any) -> None:
        """Do it, and print what the purchase is now."""
        try:
            with every_shop():
                row = self._offer(options) if options["step"] == "offer" else self._decide(options)
        except DomainError as error:
            raise CommandError(error.sentence) from error
        price = f"{text_of(row.price, row.currency)} {row.currency}"
        shown: dict[str, object] = {"id": row.pk, "name": row.name, "price": price, "status": row.status}
        print_result(self.stdout, shown, as_json=options["json"])

    def _offer(self, options: dict[str, Any]) -> AppPurchase:
        here = Installation.objects.filter(
            app__api_key=options["app"], shop__domain=options["shop"].lower(), uninstalled_at=None
        )
        installation = here.select_related("shop", "app").first()
        if installation is None:
            raise CommandError(f"No app of the key {options['app']} is installed on {options['shop']}")
        try:
            price = Decimal(options["price"])
        except InvalidOperation as error:
            raise CommandError(f"{options['price']} is no amount") from error
        return purchases.offer(
            installation,
            name=options["name"],
            price=price,
            currency=options["currency"],
            test=options["test"],
            actor="system",
            at=timezone.now(),
        )

    def _decide(self, options: dict[str, Any]) -> AppPurchase:
        row = AppPurchase.objects.filter(pk=options["purchase"]).select_related("shop", "installation").first()
        if row is None:
            raise CommandError(f"There is no purchase {options['purchase']}")
        return purchases.decide(row, approve=options["step"] == "approve", actor="system", at=timezone.now())
