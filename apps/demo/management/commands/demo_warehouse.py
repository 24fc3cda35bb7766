"""``manage.py demo_warehouse``: run a demo fulfillment service on localhost, optionally with deliberate errors."""

import signal
import time
from ipaddress import ip_address
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.utils import timezone

from apps.core.http.allowlist import get_allowed_hosts
from apps.core.http.errors import HttpRequestFailed
from apps.core.tenancy.models import App, Installation, Shop
from apps.core.tenancy.scope import shop_scope
from apps.demo.warehouse import BAD_RESPONSES, SCOPES, SERVICE_NAME, ApiClient, ApiRequestFailed, Behavior, Warehouse
from apps.shops.domain import app_installation, tokens


class Command(BaseCommand):
    help = (
        "Run a demo fulfillment service on 127.0.0.1. The service registers itself with a shop, accepts fulfillment "
        "requests, ships items, and reports stock and tracking numbers. Start all processes of the installation, and "
        "this command, with BACKOFFICE_OUTGOING_ALLOW=127.0.0.1."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--shop", required=True, help="domain of the shop")
        parser.add_argument("--name", default=SERVICE_NAME, help="name of the service and of its app")
        parser.add_argument("--port", type=int, default=8098)
        parser.add_argument("--stock", nargs="*", default=[], metavar="SKU=NUMBER", help="available quantities")
        parser.add_argument("--reject", action="store_true", help="reject fulfillment requests")
        parser.add_argument("--insist", action="store_true", help="reject cancellation requests")
        parser.add_argument("--no-ship", action="store_true", help="never ship accepted fulfillment orders")
        parser.add_argument("--ship-after", type=float, default=0.0, help="seconds between acceptance and shipping")
        parser.add_argument(
            "--numbers-later",
            action="store_true",
            help="ship without tracking numbers, and report the numbers on request",
        )
        parser.add_argument("--slow", type=float, default=0.0, help="seconds before each response to a callback")
        parser.add_argument(
            "--bad", choices=sorted(BAD_RESPONSES), default="", help="respond to requests with this bad response"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not get_allowed_hosts().has(ip_address("127.0.0.1")):
            raise CommandError("Start this command and the installation with BACKOFFICE_OUTGOING_ALLOW=127.0.0.1")
        app, token = _install_app(options["shop"], options["name"])
        warehouse = Warehouse(
            ApiClient(settings.BASE_URL, token),
            [app.api_secret],
            name=options["name"],
            port=options["port"],
            stock=_parse_stock(options["stock"]),
            behavior=Behavior(
                rejects=options["reject"],
                insists=options["insist"],
                ships=not options["no_ship"],
                ships_after=options["ship_after"],
                numbers_later=options["numbers_later"],
                delay=options["slow"],
                bad_response=options["bad"],
            ),
            log=self._print,
        )
        # A signal handler must not acquire locks, because the interrupted code could hold the same lock (deadlock).
        signals: list[int] = []
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _frame: signals.append(number))
        try:
            with warehouse:
                self._print("Running. Press Ctrl-C to stop.")
                while not signals:
                    time.sleep(0.2)
        except (HttpRequestFailed, ApiRequestFailed) as error:
            raise CommandError(f"{settings.BASE_URL}: {error}") from error

    def _print(self, message: str) -> None:
        self.stdout.write(f"{timezone.localtime():%H:%M:%S} {message}")
        self.stdout.flush()


@transaction.atomic
def _install_app(domain: str, name: str) -> tuple[App, str]:
    shop = Shop.objects.filter(domain=domain.lower()).first()
    if shop is None:
        raise CommandError(f"No shop has the domain {domain}")
    now = timezone.now()
    with shop_scope(shop):
        installation_row = (
            Installation.objects.filter(app__name=name, uninstalled_at=None).select_related("app").first()
        )
        app = installation_row.app if installation_row else app_installation.create_app(name=name)
        installation = app_installation.install_app(app, shop, scopes=SCOPES, actor="system", at=now)
        return app, tokens.issue_token(installation, actor="system", at=now)


def _parse_stock(words: list[str]) -> dict[str, int]:
    stock = {}
    for word in words:
        sku, _, number = word.rpartition("=")
        if not (sku and number.isascii() and number.isdigit()):
            raise CommandError(f"{word} is invalid. Use SKU=NUMBER.")
        stock[sku] = int(number)
    return stock
