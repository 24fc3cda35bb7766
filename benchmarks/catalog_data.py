"""Insert products with options, variants, images and inventory, and orders with fulfillments."""

import json
from typing import Any

from benchmarks import bulk_insert
from benchmarks.bulk_insert import Rows, cycle_values, number_as_text, quote_literal, time_literal

BEGIN = 1_700_000_000
VARIANTS, IMAGES, LINES = 3, 2, 3
# Every n-th order is fulfilled.
SENT = 2
# The maximum number of shops between which rows can alternate.
TURN = 50
NOUNS = ("Mug", "Canvas bag", "Wool blanket", "Oak board", "Linen towel")
VENDORS = ("Pottery", "Weavers", "Woodwork")
SIZES = ("Small", "Medium", "Large")


def fill_products(shop_id: int | str, last: int, *, first: int = 1, **differing: str) -> None:
    """Insert products ``first`` to ``last`` with one option, three variants and two images each.

    ``shop_id`` may be an SQL expression, for rows that alternate between shops. ``differing`` maps product columns to
    SQL expressions that replace the defaults.
    """
    from apps.catalog.models import Product, ProductImage, ProductOption, ProductTag, Variant
    from apps.inventory.models import InventoryItem, InventoryLevel

    # A new shop has only one location.
    location = f"(SELECT min(id) FROM inventory_location WHERE shop_id = {shop_id})"
    own: dict[str, str] = {
        "shop_id": str(shop_id),
        "created_at": time_literal(f"{BEGIN} + n"),
        "updated_at": time_literal(f"{BEGIN} + n + 86400"),
    }
    rows = Rows(first, last)
    with bulk_insert.load_without_indexes(
        Product, ProductOption, ProductTag, ProductImage, InventoryItem, InventoryLevel, Variant
    ):
        rows.insert(
            Product,
            **own,
            **{
                "id": "n",
                "title": f"{cycle_values('n', NOUNS)} || ' ' || {number_as_text('n')}",
                "handle": f"'product-' || {number_as_text('n')}",
                "body_html": quote_literal("<p>Made by hand in small numbers, from what grows and is dug nearby.</p>"),
                "vendor": cycle_values("n", VENDORS),
                "product_type": cycle_values("n", ("Kitchen", "Home")),
                "tags": quote_literal("handmade, kitchen"),
                "published_at": time_literal(f"{BEGIN} + n"),
                "lowest_price": "19.90",
                "version": f"{BEGIN} + n",
                **differing,
            },
        )
        rows.insert(
            ProductOption,
            **own,
            id="n",
            product_id="n",
            name=quote_literal("Size"),
            position="1",
            values=quote_literal(json.dumps(SIZES)),
        )
        for number, tag in enumerate(("handmade", "kitchen")):
            rows.insert(
                ProductTag,
                **own,
                id=f"2 * n - {number}",
                product_id="n",
                name=quote_literal(tag),
                key=quote_literal(tag),
            )
        for position in range(1, IMAGES + 1):
            rows.insert(
                ProductImage,
                **own,
                id=f"{IMAGES} * (n - 1) + {position}",
                product_id="n",
                position=str(position),
                alt=quote_literal("Seen from the side"),
                key=f"'key' || {number_as_text('n')} || '-{position}'",
                name=quote_literal("picture.png"),
                width="1600",
                height="1200",
            )
        for position, size in enumerate(SIZES, 1):
            pk = f"{VARIANTS} * (n - 1) + {position}"
            sku = f"'P' || {number_as_text('n')} || '-{position}'"
            rows.insert(InventoryItem, **own, id=pk, sku=sku, tracked="TRUE", version=f"{BEGIN} + n")
            rows.insert(
                InventoryLevel,
                **own,
                id=pk,
                item_id=pk,
                location_id=location,
                available="40",
                version=f"{BEGIN} + n",
            )
            rows.insert(
                Variant,
                **own,
                id=pk,
                product_id="n",
                inventory_item_id=pk,
                image_id=f"{IMAGES} * (n - 1) + {1 + position % IMAGES}",
                title=quote_literal(size),
                option1=quote_literal(size),
                position=str(position),
                price=f"19.90 + {position}",
                barcode=f"'73' || {number_as_text(f'1000000000 + {pk}')}",
                inventory_quantity="40",
                grams="350",
                weight="0.35",
            )


