"""The bulk edit targets."""

from collections.abc import Collection, Iterable
from datetime import datetime
from decimal import Decimal
from hashlib import sha256

from django.utils.translation import gettext_lazy

from apps.bulk_edits.domain.operations import AMOUNTS
from apps.bulk_edits.domain.targets import EditTarget
from apps.catalog.domain import products, variants
from apps.catalog.domain.inputs import ProductParts, VariantInput
from apps.catalog.domain.locks import lock_product, lock_stock
from apps.catalog.models import Product, Variant
from apps.core.exceptions import RowDeleted
from apps.core.models import get_column_values
from apps.core.money import format_decimal
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs, ReadOnlyAttrs
from apps.customers.domain import customers
from apps.customers.domain.consents import FIELDS, get_consent
from apps.customers.models import Customer
from apps.orders.domain import transitions, updates
from apps.orders.models import Order


class ProductTarget(EditTarget):
    """Prices of all variants, status, tags, vendor and type."""

    name = "products"
    label = gettext_lazy("Products")
    model = Product
    permission = "catalog.change_product"
    granted_by = "products"
    fields = ("price", "compare_at_price", "status", "tags", "vendor", "product_type")

    def lock_row(self, pk: int, names: Collection[str]) -> Product:
        """Lock the product. For price changes, lock the stock first, as the catalog does, to avoid deadlocks."""
        if not AMOUNTS.keys().isdisjoint(names):
            lock_stock(product_id=pk, deleting=True)
        return lock_product(pk)

    def get_values(self, row: Product, names: Collection[str]) -> Attrs:
        """Return the values of the fields. Prices are keyed by variant id."""
        rows = list(Variant.objects.filter(product=row).order_by("pk")) if AMOUNTS.keys() & set(names) else []
        return {name: _get_prices(rows, name) if name in AMOUNTS else getattr(row, name) for name in names}

    def write(self, row: Product, after: ReadOnlyAttrs, *, actor: str, at: datetime) -> None:
        keys: Iterable[str] = next((after[name] for name in AMOUNTS if name in after), ())
        inputs = [VariantInput(id=int(key), attrs=_get_price_attrs(after, key)) for key in keys]
        attrs = {name: value for name, value in after.items() if name not in AMOUNTS}
        products.update_product(row, attrs, ProductParts(variants=inputs or None), actor=actor, at=at)


class VariantTarget(EditTarget):
    """Prices of single variants."""

    name = "variants"
    label = gettext_lazy("Variants")
    model = Variant
    permission = "catalog.change_variant"
    granted_by = "products"
    fields = ("price", "compare_at_price")

    def lock_row(self, pk: int, names: Collection[str]) -> Variant:
        """Lock the variant's product and return the variant."""
        product_id = Variant.objects.filter(pk=pk).values_list("product_id", flat=True).first()
        if product_id is None:
            raise RowDeleted
        lock_product(product_id)
        row: Variant | None = Variant.objects.select_related("product").filter(pk=pk).first()
        if row is None:
            raise RowDeleted
        return row

    def get_values(self, row: Variant, names: Collection[str]) -> Attrs:
        """Return the prices, keyed by variant id, in the format that product edits use."""
        return {name: _get_prices([row], name) for name in names}

    def write(self, row: Variant, after: ReadOnlyAttrs, *, actor: str, at: datetime) -> None:
        variants.update_variant(row, VariantInput(attrs=_get_price_attrs(after, str(row.pk))), actor=actor, at=at)

    def get_version(self, pk: int) -> str:
        """Return a hash of the columns. The product's version would also change when another variant changes."""
        # Columns that can change although the variant was not edited must not prevent an undo.
        ignored = {"inventory_quantity", "position", "updated_at"}
        columns = get_column_values(Variant.objects.get(pk=pk)).items()
        compared_values = sorted((name, str(value)) for name, value in columns if name not in ignored)
        return sha256(repr(compared_values).encode()).hexdigest()

    def get_name(self, row: Variant) -> str:
        return row.full_name


class CustomerTarget(EditTarget):
    """Tags and marketing consents. The value of a consent is its state."""

    name = "customers"
    label = gettext_lazy("Customers")
    model = Customer
    permission = "customers.change_customer"
    granted_by = "customers"
    fields = ("tags", "email_consent", "sms_consent")
    _CONSENTS = {"email_consent": "email_marketing_consent", "sms_consent": "sms_marketing_consent"}

    def get_values(self, row: Customer, names: Collection[str]) -> Attrs:
        return {
            name: get_consent(row, FIELDS[self._CONSENTS[name]]).state if name in self._CONSENTS else getattr(row, name)
            for name in names
        }

    def write(self, row: Customer, after: ReadOnlyAttrs, *, actor: str, at: datetime) -> None:
        attrs = {
            self._CONSENTS.get(name, name): {"state": value} if name in self._CONSENTS else value
            for name, value in after.items()
        }
        customers.update_customer(row, attrs, actor=actor, at=at)


class OrderTarget(EditTarget):
    """Tags and the status, which is ``closed`` for an archived order, otherwise ``open``."""

    name = "orders"
    label = gettext_lazy("Orders")
    model = Order
    permission = "orders.change_order"
    granted_by = "edit_orders"
    fields = ("tags", "status")

    def get_values(self, row: Order, names: Collection[str]) -> Attrs:
        status = Order.Status.CLOSED if row.closed_at else Order.Status.OPEN
        return {name: status.value if name == "status" else getattr(row, name) for name in names}

    def write(self, row: Order, after: ReadOnlyAttrs, *, actor: str, at: datetime) -> None:
        if "tags" in after:
            updates.update_order(row, {"tags": after["tags"]}, actor=actor, at=at)
        if "status" in after:
            is_closed = after["status"] == Order.Status.CLOSED
            (transitions.close_order if is_closed else transitions.reopen_order)(row, actor=actor, at=at)


def _get_prices(rows: Collection[Variant], name: str) -> dict[str, str | None]:
    """Return the price of each variant from the column ``name``, keyed by variant id."""
    currency, prices = get_current_shop().currency, ((row.pk, getattr(row, name)) for row in rows)
    return {str(pk): None if price is None else format_decimal(price, currency) for pk, price in prices}


def _get_price_attrs(after: ReadOnlyAttrs, key: str) -> Attrs:
    """Return the new prices of one variant, keyed by column."""
    prices = {name: after[name][key] for name in AMOUNTS if name in after}
    return {name: None if price is None else Decimal(price) for name, price in prices.items()}


TARGETS = (ProductTarget(), VariantTarget(), CustomerTarget(), OrderTarget())
