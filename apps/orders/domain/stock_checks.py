"""Compare the stock that orders took with the inventory ledger, and find items that must not have been oversold.

Each query returns only differences.
"""

from collections.abc import Iterator

from django.db import connection

_TAKEN = {
    "postgresql": "(SELECT sum(value::bigint) FROM jsonb_each_text(l.taken_from))",
    "sqlite": "(SELECT sum(value) FROM json_each(l.taken_from))",
}
_HOUR_BEFORE = {
    "postgresql": "c.created_at - interval '1 hour'",
    "sqlite": "datetime(c.created_at, '-1 hour')",
}
# The items that the lines of each order keep out of stock, and the ledger's sales and returns of the order. Moves
# between locations do not change the sum. The ledger keeps the rows of deleted orders, so a new order can have the name
# of a deleted one: rows from before the order are left out. The sale of a new order is shortly before its lines, and
# later than all sales of deleted orders with its name.
_STOCK_OF_ORDERS = """
WITH created AS (
    SELECT o.shop_id, o.id AS order_id, o.name, o.inventory_behaviour, min(l.created_at) AS created_at
    FROM orders_order o JOIN orders_lineitem l ON l.order_id = o.id
    GROUP BY o.shop_id, o.id, o.name, o.inventory_behaviour
), began AS (
    SELECT c.shop_id, c.order_id, c.name, coalesce(max(m.at), c.created_at) AS since
    FROM created c LEFT JOIN inventory_stockmovement m
        ON m.shop_id = c.shop_id AND m.reference = c.name AND m.reason = 'sale'
        AND c.inventory_behaviour <> 'bypass' AND m.at <= c.created_at AND m.at > {hour_before}
    GROUP BY c.shop_id, c.order_id, c.name, c.created_at
), taken AS (
    SELECT b.shop_id, b.order_id, b.name, b.since, v.inventory_item_id AS item_id, sum(coalesce({taken}, 0)) AS units
    FROM began b
    JOIN orders_lineitem l ON l.order_id = b.order_id
    JOIN catalog_variant v ON v.id = l.variant_id
    GROUP BY b.shop_id, b.order_id, b.name, b.since, v.inventory_item_id
)
SELECT t.shop_id, t.order_id, t.item_id, t.units, coalesce(-sum(m.delta), 0)
FROM taken t LEFT JOIN inventory_stockmovement m
    ON m.shop_id = t.shop_id AND m.reference = t.name AND m.item_id = t.item_id AND m.at >= t.since
    AND m.reason IN ('sale', 'restock')
GROUP BY t.shop_id, t.order_id, t.item_id, t.units
HAVING t.units <> coalesce(-sum(m.delta), 0)
ORDER BY t.order_id, t.item_id
"""
# If a variant did not change after the sale, it had the same policy at the sale. Later changes hide the fault.
_OVERSOLD = """
SELECT m.shop_id, o.id, m.item_id, m.location_id, m.available
FROM inventory_stockmovement m
JOIN orders_order o ON o.shop_id = m.shop_id AND o.name = m.reference
JOIN catalog_variant v ON v.inventory_item_id = m.item_id
WHERE m.reason = 'sale' AND m.delta < 0 AND m.available < 0
    AND o.inventory_behaviour = 'decrement_obeying_policy' AND v.inventory_policy = 'deny' AND v.updated_at <= m.at
ORDER BY m.id
"""


def find_wrong_order_stock() -> Iterator[str]:
    """Yield the items of orders that took more or less from stock than the inventory ledger says."""
    vendor = connection.vendor
    with connection.cursor() as cursor:
        cursor.execute(_STOCK_OF_ORDERS.format(taken=_TAKEN[vendor], hour_before=_HOUR_BEFORE[vendor]))
        while rows := cursor.fetchmany(1000):
            for shop, order, item, units, sold in rows:
                yield (
                    f"shop {shop}, order {order}, item {item}: the line items took {int(units)} from stock,"
                    f" but the inventory changes of the order add up to {int(sold)}"
                )


def find_oversold_items() -> Iterator[str]:
    """Yield the sales of items that had too little stock, although neither the order nor the variant allowed it."""
    with connection.cursor() as cursor:
        cursor.execute(_OVERSOLD)
        while rows := cursor.fetchmany(1000):
            for shop, order, item, location, available in rows:
                yield (
                    f"shop {shop}, order {order}, item {item}, location {location}: sold until {available} were"
                    " available, although the variant must not be oversold"
                )
