"""Export and erase the personal data of a customer.

Apps that store data about customers, such as orders, register this data as a part. An erasure does not delete data
that bookkeeping needs: the customer's row with its id, and the order summary. Each model declares its personal fields
(see ``apps.core.privacy``).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import quote_plus

from django.contrib.auth.base_user import AbstractBaseUser
from django.db import transaction
from django.db.models import QuerySet

from apps.core.db.row_locks import get_for_update
from apps.core.events.recording import record_event
from apps.core.events.redaction import redact_events
from apps.core.events.values import HIDDEN_VALUE
from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.privacy import build_mention_filter, get_blank_values
from apps.core.registry import Registry
from apps.core.tenancy.models import SavedView
from apps.core.types import Attrs
from apps.customers.domain import consents, privacy_webhooks, search_columns
from apps.customers.domain.addresses import COLUMNS
from apps.customers.domain.consents import Channel, Consent
from apps.customers.domain.fields import EDITABLE_FIELDS, IDENTIFYING_FIELDS
from apps.customers.domain.lookup import get_merged_ids
from apps.customers.models import Address, ConsentState, Customer, Invitation
from apps.metafields.models import Metafield

# A function that yields rows with ids above the given id, in id order, as ``(id, exported value)``.
RowsAfter = Callable[[int], Iterable[tuple[int, object]]]
GetRows = Callable[[Customer], QuerySet[Any]]

# Shorter words, such as "Li", occur in too many unrelated texts.
MIN_WORD_LENGTH = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonalData:
    """The personal data that an app stores about customers.

    Attributes:
        redact: ``(customer, actor, at)`` erases the data, in the transaction of the erasure and before the customer's
            own columns.
        export: ``(customer, after)`` returns the rows with an id above ``after``, in id order, as ``(id, JSON value)``.
            None if other parts include the data.
        locked_before: Returns the rows that ``redact`` changes and that must be locked before the customer. While
            ``erasing_at`` is set, it only returns rows that are not erased yet.
        ids: Returns the ids by which apps know this data, such as order ids.
        redact_some: ``(customer, after, actor, at)`` erases a few hundred of the ``locked_before`` rows in a separate
            transaction, and returns their ids. It is needed for parts with an unlimited number of rows. ``redact`` then
            only erases the remaining rows.
    """

    redact: Callable[[Customer, str, datetime], None]
    export: Callable[[Customer, int], Iterable[tuple[int, object]]] | None = None
    locked_before: GetRows | None = None
    ids: Callable[[Customer], list[int]] | None = None
    redact_some: Callable[[Customer, int, str, datetime], list[int]] | None = None


class _RowsAdded(Exception):
    pass


# A function that creates an export file and records the request: ``(customer, user, actor, at)``. It returns the number
# of the export.
FileExporter = Callable[[Customer, AbstractBaseUser, str, datetime], int]

# The parts of a customer's data by their key in exports, such as ``orders``.
personal_data_parts = Registry[str, PersonalData]("personal data of customers")
file_exporters = Registry[str, FileExporter]("exporters of personal data")


def collect_data(customer: Customer) -> Attrs:
    """Return all data of a customer with few rows as JSON values (see ``iter_parts``)."""
    return {
        "customer": get_customer_data(customer),
        **{name: [value for _, value in rows_after(0)] for name, rows_after in iter_parts(customer)},
    }


def iter_parts(customer: Customer) -> Iterator[tuple[str, RowsAfter]]:
    """Yield the name and the lazily read rows of each part of the data, without the customer's own columns."""
    yield "addresses", _export_rows(customer.addresses.all(), COLUMNS)
    consents_columns = ("channel", "state", "opt_in_level", "collected_from", "consent_updated_at")
    yield "consents", _export_rows(customer.consent_changes.all(), consents_columns, recorded_at="created_at")
    renamed = {"to": "to_address", "subject": "subject", "message": "custom_message", "sent_at": "sent_at"}
    yield "invitations", _export_rows(customer.invitations.all(), **renamed)
    yield "metafields", _export_rows(_get_metafields(customer), ("namespace", "key", "type", "value"))
    for name, part in personal_data_parts.items():
        if part.export is not None:
            yield name, partial(part.export, customer)


def _export_rows(rows: QuerySet[Any], columns: Sequence[str] = (), **renamed: str) -> RowsAfter:
    """Return a function that exports the rows with ids above its argument. ``renamed`` maps other names to columns."""
    columns_by_name = {name: name for name in columns} | renamed

    def export(after: int) -> Iterator[tuple[int, Attrs]]:
        for row in rows.filter(pk__gt=after).order_by("pk"):
            values = ((name, getattr(row, column)) for name, column in columns_by_name.items())
            yield (
                row.pk,
                {name: _format_time(value) if isinstance(value, datetime) else value for name, value in values},
            )

    return export


def get_part_ids(customer: Customer, name: str) -> list[int]:
    """Return the ids in one part of a customer's data, such as ``orders``, or [] if no app registered the part."""
    part = personal_data_parts.get(name)
    return part.ids(customer) if part and part.ids else []


def _get_metafields(customer: Customer) -> QuerySet[Metafield]:
    return Metafield.objects.filter(owner_resource="customer", owner_id=customer.pk)


@transaction.atomic
def export_data(customer: Customer, *, actor: str, at: datetime) -> Attrs:
    record_data_export(customer, actor=actor, at=at)
    return collect_data(customer)


def export_data_as_file(customer: Customer, *, user: AbstractBaseUser, actor: str, at: datetime) -> int:
    [create_export] = file_exporters.values()
    return create_export(customer, user, actor, at)


