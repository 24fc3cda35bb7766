"""Create, update and delete variants, always with the product locked.

Each variant has its own inventory item, which is created and deleted with the variant.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import product as combine
from math import prod

from django.db import transaction
from django.db.models import Min
from django.utils.translation import gettext as _

from apps.catalog.domain import options, weights
from apps.catalog.domain.fulfillment_service_choices import get_service_locations
from apps.catalog.domain.inputs import OptionInput, VariantInput
from apps.catalog.domain.locks import lock_product, lock_stock
from apps.catalog.domain.notifications.removal_hooks import Removal, notify_removal_listeners
from apps.catalog.domain.positions import arrange_rows, renumber_rows
from apps.catalog.domain.presentment_prices import merge_fixed_prices
from apps.catalog.models import Product, ProductImage, ProductOption, Variant
from apps.core.events.recording import record_event
from apps.core.exceptions import DomainError, RowDeleted
from apps.core.i18n.error_messages import INVALID
from apps.core.i18n.messages import define_message
from apps.core.models import delete_rows, get_column_values
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs
from apps.inventory.domain import relocation
from apps.inventory.domain import stock as inventory
from apps.inventory.models import InventoryItem
from apps.metafields.domain import write as metafields
from apps.shops.domain.settings import has_finer_amounts

MAX_VARIANTS = 2048
TOO_MANY_VARIANTS = define_message("products.too_many_variants", "A product can have at most {limit} variants.")
_BATCH = 200
# Stored column values before the change, keyed by variant id.
_StoredValues = Mapping[int, Mapping[str, object]]


class TooManyVariants(DomainError):
    pass


class LastVariant(DomainError):
    pass


class UnknownRow(DomainError):
    """Raised when a request refers to a row that does not belong to the product."""


@transaction.atomic
def create_variant(product_id: int, requested: VariantInput, *, actor: str, at: datetime) -> Variant:
    """Create a variant after the product's other variants, or at the requested position.

    Raises:
        OptionsRefused: The values do not match the options, or another variant has the same values.
        TooManyVariants: The product would exceed the maximum number of variants.
        UnknownRow: The image does not belong to the product.
    """
    product = lock_product(product_id)
    current, before = _load_variants(product)
    _inherit_tracking([requested], current)
    variant = _build_variant(product, requested)
    variants = arrange_rows([*current, variant], [(variant, requested.attrs.get("position"), None)])
    _check_images(product, [requested], prefix="")
    options.check_option_values(variants, max(_count_options(product), 1), prefix="")
    _save_variants(product, variants, {id(variant): requested}, before, actor=actor, at=at)
    options.save_options(product, None, variants)
    touch_and_record(product, actor=actor, at=at)
    return variant


@transaction.atomic
def update_variant(variant: Variant, requested: VariantInput, *, actor: str, at: datetime) -> None:
    """Update a variant, its inventory item and its position.

    Raises:
        OptionsRefused: The values do not match the options, or another variant has the same values.
        UnknownRow: The image does not belong to the product.
    """
    if requested.item or "fulfillment_service" in requested.attrs:
        lock_stock(variant_ids=[variant.pk], deleting=True)
    product = lock_product(variant.product_id)
    current, before = _load_variants(product)
    changed = next((row for row in current if row.pk == variant.pk), None)
    if changed is None:
        raise RowDeleted
    _assign_attrs(changed, requested)
    variants = arrange_rows(current, [(changed, requested.attrs.get("position"), None)])
    _check_images(product, [requested], prefix="")
    options.check_option_values(variants, max(_count_options(product), 1), prefix="")
    has_changes = _save_variants(product, variants, {id(changed): requested}, before, actor=actor, at=at)
    if options.save_options(product, None, variants) or has_changes:
        touch_and_record(product, actor=actor, at=at)


@transaction.atomic
def delete_variant(variant: Variant, *, actor: str, at: datetime) -> None:
    """Delete a variant with its stock, and close the gap in the positions.

    Raises:
        LastVariant: The product has no other variant.
    """
    lock_stock(variant_ids=[variant.pk], deleting=True)
    product = lock_product(variant.product_id)
    current, before = _load_variants(product)
    remaining = [row for row in current if row.pk != variant.pk]
    if not remaining:
        raise LastVariant(_("The last variant of a product cannot be deleted."))
    _delete_variants([row for row in current if row.pk == variant.pk], actor=actor, at=at)
    _save_variants(product, remaining, {}, before, actor=actor, at=at)
    options.save_options(product, None, remaining)
    touch_and_record(product, actor=actor, at=at)


def replace_variants(
    product: Product,
    requested: Sequence[VariantInput] | None,
    requested_options: Sequence[OptionInput] | None,
    *,
    actor: str,
    at: datetime,
) -> bool:
    """Replace a product's variants with a list: update variants that have an id, create new ones, delete all others.

    The product must be new or locked. None keeps the current variants or options. Return True if anything changed.

    Raises:
        OptionsRefused: Options and variants are inconsistent.
        TooManyVariants: The product would exceed the maximum number of variants.
        UnknownRow: An id is not a variant of the product.
    """
    present, before = _load_variants(product)
    current = {row.pk: row for row in present}
    if requested_options is not None:
        options.check_options(requested_options)
        options.move_option_values(current.values(), options.get_options(product), requested_options)
    if not requested:
        requested = [VariantInput(id=pk) for pk in current]
    if not requested:
        requested = [VariantInput(attrs=options.get_first_combination(requested_options or []))]
    _inherit_tracking([item for item in requested if item.id is None], present)
    rows, by_row = [], {}
    for index, item in enumerate(requested):
        row = _get_or_build_row(product, item, index, current)
        rows.append(row)
        by_row[id(row)] = item
    variants = arrange_rows(
        rows, [(row, by_row[id(row)].attrs.get("position"), row.position if row.pk else None) for row in rows]
    )
    if requested_options is not None:
        options.fill_option_values(variants, requested_options)
    _check_images(product, requested, prefix="variants.{}.")
    count = len(requested_options) if requested_options else _count_options(product)
    options.check_option_values(rows, max(count, 1))
    remaining_ids = {row.pk for row in rows}
    removed = [row for row in present if row.pk not in remaining_ids]
    _delete_variants(removed, actor=actor, at=at)
    has_changes = _save_variants(product, variants, by_row, before, actor=actor, at=at)
    return options.save_options(product, requested_options, variants) or has_changes or bool(removed)


def build_variants(
    product: Product, requested: Sequence[VariantInput] | None, requested_options: Sequence[OptionInput] | None
) -> list[tuple[Variant, VariantInput]]:
    """Return the unsaved variants of a new product in order, each with its input. Set the product's lowest price.

    Raises:
        OptionsRefused: Options and variants are inconsistent.
        TooManyVariants: The product would exceed the maximum number of variants.
        UnknownRow: A variant refers to an existing variant or image.
    """
    options.check_options(requested_options or [])
    requested = requested or [VariantInput(attrs=options.get_first_combination(requested_options or []))]
    pairs = [(_get_or_build_row(product, item, index, {}), item) for index, item in enumerate(requested)]
    rows = [row for row, _item in pairs]
    inputs = {id(row): item for row, item in pairs}
    ordered = arrange_rows(rows, [(row, item.attrs.get("position"), None) for row, item in pairs])
    _check_images(product, requested, prefix="variants.{}.")
    options.check_option_values(rows, max(len(requested_options or []), 1))
    if len(ordered) > MAX_VARIANTS:
        raise TooManyVariants(TOO_MANY_VARIANTS(limit=MAX_VARIANTS))
    renumber_rows(ordered)
    product.lowest_price = min(row.price for row in ordered)
    return [(row, inputs[id(row)]) for row in ordered]


def insert_variants(pairs: Sequence[tuple[Variant, VariantInput]], *, actor: str, at: datetime) -> None:
    """Insert the variants of new products, with their inventory items and metafields."""
    rows = [row for row, _requested in pairs]
    items = _create_items(rows, [requested.item for _row, requested in pairs], actor=actor, at=at)
    for row, item in zip(rows, items, strict=True):
        row.inventory_item, row.created_at = item, at
    Variant.objects.bulk_create(rows)
    drafts = [(row, requested.metafields) for row, requested in pairs if requested.metafields]
    metafields.set_metafields_of_owners(drafts, actor=actor, at=at)


def assign_new_images(product: Product, requested: Sequence[VariantInput]) -> bool:
    """Assign the new images in a request to the variants. Return True if the request contains new images.

    The product must be locked, and its variants and images must be saved. ``requested`` contains all variants, sorted
    by position.
    """
    keys = {item.image.key for item in requested if item.image}
    if not keys:
        return False
    images = {image.key: image for image in ProductImage.objects.filter(product=product, key__in=keys)}
    rows = Variant.objects.filter(product=product).order_by("position", "id")
    changed = []
    for row, item in zip(rows, requested, strict=True):
        if item.image and item.image.key in images:
            row.image = images[item.image.key]
            changed.append(row)
    Variant.objects.bulk_update(changed, ["image"])
    return True


def _inherit_tracking(new: Iterable[VariantInput], present: Sequence[Variant]) -> None:
    """Track the inventory of new variants if all existing variants are tracked, unless the input sets tracking."""
    if present and all(row.inventory_item.tracked for row in present):
        for item in new:
            item.item.setdefault("tracked", True)


def _load_variants(product: Product) -> tuple[list[Variant], _StoredValues]:
    """Return a product's variants, sorted by position, and their stored column values."""
    rows = Variant.objects.filter(product=product).select_related("inventory_item").order_by("position", "id")
    current = list(rows)
    return current, {row.pk: get_column_values(row) for row in current}


