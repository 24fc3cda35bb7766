"""Erase customers with many rows. A worker erases the rows in batches, and the customer's own row last.

While ``Customer.erasing_at`` is set, the customer accepts no orders and no changes (``BeingErased``), because the
batches would miss new rows. Each batch is a transaction. After a crash, the next worker finds the rows that still
contain personal data. The privacy webhooks and the audit log entry are created once, at the end.
"""

from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.core.db.row_locks import get_for_update
from apps.core.jobs import queue
from apps.core.jobs.job_tasks import get_all_names
from apps.core.jobs.models import Job
from apps.customers.domain import personal_data
from apps.customers.models import Customer

ERASE_TASK = "customers.erase_customer"
# Customers with more rows than this are erased by a worker.
MAX_ROWS_IN_REQUEST = 250
_UNFINISHED = (Job.State.WAITING, Job.State.RUNNING)


def erase_customer(customer: Customer, *, actor: str, at: datetime) -> bool:
    """Erase a customer's personal data, or enqueue a job if there are many rows. Return True if the data is erased."""
    if has_few_rows(customer):
        personal_data.redact_customer(customer, actor=actor, at=at)
        return True
    _begin(customer, actor=actor, at=at)
    return False


def has_few_rows(customer: Customer) -> bool:
    """Return True if the data can be erased within the request and no worker is erasing the data."""
    remaining = personal_data.get_remaining_rows(customer).values()
    return customer.erasing_at is None and all(
        len(rows.values_list("pk")[: MAX_ROWS_IN_REQUEST + 1]) <= MAX_ROWS_IN_REQUEST for rows in remaining
    )


@transaction.atomic
def _begin(customer: Customer, *, actor: str, at: datetime) -> None:
    """Block changes to a customer, and enqueue an erasure job unless an unfinished job exists."""
    customer = get_for_update(Customer, customer.pk)
    if customer.erasing_at is None:
        Customer.objects.filter(pk=customer.pk).update(erasing_at=at)
    if find_erasure_job(customer.pk) is None:
        queue.enqueue(ERASE_TASK, actor=actor, customer_id=customer.pk)


def find_erasure_job(customer_id: int) -> Job | None:
    jobs = Job.objects.filter(
        state__in=_UNFINISHED, task__in=get_all_names(ERASE_TASK), arguments__customer_id=customer_id
    )
    return jobs.order_by("due_at", "pk").first()


def run_erasure_job(job: Job, **arguments: Any) -> None:
    """Erase the remaining data of the customer in ``customer_id``, unless another job has already erased it."""
    customer = Customer.objects.filter(pk=arguments["customer_id"]).first()
    if customer is None or customer.erasing_at is None:
        return
    started_at = customer.erasing_at
    remaining = {name: rows.count() for name, rows in personal_data.get_remaining_rows(customer).items()}
    # The last step (``redact_customer``) erases the personal data in the customer's own row.
    total = max(job.progress_total, sum(remaining.values()) + 1)
    done_count = total - sum(remaining.values()) - 1
    for name in remaining:
        last_id = 0
        # Server clocks can differ, but the time of a batch must not be earlier than the start of the erasure.
        while ids := personal_data.redact_next_batch(job, customer, name, last_id, at=max(timezone.now(), started_at)):
            last_id, done_count = ids[-1], done_count + len(ids)
            queue.report_progress(job, completed=min(done_count, total), total=total)
    personal_data.redact_customer(customer, actor=job.actor, at=max(timezone.now(), started_at), job=job)
    queue.report_progress(job, completed=total, total=total)