def record_data_export(customer: Customer, *, actor: str, at: datetime) -> None:
    """Record the export in the audit log and notify apps of the data request."""
    record_event("customers/export", customer, actor=actor, at=at)
    record_event(privacy_webhooks.DATA_REQUEST, customer, actor=actor, at=at)


def get_customer_data(customer: Customer) -> Attrs:
    return {
        "id": customer.pk,
        **{name: getattr(customer, name) for name in EDITABLE_FIELDS},
        "state": customer.state,
        "created_at": _format_time(customer.created_at),
        "updated_at": _format_time(customer.updated_at),
        "orders_count": customer.orders_count,
        "total_spent": str(customer.total_spent),
    }


def _format_time(value: datetime | None) -> str | None:
    return value.isoformat() if value else None


@transaction.atomic
def redact_customer(customer: Customer, *, actor: str, at: datetime, job: Job | None = None) -> Customer:
    """Erase a customer's personal data in this app and in the registered parts, and complete an erasure in batches.

    A second call erases data that was added after the first call. The lease of ``job`` is locked until the transaction
    ends.
    """
    customer = _lock_customer(customer, job)
    _erase_mentions(customer)
    for part in personal_data_parts.values():
        part.redact(customer, actor, at)
    for name, value in get_blank_values(Customer).items():
        setattr(customer, name, value)
    for channel in Channel:
        consents.set_consent(customer, channel, Consent(state=ConsentState.REDACTED, updated_at=at))
    customer.state = Customer.State.DISABLED
    customer.verified_email = False
    customer.tax_exemptions = []
    customer.default_address = None
    customer.activation_expires_at = None
    customer.redacted_at = at
    customer.erasing_at = None
    customer.save()
    for channel in Channel:
        consents.record_consent(customer, channel, None, actor=actor, at=at)
    Address.objects.filter(customer=customer).delete()
    Invitation.objects.filter(customer=customer).delete()
    _erase_records(customer)
    _get_metafields(customer).delete()
    record_event("customers/erase", customer, actor=actor, at=at)
    record_event("customers/update", customer, actor=actor, at=at)
    privacy_webhooks.schedule_redact_webhook(customer, at)
    search_columns.enqueue_clearing(actor=actor)
    return customer


def redact_next_batch(job: Job, customer: Customer, name: str, after: int, *, at: datetime) -> list[int]:
    """Erase the next rows of a part in a separate transaction. Return the ids of the rows, or [] if none remain."""
    part = personal_data_parts[name]
    assert part.redact_some is not None
    with transaction.atomic():
        queue.lock_lease(job)
        return part.redact_some(customer, after, job.actor, at)


def get_remaining_rows(customer: Customer) -> dict[str, QuerySet[Any]]:
    """Return the rows that remain to be erased before the customer's own row, keyed by the name of the part."""
    return {
        name: part.locked_before(customer)
        for name, part in personal_data_parts.items()
        if part.redact_some is not None and part.locked_before is not None
    }


def _lock_customer(customer: Customer, job: Job | None = None) -> Customer:
    """Lock the rows that must be locked before customers, then the customer.

    If rows were added before the customer was locked, release the locks and start again.
    """

    def jobs(customer: Customer) -> QuerySet[Job]:
        return (
            _find_failed_jobs(customer) if job is None else _find_failed_jobs(customer) | Job.objects.filter(pk=job.pk)
        )

    # Lock in reverse order, because apps in higher layers register later, but their rows must be locked first.
    registered = [part.locked_before for part in reversed(personal_data_parts.values()) if part.locked_before]
    locked_first: list[GetRows] = [jobs, *registered]
    while True:
        with suppress(_RowsAdded), transaction.atomic():
            locked_ids = [
                _get_ids(rows(customer).select_for_update(of=("self",)).order_by("pk")) for rows in locked_first
            ]
            customer = get_for_update(Customer, customer.pk)
            if any(_get_ids(rows(customer)) - ids for rows, ids in zip(locked_first, locked_ids, strict=True)):
                raise _RowsAdded
            if job is not None:
                queue.lock_lease(job)
            return customer


def _get_ids(rows: QuerySet[Any]) -> set[int]:
    return set(rows.values_list("pk", flat=True))


def _find_failed_jobs(customer: Customer) -> QuerySet[Job]:
    return Job.objects.filter(build_mention_filter(("error",), get_identifying_words(customer)))


def get_identifying_words(customer: Customer) -> list[str]:
    addresses = customer.addresses.values_list("first_name", "last_name", "phone", "company", "address1")
    own_values = (getattr(customer, name) for name in IDENTIFYING_FIELDS)
    words = {*own_values, *(word for address in addresses for word in address)}
    return sorted(word for word in words if word and len(word) >= MIN_WORD_LENGTH)


def _erase_mentions(customer: Customer) -> None:
    """Erase job errors that mention the customer, and delete saved lists that mention the customer."""
    _find_failed_jobs(customer).update(error=HIDDEN_VALUE)
    words = get_identifying_words(customer)
    # Also find URL-encoded words, because a saved list stores the search as a URL query.
    quoted = [*words, *map(quote_plus, words)]
    SavedView.objects.filter(build_mention_filter(("name", "query"), quoted)).delete()


def _erase_records(customer: Customer) -> None:
    """Remove personal data from events and their payloads. The events remain in the audit log."""
    redact_events(Customer, [customer.pk, *get_merged_ids(customer.pk)])
    redact_events(Metafield, list(_get_metafields(customer).values_list("pk", flat=True)))