def _get_or_build_row(product: Product, item: VariantInput, index: int, current: Mapping[int, Variant]) -> Variant:
    if item.id is None:
        return _build_variant(product, item)
    if item.id not in current:
        raise UnknownRow({f"variants.{index}.id": [INVALID]})
    row = current[item.id]
    _assign_attrs(row, item)
    return row


def _build_variant(product: Product, requested: VariantInput) -> Variant:
    shop = get_current_shop()
    variant = Variant(shop_id=shop.pk, product=product, weight_unit=shop.weight_unit, option1="")
    _assign_attrs(variant, requested)
    return variant


def _assign_attrs(variant: Variant, requested: VariantInput) -> None:
    attrs = {name: value for name, value in requested.attrs.items() if name != "position"}
    weights.complete_weight(attrs, weight=variant.weight, unit=variant.weight_unit, grams=variant.grams)
    if "fixed_prices" in attrs:
        attrs["fixed_prices"] = merge_fixed_prices(variant.fixed_prices, attrs["fixed_prices"])
    for name, value in attrs.items():
        setattr(variant, name, value)


def _count_options(product: Product) -> int:
    return ProductOption.objects.filter(product=product).count()


def _check_images(product: Product, requested: Sequence[VariantInput], *, prefix: str) -> None:
    image_ids = {item.attrs["image_id"] for item in requested if item.attrs.get("image_id")}
    if not image_ids:
        return
    images = ProductImage.objects.filter(product_id=product.pk, pk__in=image_ids)
    existing_ids = set(images.values_list("pk", flat=True))
    errors = {
        f"{prefix.format(index)}image_id": [INVALID]
        for index, item in enumerate(requested)
        if item.attrs.get("image_id") and item.attrs["image_id"] not in existing_ids
    }
    if errors:
        raise UnknownRow(errors)


