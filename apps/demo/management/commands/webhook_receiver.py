"""``manage.py webhook_receiver``: run a local server that prints webhooks and can simulate failures."""

from typing import Any

import orjson
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from apps.core.tenancy.models import App
from apps.demo.webhook_receiver import ReceivedRequest, ReceiverBehavior, WebhookReceiver
from apps.shops.domain.app_secrets import get_valid_secrets

MAX_DISPLAYED_BYTES = 4000


class Command(BaseCommand):
    help = (
        "Listen on 127.0.0.1 for webhooks, check their signatures and print them. Set "
        "BACKOFFICE_OUTGOING_ALLOW=127.0.0.1, so that the dispatcher can reach this command, and create a subscription "
        "with the URI http://127.0.0.1:PORT/."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=int, default=8099)
        parser.add_argument(
            "--app", help="the API key of the app that signs the webhooks; without it, signatures are not checked"
        )
        parser.add_argument(
            "--secret", action="append", default=[], help="a secret for checking signatures, instead of --app"
        )
        parser.add_argument("--status", type=int, default=200, help="status of responses, e.g. 410, 429 or 500")
        parser.add_argument("--retry-after", help="value of the Retry-After header: seconds or a date")
        parser.add_argument("--hang", type=float, default=0.0, help="seconds to wait before each response")
        parser.add_argument(
            "--failing", type=int, help="respond to this many requests with --status, and to later requests with 200"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        headers = {"Retry-After": options["retry_after"]} if options["retry_after"] else {}
        behavior = ReceiverBehavior(options["status"], headers, options["hang"], options["failing"])
        catcher = WebhookReceiver(_secrets(options), port=options["port"], behavior=behavior, on_request=self._show)
        self.stdout.write(f"Listening on {catcher.url} until Ctrl-C.")
        try:
            catcher.listen()
        except KeyboardInterrupt:
            self.stdout.write("")

    def _show(self, received: ReceivedRequest, status: int) -> None:
        verdict = ", ".join(
            f"{name} {'valid' if is_valid else 'INVALID'}" for name, is_valid in received.verified.items()
        )
        self.stdout.write(
            f"\n{timezone.localtime():%H:%M:%S} {received.get_header('-Topic')} → {status}"
            f"  ({verdict or 'not checked'})"
        )
        for name, value in received.headers.items():
            self.stdout.write(f"  {name}: {value}")
        self.stdout.write(_format_body(received.body))


def _secrets(options: dict[str, Any]) -> list[str]:
    if options["secret"] or not options["app"]:
        return list(options["secret"])
    app = App.objects.filter(api_key=options["app"]).first()
    if app is None:
        raise CommandError("No app has this API key.")
    return get_valid_secrets(app, timezone.now())


def _format_body(body: bytes) -> str:
    try:
        text = orjson.dumps(orjson.loads(body), option=orjson.OPT_INDENT_2).decode()
    except orjson.JSONDecodeError:
        text = body.decode(errors="replace")
    return text[:MAX_DISPLAYED_BYTES]
