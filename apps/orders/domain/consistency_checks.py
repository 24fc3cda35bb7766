"""Check order totals and statuses, and the columns of customers and products that are calculated from orders."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from decimal import Decimal
from typing import Any, TypeVar

from django.db import transaction
from django.db.models import Count, F, Max, Q, Sum

from apps.catalog.models import Product
from apps.customers.models import NEVER_ORDERED, Customer
from apps.ground.tenancy import all_shops_scope, shop_scope
from apps.orders.domain import order_customers, pricing, repair_candidates, statuses
from apps.orders.models import LineItem, Order, OrderCounter, ShippingLine, Transaction

_BATCH_SIZE = 500
# The number of ids per query.
_RANGE_SIZE = 20_000
OrderRow = TypeVar("OrderRow", LineItem, ShippingLine, Transaction)


def check_order_totals() -> Iterator[str]:
    """Yield a message for each order total that does not match the order's lines."""

    def worked_out(order: Order) -> None:
        pricing.set_totals(order, lines[order.pk], shipping[order.pk])

    currencies = list(Order.objects.order_by().values_list("currency", flat=True).distinct())
    for orders in _batches(lambda after, upto: repair_candidates.find_total_candidates(after, upto, currencies)):
        lines, shipping = _load_rows(LineItem, orders), _load_rows(ShippingLine, orders)
        for order in orders:
            yield from _compare(order, pricing.TOTAL_COLUMNS, worked_out)


def check_order_payments() -> Iterator[str]:
    """Yield a message for each status or paid amount of an order that does not match its lines and transactions."""

    def worked_out(order: Order) -> None:
        statuses.update_statuses(order, lines[order.pk], transactions[order.pk])

    for orders in _batches(repair_candidates.find_payment_candidates):
        lines, transactions = _load_rows(LineItem, orders), _load_rows(Transaction, orders)
        for order in orders:
            yield from _compare(order, statuses.STATUS_COLUMNS, worked_out)


def _batches(find_candidates: Callable[[int, int], list[int] | None]) -> Iterator[list[Order]]:
    """Yield the candidate orders in batches, or all orders if the database cannot preselect candidates."""
    last, end = 0, Order.objects.aggregate(end=Max("pk"))["end"] or 0
    while last < end:
        first = Order.objects.filter(pk__gt=last).order_by("pk").values_list("pk", flat=True)[0]
        upto = first + _RANGE_SIZE - 1
        ids = find_candidates(first - 1, upto)
        rows = Order.objects.filter(pk__gte=first, pk__lte=upto) if ids is None else Order.objects.filter(pk__in=ids)
        last_pk = 0
        while orders := list(rows.filter(pk__gt=last_pk).order_by("pk")[:_BATCH_SIZE]):
            yield orders
            last_pk = orders[-1].pk
        last = upto


def _load_rows(model: type[OrderRow], orders: Sequence[Order]) -> dict[int, list[OrderRow]]:
    """Return one model's rows, grouped by order id. Line items are sorted by position, other rows by id."""
    rows_by_order: dict[int, list[OrderRow]] = defaultdict(list)
    rows = model._default_manager.filter(order_id__in=[order.pk for order in orders])
    for row in rows.order_by("position", "pk") if model is LineItem else rows.order_by("pk"):
        rows_by_order[row.order_id].append(row)
    return rows_by_order


def _compare(order: Order, columns: Sequence[str], work_out: Callable[[Order], None]) -> Iterator[str]:
    expected_order = copy(order)
    work_out(expected_order)
    for column in columns:
        actual, expected = getattr(order, column), getattr(expected_order, column)
        if actual != expected:
            yield f"shop {order.shop_id}, order {order.pk}: {column} {_format(actual)}, expected {_format(expected)}"


def _format(value: object) -> str:
    return f"{value.normalize():f}" if isinstance(value, Decimal) else repr(str(value))


def check_customer_columns() -> Iterator[str]:
    """Yield a message for each customer column that does not match the customer's orders."""
    for row, wrong_columns in _wrong_customers():
        for column, actual, expected in wrong_columns:
            yield f"shop {row.shop_id}, customer {row.pk}: {column} {_format(actual)}, expected {_format(expected)}"


def repair_customers() -> Iterator[str]:
    """Recalculate the order columns of customers with wrong values, and yield a message per customer.

    Each customer is saved in a separate transaction.
    """
    with all_shops_scope():
        wrong = [(row.pk, row.shop) for row, _ in _wrong_customers()]
    for pk, shop in wrong:
        with shop_scope(shop), transaction.atomic():
            order_customers.recount_customer_orders(pk)
        yield f"shop {shop.pk}, customer {pk}: recalculated"


def _wrong_customers() -> Iterator[tuple[Customer, list[tuple[str, object, object]]]]:
    """Yield each customer with wrong columns, with the name, stored value and expected value of every wrong column."""
    last = 0
    while rows := list(Customer.objects.filter(pk__gt=last).select_related("shop").order_by("pk")[:_BATCH_SIZE]):
        last = rows[-1].pk
        ids = [row.pk for row in rows]
        real = Q(test=False, currency=F("shop__currency"))
        sums = {
            entry["customer_id"]: entry
            for entry in Order.objects.filter(customer_id__in=ids)
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
            actual: Mapping[str, Any] = sums.get(row.pk, {})
            spent = (actual.get("paid") or Decimal(0)) - (actual.get("refunded") or Decimal(0))
            columns: list[tuple[str, object, object]] = [
                ("orders_count", row.orders_count, actual.get("count", 0)),
                ("total_spent", row.total_spent, spent),
                ("last_order_at", row.last_order_at, actual.get("latest") or NEVER_ORDERED),
            ]
            if wrong := [entry for entry in columns if entry[1] != entry[2]]:
                yield row, wrong


def check_sold_units() -> Iterator[str]:
    """Yield a message for each product with a sold quantity that does not match the paid orders."""
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
                f" expected {sold.get(product.pk, 0)}"
            )


def check_order_numbers() -> Iterator[str]:
    """Yield a message for each shop with an order counter below the highest order number."""
    for counter in OrderCounter.objects.order_by("pk"):
        newest = (
            Order.objects.filter(shop_id=counter.shop_id).order_by("-number").values_list("number", flat=True).first()
        )
        if newest is not None and newest > counter.last_number:
            yield f"shop {counter.shop_id}: the last number is {counter.last_number}, the highest order number {newest}"
