"""Asking services by the clock: each hour, and on demand, what they have in stock and what they have sent.

A round is one job, with further ones where an attempt failed: by the schedule of webhooks, until the next round begins.
What comes of a round after another has begun changes nothing. Rule: decisions, Fulfillment (Callbacks).
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import uuid6
from django.conf import settings
from django.db import transaction
from django.db.models import Exists, F, OuterRef
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.fulfillment.domain.answers import MAX_BYTES, AnswerRefused
from apps.fulfillment.domain.stock_reports import apply_stock, read_stock
from apps.fulfillment.domain.tracking_reports import MOST, apply_numbers, read_numbers, waiting_for
from apps.fulfillment.models import FulfillmentService, Pull, PullAttempt
from apps.ground.errors import DomainError
from apps.ground.tenancy import shop_scope
from apps.jobs.domain import queue
from apps.jobs.models import Job
from apps.outgoing.client import Answer, Limits, request
from apps.outgoing.errors import FetchFailed
from apps.shops.domain.app_secrets import secrets_of
from apps.shops.domain.read_only import writable
from apps.shops.models import Installation
from apps.webhooks.domain.engine.envelopes import signed_headers
from apps.webhooks.domain.engine.schedule import Verdict, judge_answer, judge_failure

logger = logging.getLogger(__name__)

PULL = "fulfillment.pull"
EVERY = timedelta(hours=1)
LIMITS = Limits(max_bytes=MAX_BYTES, total_seconds=10, connect_seconds=2)
EXCERPT_BYTES = 4096
_AT_ONCE = 1000
Kind = Pull.Kind


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was made of an answer: how many rows it changed, and what was left out of it."""

    changed: int
    message: str


# Parameters of the query, besides shop and timestamp; None where there is nothing to ask for.
Asks = Callable[[FulfillmentService, str], "Sequence[tuple[str, str]] | None"]
# Takes the body of an answer; ``hold`` is called in each transaction before its writes.
Takes = Callable[[FulfillmentService, bytes, str, Callable[[], None]], Outcome]


@dataclass(frozen=True, slots=True)
class _Endpoint:
    path: str
    asks: Asks
    takes: Takes


class Superseded(Exception):
    """Another round began meanwhile, or nobody is to be asked any more."""


class Uncalled(DomainError):
    """The service does not say that it can be asked for this."""

    code = "pull_not_supported"


def plan_pulls(service: FulfillmentService, *, at: datetime) -> None:
    """Ask a service each hour for what it says that it can be asked for, beginning now, and for nothing else."""
    wanted = {
        kind
        for kind, can in ((Kind.STOCK, service.inventory_management), (Kind.TRACKING, service.tracking_support))
        if can
    }
    Pull.objects.filter(service=service).exclude(kind__in=wanted).delete()
    for kind in sorted(wanted):
        Pull.objects.get_or_create(service=service, kind=kind, defaults={"shop_id": service.shop_id, "next_at": at})


def begin_due(at: datetime) -> int:
    """Begin the rounds that are due, in every shop; returns how many. A duty of each minute."""
    installed = Installation.objects.filter(shop=OuterRef("shop"), app=OuterRef("service__app"), uninstalled_at=None)
    due = Pull.objects.filter(Exists(installed), writable(), next_at__lte=at).select_related("shop")
    with transaction.atomic():
        found = list(due.select_for_update(skip_locked=True, of=("self",)).order_by("pk")[:_AT_ONCE])
        for pull in found:
            with shop_scope(pull.shop):
                _begin(pull, at, next_at=at + EVERY)
    return len(found)


@transaction.atomic
def pull_now(service: FulfillmentService, kind: Kind, *, at: datetime, sku: str = "", actor: str = "system") -> Job:
    """Ask a service now, besides its hourly round.

    Args:
        service: Whom.
        kind: For what.
        at: When.
        sku: For the stock of which SKU; of all where it is blank.
        actor: Who wants to know.

    Raises:
        Uncalled: It does not say that it can be asked for this.
    """
    pull = Pull.objects.select_for_update().filter(service=service, kind=kind).first()
    if pull is None:
        raise Uncalled(
            _("The service does not report stock.")
            if kind is Pull.Kind.STOCK
            else _("The service does not report tracking numbers.")
        )
    return _begin(pull, at, next_at=pull.next_at, sku=sku, actor=actor)


def _begin(pull: Pull, at: datetime, *, next_at: datetime, sku: str = "", actor: str = "system") -> Job:
    """Begin a round of a pull that the caller holds."""
    pull.round, pull.attempt, pull.next_at = pull.round + 1, 1, next_at
    pull.save(update_fields=["round", "attempt", "next_at"])
    return queue.enqueue(PULL, actor=actor, pull_id=pull.pk, round=pull.round, number=1, sku=sku)


