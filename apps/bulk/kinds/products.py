"""Products in bulk: the prices of all their variants, status, tags, vendor and type."""

from collections.abc import Collection, Iterable
from datetime import datetime
from decimal import Decimal

from django.utils.translation import gettext_lazy

from apps.bulk.domain.kinds import Kind
from apps.bulk.domain.operations import AMOUNTS
from apps.catalog.domain import products
from apps.catalog.domain.inputs import Parts, VariantInput
from apps.catalog.domain.locks import lock_product, lock_stock
from apps.catalog.models import Product, Variant
from apps.ground.attrs import Attrs, Given
from apps.ground.money import text_of
from apps.ground.tenancy import current_shop


def hold(pk: int, names: Collection[str]) -> Product:
    """The product; prices are those of its variants, whose stock everybody locks before it."""
    if not AMOUNTS.keys().isdisjoint(names):
        lock_stock(product_id=pk, going=True)
    return lock_product(pk)


def values(product: Product, names: Collection[str]) -> Attrs:
    """Prices stand by the id of their variant."""
    currency, found = current_shop().currency, {}
    rows = list(Variant.objects.filter(product=product).order_by("pk")) if AMOUNTS.keys() & set(names) else []
    for name in names:
        found[name] = prices_of(rows, name, currency) if name in AMOUNTS else getattr(product, name)
    return found


def prices_of(rows: Collection[Variant], name: str, currency: str) -> dict[str, str | None]:
    """One of the prices of each variant, by its id."""
    prices = ((row.pk, getattr(row, name)) for row in rows)
    return {str(pk): None if price is None else text_of(price, currency) for pk, price in prices}


def price_attrs(after: Given, key: str) -> Attrs:
    """The prices of one variant, as its columns."""
    given = {name: after[name][key] for name in AMOUNTS if name in after}
    return {name: None if price is None else Decimal(price) for name, price in given.items()}


def write(product: Product, after: Given, *, actor: str, at: datetime) -> None:
    """All in one change of the product."""
    keys: Iterable[str] = next((after[name] for name in AMOUNTS if name in after), ())
    variants = [VariantInput(id=int(key), attrs=price_attrs(after, key)) for key in keys]
    attrs = {name: value for name, value in after.items() if name not in AMOUNTS}
    products.update_product(product, attrs, Parts(variants=variants or None), actor=actor, at=at)


def mark(pk: int) -> str:
    """Its version, which moves with everything that it shows."""
    return str(Product.objects.values_list("version", flat=True).get(pk=pk))


PRODUCTS = Kind(
    name="products",
    label=gettext_lazy("Products"),
    model=Product,
    permission="catalog.change_product",
    granted_by="products",
    fields=("price", "compare_at_price", "status", "tags", "vendor", "product_type"),
    hold=hold,
    values=values,
    write=write,
    mark=mark,
    name_of=str,
)
