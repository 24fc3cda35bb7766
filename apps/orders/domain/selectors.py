from collections import defaultdict
from collections.abc import Iterable, Sequence

from django.db.models import QuerySet

from apps.core.db.row_locks import get_for_update
from apps.orders.models import LineItem, Order, ShippingLine, Transaction


def lock_order(order: Order) -> Order:
    """Return the order, reloaded and locked until the end of the transaction.

    All code must lock rows in this sequence: the order, the customer, the shop's order counter, stock, products.
    """
    return get_for_update(Order, order.pk)


def get_line_items(order: Order) -> list[LineItem]:
    """Return the order's line items, sorted by position, with variants and inventory items."""
    rows = LineItem.objects.filter(order=order).select_related("variant__inventory_item")
    return list(rows.order_by("position", "pk"))


def get_shipping_lines(order: Order) -> list[ShippingLine]:
    return list(ShippingLine.objects.filter(order=order).order_by("pk"))


def get_transactions(order: Order) -> list[Transaction]:
    """Return the order's transactions, oldest first. Each ``parent`` is an object from the returned list."""
    return _group_transactions([order], Transaction.objects.filter(order=order))[order.pk]


def get_transactions_by_order(orders: Sequence[Order]) -> dict[int, list[Transaction]]:
    """Return the result of ``get_transactions`` for each order, keyed by order id, in one query."""
    return _group_transactions(orders, Transaction.objects.filter(order__in=[order.pk for order in orders]))


def _group_transactions(orders: Iterable[Order], rows: QuerySet[Transaction]) -> dict[int, list[Transaction]]:
    orders_by_id = {order.pk: order for order in orders}
    by_id: dict[int, Transaction] = {}
    by_order: dict[int, list[Transaction]] = defaultdict(list)
    for row in rows.order_by("pk"):
        row.order = orders_by_id[row.order_id]
        if row.parent_id is not None:
            row.parent = by_id[row.parent_id]
        by_id[row.pk] = row
        by_order[row.order_id].append(row)
    return by_order
