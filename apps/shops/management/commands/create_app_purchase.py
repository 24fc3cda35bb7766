from argparse import ArgumentParser
from decimal import Decimal, InvalidOperation
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from apps.core.exceptions import DomainError
from apps.core.money import format_decimal
from apps.core.tenancy.models import Installation
from apps.core.tenancy.scope import all_shops_scope
from apps.shops.domain import purchases
from apps.shops.management.commands._output import print_result
from apps.shops.models import AppPurchase


class Command(BaseCommand):
    help = "Create, approve or decline a one-time purchase of an app."

    def add_arguments(self, parser: ArgumentParser) -> None:
        steps = parser.add_subparsers(dest="step", required=True)
        offer = steps.add_parser("offer", help="create a purchase")
        offer.add_argument("name", help="description of the purchase")
        offer.add_argument("--app", required=True, help="API key of the app")
        offer.add_argument("--shop", required=True, help="domain of the shop")
        offer.add_argument("--price", required=True)
        offer.add_argument("--currency", default="", help="default: the shop currency")
        offer.add_argument("--test", action="store_true", help="test purchase without payment")
        offer.add_argument("--json", action="store_true", help="print one JSON object")
        for step in ("approve", "decline"):
            decision = steps.add_parser(step)
            decision.add_argument("purchase", type=int, help="purchase ID")
            decision.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: object, **options: Any) -> None:
        try:
            with all_shops_scope():
                row = self._offer(options) if options["step"] == "offer" else self._decide(options)
        except DomainError as error:
            raise CommandError(error.sentence) from error
        price = f"{format_decimal(row.price, row.currency)} {row.currency}"
        result: dict[str, object] = {"id": row.pk, "name": row.name, "price": price, "status": row.status}
        print_result(self.stdout, result, as_json=options["json"])

    def _offer(self, options: dict[str, Any]) -> AppPurchase:
        installations = Installation.objects.filter(
            app__api_key=options["app"], shop__domain=options["shop"].lower(), uninstalled_at=None
        )
        installation = installations.select_related("shop", "app").first()
        if installation is None or installation.app.is_shop_app:
            raise CommandError(f"No app with the API key {options['app']} is installed in {options['shop']}")
        try:
            price = Decimal(options["price"])
        except InvalidOperation as error:
            raise CommandError(f"{options['price']} is not a valid amount") from error
        return purchases.create_purchase(
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
        return purchases.decide_purchase(row, approve=options["step"] == "approve", actor="system", at=timezone.now())
