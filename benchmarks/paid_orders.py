"""Fill the database with a million paid orders that are consistent.

Half of the orders are fulfilled, a fifth have duties, and a tenth are partially refunded.
"""

import json

from benchmarks import bulk_insert
from benchmarks.bulk_insert import Rows, number_as_text, quote_literal, time_literal
from benchmarks.catalog_data import VARIANTS, build_tax, fill_products
from benchmarks.data import BEGIN, PRODUCTS, fill_customers, get_bench_shop
from benchmarks.scale import scale

LINES, UNITS, CUSTOMERS = 3, 2, scale(100_000, least=100)
# One in this many orders is partially refunded, has duties, or is fulfilled, respectively.
REFUNDED, DECLARED, SENT = 10, 5, 2
Values = dict[str, str]
_NAME = f"'#' || {number_as_text('1000 + n')}"


def fill_paid_orders(count: int) -> None:
    """Fill an empty database with customers, products and paid orders."""
    from apps.core.tenancy.models import Shop
    from apps.core.tenancy.scope import shop_scope
    from apps.inventory.domain.stock import get_primary_location

    shop_id, _ = get_bench_shop()
    fill_customers(shop_id, 1, CUSTOMERS)
    fill_products(shop_id, PRODUCTS)
    with shop_scope(Shop(pk=shop_id)):
        location = get_primary_location().pk
    own = {
        "shop_id": str(shop_id),
        "created_at": time_literal(f"{BEGIN} + n"),
        "updated_at": time_literal(f"{BEGIN} + n + 3600"),
    }
    _fill_orders(Rows(1, count), own, str(location))
    _fill_work(Rows(1, count), Rows(1, count // SENT), own, str(location))
    _fill_refunds(Rows(1, count // REFUNDED), count, own)
    _sum_up(shop_id, count)


def _taxes(price: str) -> str:
    """Return SQL for the tax lines with one tax."""
    return f"{quote_literal(json.dumps([build_tax(price)]))}::jsonb"


def _each(of: int, yes: str, no: str) -> str:
    """Return SQL with the value ``yes`` for every n-th order and ``no`` for all other orders."""
    return f"(CASE WHEN n % {of} = 0 THEN {yes} ELSE {no} END)"


def _fill_orders(rows: Rows, own: Values, location: str) -> None:
    """Insert paid orders with shipping of 5.00 and three line items, each with two units at 10.00 and taxes of 2.00."""
    from apps.orders.models import LineItem, Order, ShippingLine, Transaction

    duty, total = _each(DECLARED, "3", "0"), f"(71 + {_each(DECLARED, '3', '0')})"
    with bulk_insert.load_without_indexes(Order, LineItem, ShippingLine, Transaction):
        rows.insert(
            Order,
            **own,
            **dict.fromkeys(("total_line_items_price", "subtotal_price"), "60"),
            **dict.fromkeys(("total_price", "total_paid"), total),
            **dict.fromkeys(("currency", "presentment_currency"), quote_literal("USD")),
            id="n",
            number="n",
            name=_NAME,
            token=f"'token' || {number_as_text('n')}",
            confirmation_number=number_as_text("100000000 + n"),
            customer_id=f"1 + n % {CUSTOMERS}",
            processed_at=time_literal(f"{BEGIN} + n"),
            total_tax="6",
            total_duties=duty,
            total_shipping_price="5",
            current_subtotal_price=_each(REFUNDED, "50", "60"),
            current_total_tax=_each(REFUNDED, "5", "6"),
            tax_lines=_taxes("6.00"),
            current_tax_lines=_each(REFUNDED, _taxes("5.00"), "NULL"),
            current_total_duties=_each(REFUNDED, "0", duty),
            current_total_price=_each(REFUNDED, "55", total),
            total_refunded=_each(REFUNDED, "19", "0"),
            financial_status=_each(REFUNDED, quote_literal("partially_refunded"), quote_literal("paid")),
            fulfillment_status=_each(SENT, quote_literal("fulfilled"), "''"),
            payment_gateway_names=quote_literal('["manual"]'),
            units_counted="TRUE",
            version=f"{BEGIN} + n",
        )
        for position in range(1, LINES + 1):
            first = position == 1
            variant = f"(n * {LINES} + {position}) % {PRODUCTS * VARIANTS}"
            rows.insert(
                LineItem,
                **own,
                id=f"{LINES} * (n - 1) + {position}",
                order_id="n",
                position=str(position),
                variant_id=f"{variant} + 1",
                product_id=f"({variant}) / {VARIANTS} + 1",
                title=quote_literal("Mug"),
                name=quote_literal("Mug"),
                price="10",
                tax="2",
                tax_lines=_taxes("2.00"),
                quantity=str(UNITS),
                current_quantity=_each(REFUNDED, "1", "2") if first else "2",
                refunded_quantity=_each(REFUNDED, "1", "0") if first else "0",
                unrestocked_quantity=_each(REFUNDED, "1", "0") if first else "0",
                taken_from=quote_literal(f'{{"{location}": {UNITS}}}'),
                fulfillable_quantity=_each(SENT, "0", "2"),
                fulfilled_quantity=_each(SENT, "2", "0"),
                duty=duty if first else "0",
                refunded_duty=_each(REFUNDED, "3", "0") if first else "0",
            )
        payload = {"id": "n", "order_id": "n", "title": quote_literal("Post"), "refunded": _each(REFUNDED, "5", "0")}
        rows.insert(ShippingLine, **own, **payload, price="5")
        payment = {"amount": total, "shop_amount": total, "refunded": _each(REFUNDED, "19", "0")}
        rows.insert(Transaction, **own, **_movement("n", "n", "sale", 1), **payment)


def _movement(pk: str, order: str, kind: str, sequence: int) -> Values:
    return {
        "id": pk,
        "order_id": order,
        "sequence": str(sequence),
        "kind": quote_literal(kind),
        "currency": quote_literal("USD"),
        "processed_at": time_literal(f"{BEGIN} + n"),
    }


def _fill_work(rows: Rows, fulfilled_rows: Rows, own: Values, location: str) -> None:
    """Insert a fulfillment order per order, a fulfillment for every second order, and the inventory changes."""
    from apps.fulfillment.models import Fulfillment, FulfillmentLine, FulfillmentOrder, FulfillmentOrderLine
    from apps.inventory.models import StockMovement

    with bulk_insert.load_without_indexes(
        Fulfillment, FulfillmentLine, FulfillmentOrder, FulfillmentOrderLine, StockMovement
    ):
        status, version = _each(SENT, quote_literal("closed"), quote_literal("open")), f"{BEGIN} + n"
        work = {"id": "n", "order_id": "n", "assigned_location_id": location, "status": status, "version": version}
        rows.insert(FulfillmentOrder, **own, **work)
        parcel = {
            "id": "n",
            "order_id": f"n * {SENT}",
            "location_id": location,
            "number": "1",
            "name": number_as_text("n"),
        }
        fulfilled_rows.insert(Fulfillment, **own, **parcel, version=version)
        for position in range(1, LINES + 1):
            rows.insert(
                FulfillmentOrderLine,
                **own,
                id=f"{LINES} * (n - 1) + {position}",
                fulfillment_order_id="n",
                line_item_id=f"{LINES} * (n - 1) + {position}",
                quantity=str(UNITS),
                fulfilled_quantity=_each(SENT, "2", "0"),
                fulfillable_quantity=_each(SENT, "0", "2"),
            )
            fulfilled_rows.insert(
                FulfillmentLine,
                **own,
                id=f"{LINES} * (n - 1) + {position}",
                fulfillment_id="n",
                fulfillment_order_id=f"n * {SENT}",
                line_item_id=f"{LINES} * (n * {SENT} - 1) + {position}",
                quantity=str(UNITS),
            )
            rows.insert(
                StockMovement,
                **own,
                id=f"{LINES} * (n - 1) + {position}",
                item_id=f"(n * {LINES} + {position}) % {PRODUCTS * VARIANTS} + 1",
                location_id=location,
                delta=str(-UNITS),
                available="0",
                reason=quote_literal("sale"),
                actor=quote_literal("system"),
                reference=_NAME,
                at=time_literal(f"{BEGIN} + n"),
            )


def _fill_refunds(rows: Rows, orders: int, own: Values) -> None:
    """For every tenth order, insert a refund of one item with its duty and the shipping, 19.00 in total."""
    from apps.orders.models import Transaction
    from apps.refunds import models

    order, refund = f"n * {REFUNDED}", {"id": "n", "refund_id": "n"}
    line = f"{LINES} * (n * {REFUNDED} - 1) + 1"
    tables = (models.RefundLineItem, models.RefundShippingLine, models.RefundDuty, models.OrderAdjustment)
    with bulk_insert.load_without_indexes(models.Refund, *tables, Transaction):
        moment = time_literal(f"{BEGIN} + n")
        taxes = {"tax_lines": _taxes("1.00")}
        rows.insert(models.Refund, **own, **taxes, id="n", order_id=order, total_duties="3", processed_at=moment)
        units = {"line_item_id": line, "quantity": "1", "subtotal": "10", "total_tax": "1", **taxes}
        rows.insert(models.RefundLineItem, **own, **refund, **units)
        rows.insert(models.RefundShippingLine, **own, **refund, shipping_line_id=order, amount="5")
        rows.insert(models.RefundDuty, **own, **refund, line_item_id=line, duty_id="n", amount="3")
        adjustment = {
            "kind": quote_literal("shipping_refund"),
            "amount": "-5",
            "reason": quote_literal("Shipping refund"),
        }
        rows.insert(models.OrderAdjustment, **own, **refund, **adjustment)
        movement = _movement(f"{orders} + n", order, "refund", 2)
        rows.insert(Transaction, **own, **movement, parent_id=order, amount="19", shop_amount="19")
        payment = {"transaction_id": f"{orders} + n", "refund_id": "n", "key": "gen_random_uuid()"}
        rows.insert(models.RefundPayment, **own, **payment)


_SUMS = (
    """UPDATE inventory_inventorylevel l SET available = m.sum FROM (
        SELECT item_id, sum(delta) AS sum FROM inventory_stockmovement GROUP BY item_id
    ) m WHERE m.item_id = l.item_id""",
    """UPDATE catalog_variant v SET inventory_quantity = l.available FROM inventory_inventorylevel l
    WHERE l.item_id = v.inventory_item_id""",
    """UPDATE catalog_product p SET units_sold = s.sum FROM (
        SELECT product_id, sum(quantity) AS sum FROM orders_lineitem GROUP BY product_id
    ) s WHERE s.product_id = p.id""",
    """UPDATE customers_customer c SET orders_count = o.count, total_spent = o.sum, last_order_at = o.latest FROM (
        SELECT customer_id, count(*) AS count, sum(total_paid - total_refunded) AS sum, max(processed_at) AS latest
        FROM orders_order GROUP BY customer_id
    ) o WHERE o.customer_id = c.id""",
)


def _sum_up(shop_id: int, count: int) -> None:
    """Set inventory quantities, the totals of products and customers, and the order counter from the inserted rows."""
    from django.db import connection

    from apps.orders.models import OrderCounter

    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        for statement in _SUMS:
            cursor.execute(statement)
        cursor.execute("VACUUM ANALYZE")
    OrderCounter._base_manager.update_or_create(shop_id=shop_id, defaults={"last_number": count})
