"""What is known of one person: handed over on request, and erased on request.

Apps above that keep data of customers (orders, say) register their part, with the columns where it lies; compliance
webhooks and the panel call ``export`` and ``redact``. Erasing keeps what book-keeping needs: the row with its number,
and the order summary. Every column of every table is declared so, or as impersonal (``apps.ground.personal``).
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import quote_plus

from django.contrib.auth.base_user import AbstractBaseUser
from django.db import transaction
from django.db.models import QuerySet

from apps.customers.domain import compliance, consents, full_text, merging
from apps.customers.domain.addresses import COLUMNS
from apps.customers.domain.consents import Channel, Consent
from apps.customers.models import PERSONAL, SEARCHED, Address, ConsentChange, ConsentState, Customer, Invitation
from apps.events.domain.changes import HIDDEN
from apps.events.domain.forgetting import forget
from apps.events.domain.recording import record_event
from apps.ground.attrs import Attrs
from apps.ground.locks import locked
from apps.ground.personal import Places, mentions, personal
from apps.jobs.domain import queue
from apps.jobs.models import Job
from apps.metafields.models import Metafield
from apps.staff.models import SavedView

# The rows of a kind with an id above some other one, by ascending ids: of each its id and what is told of it.
RowsAfter = Callable[[int], Iterable[tuple[int, object]]]
Export = Callable[[Customer, int], Iterable[tuple[int, object]]]
Rows = Callable[[Customer], QuerySet[Any]]
Redact = Callable[[Customer, str, datetime], None]
Ids = Callable[[Customer], list[int]]
# Erases the next rows after an id, ``(customer, after, actor, at)``; gives the ids of those it erased.
RedactSome = Callable[[Customer, int, str, datetime], list[int]]

# Of shorter words ("Li") too many other texts are made.
SHORTEST = 4
_BLANKED = (*PERSONAL, "email_key", *SEARCHED, "password", "activation_nonce")


@dataclass(frozen=True, slots=True)
class _Part:
    export: Export | None
    redact: Redact
    locked_before: Rows | None
    ids: Ids | None
    redact_some: RedactSome | None


class _CameMeanwhile(Exception):
    """There are more rows to hold than there were before the customer was held."""


# Asks for a file of a person's data, ``(customer, user, actor, at)``, and records who takes it; gives its number.
HandOver = Callable[[Customer, AbstractBaseUser, str, datetime], int]

_parts: dict[str, _Part] = {}
_files: list[HandOver] = []


# What customers themselves keep, and what the kit keeps for them; ``redact`` below erases it.
PLACES: Places = {
    "customers.Customer": _BLANKED,
    "customers.CustomerProfile": ("first_name", "last_name", "email_key"),
    "customers.CustomerWords": SEARCHED,
    "customers.Address": COLUMNS,
    "customers.Invitation": ("to_address", "from_address", "subject", "custom_message", "bcc", "nonce"),
    "metafields.Metafield": ("value", "description"),
    "events.Event": ("payload", "changes", "address"),
    "api.IdempotencyKey": ("body",),
    "jobs.Job": ("error",),
    "staff.SavedView": ("name", "query"),
}


def register(
    name: str,
    *,
    redact: Redact,
    places: Places,
    export: Export | None = None,
    locked_before: Rows | None = None,
    ids: Ids | None = None,
    redact_some: RedactSome | None = None,
) -> None:
    """Add what an app keeps of customers.

    Args:
        name: The part's key in exports, e.g. ``orders``.
        redact: ``(customer, actor, at)`` erases what need not be kept, in the transaction of the erasure; the customer
            is as before it.
        places: The columns that ``redact`` erases, by the label of their model.
        export: ``(customer, after)`` gives a customer's data in rows behind an id as JSON values, each with its id, by
            ascending ids; none where it is all in other parts too.
        locked_before: The rows that ``redact`` changes and that are locked before customers, where there are such;
            of a customer who is ``erasing_at`` those that are left.
        ids: The numbers by which apps know this part of a customer's, e.g. those of orders.
        redact_some: Erases some hundred of the rows of ``locked_before`` in a transaction of their own, where there
            can be any number; ``redact`` then finds only what is left.
    """
    _parts[name] = _Part(export, redact, locked_before, ids, redact_some)
    personal(places)


def export(customer: Customer) -> Attrs:
    """Everything that the shop knows of a customer, as JSON values; of one with few rows (``pieces``)."""
    return {
        "customer": own_data(customer),
        **{name: [told for _, told in rows_after(0)] for name, rows_after in pieces(customer)},
    }


def pieces(customer: Customer) -> Iterator[tuple[str, RowsAfter]]:
    """What the shop knows beside the customer's own columns: by name, rows that are read as they are asked for."""
    yield "addresses", _told(customer.addresses.all(), lambda row: {name: getattr(row, name) for name in COLUMNS})
    yield "consents", _told(customer.consent_changes.all(), _consent)
    yield "invitations", _told(customer.invitations.all(), _invitation)
    yield "metafields", _told(_metafields(customer), _metafield)
    for name, part in _parts.items():
        if part.export is not None:
            yield name, partial(part.export, customer)