def _save_variants(
    product: Product,
    variants: Sequence[Variant],
    inputs: Mapping[int, VariantInput],
    before: _StoredValues,
    *,
    actor: str,
    at: datetime,
) -> bool:
    """Save the new and changed variants of a locked product with their items and metafields, and its lowest price.

    ``variants`` contains all variants in their new order. ``inputs`` is keyed by ``id(variant)``. Return True if
    anything was saved.
    """
    if len(variants) > MAX_VARIANTS:
        raise TooManyVariants(TOO_MANY_VARIANTS(limit=MAX_VARIANTS))
    requests = [(row, inputs[id(row)]) for row in variants if id(row) in inputs]
    item_requests = [(row.inventory_item, variant_input.item) for row, variant_input in requests if row.pk]
    has_changes = inventory.update_items(item_requests, actor=actor, at=at)
    renumber_rows(variants)
    dirty = [row for row in variants if row.pk and get_column_values(row) != before[row.pk]]
    _update_variants(dirty, before)
    _relocate_items(dirty, before, actor=actor, at=at)
    if new := [row for row in variants if row.pk is None]:
        items = _create_items(new, [inputs[id(row)].item for row in new], actor=actor, at=at)
        for row, item in zip(new, items, strict=True):
            row.inventory_item, row.created_at = item, at
        Variant.objects.bulk_create(new)
    drafts = [(row, variant_input.metafields) for row, variant_input in requests if variant_input.metafields]
    has_changes |= bool(metafields.set_metafields_of_owners(drafts, actor=actor, at=at))
    _set_lowest_price(product)
    return has_changes or bool(dirty or new)


