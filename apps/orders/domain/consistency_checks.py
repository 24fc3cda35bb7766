"""Check order totals and statuses, and the columns of customers and products that are calculated from orders.

Set-based SQL preselects the orders with possibly wrong totals or statuses, which are then recalculated in Python. The
SQL does not know presentment amounts, so orders with two currencies are also recalculated: every night the recently
changed ones and a part of the others. Tests check that SQL and Python agree. SQLite has no exact decimals, so on
SQLite all orders are candidates.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, TypeVar

from django.db import connection, transaction
from django.db.models import Count, F, Max, Model, Q, Sum
from django.utils import timezone

from apps.catalog.models import Product
from apps.core.db.prepared_sql import execute_prepared
from apps.core.money import get_decimal_places
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.customers.models import NEVER_ORDERED, Customer
from apps.orders.domain import customer_totals, statuses
from apps.orders.domain.pricing import totals
from apps.orders.models import LineItem, Order, OrderCounter, ShippingLine, Transaction

_BATCH_SIZE = 500
# The number of ids per query.
_RANGE_SIZE = 20_000
# Migrations do not fill these columns of read-only shops, which accept no changes.
_ADDED_LATER = frozenset({"current_tax_lines"})
# At night, orders with two currencies are recalculated if they changed in this period, and others once in these nights.
_LATELY, _NIGHTS = timedelta(days=3), 30
OrderRow = TypeVar("OrderRow", LineItem, ShippingLine, Transaction)
# This query compares the totals of orders with the sums of their rows. ``c.places`` is the number of decimals of the
# order's currency.
_TOTALS = """
WITH o AS (
    SELECT orders_order.*, c.places FROM orders_order
    JOIN unnest(%s::text[], %s::int[]) AS c (code, places) ON c.code = orders_order.currency
    WHERE id > %s AND id <= %s
), l AS (
    SELECT o.id, sum(l.price * l.quantity) AS gross, sum(l.discount) AS discount, sum(l.tax) AS tax,
        sum(l.grams * l.quantity) AS weight, sum(l.price * l.current_quantity) AS left_gross,
        sum(round(l.discount * l.current_quantity / l.quantity, o.places)) AS left_discount,
        sum(round(l.tax * l.current_quantity / l.quantity, o.places)) AS left_tax,
        sum(l.price * (l.quantity - l.current_quantity - l.refunded_quantity)) AS removed_gross,
        sum(l.discount - round(l.discount * (l.current_quantity + l.refunded_quantity) / l.quantity, o.places))
            AS removed_discount,
        sum(l.tax - round(l.tax * (l.current_quantity + l.refunded_quantity) / l.quantity, o.places)) AS removed_tax,
        sum(l.duty) AS duty, sum(l.duty_tax) AS duty_tax,
        sum(l.duty - l.refunded_duty) AS left_duty, sum(l.duty_tax - l.refunded_duty_tax) AS left_duty_tax,
        o.cancelled_at IS NULL OR bool_or(l.current_quantity > 0) AS is_wanted
    FROM o JOIN orders_lineitem l ON l.order_id = o.id GROUP BY o.id, o.cancelled_at
), s AS (
    SELECT o.id, sum(s.price) AS price, sum(s.discount) AS discount, sum(s.tax) AS tax,
        sum(s.price) FILTER (WHERE NOT s.is_removed) AS left_price,
        sum(s.discount) FILTER (WHERE NOT s.is_removed) AS left_discount,
        sum(s.tax - s.refunded_tax) FILTER (WHERE NOT s.is_removed) AS left_tax,
        sum(s.refunded) FILTER (WHERE NOT s.is_removed) AS refunded
    FROM o JOIN orders_shippingline s ON s.order_id = o.id GROUP BY o.id
), w AS (
    SELECT o.*, l.gross, l.weight, l.gross - l.discount AS goods, l.left_gross - l.left_discount AS left_goods,
        l.discount + coalesce(s.discount, 0) AS discounts, l.tax + l.duty_tax + coalesce(s.tax, 0) AS taxes, l.duty,
        l.left_discount + coalesce(s.left_discount, 0) AS left_discounts,
        l.left_tax + coalesce(s.left_tax, 0) + CASE WHEN l.is_wanted THEN l.left_duty_tax ELSE 0 END AS left_taxes,
        CASE WHEN l.is_wanted THEN l.left_duty ELSE 0 END AS left_duty,
        l.removed_gross - l.removed_discount + CASE WHEN o.taxes_included THEN 0 ELSE l.removed_tax END AS removed,
        coalesce(s.price, 0) AS sent, coalesce(s.price - s.discount, 0) AS sent_net,
        coalesce(s.left_price - s.left_discount - s.refunded, 0) AS left_sent,
        CASE WHEN l.is_wanted THEN o.total_tip_received ELSE 0 END AS left_tip
    FROM o JOIN l ON l.id = o.id LEFT JOIN s ON s.id = o.id
)
SELECT o.id FROM o LEFT JOIN w ON w.id = o.id
WHERE (
    o.total_line_items_price, o.total_discounts, o.subtotal_price, o.total_shipping_price, o.total_tax, o.total_duties,
    o.total_weight, o.total_price, o.current_total_discounts, o.current_subtotal_price, o.current_total_tax,
    o.current_total_duties, o.current_total_price, o.total_removed
) IS DISTINCT FROM (
    w.gross, w.discounts, w.goods, w.sent, w.taxes, w.duty, w.weight,
    w.goods + w.duty + w.sent_net + w.total_tip_received + CASE WHEN w.taxes_included THEN 0 ELSE w.taxes END,
    w.left_discounts, w.left_goods, w.left_taxes, w.left_duty,
    greatest(
        w.left_goods + w.left_duty + w.left_sent + w.left_tip + w.refund_discrepancy
        + CASE WHEN w.taxes_included THEN 0 ELSE w.left_taxes END, 0
    ), w.removed
) OR o.current_total_tax IS DISTINCT FROM (
    SELECT coalesce(sum((t ->> 'price')::numeric), 0)
    FROM jsonb_array_elements(coalesce(o.current_tax_lines, o.tax_lines)) t
) ORDER BY o.id
"""
# This query compares the payments and statuses of orders with their rows, according to the rules in
# ``statuses.update_statuses``.
_PAYMENTS = """
WITH o AS (SELECT * FROM orders_order WHERE id > %s AND id <= %s), t AS (
    SELECT o.id,
        coalesce(sum(t.shop_amount) FILTER (WHERE t.kind IN ('sale', 'capture') AND t.status = 'success'), 0) AS paid,
        coalesce(sum(t.shop_amount) FILTER (WHERE t.kind = 'refund' AND t.status = 'success'), 0) AS refunded,
        bool_or(t.unsettled > 0 AND t.status = 'success') AS is_open,
        bool_or(t.kind = 'void' AND t.status = 'success') AS is_voided,
        count(DISTINCT t.gateway) AS gateways, min(t.gateway) AS gateway
    FROM o JOIN orders_transaction t ON t.order_id = o.id GROUP BY o.id
), l AS (
    SELECT o.id, sum(l.current_quantity) AS units, sum(l.fulfillable_quantity) AS waiting,
        sum(l.fulfilled_quantity) AS sent, sum(l.unrestocked_quantity) AS unrestocked
    FROM o JOIN orders_lineitem l ON l.order_id = o.id GROUP BY o.id
), w AS (
    SELECT o.*, coalesce(t.paid, 0) AS paid, coalesce(t.refunded, 0) AS refunded,
        coalesce(t.is_open, false) AS is_open, coalesce(t.is_voided, false) AS is_voided,
        coalesce(t.gateways, 0) AS gateways, t.gateway, l.units, l.waiting, l.sent, l.unrestocked
    FROM o LEFT JOIN t ON t.id = o.id LEFT JOIN l ON l.id = o.id
)
SELECT w.id FROM w
WHERE gateways > 1 OR (total_paid, total_refunded, payment_gateway_names, status, financial_status, fulfillment_status)
IS DISTINCT FROM (
    paid, refunded, CASE WHEN gateways = 0 THEN '[]'::jsonb ELSE jsonb_build_array(gateway) END,
    CASE WHEN cancelled_at IS NOT NULL THEN 'cancelled' WHEN closed_at IS NOT NULL THEN 'closed' ELSE 'open' END,
    CASE
        WHEN refunded > 0 AND refunded >= paid THEN 'refunded'
        WHEN refunded > 0 THEN 'partially_refunded'
        WHEN paid >= total_price OR (paid > 0 AND cancelled_at IS NULL AND paid >= current_total_price) THEN 'paid'
        WHEN paid > 0 THEN 'partially_paid'
        WHEN is_open THEN 'authorized'
        WHEN is_voided OR cancelled_at IS NOT NULL THEN 'voided'
        ELSE 'pending'
    END,
    CASE
        WHEN units + waiting + sent + unrestocked = 0 THEN 'restocked'
        WHEN coalesce(sent, 0) = 0 THEN ''
        WHEN waiting > 0 THEN 'partial'
        ELSE 'fulfilled'
    END
) ORDER BY w.id
"""


def find_total_candidates(after: int, upto: int, currencies: Sequence[str]) -> list[int]:
    """Return the ids of orders in a range that may have wrong totals. ``currencies`` are all that orders use."""
    decimal_places = [get_decimal_places(currency) for currency in currencies]
    return [row[0] for row in execute_prepared(_TOTALS, [list(currencies), decimal_places, after, upto])]


def find_payment_candidates(after: int, upto: int) -> list[int]:
    """Return the ids of orders in a range that may have wrong payments or statuses."""
    return [row[0] for row in execute_prepared(_PAYMENTS, [after, upto])]


def check_order_totals(night: datetime | None = None) -> Iterator[str]:
    currencies = list(Order.objects.order_by().values_list("currency", flat=True).distinct())
    read_only = set(Shop.objects.exclude(read_only_at=None).values_list("pk", flat=True))
    for orders in _batches(lambda after, upto: find_total_candidates(after, upto, currencies), night):
        lines, shipping = _load_rows(LineItem, orders), _load_rows(ShippingLine, orders)
        for order in orders:
            columns = [
                name for name in totals.TOTAL_COLUMNS if order.shop_id not in read_only or name not in _ADDED_LATER
            ]
            yield from _compare(order, columns, totals.set_totals, lines[order.pk], shipping[order.pk])


def check_order_payments(night: datetime | None = None) -> Iterator[str]:
    for orders in _batches(find_payment_candidates, night):
        lines, transactions = _load_rows(LineItem, orders), _load_rows(Transaction, orders)
        for order in orders:
            rows = lines[order.pk], transactions[order.pk]
            yield from _compare(order, statuses.STATUS_COLUMNS, statuses.update_statuses, *rows)


def iterate_id_ranges(model: type[Model]) -> Iterator[tuple[int, int]]:
    """Yield ranges of ids that cover all rows and skip large gaps, as an exclusive start and an inclusive end."""
    rows = model._default_manager.order_by("pk").values_list("pk", flat=True)
    last, end = 0, model._default_manager.aggregate(end=Max("pk"))["end"] or 0
    while last < end:
        first = rows.filter(pk__gt=last).first()
        if first is None:
            # The last rows have been deleted by now.
            return
        last = first + _RANGE_SIZE - 1
        yield first - 1, last


def _batches(find_candidates: Callable[[int, int], list[int]], night: datetime | None) -> Iterator[list[Order]]:
    """Yield the candidate orders in batches, or all orders if the database has no exact decimals.

    The candidates include orders with two currencies: the share of one night, or all of them without ``night``.
    """
    for after, upto in iterate_id_ranges(Order):
        rows = Order.objects.filter(pk__gt=after, pk__lte=upto)
        if connection.vendor == "postgresql":
            two_currencies = rows.exclude(presentment_currency=F("currency"))
            if night is not None:
                is_due = Q(updated_at__gte=night - _LATELY) | Q(turn=night.toordinal() % _NIGHTS)
                two_currencies = two_currencies.alias(turn=F("pk") % _NIGHTS).filter(is_due)
            found = two_currencies.values_list("pk", flat=True)
            rows = Order.objects.filter(pk__in={*find_candidates(after, upto), *found})
        last_pk = 0
        while orders := list(rows.filter(pk__gt=last_pk).order_by("pk")[:_BATCH_SIZE]):
            yield orders
            last_pk = orders[-1].pk


def _load_rows(model: type[OrderRow], orders: Sequence[Order]) -> dict[int, list[OrderRow]]:
    """Return one model's rows by order id. Line items are sorted by position, other rows by id."""
    rows_by_order: dict[int, list[OrderRow]] = defaultdict(list)
    rows = model._default_manager.filter(order_id__in=[order.pk for order in orders])
    for row in rows.order_by("position", "pk") if model is LineItem else rows.order_by("pk"):
        rows_by_order[row.order_id].append(row)
    return rows_by_order


