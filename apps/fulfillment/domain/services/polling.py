"""Request stock and tracking numbers from fulfillment services, hourly and on demand.

Each round begins with one job. A failed attempt is retried until the next round begins, with the same back-off as
webhook deliveries. Results that arrive after the next round has begun are ignored.
"""

import logging
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import uuid6
from django.conf import settings
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.core.exceptions import DomainError
from apps.core.http.errors import HttpRequestFailed
from apps.core.http.sync_client import Limits, send_request
from apps.core.i18n.messages import Message, define_message
from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Installation
from apps.core.tenancy.read_only import writable_shops
from apps.core.tenancy.scope import shop_scope
from apps.fulfillment.domain.services.responses import (
    MAX_BYTES,
    MAX_NAMES,
    InvalidResponse,
    get_untracked_fulfillments,
    parse_stock,
    parse_tracking_numbers,
    set_reported_numbers,
    set_reported_stock,
)
from apps.fulfillment.models import FulfillmentService, Pull, PullAttempt
from apps.shops.domain.app_secrets import get_valid_secrets
from apps.webhooks.domain.engine.headers import build_signed_headers
from apps.webhooks.domain.engine.retry_policy import Verdict, judge_failure, judge_response

logger = logging.getLogger(__name__)

PULL_TASK = "fulfillment.poll_service"
INTERVAL = timedelta(hours=1)
_CLOCK_TOLERANCE = timedelta(minutes=1)
LIMITS = Limits(max_bytes=MAX_BYTES, total_seconds=10, connect_seconds=2)
EXCERPT_BYTES = 4096
_MAX_ROUNDS = 1000
RETENTION = timedelta(days=30)
_STEP = 1000
Kind = Pull.Kind
_PATHS = {Kind.STOCK: "fetch_stock", Kind.TRACKING: "fetch_tracking_numbers"}
_TOO_LONG = define_message("polling.too_long", "The response is longer than {limit} bytes.")


class Superseded(Exception):
    """Raised when a newer round has begun or the service is no longer polled."""


class PullNotSupported(DomainError):
    pass


def plan_pulls(service: FulfillmentService, *, at: datetime) -> None:
    """Schedule the hourly requests that a service supports, starting now. Other scheduled requests are deleted."""
    columns = {Kind.STOCK: service.inventory_management, Kind.TRACKING: service.tracking_support}
    supported = [kind for kind, is_supported in columns.items() if is_supported]
    Pull.objects.filter(service=service).exclude(kind__in=supported).delete()
    for kind in supported:
        Pull.objects.get_or_create(service=service, kind=kind, defaults={"shop_id": service.shop_id, "next_at": at})


def begin_due_rounds(at: datetime) -> int:
    """Begin the due rounds of all shops, and return the number of rounds. Runs every minute."""
    installed = Installation.objects.filter(shop=OuterRef("shop"), app=OuterRef("service__app"), uninstalled_at=None)
    # A round more than an interval ahead was planned while the clock was fast.
    is_due = Q(next_at__lte=at) | Q(next_at__gt=at + INTERVAL + _CLOCK_TOLERANCE)
    due_pulls = Pull.objects.filter(is_due, Exists(installed), writable_shops()).select_related("shop")
    with transaction.atomic():
        pulls = list(due_pulls.select_for_update(skip_locked=True, of=("self",)).order_by("pk")[:_MAX_ROUNDS])
        for pull in pulls:
            with shop_scope(pull.shop):
                _begin_round(pull, at, next_at=at + INTERVAL)
    return len(pulls)


@transaction.atomic
def pull_now(service: FulfillmentService, kind: Kind, *, at: datetime, sku: str = "", actor: str = "system") -> Job:
    """Request data from a service now, in addition to the hourly round. If ``sku`` is blank, all stock is requested."""
    pull = Pull.objects.select_for_update().filter(service=service, kind=kind).first()
    if pull is None:
        raise PullNotSupported(
            _("The service does not report inventory.")
            if kind is Pull.Kind.STOCK
            else _("The service does not report tracking numbers.")
        )
    return _begin_round(pull, at, next_at=pull.next_at, sku=sku, actor=actor)


def _begin_round(pull: Pull, at: datetime, *, next_at: datetime, sku: str = "", actor: str = "system") -> Job:
    """Begin a round. The caller must have locked ``pull``."""
    pull.round, pull.attempt, pull.next_at = pull.round + 1, 1, next_at
    pull.save(update_fields=["round", "attempt", "next_at"])
    return queue.enqueue(PULL_TASK, actor=actor, pull_id=pull.pk, round=pull.round, number=1, sku=sku)


