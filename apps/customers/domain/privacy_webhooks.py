"""Notify apps of data requests and erasures through the privacy webhooks.

An erasure deletes the personal data immediately. The redact webhook is sent later, so it only contains ids.
"""

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.core.events.models import Event
from apps.core.events.recording import record_event
from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.tenancy.scope import get_current_shop
from apps.customers.models import Customer

DATA_REQUEST, REDACT = "customers/data_request", "customers/redact"
REDACT_TASK = "customers.publish_redact_webhook"
REDACT_DELAY = timedelta(days=10)
# An order can be disputed during this time, so apps may still need the customer's data.
DISPUTE_PERIOD = timedelta(days=183)


def schedule_redact_webhook(customer: Customer, at: datetime) -> None:
    """Schedule the redact webhook for ten days from now, or for half a year after the last order if that is later."""
    due = max(at + REDACT_DELAY, customer.last_order_at + DISPUTE_PERIOD)
    queue.enqueue(REDACT_TASK, due_at=due, customer_id=customer.pk)


def publish_redact_webhook(job: Job, **arguments: Any) -> None:
    """Record the redact event. If a customer was erased twice, apps receive two webhooks."""
    pk = arguments["customer_id"]
    # If the customer was deleted, apps still need the id to erase their own data.
    customer = Customer.objects.filter(pk=pk).first() or Customer(pk=pk, shop=get_current_shop())
    with transaction.atomic():
        queue.lock_lease(job)
        reported = Event.objects.filter(topic=REDACT, subject_id=pk, created_at__gte=job.due_at)
        if not reported.exists():
            record_event(REDACT, customer, actor="system", at=timezone.now())
