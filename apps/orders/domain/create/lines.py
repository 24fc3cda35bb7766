from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from apps.catalog.domain.fulfillment_service_choices import get_inventory_management
from apps.catalog.domain.presentment_prices import get_price_in_currency
from apps.catalog.models import Product, Variant
from apps.core.i18n.error_messages import BLANK, INVALID, too_long
from apps.core.money import round_money
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs, Errors, ReadOnlyAttrs
from apps.orders.models import LineItem, Order

MAX_LINES = 500
# The maximum quantity of a line item, as in the REST API.
MAX_QUANTITY = 10**6


@dataclass(frozen=True, slots=True)
class CatalogRows:
    """The catalog rows that line items refer to, keyed by id. ``products`` are those of lines without a variant."""

    variants: Mapping[int, Variant]
    products: Mapping[int, Product]


def load_catalog_rows(line_values: Iterable[ReadOnlyAttrs]) -> CatalogRows:
    rows = list(line_values)
    variant_ids = {attrs["variant_id"] for attrs in rows if attrs.get("variant_id")}
    product_ids = {attrs["product_id"] for attrs in rows if attrs.get("product_id") and not attrs.get("variant_id")}
    variants = Variant.objects.filter(pk__in=variant_ids).select_related("product", "inventory_item")
    return CatalogRows({row.pk: row for row in variants}, Product.objects.in_bulk(product_ids))


def build_lines(
    order: Order, line_values: Sequence[ReadOnlyAttrs], catalog_rows: CatalogRows | None = None
) -> tuple[list[LineItem], Errors]:
    """Build the unsaved line items of an order, completed from the catalog.

    A line needs either ``variant_id`` or both ``title`` and ``price``. ``quantity`` (by default 1) and other columns
    are optional. Explicit values take precedence over the catalog.
    """
    if not line_values:
        return [], {"line_items": [BLANK]}
    if len(line_values) > MAX_LINES:
        return [], {"line_items": [too_long(MAX_LINES, "lines")]}
    catalog_rows = catalog_rows or load_catalog_rows(line_values)
    variants, products = catalog_rows.variants, catalog_rows.products
    lines: list[LineItem] = []
    errors: Errors = {}
    for index, attrs in enumerate(line_values):
        variant_id, product_id = attrs.get("variant_id"), attrs.get("product_id")
        variant = variants.get(variant_id) if variant_id else None
        if variant_id and variant is None:
            errors[f"line_items.{index}.variant_id"] = [INVALID]
            continue
        if product_id and product_id not in products and variant is None:
            errors[f"line_items.{index}.product_id"] = [INVALID]
            continue
        product = variant.product if variant else products.get(product_id) if product_id else None
        line, line_errors = _build_line(order, attrs, variant, product)
        line.position = index
        lines.append(line)
        errors |= {f"line_items.{index}.{name}": messages for name, messages in line_errors.items()}
    return lines, errors


def _build_line(
    order: Order, attrs: ReadOnlyAttrs, variant: Variant | None, product: Product | None
) -> tuple[LineItem, Errors]:
    defaults = _catalog_values(order, variant, product)
    references = {"variant_id", "product_id"}
    values = defaults | {name: value for name, value in attrs.items() if value is not None and name not in references}
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
        shop=get_current_shop(),
        variant=variant,
        product=product,
        current_quantity=quantity,
        fulfillable_quantity=quantity,
        **values,
    )
    return line, errors


def _catalog_values(order: Order, variant: Variant | None, product: Product | None) -> Attrs:
    values: Attrs = {}
    if product is not None:
        values |= {"title": product.title, "vendor": product.vendor}
    if variant is not None:
        item = variant.inventory_item
        values |= {
            "variant_title": "" if variant.is_default else variant.title,
            "sku": item.sku,
            "grams": variant.grams,
            "requires_shipping": item.requires_shipping,
            "taxable": variant.taxable,
            "fulfillment_service": variant.fulfillment_service,
            "variant_inventory_management": get_inventory_management(
                tracked=item.tracked, service=variant.fulfillment_service
            )
            or "",
        }
        price = _get_price(order, variant)
        if price is not None:
            values["price"] = round_money(price, order.currency)
    return values


def _get_price(order: Order, variant: Variant) -> Decimal | None:
    """Return the price of a variant in the order's currency, or None if there is no price in this currency.

    If the order has another presentment currency, the price in that currency is converted to the order's currency.
    """
    shop = get_current_shop()
    if order.is_multi_currency and order.currency == shop.currency:
        presentment_price = get_price_in_currency(variant, shop, order.presentment_currency)
        return variant.price if presentment_price is None else presentment_price / order.exchange_rate
    return get_price_in_currency(variant, shop, order.currency)
