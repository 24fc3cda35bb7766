"""Bulk edits of single variants: their prices."""

from collections.abc import Collection
from datetime import datetime
from hashlib import sha256

from django.utils.translation import gettext_lazy

from apps.bulk_edits.domain.targets import EditTarget
from apps.bulk_edits.targets.products import get_price_attrs, get_variant_prices
from apps.catalog.domain import variants
from apps.catalog.domain.inputs import VariantInput
from apps.catalog.domain.locks import lock_product
from apps.catalog.models import Variant
from apps.core.exceptions import RowDeleted
from apps.core.models import get_column_values
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs, ReadOnlyAttrs

# Columns that can change although the variant was not edited. They must not prevent an undo.
_IGNORED_COLUMNS = {"inventory_quantity", "position", "updated_at"}


def lock_variant_row(pk: int, names: Collection[str]) -> Variant:
    """Lock the variant's product and return the variant."""
    product_id = Variant.objects.filter(pk=pk).values_list("product_id", flat=True).first()
    if product_id is None:
        raise RowDeleted
    lock_product(product_id)
    row: Variant | None = Variant.objects.select_related("product").filter(pk=pk).first()
    if row is None:
        raise RowDeleted
    return row


def get_variant_values(variant: Variant, names: Collection[str]) -> Attrs:
    """Return the prices, keyed by variant id, in the format that product edits use."""
    return {name: get_variant_prices([variant], name, get_current_shop().currency) for name in names}


def write_variant(variant: Variant, after: ReadOnlyAttrs, *, actor: str, at: datetime) -> None:
    """Save the prices through the catalog's service."""
    variant_input = VariantInput(attrs=get_price_attrs(after, str(variant.pk)))
    variants.update_variant(variant, variant_input, actor=actor, at=at)


def get_variant_version(pk: int) -> str:
    """Return a hash of the variant's columns. The product version would also change when another variant changes."""
    row = Variant.objects.get(pk=pk)
    compared_values = sorted(
        (name, str(value)) for name, value in get_column_values(row).items() if name not in _IGNORED_COLUMNS
    )
    return sha256(repr(compared_values).encode()).hexdigest()


VARIANTS = EditTarget(
    name="variants",
    label=gettext_lazy("Variants"),
    model=Variant,
    permission="catalog.change_variant",
    granted_by="products",
    fields=("price", "compare_at_price"),
    lock_row=lock_variant_row,
    get_values=get_variant_values,
    write=write_variant,
    get_version=get_variant_version,
    get_name=lambda variant: variant.full_name,
)
