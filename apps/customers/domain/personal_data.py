"""What is known of one person: handed over on request, and erased on request.

Apps above that keep data of customers (orders, say) register their part; compliance webhooks and the panel call
``export`` and ``redact``. Erasing keeps what book-keeping needs: the row with its number, and the order summary.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from apps.customers.domain import consents
from apps.customers.domain.addresses import COLUMNS
from apps.customers.domain.aggregate import lock
from apps.customers.domain.consents import Channel, Consent
from apps.customers.models import PERSONAL, Address, ConsentState, Customer, Invitation
from apps.events.domain.recording import record_event
from apps.events.models import Event
from apps.ground.attrs import Attrs
from apps.metafields.models import Metafield

Export = Callable[[Customer], object]
Redact = Callable[[Customer, str, datetime], None]

_BLANKED = (*PERSONAL, "email_key", "search_text", "password", "activation_nonce")


@dataclass(frozen=True, slots=True)
class _Part:
    export: Export
    redact: Redact


_parts: dict[str, _Part] = {}


def register(name: str, *, export: Export, redact: Redact) -> None:
    """Add what an app keeps of customers.

    Args:
        name: The part's key in exports, e.g. ``orders``.
        export: Gives a customer's data as a JSON value.
        redact: ``(customer, actor, at)`` erases what need not be kept, in the transaction of the erasure.
    """
    _parts[name] = _Part(export, redact)


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
        **{name: part.export(customer) for name, part in _parts.items()},
    }


def _metafields(customer: Customer) -> QuerySet[Metafield]:
    rows: QuerySet[Metafield] = Metafield.objects.filter(owner_resource="customer", owner_id=customer.pk)
    return rows


@transaction.atomic
def hand_over(customer: Customer, *, actor: str, at: datetime) -> Attrs:
    """Export a customer's data, and record who took it."""
    record_event("customers/export", customer, actor=actor, at=at)
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
    customer = lock(customer)
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
    record_event("customers/redact", customer, actor=actor, at=at)
    record_event("customers/update", customer, actor=actor, at=at)
    return customer


def _erase_records(customer: Customer) -> None:
    """Empty what was told to subscribers, which held the data; that it was told, by whom and when, stays on record."""
    metafields = list(_metafields(customer).values_list("pk", flat=True))
    Event.objects.filter(subject_type=customer._meta.label_lower, subject_id=customer.pk).update(payload=None)
    Event.objects.filter(subject_type=Metafield._meta.label_lower, subject_id__in=metafields).update(payload=None)
