"""Bulk edits of products: prices of all variants, status, tags, vendor and type."""

from collections.abc import Collection, Iterable
from datetime import datetime
from decimal import Decimal

from django.utils.translation import gettext_lazy

from apps.bulk_edits.domain.operations import AMOUNTS
from apps.bulk_edits.domain.targets import EditTarget
from apps.catalog.domain import products
from apps.catalog.domain.inputs import ProductParts, VariantInput
from apps.catalog.domain.locks import lock_product, lock_stock
from apps.catalog.models import Product, Variant
from apps.core.money import format_decimal
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs, ReadOnlyAttrs


def lock_product_row(pk: int, names: Collection[str]) -> Product:
    """Lock the product. For price changes, lock the stock first, as the catalog does, to avoid deadlocks."""
    if not AMOUNTS.keys().isdisjoint(names):
        lock_stock(product_id=pk, deleting=True)
    return lock_product(pk)


def get_product_values(product: Product, names: Collection[str]) -> Attrs:
    """Return the values of the fields. Prices are keyed by variant id."""
    currency, values_by_name = get_current_shop().currency, {}
    rows = list(Variant.objects.filter(product=product).order_by("pk")) if AMOUNTS.keys() & set(names) else []
    for name in names:
        values_by_name[name] = get_variant_prices(rows, name, currency) if name in AMOUNTS else getattr(product, name)
    return values_by_name


def get_variant_prices(rows: Collection[Variant], name: str, currency: str) -> dict[str, str | None]:
    """Return the price of each variant from the column ``name``, keyed by variant id."""
    prices = ((row.pk, getattr(row, name)) for row in rows)
    return {str(pk): None if price is None else format_decimal(price, currency) for pk, price in prices}


def get_price_attrs(after: ReadOnlyAttrs, key: str) -> Attrs:
    """Return the new prices of one variant, keyed by column."""
    prices = {name: after[name][key] for name in AMOUNTS if name in after}
    return {name: None if price is None else Decimal(price) for name, price in prices.items()}


def write_product(product: Product, after: ReadOnlyAttrs, *, actor: str, at: datetime) -> None:
    """Save all values in one update of the product."""
    keys: Iterable[str] = next((after[name] for name in AMOUNTS if name in after), ())
    variants = [VariantInput(id=int(key), attrs=get_price_attrs(after, key)) for key in keys]
    attrs = {name: value for name, value in after.items() if name not in AMOUNTS}
    products.update_product(product, attrs, ProductParts(variants=variants or None), actor=actor, at=at)


def get_product_version(pk: int) -> str:
    """Return the version of the product, which also changes when a variant changes."""
    return str(Product.objects.values_list("version", flat=True).get(pk=pk))


PRODUCTS = EditTarget(
    name="products",
    label=gettext_lazy("Products"),
    model=Product,
    permission="catalog.change_product",
    granted_by="products",
    fields=("price", "compare_at_price", "status", "tags", "vendor", "product_type"),
    lock_row=lock_product_row,
    get_values=get_product_values,
    write=write_product,
    get_version=get_product_version,
    get_name=str,
)
