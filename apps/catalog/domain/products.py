"""Products: made, changed and deleted together with their options, variants, images and tags."""

from datetime import datetime

from django.db import transaction

from apps.catalog.domain import images, variants
from apps.catalog.domain.collections import collects
from apps.catalog.domain.inputs import Parts
from apps.catalog.domain.locks import lock_product, lock_stock
from apps.catalog.domain.pictures import delete_later
from apps.catalog.domain.tags import write_tags
from apps.catalog.models import Product, ProductImage, Variant
from apps.events.domain.changes import assign
from apps.events.domain.recording import record_event
from apps.ground.attrs import Attrs
from apps.ground.handles import save_with_handle, stem_of
from apps.ground.tenancy import current_shop
from apps.inventory.domain import stock as inventory
from apps.metafields.domain import setting as metafields

FALLBACK_HANDLE = "product"


@transaction.atomic
def create_product(attrs: Attrs, parts: Parts, *, actor: str, at: datetime) -> Product:
    """Make a product with at least one variant.

    Args:
        attrs: Columns of ``Product``. Without a vendor it is the shop's own; without a handle the title makes one,
            numbered where it is taken. A handle that is named and taken is refused by the database.
        parts: Its options, variants and images.
        actor: Who.
        at: When.

    Raises:
        OptionsRefused: Options and variants do not fit together.
        TooManyImages: There are more than a product can have.
        TooManyVariants: There are more than a product can have.
        UnknownRow: A part names a row that exists already.
    """
    shop = current_shop()
    product = Product(shop=shop, created_at=at, **attrs)
    product.vendor = product.vendor or shop.name
    if product.handle:
        product.save(force_insert=True)
    else:
        save_with_handle(product, stem_of(product.title, FALLBACK_HANDLE))
    if product.tags:
        write_tags(product)
    variants.replace(product, parts.variants, parts.options, actor=actor, at=at)
    if parts.images:
        images.replace(product, parts.images, actor=actor, at=at)
    variants.show_pictures(product, parts.variants or [])
    if parts.metafields:
        metafields.set_many(product, parts.metafields, actor=actor, at=at)
    record_event("products/create", product, actor=actor, at=at)
    return product


@transaction.atomic
def update_product(product: Product, attrs: Attrs, parts: Parts, *, actor: str, at: datetime) -> Product:
    """Change a product; parts that are not named stay, a part that is named becomes what the list says.

    Raises:
        Gone: It was deleted meanwhile.
        OptionsRefused: Options and variants do not fit together.
        TooManyImages: There are more than a product can have.
        TooManyVariants: There are more than a product can have.
        UnknownRow: A part names a row that is not the product's.
    """
    if parts.variants is not None:
        lock_stock(product_id=product.pk, going=True)
    row = lock_product(product.pk)
    changes = assign(row, attrs)
    if not row.handle:
        save_with_handle(row, stem_of(row.title, FALLBACK_HANDLE), update_fields=[*changes, "handle"])
    elif changes:
        row.save(update_fields=[*changes])
    if "tags" in changes:
        write_tags(row)
    changed = bool(changes)
    if parts.images is not None:
        changed |= images.replace(row, parts.images, actor=actor, at=at)
    if parts.variants or parts.options:
        changed |= variants.replace(row, parts.variants, parts.options, actor=actor, at=at)
    changed |= variants.show_pictures(row, parts.variants or [])
    if metafields.set_many(row, parts.metafields, actor=actor, at=at) or changed:
        variants.touch(row)
        record_event("products/update", row, actor=actor, at=at, changes=changes)
    return row


@transaction.atomic
def delete_product(product: Product, *, actor: str, at: datetime) -> None:
    """Delete a product with all that hangs on it: variants, stock, images and their files, places in collections.

    Raises:
        Gone: It was deleted meanwhile.
    """
    lock_stock(product_id=product.pk, going=True)
    collects.lock_collections_with(product.pk)
    row = lock_product(product.pk)
    collects.take_out(row)
    record_event("products/delete", row, actor=actor, at=at)
    items = list(Variant.objects.filter(product=row).values_list("inventory_item_id", flat=True))
    delete_later(row.shop_id, list(ProductImage.objects.filter(product=row).values_list("key", flat=True)))
    row.delete()
    inventory.delete_items(items, actor=actor, at=at)
