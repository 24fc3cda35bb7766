"""The ``shop/redact`` privacy webhook, sent to an app 48 hours after it is uninstalled.

The ``customers`` app records the events for the two customer webhooks.
"""

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.events.domain.recording import record_event
from apps.events.models import Event
from apps.ground.tenancy import all_shops_scope
from apps.jobs.domain import queue
from apps.jobs.models import Job
from apps.shops.models import Installation
from apps.webhooks.domain.subscriptions import delete_app_subscriptions, get_configured_subscriptions
from apps.webhooks.domain.topics import SHOP_REDACT

SEND_SHOP_REDACT = "webhooks.tell_shop_redact"
# An app that is reinstalled within this time does not receive the webhook and may keep the shop's data.
REINSTALL_PERIOD = timedelta(hours=48)


def handle_uninstall(installation: Installation, at: datetime) -> None:
    """Delete the subscriptions of an uninstalled app, and schedule its ``shop/redact`` webhook."""
    delete_app_subscriptions(installation, at)
    schedule_shop_redact(installation, at)


def schedule_shop_redact(installation: Installation, at: datetime) -> None:
    """Schedule ``shop/redact`` to be sent in 48 hours, if the app's configuration file subscribes to this topic."""
    with all_shops_scope():
        listens = get_configured_subscriptions(installation.app_id).filter(topic=SHOP_REDACT).exists()
    if listens:
        queue.enqueue(SEND_SHOP_REDACT, due_at=at + REINSTALL_PERIOD, installation_id=installation.pk)


def send_shop_redact(job: Job, **arguments: Any) -> None:
    """Record the ``shop/redact`` event, unless the app was reinstalled. ``schedule_shop_redact`` enqueues this task."""
    with transaction.atomic():
        queue.lock_lease(job)
        installation = Installation.objects.get(pk=arguments["installation_id"])
        is_reinstalled = Installation.objects.filter(app=installation.app_id, uninstalled_at=None).exists()
        is_recorded = Event.objects.filter(topic=SHOP_REDACT, subject_id=installation.pk).exists()
        if not (is_reinstalled or is_recorded):
            record_event(SHOP_REDACT, installation, actor="system", at=timezone.now())
