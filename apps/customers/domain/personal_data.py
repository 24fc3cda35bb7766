"""What is known of one person: handed over on request, and erased on request.

Apps above that keep data of customers (orders, say) register their part, with the columns where it lies; compliance
webhooks and the panel call ``export`` and ``redact``. Erasing keeps what book-keeping needs: the row with its number,
and the order summary. Every column of every table is declared so, or as impersonal (``apps.ground.personal``).
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote_plus

from django.db import transaction
from django.db.models import QuerySet

from apps.customers.domain import compliance, consents, full_text
from apps.customers.domain.addresses import COLUMNS
from apps.customers.domain.aggregate import lock
from apps.customers.domain.consents import Channel, Consent
from apps.customers.models import PERSONAL, SEARCHED, Address, ConsentState, Customer, Invitation
from apps.events.domain.changes import HIDDEN
from apps.events.domain.forgetting import forget
from apps.events.domain.recording import record_event
from apps.ground.attrs import Attrs
from apps.ground.personal import Places, mentions, personal
from apps.jobs.models import Job
from apps.metafields.models import Metafield
from apps.staff.models import SavedView

Export = Callable[[Customer], object]
Rows = Callable[[Customer], QuerySet[Any]]
Redact = Callable[[Customer, str, datetime], None]
Ids = Callable[[Customer], list[int]]

# Of shorter words ("Li") too many other texts are made.
SHORTEST = 4
_BLANKED = (*PERSONAL, "email_key", *SEARCHED, "password", "activation_nonce")


@dataclass(frozen=True, slots=True)
class _Part:
    export: Export | None
    redact: Redact
    locked_before: Rows | None
    ids: Ids | None


class _CameMeanwhile(Exception):
    """There are more rows to hold than there were before the customer was held."""


_parts: dict[str, _Part] = {}


# What customers themselves keep, and what the kit keeps for them; ``redact`` below erases it.
PLACES: Places = {
    "customers.Customer": _BLANKED,
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
) -> None:
    """Add what an app keeps of customers.

    Args:
        name: The part's key in exports, e.g. ``orders``.
        redact: ``(customer, actor, at)`` erases what need not be kept, in the transaction of the erasure; the customer
            is as before it.
        places: The columns that ``redact`` erases, by the label of their model.
        export: Gives a customer's data as a JSON value; none where it is all in other parts too.
        locked_before: The rows that ``redact`` changes and that are locked before customers, where there are such.
        ids: The numbers by which apps know this part of a customer's, e.g. those of orders.
    """
    _parts[name] = _Part(export, redact, locked_before, ids)
    personal(places)


def export(customer: Customer) -> Attrs:
    """Everything that the shop knows of a customer, as JSON values."""
    return {
        "customer": _own_data(customer),
        "addresses": [{name: getattr(row, name) for name in COLUMNS} for row in customer.addresses.order_by("pk")],
        "consents": [
            {
                "channel": row.channel,
                "state": row.state,
                "opt_in_level": row.opt_in_level,
                "collected_from": row.collected_from,
                "consent_updated_at": _moment(row.consent_updated_at),
                "recorded_at": _moment(row.created_at),
            }
            for row in customer.consent_changes.order_by("pk")
        ],
        "invitations": [
            {
                "to": row.to_address,
                "subject": row.subject,
                "message": row.custom_message,
                "sent_at": _moment(row.sent_at),
            }
            for row in customer.invitations.order_by("pk")
        ],
        "metafields": [
            {"namespace": row.namespace, "key": row.key, "type": row.type, "value": row.value}
            for row in _metafields(customer).order_by("pk")
        ],
        **{name: part.export(customer) for name, part in _parts.items() if part.export is not None},
    }


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
    record_event("customers/export", customer, actor=actor, at=at)
    record_event(compliance.DATA_REQUEST, customer, actor=actor, at=at)
    return export(customer)


def _own_data(customer: Customer) -> Attrs:
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
def redact(customer: Customer, *, actor: str, at: datetime) -> Customer:
    """Erase a customer's personal data, here and in the registered parts; once more, what came since."""
    customer = _hold(customer)
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


def _hold(customer: Customer) -> Customer:
    """The customer, locked after those rows of the parts that everybody locks before customers.

    What was added before the customer was held is held in a second attempt; the first one's locks are let go of.
    """
    # Higher apps register later, and are locked earlier.
    further = [part.locked_before for part in reversed(_parts.values()) if part.locked_before]
    chosen: list[Rows] = [_failed_for, *further]
    while True:
        with suppress(_CameMeanwhile), transaction.atomic():
            held = [_ids(rows(customer).select_for_update(of=("self",)).order_by("pk")) for rows in chosen]
            customer = lock(customer)
            if any(_ids(rows(customer)) - known for rows, known in zip(chosen, held, strict=True)):
                raise _CameMeanwhile
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
    forget(Customer, [customer.pk])
    forget(Metafield, list(_metafields(customer).values_list("pk", flat=True)))
