"""Do orders, and what customers and products show of them, say what their lines and transactions say?"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from decimal import Decimal
from typing import Any, TypeVar

from django.db import transaction
from django.db.models import Count, F, Max, Q, Sum

from apps.catalog.models import Product
from apps.customers.models import NEVER, Customer
from apps.ground.tenancy import every_shop, shop_scope
from apps.orders.domain import buyers, doubtful, pricing, statuses
from apps.orders.models import LineItem, Order, OrderCounter, ShippingLine, Transaction

_AT_ONCE = 500
# So many ids are asked about at once.
_IN_A_SET = 20_000
Part = TypeVar("Part", LineItem, ShippingLine, Transaction)


def totals() -> Iterator[str]:
    """Orders whose totals are not those of their lines."""

    def worked_out(order: Order) -> None:
        pricing.total(order, lines[order.pk], shipping[order.pk])

    currencies = list(Order.objects.order_by().values_list("currency", flat=True).distinct())
    for orders in _batches(lambda after, upto: doubtful.totals(after, upto, currencies)):
        lines, shipping = _parts(LineItem, orders), _parts(ShippingLine, orders)
        for order in orders:
            yield from _unlike(order, pricing.SUMS, worked_out)


def payments() -> Iterator[str]:
    """Orders whose statuses and payments are not those of their lines and transactions."""

    def worked_out(order: Order) -> None:
        statuses.follow(order, lines[order.pk], transactions[order.pk])

    for orders in _batches(doubtful.payments):
        lines, transactions = _parts(LineItem, orders), _parts(Transaction, orders)
        for order in orders:
            yield from _unlike(order, statuses.COLUMNS, worked_out)


def _batches(sieve: Callable[[int, int], list[int] | None]) -> Iterator[list[Order]]:
    """The orders that a sieve lets through, some at a time; all orders where it cannot tell."""
    last, end = 0, Order.objects.aggregate(end=Max("pk"))["end"] or 0
    while last < end:
        first = Order.objects.filter(pk__gt=last).order_by("pk").values_list("pk", flat=True)[0]
        upto = first + _IN_A_SET - 1
        ids = sieve(first - 1, upto)
        rows = Order.objects.filter(pk__gte=first, pk__lte=upto) if ids is None else Order.objects.filter(pk__in=ids)
        seen = 0
        while orders := list(rows.filter(pk__gt=seen).order_by("pk")[:_AT_ONCE]):
            yield orders
            seen = orders[-1].pk
        last = upto


def _parts(model: type[Part], orders: Sequence[Order]) -> dict[int, list[Part]]:
    """The rows of some orders, by the order's id, in the order in which they were made."""
    found: dict[int, list[Part]] = defaultdict(list)
    rows = model._default_manager.filter(order_id__in=[order.pk for order in orders])
    for row in rows.order_by("position", "pk") if model is LineItem else rows.order_by("pk"):
        found[row.order_id].append(row)
    return found


def _unlike(order: Order, columns: Sequence[str], work_out: Callable[[Order], None]) -> Iterator[str]:
    right = copy(order)
    work_out(right)
    for column in columns:
        kept, expected = getattr(order, column), getattr(right, column)
        if kept != expected:
            yield f"shop {order.shop_id}, order {order.pk}: {column} {_shown(kept)}, worked out {_shown(expected)}"


def _shown(value: object) -> str:
    return f"{value.normalize():f}" if isinstance(value, Decimal) else repr(str(value))


def customers() -> Iterator[str]:
    """Customers who show other numbers of orders, sums and last orders than they have."""
    for row, wrong in _wrong_customers():
        for column, kept, right in wrong:
            yield f"shop {row.shop_id}, customer {row.pk}: {column} {_shown(kept)}, of the orders {_shown(right)}"


def mend_customers() -> Iterator[str]:
    """Work out anew what such customers show, each in a transaction of its own; says whose."""
    with every_shop():
        wrong = [(row.pk, row.shop) for row, _ in _wrong_customers()]
    for pk, shop in wrong:
        with shop_scope(shop), transaction.atomic():
            buyers.recount(pk)
        yield f"shop {shop.pk}, customer {pk}: worked out anew"


def _wrong_customers() -> Iterator[tuple[Customer, list[tuple[str, object, object]]]]:
    """Customers with what is wrong: by column what is kept, and what it should be."""
    last = 0
    while rows := list(Customer.objects.filter(pk__gt=last).select_related("shop").order_by("pk")[:_AT_ONCE]):
        last = rows[-1].pk
        ids = [row.pk for row in rows]
        real = Q(test=False, currency=F("shop__currency"))
        sums = {
            each["customer_id"]: each
            for each in Order.objects.filter(customer_id__in=ids)
            .order_by()
            .values("customer_id")
            .annotate(
                count=Count("pk"),
                latest=Max("processed_at"),
                paid=Sum("total_paid", filter=real),
                refunded=Sum("total_refunded", filter=real),
            )
        }
        for row in rows:
            of: Mapping[str, Any] = sums.get(row.pk, {})
            spent = (of.get("paid") or Decimal(0)) - (of.get("refunded") or Decimal(0))
            shown: list[tuple[str, object, object]] = [
                ("orders_count", row.orders_count, of.get("count", 0)),
                ("total_spent", row.total_spent, spent),
                ("last_order_at", row.last_order_at, of.get("latest") or NEVER),
            ]
            if wrong := [each for each in shown if each[1] != each[2]]:
                yield row, wrong


def sales() -> Iterator[str]:
    """Products that show other numbers of sold units than paid orders have."""
    counted = (
        LineItem.objects.filter(order__units_counted=True, product_id__isnull=False)
        .order_by()
        .values_list("product_id")
        .annotate(units=Sum("quantity"))
    )
    sold: dict[int | None, int] = dict(counted)
    for product in Product.objects.order_by("pk").only("pk", "shop_id", "units_sold").iterator():
        if product.units_sold != sold.get(product.pk, 0):
            yield (
                f"shop {product.shop_id}, product {product.pk}: {product.units_sold} units sold,"
                f" of the orders {sold.get(product.pk, 0)}"
            )


def numbers() -> Iterator[str]:
    """Shops whose next order would get a number that is taken."""
    for counter in OrderCounter.objects.order_by("pk"):
        newest = (
            Order.objects.filter(shop_id=counter.shop_id).order_by("-number").values_list("number", flat=True).first()
        )
        if newest is not None and newest > counter.last_number:
            yield f"shop {counter.shop_id}: the last number is {counter.last_number}, of the orders {newest}"
