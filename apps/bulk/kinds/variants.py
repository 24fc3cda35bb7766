"""Variants in bulk: their prices, each by itself."""

from collections.abc import Collection
from datetime import datetime
from hashlib import sha256

from django.utils.translation import gettext_lazy

from apps.bulk.domain.kinds import Kind
from apps.bulk.kinds.products import price_attrs, prices_of
from apps.catalog.domain import variants
from apps.catalog.domain.inputs import VariantInput
from apps.catalog.domain.locks import lock_product
from apps.catalog.models import Variant
from apps.ground.attrs import Attrs, Given
from apps.ground.errors import Gone
from apps.ground.rows import values_of
from apps.ground.tenancy import current_shop

# What moves without anybody changing the variant: its stock, and its place among the others.
_MOVING = {"inventory_quantity", "position", "updated_at"}


def hold(pk: int, names: Collection[str]) -> Variant:
    """The variant, under the lock of its product."""
    product_id = Variant.objects.filter(pk=pk).values_list("product_id", flat=True).first()
    if product_id is None:
        raise Gone
    lock_product(product_id)
    row: Variant | None = Variant.objects.select_related("product").filter(pk=pk).first()
    if row is None:
        raise Gone
    return row


def values(variant: Variant, names: Collection[str]) -> Attrs:
    """Prices stand by the variant's id, as those of products do."""
    return {name: prices_of([variant], name, current_shop().currency) for name in names}


def write(variant: Variant, after: Given, *, actor: str, at: datetime) -> None:
    """Through the service, under the product."""
    wanted = VariantInput(attrs=price_attrs(after, str(variant.pk)))
    variants.update_variant(variant, wanted, actor=actor, at=at)


def mark(pk: int) -> str:
    """A digest of its columns: the version of its product moves with the other variants, too."""
    row = Variant.objects.get(pk=pk)
    shown = sorted((name, str(value)) for name, value in values_of(row).items() if name not in _MOVING)
    return sha256(repr(shown).encode()).hexdigest()


VARIANTS = Kind(
    name="variants",
    label=gettext_lazy("Variants"),
    model=Variant,
    permission="catalog.change_variant",
    granted_by="products",
    fields=("price", "compare_at_price"),
    hold=hold,
    values=values,
    write=write,
    mark=mark,
    name_of=lambda variant: variant.full_name,
)