def fill_orders(
    shop_id: int, last: int, *, products: int, customers: int, first: int = 1, lines: int = LINES, **differing: str
) -> None:
    """Insert orders ``first`` to ``last`` with line items, shipping and taxes, and set the shop's order counter."""
    from apps.orders.models import OrderCounter

    fill_order_rows(
        shop_id, last, products=products, customers=customers, first=first, lines=lines, apart=0, **differing
    )
    OrderCounter._base_manager.update_or_create(shop_id=shop_id, defaults={"last_number": last})


def fill_work(shop_id: int, last: int) -> None:
    """Insert a fulfillment order for each of a shop's orders 1 to ``last``, and fulfill every second order."""
    from django.db import connection

    from apps.fulfillment.models import Fulfillment, FulfillmentLine, FulfillmentOrder, FulfillmentOrderLine

    location = f"(SELECT min(id) FROM inventory_location WHERE shop_id = {shop_id})"
    own: dict[str, str] = {
        "shop_id": str(shop_id),
        "created_at": time_literal(f"{BEGIN} + n + 7200"),
        "updated_at": time_literal(f"{BEGIN} + n + 7200"),
    }
    with connection.cursor() as cursor:
        which = f"shop_id = {shop_id} AND id <= {last} AND id % {SENT} = 0"
        cursor.execute(f"UPDATE orders_order SET fulfillment_status = 'fulfilled' WHERE {which}")
        cursor.execute(
            "UPDATE orders_lineitem SET fulfillable_quantity = 0, fulfilled_quantity = 1"
            f" WHERE order_id IN (SELECT id FROM orders_order WHERE {which})"
        )
    sent_condition, sent_order = f"n % {SENT} = 0", f"n * {SENT}"
    rows, parcels = Rows(1, last), Rows(1, last // SENT)
    with bulk_insert.load_without_indexes(FulfillmentOrder, FulfillmentOrderLine, Fulfillment, FulfillmentLine):
        rows.insert(
            FulfillmentOrder,
            **own,
            id="n",
            order_id="n",
            assigned_location_id=location,
            status=f"(CASE WHEN {sent_condition} THEN 'closed' ELSE 'open' END)",
            fulfill_at=time_literal(f"{BEGIN} + n"),
            presented_name=quote_literal("Post"),
            service_code=quote_literal("POST"),
            version=f"{BEGIN} + n",
        )
        number = number_as_text(f"100000000000 + {sent_order}")
        parcels.insert(
            Fulfillment,
            **own,
            id="n",
            order_id=sent_order,
            location_id=location,
            number="1",
            name=f"'#' || {number_as_text(f'1000 + {sent_order}')} || '.1'",
            shipment_status=quote_literal("in_transit"),
            tracking_company=quote_literal("Courier"),
            tracking_numbers=_list(number),
            tracking_urls=_list(f"'https://courier.example/' || {number}"),
            version=f"{BEGIN} + n",
        )
        for position in range(1, LINES + 1):
            rows.insert(
                FulfillmentOrderLine,
                **own,
                id=f"{LINES} * (n - 1) + {position}",
                fulfillment_order_id="n",
                line_item_id=f"{LINES} * (n - 1) + {position}",
                quantity="1",
                fulfilled_quantity=f"(CASE WHEN {sent_condition} THEN 1 ELSE 0 END)",
                fulfillable_quantity=f"(CASE WHEN {sent_condition} THEN 0 ELSE 1 END)",
            )
            parcels.insert(
                FulfillmentLine,
                **own,
                id=f"{LINES} * (n - 1) + {position}",
                fulfillment_id="n",
                fulfillment_order_id=sent_order,
                line_item_id=f"{LINES} * ({sent_order} - 1) + {position}",
                quantity="1",
            )


def _list(text: str) -> str:
    """Return SQL for a JSON list with one string that needs no escaping."""
    written_text = f"'[\"' || {text} || '\"]'"
    return f"({written_text})::jsonb" if bulk_insert.is_postgres() else written_text


def fill_order_rows(
    shop_id: int | str,
    last: int,
    *,
    products: int,
    customers: int,
    first: int = 1,
    lines: int = LINES,
    apart: int = 0,
    **differing: str,
) -> None:
    """Insert orders ``first`` to ``last`` for customers and products with numbers from ``apart + 1``.

    ``shop_id`` may be an SQL expression, for rows that alternate between shops. ``differing`` maps order columns to SQL
    expressions that replace the defaults.
    """
    from apps.orders.models import LineItem, Order, ShippingLine

    own: dict[str, str] = {
        "shop_id": str(shop_id),
        "created_at": time_literal(f"{BEGIN} + n"),
        "updated_at": time_literal(f"{BEGIN} + n + 3600"),
    }
    rows = Rows(first, last)
    with bulk_insert.load_without_indexes(Order, LineItem, ShippingLine):
        rows.insert(Order, **own, **{**_order_columns(f"{apart} + 1 + n % {customers}"), **differing})
        for position in range(1, lines + 1):
            # The offset is a multiple of the number of shops, so that an order and its product are in the same shop.
            product = f"{apart} + 1 + (n + {TURN * position}) % {products}"
            variant = f"{VARIANTS} * ({product} - 1) + {position}"
            rows.insert(
                LineItem,
                **own,
                id=f"{LINES} * (n - 1) + {position}",
                order_id="n",
                position=str(position),
                variant_id=variant,
                product_id=product,
                title=cycle_values("n", NOUNS),
                variant_title=cycle_values("n", SIZES),
                name=f"{cycle_values('n', NOUNS)} || ' - ' || {cycle_values('n', SIZES)}",
                sku=f"'P' || {number_as_text('n')} || '-{position}'",
                vendor=cycle_values("n", VENDORS),
                grams="350",
                price="20",
                **dict.fromkeys(("quantity", "current_quantity", "fulfillable_quantity"), "1"),
                tax="5",
                tax_lines=quote_literal(json.dumps([build_tax("5.00")])),
                properties=quote_literal('[{"name": "Engraving", "value": "A. L."}]'),
                variant_inventory_management=quote_literal("platform"),
            )
        rows.insert(
            ShippingLine,
            **own,
            id="n",
            order_id="n",
            title=quote_literal("Post"),
            code=quote_literal("POST"),
            price="5",
        )


def _order_columns(customer: str) -> dict[str, str]:
    """Return SQL expressions for the columns of a paid, unfulfilled order."""
    return {
        **dict.fromkeys(("total_line_items_price", "subtotal_price", "current_subtotal_price"), "60"),
        **dict.fromkeys(("total_tax", "current_total_tax"), "15"),
        **dict.fromkeys(("total_price", "current_total_price", "total_paid"), "80"),
        **dict.fromkeys(("currency", "presentment_currency"), quote_literal("USD")),
        **dict.fromkeys(("billing_address", "shipping_address"), quote_literal(json.dumps(_address()))),
        "id": "n",
        "number": "n",
        "name": f"'#' || {number_as_text('1000 + n')}",
        "token": f"'token' || {number_as_text('n')}",
        "confirmation_number": number_as_text("100000000 + n"),
        "customer_id": customer,
        "email": f"'buyer.' || {number_as_text('n')} || '@example.com'",
        "processed_at": time_literal(f"{BEGIN} + n"),
        "financial_status": quote_literal("paid"),
        "total_shipping_price": "5",
        "total_weight": "1050",
        "tax_lines": quote_literal(json.dumps([build_tax("15.00")])),
        "discount_codes": quote_literal(json.dumps([{"code": "WELCOME", "amount": "0.00", "type": "fixed_amount"}])),
        "payment_gateway_names": quote_literal('["manual"]'),
        "note": quote_literal("Please leave it with the neighbours"),
        "tags": quote_literal("gift, spring"),
        "source_name": quote_literal("web"),
        "version": f"{BEGIN} + n",
    }


def _address() -> dict[str, Any]:
    return {
        "first_name": "Grace",
        "last_name": "Hopper",
        "company": "Northwind Traders",
        "address1": "Storgatan 1",
        "address2": "",
        "city": "Lund",
        "zip": "22222",
        "phone": "+4646100000",
        "country": "Sweden",
        "country_code": "SE",
        "province": "",
        "province_code": "",
    }


def build_tax(price: str) -> dict[str, Any]:
    return {"title": "VAT", "rate": "0.25", "price": price, "channel_liable": None}
