"""What orders keep of a person: handed over and erased together with the customer.

The order itself stays, for book-keeping needs it: its number, its lines and its amounts.
"""

from datetime import datetime

from apps.customers.models import Customer
from apps.events.domain.recording import record_event
from apps.events.models import Event
from apps.ground.attrs import Attrs
from apps.metafields.models import Metafield
from apps.orders.domain import hooks
from apps.orders.models import PERSONAL, Comment, LineItem, Order, ShippingLine, Transaction

# Where a person's taxes were due stays, since book-keeping needs it.
_KEPT_OF_ADDRESSES = ("country", "country_code", "province", "province_code")


def export(customer: Customer) -> list[Attrs]:
    """A customer's orders, oldest first, as JSON values."""
    orders = Order.objects.filter(customer=customer).order_by("pk").prefetch_related("line_items", "comments")
    return [_exported(order) for order in orders]


def _exported(order: Order) -> Attrs:
    shown: Attrs = {name: getattr(order, name) for name in PERSONAL}
    return shown | {
        "name": order.name,
        "processed_at": order.processed_at.isoformat(),
        "total_price": str(order.total_price),
        "currency": order.currency,
        "line_items": [
            {"name": line.name, "quantity": line.quantity, "price": str(line.price), "properties": line.properties}
            for line in order.line_items.all()
        ],
        "comments": [comment.body for comment in order.comments.all()],
    }


def redact(customer: Customer, actor: str, at: datetime) -> None:
    """Erase what a customer's orders say of the person."""
    fresh = Order()
    blank = {name: getattr(fresh, name) for name in PERSONAL}
    for order in Order.objects.select_for_update(of=("self",)).filter(customer=customer).order_by("pk"):
        kept = {name: _country_of(getattr(order, name)) for name in ("billing_address", "shipping_address")}
        Order.objects.filter(pk=order.pk).update(**{**blank, **kept, "redacted_at": at})
        LineItem.objects.filter(order=order).update(properties=[])
        ShippingLine.objects.filter(order=order).update(phone="")
        Comment.objects.filter(order=order).delete()
        _erase_records(order)
        for erase in hooks.erasures:
            erase(order, at=at)
        record_event("orders/redact", order, actor=actor, at=at)


def _erase_records(order: Order) -> None:
    """Empty what gateways and apps noted, and what was told to subscribers; that it was told stays on record."""
    movements = Transaction.objects.filter(order=order)
    movements.update(receipt={}, message="")
    owned = Metafield.objects.filter(owner_resource="order", owner_id=order.pk)
    for model, ids in ((Order, [order.pk]), (Transaction, list(movements.values_list("pk", flat=True)))):
        Event.objects.filter(subject_type=model._meta.label_lower, subject_id__in=ids).update(payload=None)
    records = Event.objects.filter(
        subject_type=Metafield._meta.label_lower, subject_id__in=list(owned.values_list("pk", flat=True))
    )
    records.update(payload=None)
    owned.delete()


def _country_of(address: Attrs | None) -> Attrs | None:
    return None if address is None else {name: address.get(name, "") for name in _KEPT_OF_ADDRESSES}
