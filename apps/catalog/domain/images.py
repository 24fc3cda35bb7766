"""Add, update, sort and delete product images.

The positions of a product's images are 1 to n without gaps, and the first image is the main image. Every change locks
the product, so that concurrent changes cannot corrupt the positions or exceed the maximum number of images.
"""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import F

from apps.catalog.domain.image_files import delete_files_on_commit
from apps.catalog.domain.inputs import ImageInput
from apps.catalog.domain.locks import lock_product
from apps.catalog.domain.positions import arrange_rows, renumber_rows
from apps.catalog.domain.variants import UnknownRow, touch_and_record
from apps.catalog.models import Product, ProductImage, Variant
from apps.core.events.recording import apply_changes
from apps.core.exceptions import DomainError, RowDeleted
from apps.core.i18n.error_messages import BLANK, INVALID
from apps.core.i18n.messages import define_message
from apps.metafields.domain import write as metafields

_TOO_MANY_IMAGES = define_message("products.too_many_images", "A product can have at most {limit} images.")

MAX_IMAGES = 250


class TooManyImages(DomainError):
    field = "image"


@transaction.atomic
def add_image(product_id: int, requested: ImageInput, *, actor: str, at: datetime) -> ProductImage:
    """Add an image at the requested position, or at the end.

    Raises:
        TooManyImages: The product already has the maximum number of images.
        UnknownRow: A variant does not belong to the product.
    """
    product = lock_product(product_id)
    count = ProductImage.objects.filter(product=product).count()
    _check_count(count + 1)
    position = min(max(requested.position or count + 1, 1), count + 1)
    ProductImage.objects.filter(product=product, position__gte=position).update(position=F("position") + 1)
    image = _build_image(product, requested, position, at)
    image.save(force_insert=True)
    _assign_variants(product, image, requested, actor=actor, at=at)
    touch_and_record(product, actor=actor, at=at)
    return image


@transaction.atomic
def update_image(image: ProductImage, requested: ImageInput, *, actor: str, at: datetime) -> None:
    """Change the alternative text, position, variants or metafields of an image.

    Raises:
        UnknownRow: A variant does not belong to the product.
    """
    product = lock_product(image.product_id)
    row = _get_row(image)
    before = row.position
    if requested.position is not None:
        count = ProductImage.objects.filter(product=product).count()
        _move_image(product, row, min(max(requested.position, 1), count))
    changed = [*apply_changes(row, requested.attrs), *(["position"] if row.position != before else [])]
    if changed:
        row.save(update_fields=changed)
    if _assign_variants(product, row, requested, actor=actor, at=at) or changed:
        touch_and_record(product, actor=actor, at=at)


@transaction.atomic
def delete_image(image: ProductImage, *, actor: str, at: datetime) -> None:
    product = lock_product(image.product_id)
    row = _get_row(image)
    row.delete()
    ProductImage.objects.filter(product=product, position__gt=row.position).update(position=F("position") - 1)
    delete_files_on_commit(product.shop_id, [row.key])
    touch_and_record(product, actor=actor, at=at)


def replace_images(product: Product, requested: Sequence[ImageInput], *, actor: str, at: datetime) -> bool:
    """Replace a product's images with a list: update images that have an id, create new images, delete all others.

    The product must be new or locked. An explicit position takes precedence over the order of the list. Return True if
    anything changed.

    Raises:
        TooManyImages: The product would exceed the maximum number of images.
        UnknownRow: An id is not an image or a variant of the product.
    """
    _check_count(len(requested))
    current = {row.pk: row for row in ProductImage.objects.filter(product=product)}
    rows: list[ProductImage] = []
    for index, item in enumerate(requested):
        if item.id is not None and item.id not in current:
            raise UnknownRow({f"images.{index}.id": [INVALID]})
        row = current.pop(item.id) if item.id is not None else _build_image(product, item, index + 1, at)
        rows.append(row)
    pairs = list(zip(rows, requested, strict=True))
    ordered = arrange_rows(rows, [(row, item.position, row.position if row.pk else None) for row, item in pairs])
    changed = bool(current)
    for row, item in pairs:
        if row.pk and (changes := apply_changes(row, item.attrs)):
            row.save(update_fields=[*changes])
            changed = True
    if current:
        ProductImage.objects.filter(pk__in=current).delete()
        delete_files_on_commit(product.shop_id, [row.key for row in current.values()])
    changed |= _save_positions(ordered)
    for row, item in pairs:
        changed |= _assign_variants(product, row, item, actor=actor, at=at)
    return changed


def _save_positions(rows: Sequence[ProductImage]) -> bool:
    """Renumber the images, and save the images that are new or moved. Return True if any image was saved."""
    if moved := renumber_rows(rows):
        ProductImage.objects.bulk_update(moved, ["position"], batch_size=MAX_IMAGES)
    new = [row for row in rows if row.pk is None]
    ProductImage.objects.bulk_create(new)
    return bool(moved or new)


def _check_count(count: int) -> None:
    if count > MAX_IMAGES:
        raise TooManyImages(_TOO_MANY_IMAGES(limit=MAX_IMAGES))


def _get_row(image: ProductImage) -> ProductImage:
    row: ProductImage | None = ProductImage.objects.filter(pk=image.pk).first()
    if row is None:
        raise RowDeleted
    return row


def _move_image(product: Product, row: ProductImage, position: int) -> None:
    """Move an image to a position, and shift the images in between by one position."""
    siblings = ProductImage.objects.filter(product=product).exclude(pk=row.pk)
    if position < row.position:
        siblings.filter(position__gte=position, position__lt=row.position).update(position=F("position") + 1)
    elif position > row.position:
        siblings.filter(position__gt=row.position, position__lte=position).update(position=F("position") - 1)
    row.position = position


def _build_image(product: Product, requested: ImageInput, position: int, at: datetime) -> ProductImage:
    if (stored_image := requested.image) is None:
        raise UnknownRow(BLANK, field="image")
    stored_image.is_referenced = True
    return ProductImage(
        shop_id=product.shop_id,
        product=product,
        position=position,
        key=stored_image.key,
        name=stored_image.name,
        source=stored_image.source,
        width=stored_image.width,
        height=stored_image.height,
        created_at=at,
        **requested.attrs,
    )


def _assign_variants(product: Product, image: ProductImage, requested: ImageInput, *, actor: str, at: datetime) -> bool:
    """Assign the image to exactly the requested variants, and set its metafields. Return True if anything changed."""
    moved = 0
    if requested.variant_ids is not None:
        variant_ids = set(requested.variant_ids)
        rows = Variant.objects.filter(product=product)
        if rows.filter(pk__in=variant_ids).count() != len(variant_ids):
            raise UnknownRow(INVALID, field="variant_ids")
        moved += rows.filter(image=image).exclude(pk__in=variant_ids).update(image=None)
        moved += rows.filter(pk__in=variant_ids).exclude(image=image).update(image=image)
    return bool(metafields.set_metafields(image, requested.metafields, actor=actor, at=at) or moved)