def run_pull(job: Job, **arguments: Any) -> None:
    """Make one attempt of a round; the task of ``PULL``."""
    number, sku = arguments["number"], arguments["sku"]
    rows = Pull.objects.filter(pk=arguments["pull_id"], round=arguments["round"], attempt=number)
    pull = rows.select_related("service__app", "service__location", "shop").first()
    if pull is None or not Installation.objects.filter(app=pull.service.app_id, uninstalled_at=None).exists():
        return
    endpoint = _ENDPOINTS[Kind(pull.kind)]
    parameters = endpoint.asks(pull.service, sku)
    if parameters is None:
        return

    def hold() -> None:
        queue.hold(job)
        if not rows.select_for_update().exists():
            raise Superseded

    attempt, verdict, body = _call(pull, endpoint.path, parameters)
    try:
        if body is not None:
            _take(attempt, endpoint.takes, body, sku, hold)
        with transaction.atomic():
            hold()
            rows.update(attempt=F("attempt") + 1)
            attempt.save()
            if verdict.state == "retry" and (due := timezone.now() + timedelta(seconds=verdict.delay)) < pull.next_at:
                queue.enqueue(PULL, due_at=due, **{**arguments, "number": number + 1})
    except Superseded:
        logger.info("%s: another round began", pull)


def _call(pull: Pull, path: str, parameters: Sequence[tuple[str, str]]) -> tuple[PullAttempt, Verdict, bytes | None]:
    """Make the call: what is to be recorded of it, what follows from it, and the answer if there is one to take."""
    service, now = pull.service, timezone.now()
    query = [("shop", pull.shop.domain), ("timestamp", str(int(now.timestamp()))), *parameters]
    url = f"{service.callback_url}{path}?{urlencode(query)}"
    attempt = PullAttempt(shop=pull.shop, service=service, kind=pull.kind, number=pull.attempt, url=url, created_at=now)
    began = time.monotonic()
    try:
        answer = request("GET", url, headers=_headers(pull, path, now), limits=LIMITS)
    except FetchFailed as error:
        attempt.outcome, attempt.message = error.code, str(error)
        return attempt, judge_failure(error.code, pull.attempt), None
    finally:
        attempt.total_ms = round((time.monotonic() - began) * 1000)
    attempt.status, attempt.excerpt = answer.status, _excerpt(answer)
    verdict = judge_answer(answer.status, answer.headers, pull.attempt)
    attempt.outcome = "ok" if answer.ok else "status"
    if answer.ok and answer.truncated:
        attempt.outcome, attempt.message = "bad_answer", f"The answer is longer than {MAX_BYTES} bytes."
    return attempt, verdict, answer.body if attempt.outcome == "ok" else None


def _headers(pull: Pull, path: str, now: datetime) -> dict[str, str]:
    app = pull.service.app
    headers = signed_headers(
        path,
        b"",
        key=uuid6.uuid7(),
        domain=pull.shop.domain,
        api_version=settings.API_VERSIONS[-1],
        triggered_at=now,
        secrets=secrets_of(app, now),
        timestamp=int(now.timestamp()),
    )
    del headers["Content-Type"]
    return {"Accept": "application/json", **headers}


def _take(attempt: PullAttempt, takes: Takes, body: bytes, sku: str, hold: Callable[[], None]) -> None:
    """Take an answer in; one that cannot be taken changes nothing, and the record says why."""
    try:
        outcome = takes(attempt.service, body, sku, hold)
    except (AnswerRefused, DomainError) as error:
        attempt.outcome = "bad_answer"
        attempt.message = error.sentence if isinstance(error, DomainError) else str(error)
    else:
        attempt.changed, attempt.message = outcome.changed, outcome.message
    attempt.message = attempt.message[:1000]
    if attempt.message:
        logger.warning("%s of fulfillment service %s: %s", attempt.kind, attempt.service_id, attempt.message)


def _excerpt(answer: Answer) -> str:
    """The beginning of an answer, without what no database keeps."""
    return answer.body[:EXCERPT_BYTES].decode(errors="replace").replace("\0", "\ufffd")


def _asks_for_stock(_service: FulfillmentService, sku: str) -> Sequence[tuple[str, str]]:
    return [("sku", sku)] if sku else []


def _takes_stock(service: FulfillmentService, body: bytes, sku: str, hold: Callable[[], None]) -> Outcome:
    quantities = read_stock(body)
    if sku:
        quantities = {name: quantity for name, quantity in quantities.items() if name == sku}
    report = apply_stock(service, quantities, hold=hold, at=timezone.now())
    return Outcome(report.changed, report.message)


def _asks_for_numbers(service: FulfillmentService, _sku: str) -> Sequence[tuple[str, str]] | None:
    names = waiting_for(service, timezone.now()).values_list("name", flat=True)[:MOST]
    return [("order_names[]", name) for name in names] or None


def _takes_numbers(service: FulfillmentService, body: bytes, _sku: str, hold: Callable[[], None]) -> Outcome:
    report = apply_numbers(service, read_numbers(body), hold=hold, at=timezone.now())
    return Outcome(report.changed, report.message)


_ENDPOINTS = {
    Kind.STOCK: _Endpoint("fetch_stock", _asks_for_stock, _takes_stock),
    Kind.TRACKING: _Endpoint("fetch_tracking_numbers", _asks_for_numbers, _takes_numbers),
}
