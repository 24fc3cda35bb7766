"""Images of products: positions are dense, 1 to n, and the first is the main one.

All writers of a product's images hold the lock of the product, so neither the positions nor the limit can be raced.
"""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext as _

from apps.catalog.domain.inputs import ImageInput
from apps.catalog.domain.locks import lock_product
from apps.catalog.domain.pictures import Picture, delete_later
from apps.catalog.domain.places import arranged, renumber
from apps.catalog.domain.variants import UnknownRow, touch
from apps.catalog.models import Product, ProductImage, Variant
from apps.events.domain.changes import assign
from apps.events.domain.recording import record_event
from apps.ground.errors import DomainError, Gone
from apps.ground.phrases import BLANK, INVALID
from apps.metafields.domain import setting as metafields

MAX_IMAGES = 250


class TooManyImages(DomainError):
    """The product would have more images than a product can have."""

    code = "too_many_images"
    field = "image"


@transaction.atomic
def add_image(product_id: int, wanted: ImageInput, *, actor: str, at: datetime) -> ProductImage:
    """Add an image at its position, or at the end.

    Raises:
        TooManyImages: The product has as many as it can have.
        UnknownRow: A variant is not the product's.
    """
    product = lock_product(product_id)
    count = ProductImage.objects.filter(product=product).count()
    if count >= MAX_IMAGES:
        raise _too_many()
    position = min(max(wanted.position or count + 1, 1), count + 1)
    ProductImage.objects.filter(product=product, position__gte=position).update(position=F("position") + 1)
    image = _built(product, wanted, position, at)
    image.save(force_insert=True)
    _attach(product, image, wanted, actor=actor, at=at)
    _tell(product, actor=actor, at=at)
    return image


@transaction.atomic
def update_image(image: ProductImage, wanted: ImageInput, *, actor: str, at: datetime) -> ProductImage:
    """Change an image's text, its place, or the variants that it shows.

    Raises:
        UnknownRow: A variant is not the product's.
    """
    product = lock_product(image.product_id)
    row = _row(image)
    before = row.position
    if wanted.position is not None:
        count = ProductImage.objects.filter(product=product).count()
        _shift(product, row, min(max(wanted.position, 1), count))
    changed = [*assign(row, wanted.attrs), *(["position"] if row.position != before else [])]
    if changed:
        row.save(update_fields=changed)
    if _attach(product, row, wanted, actor=actor, at=at) or changed:
        _tell(product, actor=actor, at=at)
    return row


@transaction.atomic
def delete_image(image: ProductImage, *, actor: str, at: datetime) -> None:
    """Delete an image and its file; those behind it move up."""
    product = lock_product(image.product_id)
    row = _row(image)
    row.delete()
    ProductImage.objects.filter(product=product, position__gt=row.position).update(position=F("position") - 1)
    delete_later(product.shop_id, [row.key])
    _tell(product, actor=actor, at=at)


@transaction.atomic
def reorder(product_id: int, image_ids: Sequence[int], *, actor: str, at: datetime) -> None:
    """Put a product's images into the order of a list; those that it does not name follow.

    Raises:
        UnknownRow: An id is not that of an image of the product.
    """
    product = lock_product(product_id)
    rows = {row.pk: row for row in ProductImage.objects.filter(product=product).order_by("position", "id")}
    if set(image_ids) - rows.keys():
        raise UnknownRow(INVALID, field="images")
    ordered = [rows.pop(pk) for pk in dict.fromkeys(image_ids)]
    if _number([*ordered, *rows.values()]):
        _tell(product, actor=actor, at=at)


def replace(product: Product, wanted: Sequence[ImageInput], *, actor: str, at: datetime) -> bool:
    """Make a product's images those of a list: named ones stay, unnamed ones go, others are made.

    Args:
        product: The product; locked, or new.
        wanted: The images, in their order but for the positions that they name.
        actor: Who.
        at: When.

    Returns:
        Whether anything changed.

    Raises:
        TooManyImages: There would be more than a product can have.
        UnknownRow: An id is not that of an image of the product, or of a variant.
    """
    if len(wanted) > MAX_IMAGES:
        raise _too_many()
    current = {row.pk: row for row in ProductImage.objects.filter(product=product)}
    rows: list[ProductImage] = []
    for index, item in enumerate(wanted):
        if item.id is not None and item.id not in current:
            raise UnknownRow({f"images.{index}.id": [INVALID]})
        row = current.pop(item.id) if item.id is not None else _built(product, item, index + 1, at)
        rows.append(row)
    pairs = list(zip(rows, wanted, strict=True))
    ordered = arranged(rows, [(row, item.position, row.position if row.pk else None) for row, item in pairs])
    changed = bool(current)
    for row, item in pairs:
        if row.pk and (changes := assign(row, item.attrs)):
            row.save(update_fields=[*changes])
            changed = True
    if current:
        ProductImage.objects.filter(pk__in=current).delete()
        delete_later(product.shop_id, [row.key for row in current.values()])
    changed |= _number(ordered)
    for row, item in pairs:
        changed |= _attach(product, row, item, actor=actor, at=at)
    return changed


def _number(rows: Sequence[ProductImage]) -> bool:
    """Give rows their places, and save those that are new or moved; returns whether any was."""
    if moved := renumber(rows):
        ProductImage.objects.bulk_update(moved, ["position"], batch_size=MAX_IMAGES)
    new = [row for row in rows if row.pk is None]
    ProductImage.objects.bulk_create(new)
    return bool(moved or new)


def _too_many() -> TooManyImages:
    return TooManyImages(_("A product can have at most {limit} images.").format(limit=MAX_IMAGES))


def _row(image: ProductImage) -> ProductImage:
    row: ProductImage | None = ProductImage.objects.filter(pk=image.pk).first()
    if row is None:
        raise Gone
    return row


def _shift(product: Product, row: ProductImage, position: int) -> None:
    """Move a row to a position and those between by one."""
    others = ProductImage.objects.filter(product=product).exclude(pk=row.pk)
    if position < row.position:
        between = others.filter(position__gte=position, position__lt=row.position)
        between.update(position=F("position") + 1)
    elif position > row.position:
        between = others.filter(position__gt=row.position, position__lte=position)
        between.update(position=F("position") - 1)
    row.position = position


def _built(product: Product, wanted: ImageInput, position: int, at: datetime) -> ProductImage:
    picture: Picture | None = wanted.picture
    if picture is None:
        raise UnknownRow(BLANK, field="image")
    picture.kept = True
    return ProductImage(
        shop_id=product.shop_id,
        product=product,
        position=position,
        key=picture.key,
        name=picture.name,
        source=picture.source,
        width=picture.width,
        height=picture.height,
        created_at=at,
        **wanted.attrs,
    )


def _tell(product: Product, *, actor: str, at: datetime) -> None:
    touch(product)
    record_event("products/update", product, actor=actor, at=at)


def _attach(product: Product, image: ProductImage, wanted: ImageInput, *, actor: str, at: datetime) -> bool:
    """Show the image at the variants that are named, and at no others; returns whether anything changed."""
    moved = 0
    if wanted.variant_ids is not None:
        asked = set(wanted.variant_ids)
        rows = Variant.objects.filter(product=product)
        if rows.filter(pk__in=asked).count() != len(asked):
            raise UnknownRow(INVALID, field="variant_ids")
        moved += rows.filter(image=image).exclude(pk__in=asked).update(image=None)
        moved += rows.filter(pk__in=asked).exclude(image=image).update(image=image)
    return bool(metafields.set_many(image, wanted.metafields, actor=actor, at=at) or moved)
