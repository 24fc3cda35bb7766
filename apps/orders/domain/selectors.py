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
    rows = list(Transaction.objects.filter(order=order).order_by("pk"))
    by_id = {row.pk: row for row in rows}
    for row in rows:
        row.order = order
        if row.parent_id is not None:
            row.parent = by_id[row.parent_id]
    return rows
