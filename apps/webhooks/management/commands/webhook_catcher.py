"""``manage.py webhook_catcher``: a receiver on loopback that shows what comes, and misbehaves on request."""

from typing import Any

import orjson
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from apps.shops.domain.app_secrets import secrets_of
from apps.shops.models import App
from apps.webhooks.catcher import Behaviour, Catcher, Caught

SHOWN_BYTES = 4000


class Command(BaseCommand):
    """Listens until Ctrl-C."""

    help = (
        "Listen on 127.0.0.1 for webhooks, check their signatures and show them. Let the dispatcher reach it with "
        "BACKOFFICE_OUTGOING_ALLOW=127.0.0.1, and subscribe http://127.0.0.1:PORT/."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Where, for whom, and how it answers."""
        parser.add_argument("--port", type=int, default=8099)
        parser.add_argument("--app", help="the API key of the app whose secret signs; nothing is checked without it")
        parser.add_argument("--secret", action="append", default=[], help="a secret to check with, instead of --app")
        parser.add_argument("--status", type=int, default=200, help="answer with this status, e.g. 410, 429 or 500")
        parser.add_argument("--retry-after", help="seconds, or a date, to ask for")
        parser.add_argument("--hang", type=float, default=0.0, help="seconds before each answer")
        parser.add_argument("--failing", type=int, help="answer so many requests with --status, and the rest with 200")

    def handle(self, *args: Any, **options: Any) -> None:
        """Listen."""
        headers = {"Retry-After": options["retry_after"]} if options["retry_after"] else {}
        behaviour = Behaviour(options["status"], headers, options["hang"], options["failing"])
        catcher = Catcher(_secrets(options), port=options["port"], behaviour=behaviour, heard=self._show)
        self.stdout.write(f"Listening on {catcher.url} until Ctrl-C.")
        try:
            catcher.listen()
        except KeyboardInterrupt:
            self.stdout.write("")

    def _show(self, caught: Caught, status: int) -> None:
        verdict = ", ".join(
            f"{name} {'holds' if holds else 'DOES NOT HOLD'}" for name, holds in caught.verified.items()
        )
        self.stdout.write(
            f"\n{timezone.localtime():%H:%M:%S} {caught.header('-Topic')} → {status}  ({verdict or 'not checked'})"
        )
        for name, value in caught.headers.items():
            self.stdout.write(f"  {name}: {value}")
        self.stdout.write(_readable(caught.body))


def _secrets(options: dict[str, Any]) -> list[str]:
    if options["secret"] or not options["app"]:
        return list(options["secret"])
    app = App.objects.filter(api_key=options["app"]).first()
    if app is None:
        raise CommandError("There is no app with that API key.")
    return secrets_of(app, timezone.now())


def _readable(body: bytes) -> str:
    try:
        text = orjson.dumps(orjson.loads(body), option=orjson.OPT_INDENT_2).decode()
    except orjson.JSONDecodeError:
        text = body.decode(errors="replace")
    return text[:SHOWN_BYTES]
