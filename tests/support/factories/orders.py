from decimal import Decimal
from typing import Any

from django.utils import timezone

from apps.catalog.models import Product, Variant
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import get_current_shop, shop_scope
from apps.inventory.domain import stock as inventory
from apps.inventory.models import InventoryLevel
from apps.orders.domain.create import orders
from apps.orders.domain.create.drafts import OrderParts
from apps.orders.models import Order

MUG = {"title": "Mug", "price": Decimal("10.00"), "quantity": 2}


def make_order(shop: Shop | None = None, **values: Any) -> Order:
    """Create an order, by default of two mugs for 20.00. Pass fields of ``OrderParts`` or of the order to change it."""
    parts = {name: values.pop(name) for name in list(values) if name in OrderParts.__dataclass_fields__}
    order_parts = OrderParts(**{"lines": [MUG], **parts})
    with shop_scope(shop or get_current_shop()):
        return orders.create_order(values, order_parts, actor=values.pop("actor", "system"), at=timezone.now())


def make_variant(shop: Shop, *, stock: int | None = None, **values: Any) -> Variant:
    """Create a product with one variant, tracked if ``stock`` is passed."""
    with shop_scope(shop):
        at = timezone.now()
        item = inventory.create_items(
            [{"sku": values.pop("sku", "MUG-1"), "tracked": stock is not None}], actor="system", at=at
        )[0]
        if stock is not None:
            inventory.set_available(item, inventory.get_primary_location(), stock, actor="system", at=at)
        title = values.pop("product_title", "Mug")
        handle = f"product-{Product.objects.count() + 1}"
        product = Product.objects.create(shop=shop, title=title, handle=handle, vendor="Pottery")
        return Variant.objects.create(
            shop=shop,
            product=product,
            inventory_item=item,
            **{"price": Decimal("10.00"), "grams": 300, "title": "Blue", "option1": "Blue", **values},
        )


def get_available(variant: Variant) -> int:
    with shop_scope(variant.shop):
        return sum(InventoryLevel.objects.filter(item=variant.inventory_item_id).values_list("available", flat=True))
