"""An order and its parts, as they are now."""

from apps.ground.locks import locked
from apps.orders.models import LineItem, Order, ShippingLine, Transaction


def lock(order: Order) -> Order:
    """The order as it is now, locked until the transaction ends.

    Everybody locks in this order: the order, its customer, the shop's counter, stock, products.

    Raises:
        Gone: It was deleted meanwhile.
    """
    return locked(Order, order.pk)


def lines_of(order: Order) -> list[LineItem]:
    """Its lines in their order, with their variants and what those stock."""
    rows = LineItem.objects.filter(order=order).select_related("variant__inventory_item")
    return list(rows.order_by("position", "pk"))


def shipping_of(order: Order) -> list[ShippingLine]:
    """Its shipping lines, oldest first."""
    return list(ShippingLine.objects.filter(order=order).order_by("pk"))


def transactions_of(order: Order) -> list[Transaction]:
    """Its transactions, oldest first, each with its parent as the same object."""
    rows = list(Transaction.objects.filter(order=order).order_by("pk"))
    by_id = {row.pk: row for row in rows}
    for row in rows:
        row.order = order
        if row.parent_id is not None:
            row.parent = by_id[row.parent_id]
    return rows