def _create_items(
    rows: Sequence[Variant], item_attrs: Sequence[Attrs], *, actor: str, at: datetime
) -> list[InventoryItem]:
    """Create the inventory items of new variants, at the locations of their fulfillment services."""
    services = get_service_locations(row.fulfillment_service for row in rows)
    location_ids = {
        index: services[row.fulfillment_service]
        for index, row in enumerate(rows)
        if row.fulfillment_service in services
    }
    return inventory.create_items(item_attrs, location_ids=location_ids, actor=actor, at=at)


def _relocate_items(rows: Sequence[Variant], before: _StoredValues, *, actor: str, at: datetime) -> None:
    """Stock the items of variants with a new fulfillment service at the service's location."""
    changed = [row for row in rows if row.fulfillment_service != before[row.pk]["fulfillment_service"]]
    services = get_service_locations(row.fulfillment_service for row in changed)
    if changed:
        location_ids = {row.inventory_item_id: services.get(row.fulfillment_service) for row in changed}
        relocation.relocate_items(location_ids, actor=actor, at=at)


def _set_lowest_price(product: Product) -> None:
    price = Variant.objects.filter(product=product).aggregate(price=Min("price"))["price"] or 0
    if price != product.lowest_price:
        product.lowest_price = price
        Product.objects.filter(pk=product.pk).update(lowest_price=price)


def _update_variants(rows: Sequence[Variant], before: _StoredValues) -> None:
    excluded = {"id", "shop", "product", "inventory_item", "inventory_quantity", "created_at", "updated_at"}
    names = [
        field.name
        for field in Variant._meta.concrete_fields
        if field.name not in excluded
        and any(getattr(row, field.attname) != before[row.pk][field.attname] for row in rows)
    ]
    if len(rows) == 1:
        rows[0].save(update_fields=names)
    elif rows:
        Variant.objects.bulk_update(rows, names, batch_size=_BATCH)


def _delete_variants(rows: Sequence[Variant], *, actor: str, at: datetime) -> None:
    if not rows:
        return
    notify_removal_listeners(Removal(variant_ids=[row.pk for row in rows]), actor=actor)
    delete_rows(rows)
    inventory.delete_items([row.inventory_item_id for row in rows], actor=actor, at=at)


def check_price_decimals(shop: Shop, currency: str) -> str | None:
    """Return the reason why the shop cannot change to a currency, or None.

    The new currency must not have fewer decimals than the stored prices.
    """
    finer = any(has_finer_amounts(Variant.objects.all(), name, currency) for name in ("price", "compare_at_price"))
    return _("some variants have prices with more decimal places than the currency allows") if finer else None


def touch_product(product: Product) -> None:
    """Increase the product's version because one of its parts changed."""
    Product.objects.filter(pk=product.pk).update()


def touch_and_record(product: Product, *, actor: str, at: datetime) -> None:
    touch_product(product)
    record_event("products/update", product, actor=actor, at=at)


Combination = tuple[str, ...]


def list_new_combinations(
    options: Sequence[OptionInput], present: Sequence[Combination], new_values: Sequence[Collection[str]]
) -> list[Combination]:
    """Return the combinations that contain at least one new value.

    Combinations of existing values are omitted, because staff may have removed those variants on purpose.

    Args:
        options: The requested options. If an option has no values, it keeps the values that the variants use.
        present: The option values of the existing variants.
        new_values: The new values of each option.

    Raises:
        TooManyVariants: The product would exceed the maximum number of variants.
    """
    columns = [
        list(dict.fromkeys([*option.values, *(row[index] for row in present if row[index])]))
        for index, option in enumerate(options)
    ]
    if not any(new_values):
        return []
    existing = set(present)
    old_count = prod(len(set(values) - set(new)) for values, new in zip(columns, new_values, strict=True))
    if prod(map(len, columns)) - old_count > MAX_VARIANTS:
        raise TooManyVariants(TOO_MANY_VARIANTS(limit=MAX_VARIANTS))
    return [
        row
        for row in combine(*columns)
        if row not in existing and any(value in new for value, new in zip(row, new_values, strict=True))
    ]
