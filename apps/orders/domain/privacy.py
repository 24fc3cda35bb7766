"""What orders keep of a person: handed over and erased together with the customer.

The order itself stays, for book-keeping needs it: its number, its lines and its amounts.
"""

from datetime import datetime

from django.db.models import QuerySet

from apps.customers.models import Customer
from apps.events.domain.forgetting import forget
from apps.events.domain.recording import record_event
from apps.ground.attrs import Attrs
from apps.ground.personal import Places
from apps.metafields.models import Metafield
from apps.orders.domain import hooks
from apps.orders.models import PERSONAL, Comment, LineItem, Order, ShippingLine, Transaction

# Texts of gateways; to them a person may be known by name.
_NOTED = ("message", "authorization", "error_code")
PLACES: Places = {
    "orders.Order": PERSONAL,
    "orders.LineItem": ("properties",),
    "orders.ShippingLine": ("phone",),
    "orders.Comment": ("body",),
    "orders.Transaction": (*_NOTED, "receipt"),
}
# Where a person's taxes were due stays, since book-keeping needs it.
_KEPT_OF_ADDRESSES = ("country", "country_code", "province", "province_code")


def orders_of(customer: Customer) -> QuerySet[Order]:
    """A customer's orders, which are locked before the customer."""
    rows: QuerySet[Order] = Order.objects.filter(customer=customer)
    return rows


def ids_of(customer: Customer) -> list[int]:
    """The numbers of a customer's orders, oldest first."""
    return list(orders_of(customer).order_by("pk").values_list("pk", flat=True))


def export(customer: Customer) -> list[Attrs]:
    """A customer's orders, oldest first, as JSON values."""
    orders = orders_of(customer).order_by("pk").prefetch_related("line_items", "comments")
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
    """Erase what a customer's orders say of the person; the caller holds them all."""
    fresh = Order()
    blank = {name: getattr(fresh, name) for name in PERSONAL}
    for order in orders_of(customer).order_by("pk"):
        kept = {name: _country_of(getattr(order, name)) for name in ("billing_address", "shipping_address")}
        Order.objects.filter(pk=order.pk).update(**{**blank, **kept, "redacted_at": at})
        LineItem.objects.filter(order=order).update(properties=[])
        ShippingLine.objects.filter(order=order).update(phone="")
        _erase_records(order)
        Comment.objects.filter(order=order).delete()
        for erase in hooks.erasures:
            erase(order, at=at)
        record_event("orders/redact", order, actor=actor, at=at)


def _erase_records(order: Order) -> None:
    """Empty what gateways and apps noted, and what was told to subscribers; that it was told stays on record."""
    movements = Transaction.objects.filter(order=order)
    movements.update(receipt={}, **dict.fromkeys(_NOTED, ""))
    owned = Metafield.objects.filter(owner_resource="order", owner_id=order.pk)
    forget(Order, [order.pk])
    for rows in (movements, Comment.objects.filter(order=order), owned):
        forget(rows.model, list(rows.values_list("pk", flat=True)))
    owned.delete()


def _country_of(address: Attrs | None) -> Attrs | None:
    return None if address is None else {name: address.get(name, "") for name in _KEPT_OF_ADDRESSES}
