"""What refunds keep of a person: the notes of staff, which go when the order's personal data is erased."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from apps.customers.models import Customer
from apps.events.domain.forgetting import forget
from apps.ground.personal import Places
from apps.refunds.models import Refund

_BATCH = 500
PLACES: Places = {"refunds.Refund": ("note",)}


def erase(ids: Sequence[int], *, at: datetime) -> None:
    """Erase what the refunds of orders say in words; what they gave back stays, for book-keeping needs it."""
    rows = Refund.objects.filter(order__in=ids)
    rows.update(note="")
    forget(Refund, list(rows.values_list("pk", flat=True)))


def redact(customer: Customer, actor: str, at: datetime) -> None:
    """Notes go with the orders that they stand on (``erase``)."""


def export(customer: Customer, after: int) -> Iterator[tuple[int, dict[str, str]]]:
    """The notes on a customer's refunds behind an id, oldest first, as JSON values with the ids of the refunds."""
    rows = Refund.objects.filter(order__customer=customer).exclude(note="").select_related("order").order_by("pk")
    last = after
    while some := list(rows.filter(pk__gt=last)[:_BATCH]):
        yield from ((row.pk, {"order": row.order.name, "note": row.note}) for row in some)
        last = some[-1].pk
