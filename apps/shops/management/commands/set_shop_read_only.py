from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from apps.core.exceptions import DomainError
from apps.core.tenancy import read_only
from apps.core.tenancy.models import Shop


class Command(BaseCommand):
    help = (
        "Make a shop read-only, for example before a move to another installation. Write requests return status 503. "
        "Jobs and webhooks wait."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("domain", help="domain of the shop")
        parser.add_argument("--off", action="store_true", help="make the shop writable again")

    def handle(self, *args: object, **options: Any) -> None:
        shop = Shop.objects.filter(domain=options["domain"].lower()).first()
        if shop is None:
            raise CommandError(f"There is no shop {options['domain']}.")
        try:
            if options["off"]:
                read_only.make_writable(shop)
            else:
                read_only.make_read_only(shop, at=timezone.now())
        except DomainError as error:
            raise CommandError(error.sentence) from None
        self.stdout.write(f"{shop.domain} is writable again." if options["off"] else f"{shop.domain} is now read-only.")
