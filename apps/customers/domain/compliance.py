"""What the law has apps told of a person: that they asked for their data, and that they are to be forgotten.

Rule: design of webhooks, "Compliance payloads". Our own erasure is at once, and apps are told by the customer's number:
what is erased here is kept nowhere to be sent.
"""

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.customers.models import Customer
from apps.events.domain.recording import record_event
from apps.events.models import Event
from apps.ground.tenancy import current_shop
from apps.jobs.domain import queue
from apps.jobs.models import Job

DATA_REQUEST, REDACT = "customers/data_request", "customers/redact"
TELL = "customers.tell_redact"
WAIT = timedelta(days=10)
# So long an order may be disputed, for which an app may need what it knows.
DISPUTABLE = timedelta(days=183)


def tell_later(customer: Customer, at: datetime) -> None:
    """Have apps told to forget a customer: in ten days, or once the last order is half a year old."""
    due = max(at + WAIT, customer.last_order_at + DISPUTABLE)
    queue.enqueue(TELL, due_at=due, customer_id=customer.pk)


def tell(job: Job, **arguments: Any) -> None:
    """Tell apps; the task of ``tell_later``. Who was erased once more meanwhile is told of once more."""
    pk = arguments["customer_id"]
    # One who was deleted since is told of by the number all the same.
    customer = Customer.objects.filter(pk=pk).first() or Customer(pk=pk, shop=current_shop())
    with transaction.atomic():
        queue.hold(job)
        told = Event.objects.filter(topic=REDACT, subject_id=pk, created_at__gte=job.due_at)
        if not told.exists():
            record_event(REDACT, customer, actor="system", at=timezone.now())
