"""Export and erase the personal data in orders, together with the personal data of the customer.

The order itself is kept for bookkeeping, with its number, lines and amounts.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from django.db.models import Case, Field, Q, QuerySet, Value, When, prefetch_related_objects

from apps.core.events.recording import EventInput, record_events
from apps.core.events.redaction import redact_events
from apps.core.privacy import get_blank_values
from apps.core.types import Attrs
from apps.customers.models import Customer
from apps.metafields.models import Metafield
from apps.orders.domain import hooks
from apps.orders.domain.customer_totals import get_customer_orders
from apps.orders.models import Comment, LineItem, Order, OrderRisk, ShippingLine, Transaction

# Keep the country and province for bookkeeping, because taxes were due there.
_REGION_FIELDS = ("country", "country_code", "province", "province_code")
# The number of orders per batch.
BATCH_SIZE = 250


def get_orders_to_redact(customer: Customer) -> QuerySet[Order]:
    """Return the orders that an erasure has not processed yet. The caller must lock them before the customer."""
    rows, started_at = get_customer_orders(customer.pk), customer.erasing_at
    return rows if started_at is None else rows.filter(Q(redacted_at=None) | Q(redacted_at__lt=started_at))


def get_order_ids(customer: Customer) -> list[int]:
    return list(get_customer_orders(customer.pk).order_by("pk").values_list("pk", flat=True))


def export_orders(customer: Customer, after: int) -> Iterator[tuple[int, Attrs]]:
    """Yield a customer's orders with ids above ``after``, oldest first, as ``(id, JSON values)``."""
    last = after
    while orders := list(get_customer_orders(customer.pk).filter(pk__gt=last).order_by("pk")[:BATCH_SIZE]):
        prefetch_related_objects(orders, "line_items", "comments", "risks")
        yield from ((order.pk, _export_order(order)) for order in orders)
        last = orders[-1].pk


def _export_order(order: Order) -> Attrs:
    values: Attrs = {name: getattr(order, name) for name in Order.personal_fields}
    return values | {
        "name": order.name,
        "processed_at": order.processed_at.isoformat(),
        "total_price": str(order.total_price),
        "currency": order.currency,
        "line_items": [
            {"name": line.name, "quantity": line.quantity, "price": str(line.price), "properties": line.properties}
            for line in order.line_items.all()
        ],
        "comments": [comment.body for comment in order.comments.all()],
        "risks": [risk.message for risk in order.risks.all()],
    }


def redact_orders(customer: Customer, actor: str, at: datetime) -> None:
    """Erase the remaining personal data of a customer's orders. The caller must have locked the orders."""
    last = 0
    while ids := redact_next_orders(customer, last, actor, at):
        last = ids[-1]


def redact_next_orders(customer: Customer, after: int, actor: str, at: datetime) -> list[int]:
    """Erase the personal data of the next batch of orders in a fixed number of statements, and return their ids."""
    rows = get_orders_to_redact(customer).filter(pk__gt=after).select_for_update(of=("self",)).order_by("pk")
    orders = list(rows[:BATCH_SIZE])
    if not orders:
        return []
    ids = [order.pk for order in orders]
    addresses = {name: _reduced_addresses(orders, name) for name in ("billing_address", "shipping_address")}
    Order.objects.filter(pk__in=ids).update(**{**get_blank_values(Order), **addresses, "redacted_at": at})
    LineItem.objects.filter(order__in=ids).update(**get_blank_values(LineItem))
    ShippingLine.objects.filter(order__in=ids).update(**get_blank_values(ShippingLine))
    _erase_records(ids)
    Comment.objects.filter(order__in=ids).delete()
    for erase in hooks.erasure_hooks.values():
        erase(ids, at=at)
    record_events([EventInput("orders/redact", order) for order in orders], actor=actor, at=at)
    return ids


def _erase_records(ids: Sequence[int]) -> None:
    """Clear the gateway messages, metafields and event payloads of orders. The events themselves are kept."""
    movements = Transaction.objects.filter(order__in=ids)
    movements.update(**get_blank_values(Transaction))
    OrderRisk.objects.filter(order__in=ids).update(**get_blank_values(OrderRisk))
    owned = Metafield.objects.filter(owner_resource="order", owner_id__in=ids)
    redact_events(Order, ids)
    for rows in (movements, Comment.objects.filter(order__in=ids), owned):
        redact_events(rows.model, list(rows.values_list("pk", flat=True)))
    owned.delete()


def _reduced_addresses(orders: Sequence[Order], name: str) -> Case:
    ids_by_region: dict[tuple[tuple[str, Any], ...], list[int]] = {}
    for order in orders:
        if (address := getattr(order, name)) is not None:
            region = tuple((part, address.get(part, "")) for part in _REGION_FIELDS)
            ids_by_region.setdefault(region, []).append(order.pk)
    column: Field[Any, Any] = next(field for field in Order._meta.concrete_fields if field.name == name)
    cases = [When(pk__in=ids, then=Value(dict(region), output_field=column)) for region, ids in ids_by_region.items()]
    return Case(*cases, default=None, output_field=column)
