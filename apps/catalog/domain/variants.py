"""Variants: made, changed and deleted, always under the lock of their product.

Each has an inventory item of its own, which comes and goes with it.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Min

from apps.catalog.domain import options, weights
from apps.catalog.domain.inputs import OptionInput, VariantInput
from apps.catalog.domain.locks import lock_product, lock_stock
from apps.catalog.domain.places import arranged
from apps.catalog.models import Product, ProductImage, ProductOption, Variant
from apps.events.domain.recording import record_event
from apps.ground.errors import DomainError, Gone
from apps.ground.tenancy import current_shop
from apps.inventory.domain import stock as inventory
from apps.metafields.domain import setting as metafields

MAX_VARIANTS = 2048
_BATCH = 200


class TooManyVariants(DomainError):
    """The product would have more variants than a product can have."""

    code = "too_many_variants"


class LastVariant(DomainError):
    """A product keeps at least one variant."""

    code = "last_variant"


class UnknownRow(DomainError):
    """A body names a row that the product does not have."""

    code = "unknown_row"


@transaction.atomic
def create_variant(product_id: int, wanted: VariantInput, *, actor: str, at: datetime) -> Variant:
    """Add a variant at the end of a product's, or at the position that it names.

    Raises:
        OptionsRefused: Its values do not fit the options, or another variant has them.
        TooManyVariants: There would be more than 2,048.
        UnknownRow: Its image is not the product's.
    """
    product = lock_product(product_id)
    current = list(Variant.objects.filter(product=product).select_related("inventory_item").order_by("position", "id"))
    made = _built(product, wanted)
    variants = arranged([*current, made], [(made, wanted.attrs.get("position"), None)])
    _check_images(product, [wanted], prefix="")
    options.check_variants(variants, max(_option_count(product), 1), prefix="")
    _save(product, variants, [made], {id(made): wanted}, actor=actor, at=at)
    options.arrange(product, None, variants)
    touch(product)
    record_event("products/update", product, actor=actor, at=at)
    return made


@transaction.atomic
def update_variant(variant: Variant, wanted: VariantInput, *, actor: str, at: datetime) -> Variant:
    """Change a variant, its inventory item, and its place.

    Raises:
        OptionsRefused: Its values do not fit the options, or another variant has them.
        UnknownRow: Its image is not the product's.
    """
    if wanted.item:
        lock_stock(variant_ids=[variant.pk], going=True)
    product = lock_product(variant.product_id)
    current = list(Variant.objects.filter(product=product).select_related("inventory_item").order_by("position", "id"))
    changed = next((row for row in current if row.pk == variant.pk), None)
    if changed is None:
        raise Gone
    _assign(changed, wanted)
    variants = arranged(current, [(changed, wanted.attrs.get("position"), None)])
    _check_images(product, [wanted], prefix="")
    options.check_variants(variants, max(_option_count(product), 1), prefix="")
    _save(product, variants, [changed], {id(changed): wanted}, actor=actor, at=at)
    options.arrange(product, None, variants)
    touch(product)
    record_event("products/update", product, actor=actor, at=at)
    return changed


@transaction.atomic
def delete_variant(variant: Variant, *, actor: str, at: datetime) -> None:
    """Delete a variant with its stock; the others move up.

    Raises:
        LastVariant: It is the only one.
    """
    lock_stock(variant_ids=[variant.pk], going=True)
    product = lock_product(variant.product_id)
    current = list(Variant.objects.filter(product=product).select_related("inventory_item").order_by("position", "id"))
    left = [row for row in current if row.pk != variant.pk]
    if not left:
        raise LastVariant("The last variant of a product cannot be deleted.")
    _delete([row for row in current if row.pk == variant.pk], actor=actor, at=at)
    _save(product, left, [], {}, actor=actor, at=at)
    options.arrange(product, None, left)
    touch(product)
    record_event("products/update", product, actor=actor, at=at)


def replace(
    product: Product,
    wanted: Sequence[VariantInput] | None,
    wanted_options: Sequence[OptionInput] | None,
    *,
    actor: str,
    at: datetime,
) -> None:
    """Make a product's variants those of a list: named ones change, unnamed ones go, others are made.

    Args:
        product: The product; locked, or new.
        wanted: The variants; None to keep those that there are.
        wanted_options: The options; None to keep those that there are.
        actor: Who.
        at: When.

    Raises:
        OptionsRefused: Options and variants do not fit together.
        TooManyVariants: There would be more than 2,048.
        UnknownRow: An id is not that of a variant of the product.
    """
    current = {
        row.pk: row for row in Variant.objects.filter(product=product).select_related("inventory_item").order_by("id")
    }
    if wanted_options is not None:
        options.check_inputs(wanted_options)
        options.carry_values(current.values(), options.options_of(product), wanted_options)
    if not wanted:
        wanted = [VariantInput(id=pk) for pk in sorted(current, key=lambda pk: current[pk].position)]
    if not wanted:
        wanted = [VariantInput(attrs=options.first_combination(wanted_options or []))]
    rows, by_row = [], {}
    for index, item in enumerate(wanted):
        row = _row_for(product, item, index, current)
        rows.append(row)
        by_row[id(row)] = item
    variants = arranged(rows, [(row, by_row[id(row)].attrs.get("position"), _place(row)) for row in rows])
    if wanted_options is not None:
        options.fill_values(variants, wanted_options)
    _check_images(product, wanted, prefix="variants.{}.")
    count = len(wanted_options) if wanted_options else _option_count(product)
    options.check_variants(rows, max(count, 1))
    _delete([row for pk, row in current.items() if row not in rows], actor=actor, at=at)
    _save(product, variants, rows, by_row, actor=actor, at=at)
    options.arrange(product, wanted_options, variants)


def _row_for(product: Product, item: VariantInput, index: int, current: Mapping[int, Variant]) -> Variant:
    if item.id is None:
        return _built(product, item)
    if item.id not in current:
        raise UnknownRow({f"variants.{index}.id": ["is invalid"]})
    row = current[item.id]
    _assign(row, item)
    return row


def _built(product: Product, wanted: VariantInput) -> Variant:
    shop = current_shop()
    variant = Variant(shop=shop, product=product, weight_unit=shop.weight_unit, option1="")
    _assign(variant, wanted)
    return variant


def _assign(variant: Variant, wanted: VariantInput) -> None:
    attrs = {name: value for name, value in wanted.attrs.items() if name != "position"}
    weights.settle(attrs, weight=variant.weight, unit=variant.weight_unit)
    for name, value in attrs.items():
        setattr(variant, name, value)


def _place(variant: Variant) -> int | None:
    return variant.position if variant.pk else None


def _option_count(product: Product) -> int:
    return ProductOption.objects.filter(product=product).count()


def _check_images(product: Product, wanted: Sequence[VariantInput], *, prefix: str) -> None:
    asked = {item.attrs["image_id"] for item in wanted if item.attrs.get("image_id")}
    if not asked:
        return
    known = set(ProductImage.objects.filter(product=product, pk__in=asked).values_list("pk", flat=True))
    errors = {
        f"{prefix.format(index)}image_id": ["is invalid"]
        for index, item in enumerate(wanted)
        if item.attrs.get("image_id") and item.attrs["image_id"] not in known
    }
    if errors:
        raise UnknownRow(errors)


def _save(
    product: Product,
    variants: Sequence[Variant],
    changed: Sequence[Variant],
    inputs: Mapping[int, VariantInput],
    *,
    actor: str,
    at: datetime,
) -> None:
    """Write the rows of a product's variants, in their order, and what follows from them."""
    if len(variants) > MAX_VARIANTS:
        raise TooManyVariants(f"A product can have at most {MAX_VARIANTS} variants.")
    shifted = [row for place, row in enumerate(variants, start=1) if row.pk and row.position != place]
    for place, row in enumerate(variants, start=1):
        row.position = place
    new = [row for row in variants if row.pk is None]
    for row in changed:
        attrs = inputs[id(row)].item
        if row.pk and attrs and any(getattr(row.inventory_item, name) != value for name, value in attrs.items()):
            inventory.update_item(row.inventory_item, attrs, actor=actor, at=at)
    if new:
        items = inventory.create_items([inputs[id(row)].item for row in new], actor=actor, at=at)
        for row, item in zip(new, items, strict=True):
            row.inventory_item, row.created_at = item, at
        Variant.objects.bulk_create(new)
    kept = {row.pk: row for row in (*shifted, *changed) if row not in new}
    _update(list(kept.values()))
    for row in changed:
        if given := inputs[id(row)].metafields:
            metafields.set_many(row, given, actor=actor, at=at)
    price = Variant.objects.filter(product=product).aggregate(price=Min("price"))["price"]
    product.lowest_price = price or 0
    Product.objects.filter(pk=product.pk).update(lowest_price=product.lowest_price)


def _update(rows: Sequence[Variant]) -> None:
    fixed = {"id", "shop", "product", "inventory_item", "inventory_quantity", "created_at", "updated_at"}
    names = [field.name for field in Variant._meta.concrete_fields if field.name not in fixed]
    if len(rows) == 1:
        rows[0].save(update_fields=names)
    elif rows:
        Variant.objects.bulk_update(rows, names, batch_size=_BATCH)


def _delete(rows: Sequence[Variant], *, actor: str, at: datetime) -> None:
    if not rows:
        return
    ids = [row.pk for row in rows]
    Variant.objects.filter(pk__in=ids).delete()
    inventory.delete_items([row.inventory_item_id for row in rows], actor=actor, at=at)


def touch(product: Product) -> None:
    """Move the product's version, as something that it shows changed."""
    Product.objects.filter(pk=product.pk).update()
