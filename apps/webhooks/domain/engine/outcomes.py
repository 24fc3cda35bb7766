"""What the health of subscriptions learns from results: warnings in stages, and when sending stops.

A subscription is disabled after eight deliveries in a row whose attempts were used up and four hours without a
success; with ``WEBHOOK_DELETE_FAILING`` one that was made through the interface is deleted instead. One of a
configuration file is only warned of: it holds for all shops.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext_noop

from apps.ground.errors import Gone
from apps.ground.retelling import tells
from apps.ground.tenancy import every_shop, shop_scope
from apps.jobs.domain import queue
from apps.shops.models import Shop
from apps.webhooks.domain import subscriptions
from apps.webhooks.models import Health, Subscription

logger = logging.getLogger(__name__)

DEAD_IN_A_ROW = 8
WITHOUT_SUCCESS = timedelta(hours=4)
# Per cent of the way to being disabled at which somebody is told.
STAGES = (50, 75, 100)
WARN = "webhooks.warn"
GONE_REASON = gettext_noop("The receiver answered 410 Gone.")
FAILING_REASON = tells(gettext_noop("{count} deliveries in a row failed, and none arrived for four hours.")).format(
    count=DEAD_IN_A_ROW
)


@dataclass(slots=True)
class Tally:
    """What became of one subscription's deliveries in a group of results."""

    successes: int = 0
    failures: int = 0
    dead: int = 0
    error: str = ""
    shop: int = 0
    is_gone: bool = False


def note(tallies: Mapping[int, Tally]) -> None:
    """Bring the health of subscriptions up to date, and follow what that means."""
    for pk, tally in tallies.items():
        with every_shop():
            if not Subscription.objects.filter(pk=pk).exists():
                continue
            Health.objects.get_or_create(subscription_id=pk)
            _update(pk, tally)
        if tally.is_gone:
            _stop(pk, GONE_REASON)
        elif tally.dead:
            _warn(pk, tally.shop)


def _update(pk: int, tally: Tally) -> None:
    now = timezone.now()
    row = Health.objects.filter(pk=pk)
    if tally.successes:
        # A success among failures counts: the receiver is there.
        row.update(last_success_at=now, failing_since=None, dead_in_a_row=0, warned=0)
    elif tally.failures:
        row.update(
            last_failure_at=now,
            failing_since=Coalesce(F("failing_since"), now),
            dead_in_a_row=F("dead_in_a_row") + tally.dead,
            last_error=tally.error[:255],
        )


@transaction.atomic
def _warn(pk: int, shop_id: int) -> None:
    """Tell of each stage once, and stop at the last."""
    health = Health.objects.get(pk=pk)
    stage = stage_of(health, timezone.now())
    if stage <= health.warned or not Health.objects.filter(pk=pk, warned__lt=stage).update(warned=stage):
        return
    is_deleted = stage == STAGES[-1] and _stop(pk, FAILING_REASON)
    with shop_scope(Shop.objects.get(pk=shop_id)):
        queue.enqueue(WARN, subscription_id=pk, stage=stage, is_deleted=is_deleted)


def stage_of(health: Health, now: datetime) -> int:
    """How far a subscription is on the way to being disabled: one of ``STAGES``, or 0."""
    if health.failing_since is None:
        return 0
    share = min(health.dead_in_a_row / DEAD_IN_A_ROW, (now - health.failing_since) / WITHOUT_SUCCESS)
    return max((stage for stage in STAGES if share * 100 >= stage), default=0)


def _stop(pk: int, reason: str) -> bool:
    """Disable a subscription of one shop, or delete it; one that holds for all shops goes on.

    Returns:
        Whether it was deleted.
    """
    with every_shop():
        subscription = Subscription.objects.select_related("shop").get(pk=pk)
    if subscription.shop is None or subscription.deleted_at is not None:
        logger.warning("Webhook subscription %s fails: %s", pk, reason)
        return False
    try:
        with shop_scope(subscription.shop), transaction.atomic():
            if settings.WEBHOOK_DELETE_FAILING and reason == FAILING_REASON:
                subscriptions.delete_subscription(subscription, actor="system", at=timezone.now())
                return True
            if subscriptions.disable(subscription, reason=reason, at=timezone.now()) and reason == GONE_REASON:
                queue.enqueue(WARN, subscription_id=pk, stage=STAGES[-1])
    except Gone:
        return False
    return False


def tally_of(rows: Iterable[tuple[int, int, str, str, bool]]) -> dict[int, Tally]:
    """Tallies out of ``(subscription, shop, state, error, is_gone)``."""
    found: dict[int, Tally] = {}
    for pk, shop, state, error, is_gone in rows:
        tally = found.setdefault(pk, Tally(shop=shop))
        tally.successes += state == "done"
        tally.failures += state in {"retry", "dead"}
        tally.dead += state == "dead"
        tally.error = error or tally.error
        tally.is_gone = tally.is_gone or is_gone
    return found
