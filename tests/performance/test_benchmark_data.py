"""Tests that the benchmark creates the same products and orders as the services."""

from apps.catalog.models import Product
from apps.fulfillment.domain import consistency_checks, fulfillments
from apps.fulfillment.models import Fulfillment, FulfillmentOrder
from apps.ground.case_folding import casefold_text
from apps.ground.tenancy import shop_scope
from apps.inventory.models import InventoryLevel
from apps.orders.domain.selectors import get_line_items
from apps.orders.models import LineItem, Order
from apps.shops.models import Shop
from benchmarks.catalog_data import fill_orders, fill_products, fill_work
from benchmarks.data import fill_customers
from tests.conftest import ApiClient


def test_generated_goods_are_like_made_ones(transactional_db: None, api: ApiClient, shop: Shop) -> None:
    with shop_scope(shop):
        fill_customers(shop.pk, 1, 10)
        fill_products(shop.pk, 20)
        fill_orders(shop.pk, 30, products=20, customers=10)
        fill_work(shop.pk, 30)

        for product in Product.objects.prefetch_related("variants__inventory_item__levels", "images"):
            product.full_clean()
            assert (product.title_key, product.vendor_key) == (
                casefold_text(product.title),
                casefold_text(product.vendor),
            )
            assert [variant.position for variant in product.variants.all()] == [1, 2, 3]
            for variant in product.variants.all():
                variant.full_clean()
                levels = variant.inventory_item.levels.all()
                assert sum(level.available for level in levels) == variant.inventory_quantity
                assert variant.grams == variant.weight * 1000
        for order in Order.objects.prefetch_related("line_items__variant", "shipping_lines"):
            order.full_clean()
            lines = list(order.line_items.all())
            assert all(line.variant is not None and line.variant.product_id == line.product_id for line in lines)
            assert sum(line.price * line.quantity for line in lines) == order.subtotal_price
            assert sum(line.tax for line in lines) == order.total_tax
            shipping = sum(line.price for line in order.shipping_lines.all())
            assert order.subtotal_price + order.total_tax + shipping == order.total_price
            assert order.fulfillment_status == fulfillments.get_fulfillment_status(order, get_line_items(order))
        for row in [*FulfillmentOrder.objects.all(), *Fulfillment.objects.all()]:
            row.full_clean()
        assert (FulfillmentOrder.objects.count(), Fulfillment.objects.count()) == (30, 15)
        assert [
            *consistency_checks.find_wrong_fulfillable_quantities(),
            *consistency_checks.find_wrong_fulfilled_quantities(),
        ] == []
        assert (InventoryLevel.objects.count(), LineItem.objects.count()) == (60, 90)

    assert len(api.get("products.json").json()["products"]) == 20
    assert len(api.get("orders.json").json()["orders"]) == 30
    parcels = [parcel for order in api.get("orders.json").json()["orders"] for parcel in order["fulfillments"]]
    assert [len(parcel["line_items"]) for parcel in parcels] == [3] * 15
    assert parcels[0]["tracking_numbers"] == ["100000000030"]
    response = api.post("orders.json", {"order": {"line_items": [{"title": "Mug", "price": "1.00", "quantity": 1}]}})
    assert (response.status_code, response.json()["order"]["name"]) == (201, "#1031")