def _told(rows: QuerySet[Any], tell: Callable[[Any], Attrs]) -> RowsAfter:
    """What is told of each row."""
    return lambda after: ((row.pk, tell(row)) for row in rows.filter(pk__gt=after).order_by("pk"))


def _consent(row: ConsentChange) -> Attrs:
    return {
        "channel": row.channel,
        "state": row.state,
        "opt_in_level": row.opt_in_level,
        "collected_from": row.collected_from,
        "consent_updated_at": _moment(row.consent_updated_at),
        "recorded_at": _moment(row.created_at),
    }


def _invitation(row: Invitation) -> Attrs:
    return {
        "to": row.to_address,
        "subject": row.subject,
        "message": row.custom_message,
        "sent_at": _moment(row.sent_at),
    }


def _metafield(row: Metafield) -> Attrs:
    return {"namespace": row.namespace, "key": row.key, "type": row.type, "value": row.value}


def ids_of(customer: Customer, name: str) -> list[int]:
    """The numbers of one part of a customer's, e.g. of ``orders``; none where no app keeps that part."""
    part = _parts.get(name)
    return part.ids(customer) if part and part.ids else []


def _metafields(customer: Customer) -> QuerySet[Metafield]:
    rows: QuerySet[Metafield] = Metafield.objects.filter(owner_resource="customer", owner_id=customer.pk)
    return rows


@transaction.atomic
def hand_over(customer: Customer, *, actor: str, at: datetime) -> Attrs:
    """Export a customer's data, and record who took it."""
    note_handing_over(customer, actor=actor, at=at)
    return export(customer)


def use_files(hand_over: HandOver) -> None:
    """Say who writes the files of those of whom there is too much for one answer."""
    _files[:] = [hand_over]


def hand_over_as_file(customer: Customer, *, user: AbstractBaseUser, actor: str, at: datetime) -> int:
    """Have a worker write the file for who asks; gives the number of the export."""
    return _files[0](customer, user, actor, at)


def note_handing_over(customer: Customer, *, actor: str, at: datetime) -> None:
    """Record who takes a customer's data, and tell apps that it was asked for."""
    record_event("customers/export", customer, actor=actor, at=at)
    record_event(compliance.DATA_REQUEST, customer, actor=actor, at=at)


def own_data(customer: Customer) -> Attrs:
    """A customer's own columns, as JSON values."""
    names = ("first_name", "last_name", "email", "phone", "note", "tags", "state", "multipass_identifier")
    return {
        "id": customer.pk,
        **{name: getattr(customer, name) for name in names},
        "verified_email": customer.verified_email,
        "tax_exempt": customer.tax_exempt,
        "tax_exemptions": customer.tax_exemptions,
        "created_at": _moment(customer.created_at),
        "updated_at": _moment(customer.updated_at),
        "orders_count": customer.orders_count,
        "total_spent": str(customer.total_spent),
    }


def _moment(value: datetime | None) -> str | None:
    return value.isoformat() if value else None