def _compare(
    order: Order, columns: Sequence[str], calculate: Callable[..., None], *rows: Sequence[Model]
) -> Iterator[str]:
    expected_order, where = copy(order), f"shop {order.shop_id}, order {order.pk}"
    calculate(expected_order, *rows)
    for column in columns:
        actual, expected = getattr(order, column), getattr(expected_order, column)
        if _parse_prices(actual) != _parse_prices(expected):
            unit = f" {order.currency}" if isinstance(expected, Decimal) else ""
            yield f"{where}: {column} {_format(actual)}{unit}, expected {_format(expected)}{unit}"
    # Orders of earlier releases do not store all amounts in the presentment currency.
    for column in sorted(order.presentment_totals.keys() & expected_order.presentment_totals.keys()):
        amount, expected = (Decimal(row.presentment_totals[column]) for row in (order, expected_order))
        if amount != expected:
            unit = order.presentment_currency
            yield f"{where}: {column} {_format(amount)} {unit}, expected {_format(expected)} {unit}"


def _parse_prices(value: object) -> object:
    """Return taxes with numbers as prices, and other values as they are.

    Earlier releases stored some zeros with other decimals.
    """
    if not isinstance(value, list):
        return value
    return [{**item, "price": Decimal(item["price"])} if isinstance(item, dict) else item for item in value]


