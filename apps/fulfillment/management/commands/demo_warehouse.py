"""``manage.py demo_warehouse``: a fulfillment service on loopback that does its work, or misbehaves on request."""

import signal
import time
from ipaddress import ip_address
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.utils import timezone

from apps.fulfillment.warehouse import BAD_ANSWERS, NAME, SCOPES, Interface, Manners, Refused, Warehouse
from apps.ground.tenancy import shop_scope
from apps.outgoing.errors import FetchFailed
from apps.outgoing.host_lists import allowed_hosts
from apps.shops.domain import installing, tokens
from apps.shops.models import App, Installation, Shop


class Command(BaseCommand):
    """Works until Ctrl-C."""

    help = (
        "Run a fulfillment service on 127.0.0.1: it registers itself with a shop, accepts what is requested of it, "
        "sends it, and tells its stock and its tracking numbers. The processes of the installation, and this one, "
        "run with BACKOFFICE_OUTGOING_ALLOW=127.0.0.1."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """For whom, where, and how it behaves."""
        parser.add_argument("--shop", required=True, help="domain of the shop")
        parser.add_argument("--name", default=NAME, help="of the service, and of the app that it is")
        parser.add_argument("--port", type=int, default=8098)
        parser.add_argument("--stock", nargs="*", default=[], metavar="SKU=NUMBER", help="what it has")
        parser.add_argument("--reject", action="store_true", help="reject fulfillment requests")
        parser.add_argument("--insist", action="store_true", help="reject cancellation requests")
        parser.add_argument("--no-ship", action="store_true", help="send nothing of what it accepted")
        parser.add_argument("--ship-after", type=float, default=0.0, help="seconds from accepting to sending")
        parser.add_argument(
            "--numbers-later", action="store_true", help="send without a tracking number; tell it when asked"
        )
        parser.add_argument("--slow", type=float, default=0.0, help="seconds before each answer to a callback")
        parser.add_argument("--bad", choices=sorted(BAD_ANSWERS), default="", help="answer badly when asked")

    def handle(self, *args: Any, **options: Any) -> None:
        """Register, and work."""
        if not allowed_hosts().has(ip_address("127.0.0.1")):
            raise CommandError("Start it, and the installation, with BACKOFFICE_OUTGOING_ALLOW=127.0.0.1")
        app, token = _app(options["shop"], options["name"])
        warehouse = Warehouse(
            Interface(settings.BASE_URL, token),
            [app.api_secret],
            name=options["name"],
            port=options["port"],
            stock=_stock(options["stock"]),
            manners=Manners(
                rejects=options["reject"],
                insists=options["insist"],
                ships=not options["no_ship"],
                ships_after=options["ship_after"],
                numbers_later=options["numbers_later"],
                delay=options["slow"],
                bad_answer=options["bad"],
            ),
            heard=self._say,
        )
        # A handler must not take a lock that the interrupted code may hold.
        signals: list[int] = []
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _frame: signals.append(number))
        try:
            with warehouse:
                self._say("Working until Ctrl-C.")
                while not signals:
                    time.sleep(0.2)
        except (FetchFailed, Refused) as error:
            raise CommandError(f"{settings.BASE_URL}: {error}") from error

    def _say(self, words: str) -> None:
        self.stdout.write(f"{timezone.localtime():%H:%M:%S} {words}")
        self.stdout.flush()


@transaction.atomic
def _app(domain: str, name: str) -> tuple[App, str]:
    """The warehouse's app, installed on the shop, with a fresh token."""
    shop = Shop.objects.filter(domain=domain.lower()).first()
    if shop is None:
        raise CommandError(f"No shop has the domain {domain}")
    now = timezone.now()
    with shop_scope(shop):
        known = Installation.objects.filter(app__name=name, uninstalled_at=None).select_related("app").first()
        app = known.app if known else installing.create_app(name=name)
        installation = installing.install(app, shop, scopes=SCOPES, actor="system", at=now)
        return app, tokens.issue_token(installation, actor="system", at=now)


def _stock(words: list[str]) -> dict[str, int]:
    found = {}
    for word in words:
        sku, _, number = word.rpartition("=")
        if not (sku and number.isascii() and number.isdigit()):
            raise CommandError(f"{word}: write SKU=NUMBER")
        found[sku] = int(number)
    return found
