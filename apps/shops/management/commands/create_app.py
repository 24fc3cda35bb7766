from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone

from apps.core.exceptions import DomainError
from apps.core.tenancy.models import App, Shop
from apps.shops.domain import app_installation, tokens
from apps.shops.management.commands._output import print_result, sentence


class Command(BaseCommand):
    help = "Create an app, install it in a shop and print its access token once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--shop", required=True, help="domain of the shop")
        parser.add_argument("--scopes", required=True, help="comma-separated scopes")
        parser.add_argument("--distribution", default=App.Distribution.CUSTOM, choices=App.Distribution.values)
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    @transaction.atomic
    def handle(self, *args: object, **options: Any) -> None:
        shop = Shop.objects.filter(domain=options["shop"].lower()).first()
        if shop is None:
            raise CommandError(f"No shop has the domain {options['shop']}")
        now = timezone.now()
        try:
            app = app_installation.create_app(name=options["name"], distribution=options["distribution"])
            installation = app_installation.install_app(app, shop, scopes=options["scopes"], actor="system", at=now)
            token = tokens.issue_token(installation, actor="system", at=now)
        except (DomainError, ValidationError) as error:
            raise CommandError(sentence(error)) from error
        result = {
            "access_token": token,
            "api_key": app.api_key,
            "api_secret": app.api_secret,
            "installation_id": installation.pk,
        }
        print_result(self.stdout, result, as_json=options["json"])