def _format(value: object) -> str:
    return f"{value.normalize():f}" if isinstance(value, Decimal) else repr(str(value))


def check_customer_columns() -> Iterator[str]:
    for row, wrong_columns in _wrong_customers():
        for column, actual, expected in wrong_columns:
            yield f"shop {row.shop_id}, customer {row.pk}: {column} {_format(actual)}, expected {_format(expected)}"


def repair_customers() -> Iterator[str]:
    """Recalculate the order columns of customers with wrong values, each in a separate transaction."""
    with all_shops_scope():
        wrong = [(row.pk, row.shop) for row, _ in _wrong_customers()]
    for pk, shop in wrong:
        with shop_scope(shop), transaction.atomic():
            customer_totals.recount_customer_orders(pk, actor="system", at=timezone.now())
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
            # SQLite adds up decimals as floating-point numbers.
            spent = round((actual.get("paid") or Decimal(0)) - (actual.get("refunded") or Decimal(0)), 3)
            columns: list[tuple[str, object, object]] = [
                ("orders_count", row.orders_count, actual.get("count", 0)),
                ("total_spent", row.total_spent, spent),
                ("last_order_at", row.last_order_at, actual.get("latest") or NEVER_ORDERED),
            ]
            if wrong := [entry for entry in columns if entry[1] != entry[2]]:
                yield row, wrong


def check_sold_units() -> Iterator[str]:
    counted = (
        LineItem.objects.filter(order__units_counted=True, product_id__isnull=False)
        .order_by()
        .values_list("product_id")
        .annotate(units=Sum("quantity"))
    )
    sold: dict[int | None, int] = dict(counted)
    for product in Product.objects.order_by("pk").only("pk", "shop_id", "units_sold").iterator():
        if (units := product.units_sold) != (expected := sold.get(product.pk, 0)):
            yield f"shop {product.shop_id}, product {product.pk}: {units} units sold, expected {expected}"


def check_order_numbers() -> Iterator[str]:
    """Yield a message for each shop with an order counter below the highest order number."""
    for counter in OrderCounter.objects.order_by("pk"):
        newest = (
            Order.objects.filter(shop_id=counter.shop_id).order_by("-number").values_list("number", flat=True).first()
        )
        if newest is not None and newest > counter.last_number:
            yield f"shop {counter.shop_id}: the last number is {counter.last_number}, the highest order number {newest}"
