"""The lines of a new order: out of variants of the catalog, or of what the sender says."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.conf import settings

from apps.catalog.domain.price_tags import price_of
from apps.catalog.models import Product, Variant
from apps.ground.attrs import Attrs, Errors, Given
from apps.ground.money import rounded
from apps.ground.phrases import BLANK, INVALID, too_long
from apps.ground.tenancy import current_shop
from apps.orders.models import LineItem, Order

MAX_LINES = 500
# Of one line, as REST takes them.
MAX_UNITS = 10**6


@dataclass(frozen=True, slots=True)
class Found:
    """What lines name of the catalog, by id.

    Attributes:
        variants: With their products and inventory items.
        products: Those that are named without a variant.
    """

    variants: Mapping[int, Variant]
    products: Mapping[int, Product]


def find(given: Iterable[Given]) -> Found:
    """What lines, of one order or of several, name of the catalog."""
    rows = list(given)
    return Found(_variants(rows), _products(rows))


def build(order: Order, given: Sequence[Given], found: Found | None = None) -> tuple[list[LineItem], Errors]:
    """The unsaved lines of an order, completed from the catalog.

    Args:
        order: With its currency.
        given: Per line ``variant_id`` or ``title`` and ``price``; ``quantity``; and whatever else a line has. What is
            given counts more than what the catalog says.
        found: What they name of the catalog, where that was read before.

    Returns:
        The lines, and ``{field: [messages]}`` of what cannot be.
    """
    if not given:
        return [], {"line_items": [BLANK]}
    if len(given) > MAX_LINES:
        return [], {"line_items": [too_long(MAX_LINES, "lines")]}
    found = found or find(given)
    variants, products = found.variants, found.products
    lines: list[LineItem] = []
    errors: Errors = {}
    for index, attrs in enumerate(given):
        wanted, product_id = attrs.get("variant_id"), attrs.get("product_id")
        variant = variants.get(wanted) if wanted else None
        if wanted and variant is None:
            errors[f"line_items.{index}.variant_id"] = [INVALID]
            continue
        if product_id and product_id not in products and variant is None:
            errors[f"line_items.{index}.product_id"] = [INVALID]
            continue
        product = variant.product if variant else products.get(product_id) if product_id else None
        line, wrong = _line(order, attrs, variant, product)
        line.position = index
        lines.append(line)
        errors |= {f"line_items.{index}.{name}": messages for name, messages in wrong.items()}
    return lines, errors


def _variants(given: Sequence[Given]) -> dict[int, Variant]:
    ids = {attrs["variant_id"] for attrs in given if attrs.get("variant_id")}
    if not ids:
        return {}
    return {row.pk: row for row in Variant.objects.filter(pk__in=ids).select_related("product", "inventory_item")}


def _products(given: Sequence[Given]) -> dict[int, Product]:
    ids = {attrs["product_id"] for attrs in given if attrs.get("product_id") and not attrs.get("variant_id")}
    return Product.objects.in_bulk(ids) if ids else {}


def _line(order: Order, attrs: Given, variant: Variant | None, product: Product | None) -> tuple[LineItem, Errors]:
    known = _from_catalog(order, variant, product)
    references = {"variant_id", "product_id"}
    values = known | {name: value for name, value in attrs.items() if value is not None and name not in references}
    errors: Errors = {}
    if not values.get("title"):
        errors["title"] = [BLANK]
    if values.get("price") is None:
        errors["price"] = [BLANK]
        values["price"] = 0
    quantity = values.setdefault("quantity", 1)
    title, variant_title = values.get("title", ""), values.get("variant_title", "")
    values.setdefault("name", f"{title} - {variant_title}" if variant_title else title)
    line = LineItem(
        shop=current_shop(),
        variant=variant,
        product=product,
        current_quantity=quantity,
        fulfillable_quantity=quantity,
        **values,
    )
    return line, errors


def _from_catalog(order: Order, variant: Variant | None, product: Product | None) -> Attrs:
    """What the catalog says of a line."""
    known: Attrs = {}
    if product is not None:
        known |= {"title": product.title, "vendor": product.vendor}
    if variant is not None:
        item = variant.inventory_item
        known |= {
            "variant_title": "" if variant.is_default else variant.title,
            "sku": item.sku,
            "grams": variant.grams,
            "requires_shipping": item.requires_shipping,
            "taxable": variant.taxable,
            "fulfillment_service": variant.fulfillment_service,
            "variant_inventory_management": settings.BRAND if item.tracked else "",
        }
        price = _price(order, variant)
        if price is not None:
            known["price"] = rounded(price, order.currency)
    return known


def _price(order: Order, variant: Variant) -> Decimal | None:
    """What a variant costs in the order's currency; None where the shop shows no price in it.

    A buyer who sees another currency pays the price that the shop shows in it, as near as the order's currency has it.
    """
    shop = current_shop()
    if order.is_multi_currency and order.currency == shop.currency:
        seen = price_of(variant, shop, order.presentment_currency)
        return variant.price if seen is None else seen / order.exchange_rate
    return price_of(variant, shop, order.currency)