@transaction.atomic
def redact(customer: Customer, *, actor: str, at: datetime, job: Job | None = None) -> Customer:
    """Erase a customer's personal data, here and in the registered parts; once more, what came since.

    Args:
        customer: Who; of one who is ``erasing_at`` what is left is erased, and the erasing has ended.
        actor: Who wants it.
        at: When.
        job: In whose place it is done, held until the end.

    Raises:
        LeaseLost: The job is not ours any more.
    """
    customer = _hold(customer, job)
    _erase_mentions(customer)
    for part in _parts.values():
        part.redact(customer, actor, at)
    for name in _BLANKED:
        setattr(customer, name, "")
    for channel in Channel:
        consents.put(customer, channel, Consent(state=ConsentState.REDACTED, updated_at=at))
    customer.state = Customer.State.DISABLED
    customer.verified_email = False
    customer.tax_exemptions = []
    customer.default_address = None
    customer.activation_expires_at = None
    customer.redacted_at = at
    customer.erasing_at = None
    customer.save()
    for channel in Channel:
        consents.note(customer, channel, actor=actor, at=at, silent=True)
    Address.objects.filter(customer=customer).delete()
    Invitation.objects.filter(customer=customer).delete()
    _erase_records(customer)
    _metafields(customer).delete()
    record_event("customers/erase", customer, actor=actor, at=at)
    record_event("customers/update", customer, actor=actor, at=at)
    compliance.tell_later(customer, at)
    full_text.shred(actor=actor)
    return customer


def redact_next(job: Job, customer: Customer, name: str, after: int, *, at: datetime) -> list[int]:
    """Erase the next rows of a part in a transaction of their own; gives their ids, none where none is left.

    Raises:
        LeaseLost: The job is not ours any more.
    """
    part = _parts[name]
    assert part.redact_some is not None
    with transaction.atomic():
        queue.hold(job)
        return part.redact_some(customer, after, job.actor, at)


def left_of(customer: Customer) -> dict[str, QuerySet[Any]]:
    """By the name of the part, the rows that can be erased apart from the customer and that are left."""
    return {
        name: part.locked_before(customer)
        for name, part in _parts.items()
        if part.redact_some is not None and part.locked_before is not None
    }


def _hold(customer: Customer, job: Job | None = None) -> Customer:
    """The customer, locked after those rows of the parts that everybody locks before customers.

    What was added before the customer was held is held in a second attempt; the first one's locks are let go of.
    """

    def jobs(customer: Customer) -> QuerySet[Job]:
        return _failed_for(customer) if job is None else _failed_for(customer) | Job.objects.filter(pk=job.pk)

    # Higher apps register later, and are locked earlier.
    further = [part.locked_before for part in reversed(_parts.values()) if part.locked_before]
    chosen: list[Rows] = [jobs, *further]
    while True:
        with suppress(_CameMeanwhile), transaction.atomic():
            held = [_ids(rows(customer).select_for_update(of=("self",)).order_by("pk")) for rows in chosen]
            customer = locked(Customer, customer.pk)
            if any(_ids(rows(customer)) - known for rows, known in zip(chosen, held, strict=True)):
                raise _CameMeanwhile
            if job is not None:
                queue.hold(job)
            return customer


def _ids(rows: QuerySet[Any]) -> set[int]:
    return set(rows.values_list("pk", flat=True))


def _failed_for(customer: Customer) -> QuerySet[Job]:
    """The jobs whose errors mention a customer."""
    rows: QuerySet[Job] = Job.objects.filter(mentions(("error",), words_of(customer)))
    return rows


def words_of(customer: Customer) -> list[str]:
    """The words by which texts that are not the person's own (errors, say) may mention them."""
    addresses = customer.addresses.values_list("first_name", "last_name", "phone", "company", "address1")
    own = (getattr(customer, name) for name in ("first_name", "last_name", "email", "phone"))
    found = {*own, *(word for address in addresses for word in address)}
    return sorted(word for word in found if word and len(word) >= SHORTEST)


def _erase_mentions(customer: Customer) -> None:
    """Take the person out of what failed for them, and out of the lists that staff kept under their name."""
    _failed_for(customer).update(error=HIDDEN)
    words = words_of(customer)
    # A kept list holds its search as the address of a page does.
    quoted = [*words, *map(quote_plus, words)]
    SavedView.objects.filter(mentions(("name", "query"), quoted)).delete()


def _erase_records(customer: Customer) -> None:
    """Empty what was told to subscribers, which held the data; that it was told, by whom and when, stays on record."""
    forget(Customer, [customer.pk, *merging.former_ids(customer.pk)])
    forget(Metafield, list(_metafields(customer).values_list("pk", flat=True)))
