"""Images of products: positions are dense, 1 to n, and the first is the main one.

All writers of a product's images hold the lock of the product, so neither the positions nor the limit can be raced.
"""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import F

from apps.catalog.domain.inputs import ImageInput
from apps.catalog.domain.locks import lock_product
from apps.catalog.domain.pictures import Picture, delete_later
from apps.catalog.domain.places import arranged
from apps.catalog.domain.variants import UnknownRow, touch
from apps.catalog.models import Product, ProductImage, Variant
from apps.events.domain.recording import record_event
from apps.ground.errors import DomainError, Gone
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
        TooManyImages: The product has 250.
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
    _finish(product, image, wanted, actor=actor, at=at)
    return image


@transaction.atomic
def update_image(image: ProductImage, wanted: ImageInput, *, actor: str, at: datetime) -> ProductImage:
    """Change an image's text, its place, or the variants that it shows.

    Raises:
        UnknownRow: A variant is not the product's.
    """
    product = lock_product(image.product_id)
    row = _row(image)
    if wanted.position is not None:
        count = ProductImage.objects.filter(product=product).count()
        _shift(product, row, min(max(wanted.position, 1), count))
    for name, value in wanted.attrs.items():
        setattr(row, name, value)
    row.save(update_fields=[*wanted.attrs, "position"])
    _finish(product, row, wanted, actor=actor, at=at)
    return row


@transaction.atomic
def delete_image(image: ProductImage, *, actor: str, at: datetime) -> None:
    """Delete an image and its file; those behind it move up."""
    product = lock_product(image.product_id)
    row = _row(image)
    row.delete()
    ProductImage.objects.filter(product=product, position__gt=row.position).update(position=F("position") - 1)
    delete_later(product.shop_id, [row.key])
    touch(product)
    record_event("products/update", product, actor=actor, at=at)


@transaction.atomic
def reorder(product_id: int, image_ids: Sequence[int], *, actor: str, at: datetime) -> None:
    """Put a product's images into the order of a list; those that it does not name follow.

    Raises:
        UnknownRow: An id is not that of an image of the product.
    """
    product = lock_product(product_id)
    rows = {row.pk: row for row in ProductImage.objects.filter(product=product).order_by("position", "id")}
    if set(image_ids) - rows.keys():
        raise UnknownRow("is invalid", field="images")
    ordered = [rows.pop(pk) for pk in dict.fromkeys(image_ids)]
    _number([*ordered, *rows.values()])
    touch(product)
    record_event("products/update", product, actor=actor, at=at)


def replace(product: Product, wanted: Sequence[ImageInput], *, actor: str, at: datetime) -> None:
    """Make a product's images those of a list: named ones stay, unnamed ones go, others are made.

    Args:
        product: The product; locked, or new.
        wanted: The images, in their order but for the positions that they name.
        actor: Who.
        at: When.

    Raises:
        TooManyImages: There would be more than 250.
        UnknownRow: An id is not that of an image of the product, or of a variant.
    """
    if len(wanted) > MAX_IMAGES:
        raise _too_many()
    current = {row.pk: row for row in ProductImage.objects.filter(product=product)}
    rows: list[ProductImage] = []
    for index, item in enumerate(wanted):
        if item.id is not None and item.id not in current:
            raise UnknownRow({f"images.{index}.id": ["is invalid"]})
        row = current.pop(item.id) if item.id is not None else _built(product, item, index + 1, at)
        rows.append(row)
    pairs = list(zip(rows, wanted, strict=True))
    ordered = arranged(rows, [(row, item.position, row.position if row.pk else None) for row, item in pairs])
    for row, item in pairs:
        if row.pk and item.attrs:
            for name, value in item.attrs.items():
                setattr(row, name, value)
            row.save(update_fields=[*item.attrs])
    if current:
        ProductImage.objects.filter(pk__in=current).delete()
        delete_later(product.shop_id, [row.key for row in current.values()])
    _number(ordered)
    for row, item in pairs:
        _attach(product, row, item, actor=actor, at=at)


def _number(rows: Sequence[ProductImage]) -> None:
    """Give rows dense positions and save those that are new or moved."""
    moved = [row for place, row in enumerate(rows, start=1) if row.pk and row.position != place]
    for place, row in enumerate(rows, start=1):
        row.position = place
    if moved:
        ProductImage.objects.bulk_update(moved, ["position"], batch_size=250)
    ProductImage.objects.bulk_create([row for row in rows if row.pk is None])


def _too_many() -> TooManyImages:
    return TooManyImages(f"A product can have at most {MAX_IMAGES} images.")


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
        raise UnknownRow("can't be blank", field="image")
    picture.kept = True
    return ProductImage(
        shop_id=product.shop_id,
        product=product,
        position=position,
        key=picture.key,
        name=picture.name,
        width=picture.width,
        height=picture.height,
        created_at=at,
        **wanted.attrs,
    )


def _finish(product: Product, image: ProductImage, wanted: ImageInput, *, actor: str, at: datetime) -> None:
    _attach(product, image, wanted, actor=actor, at=at)
    touch(product)
    record_event("products/update", product, actor=actor, at=at)


def _attach(product: Product, image: ProductImage, wanted: ImageInput, *, actor: str, at: datetime) -> None:
    """Show the image at the variants that are named, and at no others."""
    if wanted.variant_ids is not None:
        asked = set(wanted.variant_ids)
        rows = Variant.objects.filter(product=product)
        if rows.filter(pk__in=asked).count() != len(asked):
            raise UnknownRow("is invalid", field="variant_ids")
        rows.filter(image=image).exclude(pk__in=asked).update(image=None)
        rows.filter(pk__in=asked).exclude(image=image).update(image=image)
    if wanted.metafields:
        metafields.set_many(image, wanted.metafields, actor=actor, at=at)
