"""Variants: made, changed and deleted, always under the lock of their product.

Each has an inventory item of its own, which comes and goes with it.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Min
from django.utils.translation import gettext as _

from apps.catalog.domain import options, weights
from apps.catalog.domain.inputs import OptionInput, VariantInput
from apps.catalog.domain.locks import lock_product, lock_stock
from apps.catalog.domain.places import arranged, renumber
from apps.catalog.domain.price_tags import merged
from apps.catalog.models import Product, ProductImage, ProductOption, Variant
from apps.events.domain.recording import record_event
from apps.ground.errors import DomainError, Gone
from apps.ground.phrases import INVALID
from apps.ground.rows import delete_rows, values_of
from apps.ground.tenancy import current_shop
from apps.inventory.domain import stock as inventory
from apps.metafields.domain import setting as metafields
from apps.shops.domain.currency import has_finer_amounts
from apps.shops.models import Shop

MAX_VARIANTS = 2048
_BATCH = 200
# By id, the columns of stored variants before they change.
_Before = Mapping[int, Mapping[str, object]]


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
        TooManyVariants: There would be more than a product can have.
        UnknownRow: Its image is not the product's.
    """
    product = lock_product(product_id)
    current, before = _load(product)
    _track_like([wanted], current)
    made = _built(product, wanted)
    variants = arranged([*current, made], [(made, wanted.attrs.get("position"), None)])
    _check_images(product, [wanted], prefix="")
    options.check_variants(variants, max(_option_count(product), 1), prefix="")
    _save(product, variants, {id(made): wanted}, before, actor=actor, at=at)
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
    current, before = _load(product)
    changed = next((row for row in current if row.pk == variant.pk), None)
    if changed is None:
        raise Gone
    _assign(changed, wanted)
    variants = arranged(current, [(changed, wanted.attrs.get("position"), None)])
    _check_images(product, [wanted], prefix="")
    options.check_variants(variants, max(_option_count(product), 1), prefix="")
    written = _save(product, variants, {id(changed): wanted}, before, actor=actor, at=at)
    if options.arrange(product, None, variants) or written:
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
    current, before = _load(product)
    left = [row for row in current if row.pk != variant.pk]
    if not left:
        raise LastVariant(_("The last variant of a product cannot be deleted."))
    _delete([row for row in current if row.pk == variant.pk], actor=actor, at=at)
    _save(product, left, {}, before, actor=actor, at=at)
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
) -> bool:
    """Make a product's variants those of a list: named ones change, unnamed ones go, others are made.

    Args:
        product: The product; locked, or new.
        wanted: The variants; None to keep those that there are.
        wanted_options: The options; None to keep those that there are.
        actor: Who.
        at: When.

    Returns:
        Whether anything changed.

    Raises:
        OptionsRefused: Options and variants do not fit together.
        TooManyVariants: There would be more than a product can have.
        UnknownRow: An id is not that of a variant of the product.
    """
    present, before = _load(product)
    current = {row.pk: row for row in present}
    if wanted_options is not None:
        options.check_inputs(wanted_options)
        options.carry_values(current.values(), options.options_of(product), wanted_options)
    if not wanted:
        wanted = [VariantInput(id=pk) for pk in current]
    if not wanted:
        wanted = [VariantInput(attrs=options.first_combination(wanted_options or []))]
    _track_like([item for item in wanted if item.id is None], present)
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
    kept = {row.pk for row in rows}
    gone = [row for row in present if row.pk not in kept]
    _delete(gone, actor=actor, at=at)
    written = _save(product, variants, by_row, before, actor=actor, at=at)
    return options.arrange(product, wanted_options, variants) or written or bool(gone)


def show_pictures(product: Product, wanted: Sequence[VariantInput]) -> bool:
    """Let variants show the new pictures that came in the same body; returns whether any does.

    Args:
        product: The product, locked, with its variants and images as the body says.
        wanted: The inputs of all its variants, in their order, without positions of their own.
    """
    if not any(item.picture for item in wanted):
        return False
    keys = {item.picture.key for item in wanted if item.picture}
    images = {image.key: image for image in ProductImage.objects.filter(product=product, key__in=keys)}
    rows = Variant.objects.filter(product=product).order_by("position", "id")
    for row, item in zip(rows, wanted, strict=True):
        if item.picture and item.picture.key in images:
            Variant.objects.filter(pk=row.pk).update(image=images[item.picture.key])
    return True


def _track_like(new: Iterable[VariantInput], present: Sequence[Variant]) -> None:
    """Have new variants of a product whose stock is counted counted too, unless they say otherwise."""
    if present and all(row.inventory_item.tracked for row in present):
        for item in new:
            item.item.setdefault("tracked", True)


