from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from apps.core.exceptions import DomainError
from apps.shops.domain import shop_creation
from apps.shops.management.commands._output import print_result, sentence


class Command(BaseCommand):
    help = "Create an empty shop."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("domain")
        parser.add_argument("--name", default="")
        parser.add_argument("--email", default="")
        parser.add_argument("--currency", default="USD")
        parser.add_argument("--timezone", default="UTC")
        parser.add_argument("--country", default="US")
        parser.add_argument("--plan", default="basic")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: object, **options: Any) -> None:
        domain = options["domain"].lower()
        try:
            shop = shop_creation.create_shop(
                domain=domain,
                name=options["name"] or domain.split(".")[0].replace("-", " ").title(),
                email=options["email"] or "owner@example.com",
                currency=options["currency"].upper(),
                timezone=options["timezone"],
                country_code=options["country"].upper(),
                plan=options["plan"],
                actor="system",
                at=timezone.now(),
            )
        except (DomainError, ValidationError) as error:
            raise CommandError(sentence(error)) from error
        result = {"id": shop.pk, "domain": shop.domain, "handle": shop.handle, "name": shop.name}
        print_result(self.stdout, result, as_json=options["json"])
