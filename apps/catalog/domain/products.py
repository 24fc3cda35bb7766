"""Create, update and delete products together with their options, variants, images and tags."""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from apps.catalog.domain import images, variants
from apps.catalog.domain.collections import collects
from apps.catalog.domain.image_files import delete_files_on_commit
from apps.catalog.domain.inputs import ProductParts, build_tags, write_tags
from apps.catalog.domain.locks import lock_product, lock_stock
from apps.catalog.domain.notifications.removal_hooks import Removal, notify_removal_listeners
from apps.catalog.domain.options import build_options
from apps.catalog.models import Product, ProductImage, ProductOption, ProductTag, Variant
from apps.core.events.recording import EventInput, apply_changes, record_event, record_events
from apps.core.handles import build_handle_stem, save_with_handle
from apps.core.i18n.messages import Message
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs
from apps.inventory.domain import stock as inventory
from apps.metafields.domain import write as metafields

FALLBACK_HANDLE = "product"


@transaction.atomic
def create_product(
    attrs: Attrs, parts: ProductParts, *, actor: str, at: datetime, message: Message | None = None
) -> Product:
    """Create a product with at least one variant.

    If the vendor is missing, the shop's name is used. If the handle is missing, a unique handle is derived from the
    title. The audit log shows the message, if there is one.

    Raises:
        IntegrityError: Another product has the given handle.
        OptionsRefused: Options and variants are inconsistent.
        TooManyImages: The product would exceed the maximum number of images.
        TooManyVariants: The product would exceed the maximum number of variants.
        UnknownRow: A part refers to an existing row, although the product is new.
    """
    shop = get_current_shop()
    product = Product(shop=shop, created_at=at, **attrs)
    product.vendor = product.vendor or shop.name
    if product.handle:
        product.save(force_insert=True)
    else:
        save_with_handle(product, build_handle_stem(product.title, FALLBACK_HANDLE))
    if product.tags:
        write_tags(product)
    variants.replace_variants(product, parts.variants, parts.options, actor=actor, at=at)
    if parts.images:
        images.replace_images(product, parts.images, actor=actor, at=at)
    variants.assign_new_images(product, parts.variants or [])
    if parts.metafields:
        metafields.set_metafields(product, parts.metafields, actor=actor, at=at)
    record_event("products/create", product, actor=actor, at=at, message=message)
    return product


@transaction.atomic
def create_products(
    drafts: Sequence[tuple[Attrs, ProductParts]], *, actor: str, at: datetime
) -> list[tuple[Product, list[Variant]]]:
    """Create several products with given handles, with the same results as separate calls to ``create_product``.

    If a product is refused, no product is created. Return each product with its variants in order.

    Raises:
        DomainError, IntegrityError: As in ``create_product``.
    """
    shop = get_current_shop()
    new = []
    for attrs, parts in drafts:
        product = Product(shop=shop, created_at=at, **attrs)
        product.vendor = product.vendor or shop.name
        new.append((product, parts, variants.build_variants(product, parts.variants, parts.options)))
    Product.objects.bulk_create([product for product, _, _ in new])
    ProductTag.objects.bulk_create(tag for product, _, _ in new for tag in build_tags(product))
    variants.insert_variants([pair for _, _, pairs in new for pair in pairs], actor=actor, at=at)
    created = [(product, [row for row, _ in pairs]) for product, _, pairs in new]
    ProductOption.objects.bulk_create(
        option
        for (product, rows), (_, parts, _) in zip(created, new, strict=True)
        for option in build_options(product, parts.options, rows)
    )
    for product, parts, _ in new:
        if parts.images:
            images.replace_images(product, parts.images, actor=actor, at=at)
        variants.assign_new_images(product, parts.variants or [])
    metafields.set_metafields_of_owners(
        [(product, parts.metafields) for product, parts, _ in new if parts.metafields], actor=actor, at=at
    )
    record_events([EventInput("products/create", product) for product, _, _ in new], actor=actor, at=at)
    return created


@transaction.atomic
def update_product(product: Product, attrs: Attrs, parts: ProductParts, *, actor: str, at: datetime) -> Product:
    """Update a product. A part that is None is not changed. Any other part is replaced.

    Raises:
        RowDeleted: The product has been deleted.
        OptionsRefused: Options and variants are inconsistent.
        TooManyImages: The product would exceed the maximum number of images.
        TooManyVariants: The product would exceed the maximum number of variants.
        UnknownRow: A part refers to a row of another product.
    """
    if parts.variants is not None:
        lock_stock(product_id=product.pk, deleting=True)
    row = lock_product(product.pk)
    changes = apply_changes(row, attrs)
    if not row.handle:
        save_with_handle(row, build_handle_stem(row.title, FALLBACK_HANDLE), update_fields=[*changes, "handle"])
    elif changes:
        row.save(update_fields=[*changes])
    if "tags" in changes:
        write_tags(row)
    changed = bool(changes)
    if parts.images is not None:
        changed |= images.replace_images(row, parts.images, actor=actor, at=at)
    if parts.variants or parts.options:
        changed |= variants.replace_variants(row, parts.variants, parts.options, actor=actor, at=at)
    changed |= variants.assign_new_images(row, parts.variants or [])
    if metafields.set_metafields(row, parts.metafields, actor=actor, at=at) or changed:
        variants.touch_product(row)
        record_event("products/update", row, actor=actor, at=at, changes=changes)
    return row


@transaction.atomic
def delete_product(product: Product, *, actor: str, at: datetime) -> None:
    """Delete a product with its variants, stock, images, image files and collects."""
    lock_stock(product_id=product.pk, deleting=True)
    collects.lock_collections_of_product(product.pk)
    row = lock_product(product.pk)
    collects.remove_from_all_collections(row, actor=actor, at=at)
    record_event("products/delete", row, actor=actor, at=at)
    notify_removal_listeners(Removal(product_ids=[row.pk]), actor=actor)
    items = list(Variant.objects.filter(product=row).values_list("inventory_item_id", flat=True))
    delete_files_on_commit(row.shop_id, list(ProductImage.objects.filter(product=row).values_list("key", flat=True)))
    row.delete()
    inventory.delete_items(items, actor=actor, at=at)