def _load(product: Product) -> tuple[list[Variant], _Before]:
    """A product's variants in their order, and what each of them is before it changes."""
    rows = Variant.objects.filter(product=product).select_related("inventory_item").order_by("position", "id")
    current = list(rows)
    return current, {row.pk: values_of(row) for row in current}


def _row_for(product: Product, item: VariantInput, index: int, current: Mapping[int, Variant]) -> Variant:
    if item.id is None:
        return _built(product, item)
    if item.id not in current:
        raise UnknownRow({f"variants.{index}.id": [INVALID]})
    row = current[item.id]
    _assign(row, item)
    return row


def _built(product: Product, wanted: VariantInput) -> Variant:
    shop = current_shop()
    variant = Variant(shop_id=shop.pk, product=product, weight_unit=shop.weight_unit, option1="")
    _assign(variant, wanted)
    return variant


def _assign(variant: Variant, wanted: VariantInput) -> None:
    attrs = {name: value for name, value in wanted.attrs.items() if name != "position"}
    weights.settle(attrs, weight=variant.weight, unit=variant.weight_unit, grams=variant.grams)
    if "fixed_prices" in attrs:
        attrs["fixed_prices"] = merged(variant.fixed_prices, attrs["fixed_prices"])
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
        f"{prefix.format(index)}image_id": [INVALID]
        for index, item in enumerate(wanted)
        if item.attrs.get("image_id") and item.attrs["image_id"] not in known
    }
    if errors:
        raise UnknownRow(errors)


def _save(
    product: Product,
    variants: Sequence[Variant],
    inputs: Mapping[int, VariantInput],
    before: _Before,
    *,
    actor: str,
    at: datetime,
) -> bool:
    """Write those of a product's variants that are new or changed, and what follows from them.

    Args:
        product: The product, locked.
        variants: All its variants, in their order.
        inputs: What was asked of some of them, by ``id()``.
        before: What the stored ones were.
        actor: Who.
        at: When.

    Returns:
        Whether anything was written.
    """
    if len(variants) > MAX_VARIANTS:
        raise TooManyVariants(_("A product can have at most {limit} variants.").format(limit=MAX_VARIANTS))
    asked = [(row, inputs[id(row)]) for row in variants if id(row) in inputs]
    items_asked = [(row.inventory_item, given.item) for row, given in asked if row.pk]
    written = inventory.update_items(items_asked, actor=actor, at=at)
    renumber(variants)
    dirty = [row for row in variants if row.pk and values_of(row) != before[row.pk]]
    _update(dirty, before)
    if new := [row for row in variants if row.pk is None]:
        items = inventory.create_items([inputs[id(row)].item for row in new], actor=actor, at=at)
        for row, item in zip(new, items, strict=True):
            row.inventory_item, row.created_at = item, at
        Variant.objects.bulk_create(new)
    drafts = [(row, given.metafields) for row, given in asked if given.metafields]
    written |= bool(metafields.set_of_each(drafts, actor=actor, at=at))
    _set_lowest_price(product)
    return written or bool(dirty or new)


def _set_lowest_price(product: Product) -> None:
    price = Variant.objects.filter(product=product).aggregate(price=Min("price"))["price"] or 0
    if price != product.lowest_price:
        product.lowest_price = price
        Product.objects.filter(pk=product.pk).update(lowest_price=price)


def _update(rows: Sequence[Variant], before: _Before) -> None:
    """Write the columns in which any of the rows differs from what is stored."""
    fixed = {"id", "shop", "product", "inventory_item", "inventory_quantity", "created_at", "updated_at"}
    names = [
        field.name
        for field in Variant._meta.concrete_fields
        if field.name not in fixed and any(getattr(row, field.attname) != before[row.pk][field.attname] for row in rows)
    ]
    if len(rows) == 1:
        rows[0].save(update_fields=names)
    elif rows:
        Variant.objects.bulk_update(rows, names, batch_size=_BATCH)


def _delete(rows: Sequence[Variant], *, actor: str, at: datetime) -> None:
    if not rows:
        return
    delete_rows(rows)
    inventory.delete_items([row.inventory_item_id for row in rows], actor=actor, at=at)


def object_to_currency(shop: Shop, currency: str) -> str | None:
    """Why the shop's currency cannot change: prices could not be written in the new one."""
    finer = any(has_finer_amounts(Variant.objects.all(), name, currency) for name in ("price", "compare_at_price"))
    return _("some variants have prices with more decimals than it has") if finer else None


def touch(product: Product) -> None:
    """Move the product's version, as something that it shows changed."""
    Product.objects.filter(pk=product.pk).update()
