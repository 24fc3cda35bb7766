"""Send the ``shop/redact`` privacy webhook, and redact personal data in deliveries.

``shop/redact`` is sent to an app 48 hours after it is uninstalled. The ``customers`` app records the events for the two
customer webhooks.
"""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Model, QuerySet
from django.utils import timezone

from apps.core.events.models import Event
from apps.core.events.recording import record_event
from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Installation
from apps.core.tenancy.scope import all_shops_scope
from apps.webhooks.domain.subscriptions import delete_app_subscriptions, get_configured_subscriptions
from apps.webhooks.domain.topics import SHOP_REDACT
from apps.webhooks.models import Attempt, Delivery, Payload, Pending

SEND_SHOP_REDACT = "webhooks.send_shop_redact"
# An app that is reinstalled within this time does not receive the webhook and may keep the shop's data.
REINSTALL_PERIOD = timedelta(hours=48)


def handle_uninstall(installation: Installation, at: datetime) -> None:
    """Delete the app's subscriptions, and schedule ``shop/redact`` if the app's configuration file subscribes to it."""
    delete_app_subscriptions(installation, at)
    with all_shops_scope():
        listens = get_configured_subscriptions(installation.app_id).filter(topic=SHOP_REDACT).exists()
    if listens:
        queue.enqueue(SEND_SHOP_REDACT, due_at=at + REINSTALL_PERIOD, installation_id=installation.pk)


def send_shop_redact(job: Job, **arguments: Any) -> None:
    """Record the ``shop/redact`` event, unless the app was reinstalled. ``handle_uninstall`` enqueues this task."""
    with transaction.atomic():
        queue.lock_lease(job)
        installation = Installation.objects.get(pk=arguments["installation_id"])
        is_reinstalled = Installation.objects.filter(app=installation.app_id, uninstalled_at=None).exists()
        is_recorded = Event.objects.filter(topic=SHOP_REDACT, subject_id=installation.pk).exists()
        if not (is_reinstalled or is_recorded):
            record_event(SHOP_REDACT, installation, actor="system", at=timezone.now())


_UNFINISHED = (Delivery.State.DUE, Delivery.State.RETRY, Delivery.State.LEASED, Delivery.State.HELD)


def redact_deliveries(_model: type[Model], _ids: Collection[int], events: "QuerySet[Event]") -> None:
    """Erase the payloads and responses of all deliveries for these events."""
    event_ids = list(events.filter(payload__isnull=False).values_list("pk", flat=True))
    Pending.objects.filter(event_id__in=event_ids).delete()
    deliveries = Delivery.objects.filter(event_id__in=event_ids)
    unfinished = deliveries.filter(state__in=_UNFINISHED)
    unfinished.update(state=Delivery.State.CANCELLED, lease=None, lease_until=None, error="erased")
    Payload.objects.filter(event_id__in=event_ids).update(body=b"")
    Attempt.objects.filter(delivery__in=deliveries).update(excerpt="", response_headers={})
