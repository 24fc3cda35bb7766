"""Erasing a person of whom there is much: a worker goes through the rows in batches, and the customer goes last.

While ``Customer.erasing_at`` is set, the customer takes no orders and no changes (``BeingErased``), so that nothing
comes that the batches have passed. Each batch is a transaction; a worker that is killed leaves the rest to the next,
which finds what is left by the rows themselves. Apps are told, and the audit trail has its entry, at the end, once.
"""

from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.customers.domain import personal_data
from apps.customers.models import Customer
from apps.ground.locks import locked
from apps.jobs.domain import queue
from apps.jobs.models import Job

ERASE = "customers.erase"
# More rows than this are for a worker.
AT_ONCE = 250
_UNFINISHED = (Job.State.WAITING, Job.State.RUNNING)


def erase(customer: Customer, *, actor: str, at: datetime) -> bool:
    """Erase a customer's personal data: now where there is little, else by a worker; gives whether it is done.

    Of one who is being erased the worker is asked for again, where it had stopped.
    """
    if is_small(customer):
        personal_data.redact(customer, actor=actor, at=at)
        return True
    _begin(customer, actor=actor, at=at)
    return False


def is_small(customer: Customer) -> bool:
    """Whether the customer's data is dealt with while somebody waits; not that of one whom a worker erases."""
    left = personal_data.left_of(customer).values()
    return customer.erasing_at is None and all(len(rows.values_list("pk")[: AT_ONCE + 1]) <= AT_ONCE for rows in left)


@transaction.atomic
def _begin(customer: Customer, *, actor: str, at: datetime) -> None:
    """Let nothing more come to a customer, and ask for a worker unless one is at it."""
    customer = locked(Customer, customer.pk)
    if customer.erasing_at is None:
        Customer.objects.filter(pk=customer.pk).update(erasing_at=at)
    if job_of(customer.pk) is None:
        queue.enqueue(ERASE, actor=actor, customer_id=customer.pk)


def job_of(customer_id: int) -> Job | None:
    """The job that erases a customer, if it has not ended."""
    jobs = Job.objects.filter(state__in=_UNFINISHED, task=ERASE, arguments__customer_id=customer_id)
    found: Job | None = jobs.order_by("due_at", "pk").first()
    return found


def run(job: Job, **arguments: Any) -> None:
    """Erase what is left of a customer; ``customer_id`` names them. Nothing is left where another did it.

    Raises:
        LeaseLost: The job is not ours any more.
    """
    customer = Customer.objects.filter(pk=arguments["customer_id"]).first()
    if customer is None or customer.erasing_at is None:
        return
    begun = customer.erasing_at
    left = {name: rows.count() for name, rows in personal_data.left_of(customer).items()}
    # One more for the customer.
    total = max(job.progress_total, sum(left.values()) + 1)
    done = total - sum(left.values()) - 1
    for name in left:
        last = 0
        # Machines' clocks differ, and what is erased must not look as if it were from before.
        while ids := personal_data.redact_next(job, customer, name, last, at=max(timezone.now(), begun)):
            last, done = ids[-1], done + len(ids)
            queue.report_progress(job, done=min(done, total), total=total)
    personal_data.redact(customer, actor=job.actor, at=max(timezone.now(), begun), job=job)
    queue.report_progress(job, done=total, total=total)
