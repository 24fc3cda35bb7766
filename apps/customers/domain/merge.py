"""Merge a customer into another: all rows move to the customer that is kept, and the other customer is deleted.

Apps that store rows of customers, such as orders, register the rows here. If there are few rows, the merge is one
transaction. If there are many rows, a worker moves the rows in batches and merges the customers last. Each batch is a
transaction, which also updates the totals of both customers. Rows that are added to the other customer during the merge
are moved too. After a crash, the next worker moves the rows that still refer to the other customer.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.core.events.recording import EventInput, apply_changes, record_event, record_events
from apps.core.exceptions import RowDeleted
from apps.core.i18n.messages import define_message, define_text
from apps.core.jobs import queue
from apps.core.jobs.job_tasks import get_all_names
from apps.core.jobs.models import Job
from apps.core.registry import Registry
from apps.core.types import Attrs
from apps.customers.domain import consents, merge_rules
from apps.customers.domain.consents import Channel, get_consent
from apps.customers.domain.customers import record_tag_changes
from apps.customers.domain.lookup import MERGE_TOPIC, BeingErased, get_merged_ids, raise_if_being_erased
from apps.customers.domain.merge_rules import Choices, MergeRefused, Side
from apps.customers.domain.search_columns import get_address_texts, rebuild_search_columns
from apps.customers.models import SEARCH_COLUMNS, Address, ConsentChange, Customer, Invitation
from apps.metafields.domain import transfer
from apps.metafields.domain.owners import get_owner_type_of_row

_ERASED = define_message(
    "customers.erased", "The personal data of customer {number} was erased, so this customer can't be merged."
)
_SAME_CUSTOMER = define_text("customers.same_customer", "Choose two different customers to merge.")

MERGE_TASK = "customers.merge_customers"
# A customer with more rows than this is merged by a worker, in batches of this size.
BATCH_SIZE = 250
_UNFINISHED = (Job.State.WAITING, Job.State.RUNNING)

GetRows = Callable[[int], QuerySet[Any]]
# A function that moves locked rows to a customer: ``(rows, keep_id, other_id, actor, at)``. Both customers are locked.
MoveRows = Callable[[Sequence[Any], int, int, str, datetime], None]


@dataclass(frozen=True, slots=True)
class MergePart:
    """Rows, such as orders, that a merge must move to the customer that is kept.

    Attributes:
        rows: Returns the rows for a customer id. The rows are locked before the customers.
        move: Moves some of the rows to another customer, records events and updates both customers.
    """

    rows: GetRows
    move: MoveRows


def move_rows(
    rows: Sequence[Any],
    keep_id: int,
    other_id: int,
    actor: str,
    at: datetime,
    *,
    topic: str,
    columns: Sequence[str] = ("customer_id",),
) -> None:
    """Move locked rows to another locked customer, with an event for each row.

    ``columns`` are the columns that may contain the customer's ID.
    """
    changes: dict[int, Attrs] = {row.pk: {} for row in rows}
    for column in columns:
        moved = [row for row in rows if getattr(row, column) == other_id]
        for row in moved:
            setattr(row, column, keep_id)
            row.updated_at = at
            changes[row.pk][column] = [other_id, keep_id]
        if moved:
            type(moved[0]).objects.filter(pk__in=[row.pk for row in moved]).update(**{column: keep_id}, updated_at=at)
    record_events([EventInput(topic, row, changes[row.pk]) for row in rows], actor=actor, at=at)


_MERGED_MESSAGE = define_message("customers.merged", "Customer {merged} was merged into customer {number}")


class MergeInProgress(MergeRefused):
    pass


class _RowsAdded(Exception):
    pass


merge_parts = Registry[str, MergePart]("customer data to merge")


def merge_customers(keep: Customer, other: Customer, choices: Choices, *, actor: str, at: datetime) -> bool:
    """Merge ``other`` into ``keep``, or enqueue a job if there are many rows. Return True if the merge is complete.

    It is also complete if ``other`` was already merged into ``keep``. ``choices`` are the sides of the fields with two
    different values (see ``merge_rules.FIELDS``).
    """
    merge_rules.check_choices(choices)
    if keep.pk == other.pk:
        raise MergeRefused(_SAME_CUSTOMER)
    if all(part.rows(other.pk).count() <= BATCH_SIZE for part in merge_parts.values()):
        _merge(keep.pk, other.pk, choices, actor=actor, at=at)
        return True
    with transaction.atomic():
        customers = _lock_customers(keep.pk, other.pk)
        if customers is None:
            return True
        _check(*customers, choices)
        queue.enqueue(MERGE_TASK, actor=actor, keep_id=keep.pk, other_id=other.pk, choices=dict(choices))
    return False


def check_mergeable(keep: Customer, other: Customer, job: Job | None = None) -> None:
    """Check that two customers can be merged. ``job`` is the running merge of these two customers, if any."""
    if keep.pk == other.pk:
        raise MergeRefused(_SAME_CUSTOMER)
    for customer in (keep, other):
        raise_if_being_erased(customer)
        if customer.redacted_at is not None:
            raise MergeRefused(_ERASED(number=customer.pk))
    if job is None and (find_merge_job(keep.pk) or find_merge_job(other.pk)):
        raise MergeInProgress(
            _("One of these customers is already being merged. Try again when the merge is finished.")
        )


def find_merge_job(customer_id: int) -> Job | None:
    involved = Q(arguments__keep_id=customer_id) | Q(arguments__other_id=customer_id)
    return (
        Job.objects.filter(involved, state__in=_UNFINISHED, task__in=get_all_names(MERGE_TASK)).order_by("pk").first()
    )


def run_merge_job(job: Job, **arguments: Any) -> None:
    """Run the job that ``merge_customers`` enqueues: move the remaining rows and merge the customers.

    Raises:
        GiveUp: The merge is no longer possible. Rows that were already moved are not moved back.
    """
    keep_id, other_id, choices = arguments["keep_id"], arguments["other_id"], arguments["choices"]
    remaining = sum(part.rows(other_id).count() for part in merge_parts.values())
    # The last step merges the two customer rows.
    total = max(job.progress_total, remaining + 1)
    done_count = total - remaining - 1
    try:
        for part in merge_parts.values():
            last_id = 0
            while moved := _move_next(job, part, keep_id, other_id, after=last_id):
                last_id = moved[-1].pk
                done_count += len(moved)
                queue.report_progress(job, completed=min(done_count, total), total=total)
        _merge(keep_id, other_id, choices, actor=job.actor, at=timezone.now(), job=job)
    except (BeingErased, RowDeleted, MergeRefused) as error:
        raise queue.GiveUp(error.sentence) from error
    queue.report_progress(job, completed=total, total=total)


@transaction.atomic
def _move_next(job: Job, part: MergePart, keep_id: int, other_id: int, *, after: int) -> list[Any]:
    """Move the next full batch of a part in a separate transaction. Return the rows, or [] if no full batch remains.

    ``after`` is the last id of the previous batch, so that a database that scans by id skips the moved rows.
    """
    queue.lock_lease(job)
    remaining = part.rows(other_id).filter(pk__gt=after)
    rows = list(remaining.select_for_update(of=("self",)).order_by("pk")[:BATCH_SIZE])
    customers = _lock_customers(keep_id, other_id)
    if customers is None or len(rows) < BATCH_SIZE:
        return []
    check_mergeable(*customers, job)
    part.move(rows, keep_id, other_id, job.actor, timezone.now())
    return rows


@transaction.atomic
def _merge(keep_id: int, other_id: int, choices: Choices, *, actor: str, at: datetime, job: Job | None = None) -> None:
    rows = _lock_rows(keep_id, other_id, job)
    customers = _lock_customers(keep_id, other_id)
    if customers is None:
        return
    _check(*customers, choices, job)
    for part, part_rows in zip(merge_parts.values(), rows, strict=True):
        part.move(part_rows, keep_id, other_id, actor, at)
    # Reload both customers, because moving the orders updated their totals.
    keep, other = Customer.objects.get(pk=keep_id), Customer.objects.get(pk=other_id)
    _combine(keep, other, choices, actor=actor, at=at)


def _lock_rows(keep_id: int, other_id: int, job: Job | None) -> list[list[Any]]:
    """Lock the remaining rows of all parts, then both customers. Return the rows.

    If rows were added before the customers were locked, release the locks and start again.
    """
    # Lock in reverse order, because apps in higher layers register later, but their rows must be locked first.
    parts = list(reversed(merge_parts.values()))
    while True:
        with suppress(_RowsAdded), transaction.atomic():
            if job is not None:
                queue.lock_lease(job)
            locked_rows = [list(part.rows(other_id).select_for_update(of=("self",)).order_by("pk")) for part in parts]
            _lock_customers(keep_id, other_id)
            for part, rows in zip(parts, locked_rows, strict=True):
                if part.rows(other_id).exclude(pk__in=[row.pk for row in rows]).exists():
                    raise _RowsAdded
            return locked_rows[::-1]


def _lock_customers(keep_id: int, other_id: int) -> tuple[Customer, Customer] | None:
    """Lock and return both customers, or return None if ``other`` was already merged into ``keep``."""
    rows = Customer.objects.select_for_update(of=("self",)).filter(pk__in=(keep_id, other_id)).order_by("pk")
    customers = {row.pk: row for row in rows}
    if len(customers) == len({keep_id, other_id}):
        return customers[keep_id], customers[other_id]
    if keep_id in customers and other_id in get_merged_ids(keep_id):
        return None
    raise RowDeleted


def _check(keep: Customer, other: Customer, choices: Choices, job: Job | None = None) -> None:
    check_mergeable(keep, other, job)
    merge_rules.merge_values(keep, other, choices)


def _combine(keep: Customer, other: Customer, choices: Choices, *, actor: str, at: datetime) -> None:
    old_tags = keep.tags
    values = merge_rules.merge_values(keep, other, choices)
    new_consents = {channel: merge_rules.merge_consent(channel, keep, other, choices) for channel in Channel}
    default = _take_addresses(keep, other, choices)
    replacing = merge_rules.select_field_side("metafields", keep, other, choices) is Side.OTHER
    transfer.transfer_metafields(
        get_owner_type_of_row(keep), other.pk, keep.pk, replacing=replacing, actor=actor, at=at
    )
    for model in (ConsentChange, Invitation):
        model.objects.filter(customer=other).update(customer=keep)
    record_event("customers/delete", other, actor=actor, at=at, changes={"merged_into_id": [None, keep.pk]})
    values |= merge_rules.merge_account(keep, other, choices)
    # Delete the other customer first, because email and phone are unique.
    merged_id = other.pk
    other.delete()
    recorded = {name: value for name, value in values.items() if name not in ("email_key", "password", *_LINK)}
    changes = apply_changes(keep, recorded, personal=Customer.personal_fields)
    for name, value in values.items():
        setattr(keep, name, value)
    columns = [*values, "default_address", *SEARCH_COLUMNS]
    changed_channels = [channel for channel, consent in new_consents.items() if consent != get_consent(keep, channel)]
    consents_before = {channel: get_consent(keep, channel) for channel in changed_channels}
    for channel in changed_channels:
        columns += consents.set_consent(keep, channel, new_consents[channel])
    keep.default_address = default
    rebuild_search_columns(keep, get_address_texts(keep))
    keep.save(update_fields=columns)
    for channel in changed_channels:
        consents.record_consent(keep, channel, consents_before[channel], actor=actor, at=at)
    keep.merged_customer_id = merged_id
    message = _MERGED_MESSAGE(merged=merged_id, number=keep.pk)
    merge_change = {"merged_customer_id": [merged_id, keep.pk]}
    record_event(MERGE_TOPIC, keep, actor=actor, at=at, changes=merge_change, message=message)
    record_event("customers/update", keep, actor=actor, at=at, changes=changes)
    record_tag_changes([(keep, old_tags)], actor=actor, at=at)


_LINK = ("activation_nonce", "activation_expires_at")


def _take_addresses(keep: Customer, other: Customer, choices: Choices) -> Address | None:
    """Move the addresses that the kept customer does not have yet. Return the new default address."""
    own_rows = Address.objects.filter(customer=keep).order_by("-pk")
    kept_addresses = {merge_rules.get_address_key(row): row for row in own_rows}
    moved_ids, default = [], keep.default_address
    from_other = merge_rules.select_field_side("default_address", keep, other, choices) is Side.OTHER
    for row in Address.objects.filter(customer=other).order_by("pk"):
        key = merge_rules.get_address_key(row)
        if key not in kept_addresses:
            kept_addresses[key] = row
            moved_ids.append(row.pk)
        if from_other and row.pk == other.default_address_id:
            default = kept_addresses[key]
    Address.objects.filter(pk__in=moved_ids).update(customer=keep)
    return default
