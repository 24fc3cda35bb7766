"""Subscription health: count results, send warnings in stages and disable failing subscriptions.

The shop gets all warnings. The app's developer gets an email when a subscription is disabled or deleted.

A subscription is disabled after eight dead letters in a row if no delivery has succeeded for at least four hours. With
``WEBHOOK_DELETE_FAILING``, a subscription that an app created is deleted instead. A subscription from a configuration
file covers all shops, so it is never disabled and only causes warnings.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext_lazy

from apps.core.exceptions import RowDeleted
from apps.core.i18n.messages import define_message, define_text
from apps.core.jobs import queue
from apps.core.registry import Registry
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.webhooks.domain import subscriptions
from apps.webhooks.models import Health, Subscription

logger = logging.getLogger(__name__)

MAX_DEAD_IN_A_ROW = 8
MAX_TIME_WITHOUT_SUCCESS = timedelta(hours=4)
# The shop is warned when a failing subscription reaches these percentages of the limits for disabling it.
WARNING_STAGES = (50, 75, 100)
SEND_WARNING = "webhooks.send_warning"
SEND_APP_WARNING = "webhooks.send_app_warning"
GONE_REASON = define_text(
    "webhooks.gone", "The endpoint responded with 410 Gone.", gettext_lazy("The address responded with 410 Gone.")
)
FAILING_REASON = define_message(
    "webhooks.failing", "{count} deliveries in a row failed, and no delivery succeeded for four hours."
)(count=MAX_DEAD_IN_A_ROW)


@dataclass(slots=True)
class Tally:
    successes: int = 0
    failures: int = 0
    dead: int = 0
    error: str = ""
    shop: int = 0
    is_gone: bool = False


class FailureListener(Protocol):
    """A function that is called in the shop's scope when a subscription begins to fail, is disabled or is deleted.

    A subscription begins to fail with the first dead letter since its last success.
    """

    def __call__(self, subscription_id: int, *, at: datetime) -> None: ...


failure_listeners = Registry[str, FailureListener]("listeners for failing webhooks")


def _notify_failure_listeners(pk: int) -> None:
    for listener in failure_listeners.values():
        listener(pk, at=timezone.now())


def update_health(tallies: Mapping[int, Tally]) -> None:
    for pk, tally in tallies.items():
        with all_shops_scope():
            if not Subscription.objects.filter(pk=pk).exists():
                continue
            Health.objects.get_or_create(subscription_id=pk)
            _update(pk, tally)
        if tally.is_gone:
            _stop(pk, GONE_REASON)
        elif tally.dead:
            _warn(pk, tally.shop)


@transaction.atomic
def _update(pk: int, tally: Tally) -> None:
    now = timezone.now()
    row = Health.objects.filter(pk=pk)
    if tally.successes:
        # A single success counts more than failures in the same batch, because it shows that the endpoint is reachable.
        row.update(last_success_at=now, failing_since=None, dead_in_a_row=0, warned=0)
    elif tally.failures:
        values = {
            "last_failure_at": now,
            "failing_since": Coalesce(F("failing_since"), now),
            "dead_in_a_row": F("dead_in_a_row") + tally.dead,
            "last_error": tally.error,
        }
        # Of several processes, only the process with the first dead letter changes this row.
        if not (tally.dead and row.filter(dead_in_a_row=0).update(**values)):
            row.update(**values)
        elif shop := Shop.objects.filter(pk=tally.shop).first():
            with shop_scope(shop):
                _notify_failure_listeners(pk)


@transaction.atomic
def _warn(pk: int, shop_id: int) -> None:
    """Send the warning of the current stage once. At the last stage, also disable or delete the subscription."""
    health = Health.objects.get(pk=pk)
    stage = get_warning_stage(health, timezone.now())
    if stage <= health.warned or not Health.objects.filter(pk=pk, warned__lt=stage).update(warned=stage):
        return
    is_deleted = stage == WARNING_STAGES[-1] and _stop(pk, FAILING_REASON)
    with shop_scope(Shop.objects.get(pk=shop_id)):
        _enqueue_emails(pk, stage, is_deleted=is_deleted)


def _enqueue_emails(pk: int, stage: int, *, is_deleted: bool = False) -> None:
    """Enqueue an email to the shop and, at the last stage, to the app's developer."""
    queue.enqueue(SEND_WARNING, subscription_id=pk, stage=stage, is_deleted=is_deleted)
    if stage == WARNING_STAGES[-1]:
        queue.enqueue(SEND_APP_WARNING, subscription_id=pk, is_deleted=is_deleted)


def get_warning_stage(health: Health, now: datetime) -> int:
    if health.failing_since is None:
        return 0
    share = min(health.dead_in_a_row / MAX_DEAD_IN_A_ROW, (now - health.failing_since) / MAX_TIME_WITHOUT_SUCCESS)
    return max((stage for stage in WARNING_STAGES if share * 100 >= stage), default=0)


def _stop(pk: int, reason: str) -> bool:
    """Disable or delete a failing subscription, unless it covers all shops. Return True if it was deleted."""
    with all_shops_scope():
        subscription = Subscription.objects.select_related("shop").get(pk=pk)
    if subscription.shop is None or subscription.deleted_at is not None:
        logger.warning("Webhook subscription %s is failing: %s", pk, reason)
        return False
    try:
        with shop_scope(subscription.shop), transaction.atomic():
            if settings.WEBHOOK_DELETE_FAILING and reason == FAILING_REASON:
                subscriptions.delete_subscription(subscription, actor="system", at=timezone.now())
                _notify_failure_listeners(pk)
                return True
            is_disabled = subscriptions.disable_subscription(subscription, reason=reason, at=timezone.now())
            if is_disabled:
                _notify_failure_listeners(pk)
            if is_disabled and reason == GONE_REASON:
                _enqueue_emails(pk, WARNING_STAGES[-1])
    except RowDeleted:
        pass
    return False


def tally_results(rows: Iterable[tuple[int, int, str, str, bool]]) -> dict[int, Tally]:
    """Combine tuples ``(subscription, shop, state, error, is_gone)`` into one tally per subscription."""
    tallies: dict[int, Tally] = {}
    for pk, shop, state, error, endpoint_removed in rows:
        tally = tallies.setdefault(pk, Tally(shop=shop))
        tally.successes += state == "done"
        tally.failures += state in {"retry", "dead"}
        tally.dead += state == "dead"
        tally.error = error or tally.error
        tally.is_gone = tally.is_gone or endpoint_removed
    return tallies
