"""Products with options, variants, images and stock, and orders with lines, as the product itself would store them."""

import json
from typing import Any

from benchmarks import bulk
from benchmarks.bulk import Rows, moment, pick, quoted, text_of

BEGIN = 1_700_000_000
VARIANTS, IMAGES, LINES = 3, 2, 3
NOUNS = ("Mug", "Canvas bag", "Wool blanket", "Oak board", "Linen towel")
VENDORS = ("Pottery", "Weavers", "Woodwork")
SIZES = ("Small", "Medium", "Large")


def fill_products(shop_id: int, last: int) -> None:
    """Products 1 to ``last`` with one option, three variants and two images each."""
    from apps.catalog.models import Product, ProductImage, ProductOption, ProductTag, Variant
    from apps.ground.tenancy import shop_scope
    from apps.inventory.domain.stock import primary_location
    from apps.inventory.models import InventoryItem, InventoryLevel
    from apps.shops.models import Shop

    with shop_scope(Shop(pk=shop_id)):
        location = str(primary_location().pk)
    own: dict[str, str] = {
        "shop_id": str(shop_id),
        "created_at": moment(f"{BEGIN} + n"),
        "updated_at": moment(f"{BEGIN} + n + 86400"),
    }
    rows = Rows(1, last)
    with bulk.loading(Product, ProductOption, ProductTag, ProductImage, InventoryItem, InventoryLevel, Variant):
        rows.insert(
            Product,
            **own,
            id="n",
            title=f"{pick('n', NOUNS)} || ' ' || {text_of('n')}",
            handle=f"'product-' || {text_of('n')}",
            body_html=quoted("<p>Made by hand in small numbers, from what grows and is dug nearby.</p>"),
            vendor=pick("n", VENDORS),
            product_type=pick("n", ("Kitchen", "Home")),
            tags=quoted("handmade, kitchen"),
            published_at=moment(f"{BEGIN} + n"),
            lowest_price="19.90",
            version=f"{BEGIN} + n",
        )
        rows.insert(
            ProductOption,
            **own,
            id="n",
            product_id="n",
            name=quoted("Size"),
            position="1",
            values=quoted(json.dumps(SIZES)),
        )
        for number, tag in enumerate(("handmade", "kitchen")):
            rows.insert(ProductTag, **own, id=f"2 * n - {number}", product_id="n", name=quoted(tag), key=quoted(tag))
        for position in range(1, IMAGES + 1):
            rows.insert(
                ProductImage,
                **own,
                id=f"{IMAGES} * (n - 1) + {position}",
                product_id="n",
                position=str(position),
                alt=quoted("Seen from the side"),
                key=f"'key' || {text_of('n')} || '-{position}'",
                name=quoted("picture.png"),
                width="1600",
                height="1200",
            )
        for position, size in enumerate(SIZES, 1):
            pk = f"{VARIANTS} * (n - 1) + {position}"
            sku = f"'P' || {text_of('n')} || '-{position}'"
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
                title=quoted(size),
                option1=quoted(size),
                position=str(position),
                price=f"19.90 + {position}",
                barcode=f"'73' || {text_of(f'1000000000 + {pk}')}",
                inventory_quantity="40",
                grams="350",
                weight="0.35",
            )


def fill_orders(shop_id: int, last: int, *, products: int, customers: int) -> None:
    """Orders 1 to ``last`` with three lines, one way of sending, and taxes."""
    from apps.orders.models import LineItem, Order, OrderCounter, ShippingLine

    own: dict[str, str] = {
        "shop_id": str(shop_id),
        "created_at": moment(f"{BEGIN} + n"),
        "updated_at": moment(f"{BEGIN} + n + 3600"),
    }
    rows = Rows(1, last)
    with bulk.loading(Order, LineItem, ShippingLine):
        rows.insert(
            Order,
            **own,
            **dict.fromkeys(("total_line_items_price", "subtotal_price", "current_subtotal_price"), "60"),
            **dict.fromkeys(("total_tax", "current_total_tax"), "15"),
            **dict.fromkeys(("total_price", "current_total_price", "total_paid"), "80"),
            **dict.fromkeys(("currency", "presentment_currency"), quoted("USD")),
            **dict.fromkeys(("billing_address", "shipping_address"), quoted(json.dumps(_address()))),
            id="n",
            number="n",
            name=f"'#' || {text_of('1000 + n')}",
            token=f"'token' || {text_of('n')}",
            confirmation_number=text_of("100000000 + n"),
            customer_id=f"1 + n % {customers}",
            email=f"'buyer.' || {text_of('n')} || '@example.com'",
            processed_at=moment(f"{BEGIN} + n"),
            financial_status=quoted("paid"),
            total_shipping_price="5",
            total_weight="1050",
            tax_lines=quoted(json.dumps([_tax("15.00")])),
            discount_codes=quoted(json.dumps([{"code": "WELCOME", "amount": "0.00", "type": "fixed_amount"}])),
            payment_gateway_names=quoted('["manual"]'),
            note=quoted("Please leave it with the neighbours"),
            tags=quoted("gift, spring"),
            source_name=quoted("web"),
            version=f"{BEGIN} + n",
        )
        for position in range(1, LINES + 1):
            variant = f"(n * {LINES} + {position}) % {products * VARIANTS}"
            rows.insert(
                LineItem,
                **own,
                id=f"{LINES} * (n - 1) + {position}",
                order_id="n",
                position=str(position),
                variant_id=f"{variant} + 1",
                product_id=f"({variant}) / {VARIANTS} + 1",
                title=pick("n", NOUNS),
                variant_title=pick("n", SIZES),
                name=f"{pick('n', NOUNS)} || ' - ' || {pick('n', SIZES)}",
                sku=f"'P' || {text_of('n')} || '-{position}'",
                vendor=pick("n", VENDORS),
                grams="350",
                price="20",
                **dict.fromkeys(("quantity", "current_quantity", "fulfillable_quantity"), "1"),
                tax="5",
                tax_lines=quoted(json.dumps([_tax("5.00")])),
                properties=quoted('[{"name": "Engraving", "value": "A. L."}]'),
                variant_inventory_management=quoted("platform"),
            )
        rows.insert(ShippingLine, **own, id="n", order_id="n", title=quoted("Post"), code=quoted("POST"), price="5")
    OrderCounter._base_manager.update_or_create(shop_id=shop_id, defaults={"last_number": last})


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


def _tax(price: str) -> dict[str, Any]:
    return {"title": "VAT", "rate": "0.25", "price": price, "channel_liable": None}
