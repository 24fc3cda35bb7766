"""What orders keep of a person: handed over and erased together with the customer.

The order itself stays, for book-keeping needs it: its number, its lines and its amounts.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from django.db.models import Case, Field, Q, QuerySet, Value, When, prefetch_related_objects

from apps.customers.models import Customer
from apps.events.domain.forgetting import forget
from apps.events.domain.recording import Happening, record_events
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
_PLACES_KEPT = ("country", "country_code", "province", "province_code")
# So many orders at once.
BATCH = 250


def orders_of(customer: Customer) -> QuerySet[Order]:
    """A customer's orders."""
    rows: QuerySet[Order] = Order.objects.filter(customer=customer)
    return rows


def left_of(customer: Customer) -> QuerySet[Order]:
    """The orders that an erasure is to come to, which are locked before the customer."""
    rows, begun = orders_of(customer), customer.erasing_at
    return rows if begun is None else rows.filter(Q(redacted_at=None) | Q(redacted_at__lt=begun))


def ids_of(customer: Customer) -> list[int]:
    """The numbers of a customer's orders, oldest first."""
    return list(orders_of(customer).order_by("pk").values_list("pk", flat=True))


def export(customer: Customer, after: int) -> Iterator[tuple[int, Attrs]]:
    """A customer's orders behind an id, oldest first, as JSON values with their ids; some hundred are read at once."""
    last = after
    while orders := list(orders_of(customer).filter(pk__gt=last).order_by("pk")[:BATCH]):
        prefetch_related_objects(orders, "line_items", "comments")
        yield from ((order.pk, _exported(order)) for order in orders)
        last = orders[-1].pk


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
    """Erase what is left of what a customer's orders say of the person; the caller holds them all."""
    last = 0
    while ids := redact_some(customer, last, actor, at):
        last = ids[-1]


def redact_some(customer: Customer, after: int, actor: str, at: datetime) -> list[int]:
    """Erase what the next orders after an id say of the person, in a fixed number of statements; gives their ids."""
    rows = left_of(customer).filter(pk__gt=after).select_for_update(of=("self",)).order_by("pk")
    orders = list(rows[:BATCH])
    if not orders:
        return []
    ids = [order.pk for order in orders]
    fresh = Order()
    blank: dict[str, Any] = {name: getattr(fresh, name) for name in PERSONAL}
    kept = {name: _places(orders, name) for name in ("billing_address", "shipping_address")}
    Order.objects.filter(pk__in=ids).update(**{**blank, **kept, "redacted_at": at})
    LineItem.objects.filter(order__in=ids).update(properties=[])
    ShippingLine.objects.filter(order__in=ids).update(phone="")
    _erase_records(ids)
    Comment.objects.filter(order__in=ids).delete()
    for erase in hooks.erasures:
        erase(ids, at=at)
    record_events([Happening("orders/redact", order) for order in orders], actor=actor, at=at)
    return ids


def _erase_records(ids: Sequence[int]) -> None:
    """Empty what gateways and apps noted, and what was told to subscribers; that it was told stays on record."""
    movements = Transaction.objects.filter(order__in=ids)
    movements.update(receipt={}, **dict.fromkeys(_NOTED, ""))
    owned = Metafield.objects.filter(owner_resource="order", owner_id__in=ids)
    forget(Order, ids)
    for rows in (movements, Comment.objects.filter(order__in=ids), owned):
        forget(rows.model, list(rows.values_list("pk", flat=True)))
    owned.delete()


def _places(orders: Sequence[Order], name: str) -> Case:
    """What stays of each order's address, as one expression for them all: few places are all that a person has."""
    by_place: dict[tuple[tuple[str, Any], ...], list[int]] = {}
    for order in orders:
        if (address := getattr(order, name)) is not None:
            by_place.setdefault(tuple(_country_of(address).items()), []).append(order.pk)
    column: Field[Any, Any] = next(field for field in Order._meta.concrete_fields if field.name == name)
    stays = [When(pk__in=ids, then=Value(dict(place), output_field=column)) for place, ids in by_place.items()]
    return Case(*stays, default=None, output_field=column)


def _country_of(address: Attrs) -> Attrs:
    return {name: address.get(name, "") for name in _PLACES_KEPT}
