"""Serializers for listings: products and collections as an app has published them to its sales channel."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal

from apps.catalog.api.collection_serializers import render_image
from apps.catalog.api.fields import ManagementField, SkuField, WeightField
from apps.catalog.api.serializers import ImageSerializer, OptionSerializer
from apps.catalog.models import Collection, Product, Variant
from apps.core.money import format_decimal
from apps.core.rest.render_context import RenderContext
from apps.core.rest.resources.fields import (
    ComputedField,
    ConstantField,
    DateTimeField,
    ModelDerivedField,
    PriceField,
    ReadOnlyColumn,
)
from apps.core.rest.resources.nested_rows import NestedRows
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.core.types import Rendered
from apps.shops.api.resources import get_money_format

_BOOLEAN = {"type": "boolean"}
_OPTION_VALUES = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "option_id": {"type": "integer"},
            "name": {"type": "string"},
            "value": {"type": "string"},
        },
    },
}


def _format_price(context: RenderContext, price: Decimal) -> str:
    currency = context.shop.currency
    return get_money_format(currency).replace("{{amount}}", format_decimal(price, currency))


def _is_available(_: RenderContext, tracked: bool, policy: str, quantity: int) -> bool:
    return not tracked or policy == Variant.InventoryPolicy.CONTINUE or quantity > 0


def _list_values(_: RenderContext, *values: str | None) -> list[str]:
    """Return the option values. ``complete_listings`` adds the options, because they are rows of the product."""
    return [value for value in values if value is not None]


class ListedVariantSerializer(ResourceSerializer[Variant]):
    title = ReadOnlyColumn()
    option_values = ComputedField(_list_values, "option1", "option2", "option3", schema=_OPTION_VALUES)
    price = PriceField(read_only=True)
    formatted_price = ComputedField(_format_price, "price")
    compare_at_price = PriceField(read_only=True, allow_null=True)
    grams = ReadOnlyColumn()
    requires_shipping = ReadOnlyColumn("inventory_item__requires_shipping")
    sku = SkuField(source="inventory_item.sku", read_only=True)
    barcode = ReadOnlyColumn()
    taxable = ReadOnlyColumn()
    position = ReadOnlyColumn()
    available = ComputedField(
        _is_available, "inventory_item__tracked", "inventory_policy", "inventory_quantity", schema=_BOOLEAN
    )
    inventory_policy = ReadOnlyColumn()
    inventory_quantity = ReadOnlyColumn()
    inventory_management = ManagementField(source="inventory_item.tracked", read_only=True)
    fulfillment_service = ReadOnlyColumn()
    weight = WeightField(read_only=True)
    weight_unit = ReadOnlyColumn()
    image_id = ReadOnlyColumn()
    created_at = ModelDerivedField()
    updated_at = ModelDerivedField()


def _has_available_variant(_: RenderContext, variants: Sequence[Rendered]) -> bool:
    return any(variant["available"] for variant in variants)


class ProductListingSerializer(ResourceSerializer[Product]):
    """A listed product. ``complete_listings`` replaces ``published_at``, which is a column of the listing."""

    id = None
    product_id = ReadOnlyColumn("pk")
    created_at = ModelDerivedField()
    updated_at = ModelDerivedField()
    body_html = ReadOnlyColumn()
    handle = ReadOnlyColumn()
    product_type = ReadOnlyColumn()
    title = ReadOnlyColumn()
    vendor = ReadOnlyColumn()
    available = NestedRows(
        ListedVariantSerializer, "variants", order=("position", "pk"), derive=_has_available_variant, schema=_BOOLEAN
    )
    tags = ReadOnlyColumn()
    published_at = DateTimeField(read_only=True)
    variants = NestedRows(ListedVariantSerializer, "variants", order=("position", "pk"))
    images = NestedRows(ImageSerializer, "images", order=("position", "pk"))
    options = NestedRows(OptionSerializer, "options", order=("position", "pk"))


class CollectionListingSerializer(ResourceSerializer[Collection]):
    """A listed collection. ``complete_listings`` replaces ``published_at``, which is a column of the listing."""

    id = None
    collection_id = ReadOnlyColumn("pk")
    updated_at = ModelDerivedField()
    body_html = ReadOnlyColumn()
    default_product_image = ConstantField(None)
    handle = ReadOnlyColumn()
    image = ComputedField(
        render_image,
        "image_key",
        "image_name",
        "image_alt",
        "image_width",
        "image_height",
        "image_created_at",
        schema={"type": ["object", "null"]},
    )
    title = ReadOnlyColumn()
    sort_order = ReadOnlyColumn()
    published_at = DateTimeField(read_only=True)


def complete_listings(
    items: Iterable[Rendered], id_name: str, published: Mapping[int, datetime], context: RenderContext
) -> list[Rendered]:
    """Add what the rows of the products or collections do not contain: the publication dates and the options.

    ``published`` has the publication dates by product or collection id. Other items are omitted.
    """
    listings = []
    for item in items:
        if (at := published.get(item[id_name])) is not None:
            item["published_at"] = at.astimezone(context.tz).isoformat(timespec="seconds")
            for variant in item.get("variants", ()):
                variant["option_values"] = _name_values(item["options"], variant["option_values"])
            listings.append(item)
    return listings


def _name_values(options: Sequence[Rendered], values: Sequence[str]) -> list[Rendered]:
    return [
        {"option_id": option["id"], "name": option["name"], "value": value}
        for option, value in zip(options, values, strict=False)
    ]