def run_pull(job: Job, **arguments: Any) -> None:
    """Run one attempt of a round."""
    number, sku = arguments["number"], arguments["sku"]
    rows = Pull.objects.filter(pk=arguments["pull_id"], round=arguments["round"], attempt=number)
    pull = rows.select_related("service__app", "service__location", "shop").first()
    if pull is None or not Installation.objects.filter(app=pull.service.app_id, uninstalled_at=None).exists():
        return
    parameters = _get_parameters(pull, sku)
    if parameters is None:
        return

    def hold() -> None:
        queue.lock_lease(job)
        if not rows.select_for_update().exists():
            raise Superseded

    attempt, verdict, body = _call_service(pull, parameters)
    try:
        if body is not None:
            _apply_response(attempt, body, sku, hold)
        with transaction.atomic():
            hold()
            rows.update(attempt=F("attempt") + 1)
            attempt.save()
            if (
                verdict.state == "retry"
                and (retry_at := timezone.now() + timedelta(seconds=verdict.delay)) < pull.next_at
            ):
                queue.enqueue(PULL_TASK, due_at=retry_at, **{**arguments, "number": number + 1})
    except Superseded:
        logger.info("%s: a newer round has begun, so the result is ignored", pull)


def _call_service(pull: Pull, parameters: Sequence[tuple[str, str]]) -> tuple[PullAttempt, Verdict, bytes | None]:
    """Call the service. Return the attempt record, the verdict, and the body, or None if the body can't be used."""
    service, path, now = pull.service, _PATHS[Kind(pull.kind)], timezone.now()
    query = [("shop", pull.shop.domain), ("timestamp", str(int(now.timestamp()))), *parameters]
    url = f"{service.callback_url}{path}?{urlencode(query)}"
    attempt = PullAttempt(shop=pull.shop, service=service, kind=pull.kind, number=pull.attempt, url=url, created_at=now)
    started = time.monotonic()
    try:
        response = send_request("GET", url, headers=_get_headers(pull, path, now), limits=LIMITS)
    except HttpRequestFailed as error:
        attempt.outcome, attempt.message = error.code, str(error)
        return attempt, judge_failure(error.code, pull.attempt), None
    finally:
        attempt.total_ms = round((time.monotonic() - started) * 1000)
    attempt.status = response.status
    # PostgreSQL can't store NUL characters.
    attempt.excerpt = response.body[:EXCERPT_BYTES].decode(errors="replace").replace("\0", "\ufffd")
    verdict = judge_response(response.status, response.headers, pull.attempt)
    attempt.outcome = "ok" if response.ok else "status"
    if response.ok and response.truncated:
        attempt.outcome, attempt.message = "bad_answer", _TOO_LONG(limit=MAX_BYTES)
    return attempt, verdict, response.body if attempt.outcome == "ok" else None


def _get_headers(pull: Pull, path: str, now: datetime) -> dict[str, str]:
    app = pull.service.app
    headers = build_signed_headers(
        path,
        b"",
        key=uuid6.uuid7(),
        domain=pull.shop.domain,
        api_version=settings.API_VERSIONS[-1],
        triggered_at=now,
        secrets=get_valid_secrets(app, now),
        timestamp=int(now.timestamp()),
    )
    del headers["Content-Type"]
    return {"Accept": "application/json", **headers}


def _apply_response(attempt: PullAttempt, body: bytes, sku: str, hold: Callable[[], None]) -> None:
    """Apply a response. If the response is invalid, only store the reason in the attempt record."""
    try:
        changed, message = _store_body(attempt, body, sku, hold)
    except (InvalidResponse, DomainError) as error:
        attempt.outcome = "bad_answer"
        attempt.message = error.sentence if isinstance(error, DomainError) else str(error)
    else:
        attempt.changed, attempt.message = changed, message or ""
    if attempt.message:
        logger.warning("%s of fulfillment service %s: %s", attempt.kind, attempt.service_id, attempt.message)


def _get_parameters(pull: Pull, sku: str) -> list[tuple[str, str]] | None:
    """Return additional query parameters, or None if there is nothing to request."""
    if pull.kind == Kind.STOCK:
        return [("sku", sku)] if sku else []
    names = get_untracked_fulfillments(pull.service, timezone.now()).values_list("name", flat=True)[:MAX_NAMES]
    return [("order_names[]", name) for name in names] or None


def _store_body(attempt: PullAttempt, body: bytes, sku: str, hold: Callable[[], None]) -> tuple[int, Message | None]:
    """Apply a response. ``hold`` is called in each transaction, to check that the result is not outdated."""
    if attempt.kind == Kind.TRACKING:
        return set_reported_numbers(attempt.service, parse_tracking_numbers(body), hold=hold, at=timezone.now())
    quantities = parse_stock(body)
    if sku:
        quantities = {name: quantity for name, quantity in quantities.items() if name == sku}
    return set_reported_stock(attempt.service, quantities, hold=hold, at=timezone.now())


def delete_old_attempts(at: datetime) -> int:
    deleted = 0
    old = PullAttempt.objects.filter(created_at__lt=at - RETENTION).order_by("created_at")
    while pks := list(old.values_list("pk", flat=True)[:_STEP]):
        deleted += PullAttempt.objects.filter(pk__in=pks).delete()[0]
    return deleted
