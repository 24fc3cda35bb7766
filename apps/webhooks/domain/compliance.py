"""What the law has apps told after they left a shop: to erase what they know of it.

Rule: design of webhooks, "Compliance payloads". The two requests about customers are recorded by customers.
"""

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.events.domain.recording import record_event
from apps.events.models import Event
from apps.ground.tenancy import every_shop
from apps.jobs.domain import queue
from apps.jobs.models import Job
from apps.shops.models import Installation
from apps.webhooks.domain.subscriptions import configured_for, remove_with_app
from apps.webhooks.domain.topics import SHOP_REDACT

TELL = "webhooks.tell_shop_redact"
# Who comes back within this time keeps what it knows.
WAIT = timedelta(hours=48)


def follow_uninstalling(installation: Installation, at: datetime) -> None:
    """End what an app that leaves subscribed to, and have it told to forget the shop."""
    remove_with_app(installation, at)
    tell_later(installation, at)


def tell_later(installation: Installation, at: datetime) -> None:
    """Have an app that leaves told in two days, where its configuration file wants to hear of it."""
    with every_shop():
        listens = configured_for(installation.app_id).filter(topic=SHOP_REDACT).exists()
    if listens:
        queue.enqueue(TELL, due_at=at + WAIT, installation_id=installation.pk)


def tell(job: Job, **arguments: Any) -> None:
    """Tell an app that left, unless it is back; the task of ``tell_later``."""
    with transaction.atomic():
        queue.hold(job)
        left = Installation.objects.get(pk=arguments["installation_id"])
        is_back = Installation.objects.filter(app=left.app_id, uninstalled_at=None).exists()
        told = Event.objects.filter(topic=SHOP_REDACT, subject_id=left.pk).exists()
        if not (is_back or told):
            record_event(SHOP_REDACT, left, actor="system", at=timezone.now())
